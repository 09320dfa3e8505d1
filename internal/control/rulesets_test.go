package control

import (
	"fmt"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestRuleSetShapes(t *testing.T) {
	w := newWorld(t, withShards(1))
	shape := func(name string) string {
		return fmt.Sprintf(`{"RuleSetName":%q,"RuleSetArn":%q,"RuleSetBody":%q,"CreationTime":1767323045}`, name,
			arnOf("matchmakingruleset/"+name), smallestRuleSet)
	}
	same(t, w.must("ValidateMatchmakingRuleSet", object{"RuleSetBody": smallestRuleSet}), `{"Valid":true}`)
	same(t, w.must("CreateMatchmakingRuleSet", object{"Name": "duel", "RuleSetBody": smallestRuleSet,
		"Tags": []object{{"Key": "k", "Value": "v"}}}), `{"RuleSet":%s}`, shape("duel"))
	same(t, w.must("ListTagsForResource", object{"ResourceARN": arnOf("matchmakingruleset/duel")}),
		`{"Tags":[{"Key":"k","Value":"v"}]}`)
	w.ruleSetOf("a.b")
	same(t, w.must("DescribeMatchmakingRuleSets", `{}`), `{"RuleSets":[%s,%s]}`, shape("a.b"), shape("duel"))
	same(t, w.must("DescribeMatchmakingRuleSets", object{"Names": []string{arnOf("matchmakingruleset/duel"), "a.b"}}),
		`{"RuleSets":[%s,%s]}`, shape("duel"), shape("a.b"))
	same(t, w.must("DeleteMatchmakingRuleSet", object{"Name": arnOf("matchmakingruleset/a.b")}), `{}`)
	w.refused(fault.NotFound, "DeleteMatchmakingRuleSet", `{"Name":"a.b"}`)
	w.restart()
	same(t, w.must("DescribeMatchmakingRuleSets", `{}`), `{"RuleSets":[%s]}`, shape("duel"))
}

// Both operations that read a rule set report its errors with their place in the document.
func TestRuleSetErrorsNameThePlace(t *testing.T) {
	w := newWorld(t, withShards(1))
	for body, place := range map[string]string{
		`{`: "RuleSetBody: ",
		`{"ruleLanguageVersion":"1.0","teams":[]}`:                                           "RuleSetBody: teams: ",
		`{"ruleLanguageVersion":"1.0","teams":[{"name":"a","minPlayers":2,"maxPlayers":1}]}`: "RuleSetBody: teams[0]",
	} {
		for _, operation := range []string{"ValidateMatchmakingRuleSet", "CreateMatchmakingRuleSet"} {
			in := object{"RuleSetBody": body}
			if operation == "CreateMatchmakingRuleSet" {
				in["Name"] = "duel"
			}
			_, err := w.call(operation, in)
			if f := fault.Of(err); f == nil || f.Kind != fault.InvalidRequest || !strings.HasPrefix(f.Message, place) {
				t.Errorf("%s %s: got %v, want InvalidRequest with %s…", operation, body, err, place)
			}
		}
	}
}
