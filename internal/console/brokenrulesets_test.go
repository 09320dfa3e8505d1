package console

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// brokenRules are changes that break the example, with the line and a part of what the editor then shows. A missing
// member is where its object begins, a value that the whole needs on line 1.
var brokenRules = []struct {
	name     string
	line     int
	old, new string
	problem  string
}{
	{"no JSON", 9, `"rules": [{`, `"rules": [{{`, "invalid character"},
	{"a comma too many", 20, "\"value\": 20}]\n  }]\n}", "\"value\": 20}]\n  }],\n}", "invalid character"},
	{"a comment", 2, `"name": "duel",`, "\"name\": \"duel\", // for two", "JSON has no comments"},
	{"cut short", 16, "    \"maxDistance\": 5\n  }],", "    \"maxDistance\": \n", "invalid character ':'"},
	{"another version", 3, `"ruleLanguageVersion": "1.0",`, `"ruleLanguageVersion": "2.0",`, `must be "1.0"`},
	{"an unknown type of attribute", 4, `"type": "number", "default": 10}],`, `"type": "int", "default": 10}],`,
		"playerAttributes[0].type"},
	{"a default of another type", 4, `"default": 10}],`, `"default": "ten"}],`, "playerAttributes[0].default"},
	{"no teams", 5, "  \"teams\": [\n    {\"name\": \"red\", \"minPlayers\": 1, \"maxPlayers\": 1},\n    {\"name\": " +
		"\"blue\", \"minPlayers\": 1, \"maxPlayers\": 1}\n  ],", `  "teams": [],`, "at least one team"},
	{"two teams of one name", 7, `{"name": "blue", "minPlayers": 1, "maxPlayers": 1}`,
		`{"name": "red", "minPlayers": 1, "maxPlayers": 1}`, "two teams of the name"},
	{"a least above the most", 7, `{"name": "blue", "minPlayers": 1, "maxPlayers": 1}`,
		`{"name": "blue", "minPlayers": 2, "maxPlayers": 1}`, "more than maxPlayers"},
	{"players in quotes", 6, `"minPlayers": 1, "maxPlayers": 1},`, `"minPlayers": "1", "maxPlayers": 1},`,
		"teams[0].minPlayers"},
	{"an unknown type of rule", 11, `"type": "distance",`, `"type": "nearness",`, "rules[0].type"},
	{"a rule without its name", 9, "\"rules\": [{\n    \"name\": \"CloseSkill\",", "\"rules\": [{", "rules[0].name"},
	{"a bad expression", 12, `["avg(teams[red].players.attributes[skill])"],`,
		`["avg(teams[red].players.attributes[skill)"],`, "of the expression"},
	{"an unknown team", 13, `"avg(teams[blue].players.attributes[skill])"`,
		`"avg(teams[green].players.attributes[skill])"`, `there is no team "green"`},
	{"an unknown attribute", 12, `["avg(teams[red].players.attributes[skill])"],`,
		`["avg(teams[red].players.attributes[rank])"],`, `"rank"`},
	{"a negative distance", 14, `"maxDistance": 5`, `"maxDistance": -5`, "must not be negative"},
	{"batchDistance without its attribute", 9, exampleRule, `    "name": "CloseSkill",
    "type": "batchDistance", "maxDistance": 5`, "rules[0].batchAttribute"},
	{"latency without its limit", 9, exampleRule, `    "name": "CloseSkill",
    "type": "latency"`, "rules[0].maxLatency"},
	{"compound without its statement", 9, exampleRule, `    "name": "CloseSkill",
    "type": "compound"`, "rules[0].statement"},
	{"an unknown operation", 13, exampleRule, `    "name": "CloseSkill",
    "type": "comparison",
    "measurements": ["avg(teams[red].players.attributes[skill])"],
    "operation": "==",
    "referenceValue": 5`, "rules[0].operation"},
	{"two rules of one name", 16, "    \"maxDistance\": 5\n  }],", "    \"maxDistance\": 5\n  }, {\n" +
		"    \"name\": \"CloseSkill\",\n    \"type\": \"latency\", \"maxLatency\": 90\n  }],", "two rules of the name"},
	{"an unknown target", 17, `"target": "rules[CloseSkill].maxDistance",`, `"target": "rules[Close].maxDistance",`,
		`there is no rule "Close"`},
	{"a step of another type", 18, `"value": 20}]`, `"value": "far"}]`, "expansions[0].steps[0].value"},
	{"a step before the one before", 19, `{"waitTimeSeconds": 30, "value": 20}]`,
		"{\"waitTimeSeconds\": 30, \"value\": 20},\n    {\"waitTimeSeconds\": 20, \"value\": 30}]",
		"must be more than"},
	{"a large match with a distance", 1, `{"name": "blue", "minPlayers": 1, "maxPlayers": 1}`,
		`{"name": "blue", "minPlayers": 1, "maxPlayers": 60}`, "are large matches"},
}

// exampleRule is the rule of the example.
var exampleRule = example[strings.Index(example, `    "name": "CloseSkill"`):strings.Index(example, "\n  }],\n")]

// TestBrokenRuleSets: the editor shows the problem of a rule set at its line, with and without scripts.
func TestBrokenRuleSets(t *testing.T) {
	w := newWorld(t)
	w.fails["ValidateMatchmakingRuleSet"] = fault.New(fault.InvalidRequest, "It is wrong.")
	for _, c := range brokenRules {
		if n := strings.Count(example, c.old); n != 1 {
			t.Fatalf("%s: the example has %q %d times", c.name, c.old, n)
		}
		body := strings.ReplaceAll(strings.Replace(example, c.old, c.new, 1), "\n", "\r\n")
		form := url.Values{"body": {body}, "to": {"check"}}
		var answer verdict
		text := w.shows("POST", "/console/rule-sets/check", form, 200)
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatal(err)
		}
		if answer.Line != c.line || !strings.Contains(answer.Problem, c.problem) {
			t.Errorf("%s: %+v, want %q in line %d", c.name, answer, c.problem, c.line)
		}
		w.shows("POST", "/console/rule-sets/create", form, 200, fmt.Sprintf(`data-line="%d"`, c.line),
			fmt.Sprintf(`class="verdict bad">Line %d: `, c.line), `aria-invalid="true"`)
	}
}
