package console

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/muster-gg/muster/internal/matcher/ruleset"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// maxRuleSets is the largest page. Source: API reference, DescribeMatchmakingRuleSets (Limit).
const maxRuleSets = 10

func ruleSetPath(name string) string { return "/console/rule-sets/" + url.PathEscape(name) }

// A ruleSetsBody is the list of rule sets.
type ruleSetsBody struct {
	RuleSets []ruleSetRow
	Next     string
}

// A ruleSetRow sums a rule set up.
type ruleSetRow struct {
	wire.MatchmakingRuleSet
	Teams, Rules, Players int
}

func ruleSetsPage(v *visit) error {
	out, err := call(v, wire.OpDescribeMatchmakingRuleSets, &wire.DescribeMatchmakingRuleSetsInput{
		Limit: wire.Some[int32](maxRuleSets), NextToken: v.form("next")})
	if err != nil {
		return err
	}
	b := ruleSetsBody{Next: out.NextToken}
	for _, r := range out.RuleSets {
		b.RuleSets = append(b.RuleSets, summed(r))
	}
	return v.show("rulesets", page{Title: "Rule sets", Nav: "/console/rule-sets", Live: true, Body: b})
}

func summed(r wire.MatchmakingRuleSet) ruleSetRow {
	row := ruleSetRow{MatchmakingRuleSet: r}
	if set, err := ruleset.Parse(r.RuleSetBody); err == nil {
		row.Teams, row.Rules, row.Players = len(set.Teams), len(set.Rules), set.MaxPlayers()
	}
	return row
}

// A ruleSetBody is a rule set, formatted, with its simulator.
type ruleSetBody struct {
	ruleSetRow
	Lines      []string
	Outline    *outline // nil: it is not valid
	Simulation *simulation
}

func ruleSetPage(v *visit) error { return v.ruleSet(v.r.PathValue("name"), nil) }

func (v *visit) ruleSet(name string, refused error) error {
	r, err := v.findRuleSet(name)
	if err != nil {
		return err
	}
	return v.showRuleSet(r, v.newSimulation(), refused)
}

func (v *visit) showRuleSet(r *wire.MatchmakingRuleSet, s *simulation, refused error) error {
	b := ruleSetBody{ruleSetRow: summed(*r), Lines: strings.Split(formatted(r.RuleSetBody), "\n"), Simulation: s}
	b.Outline = outlineOf(r.RuleSetBody)
	if v.may("muster:RuleSetSimulate", nil) {
		var err error
		if s.InForce, err = v.rulesInForce(r.RuleSetName); err != nil {
			return err
		}
	}
	return v.refused("ruleset", page{Title: r.RuleSetName, Nav: "/console/rule-sets", Body: b,
		Crumbs: []link{{"Rule sets", "/console/rule-sets"}}}, refused)
}

func (v *visit) findRuleSet(name string) (*wire.MatchmakingRuleSet, error) {
	out, err := call(v, wire.OpDescribeMatchmakingRuleSets, &wire.DescribeMatchmakingRuleSetsInput{
		Names: []string{name}})
	if err != nil {
		return nil, err
	}
	if len(out.RuleSets) == 0 {
		return nil, fault.New(fault.NotFound, "Rule set %s does not exist.", name)
	}
	return &out.RuleSets[0], nil
}

// formatted returns JSON with indentation; other text as it is.
func formatted(text string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(text), "", "  ") != nil {
		return text
	}
	return b.String()
}

// compact returns JSON without white space; other text as it is.
func compact(text string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(text)) != nil {
		return text
	}
	return b.String()
}

func deleteRuleSet(v *visit) error {
	name := v.r.PathValue("name")
	if _, err := call(v, wire.OpDeleteMatchmakingRuleSet, &wire.DeleteMatchmakingRuleSetInput{Name: name}); err != nil {
		return v.ruleSet(name, err)
	}
	return v.redirect("/console/rule-sets?done=rule-set-deleted")
}

// An editorBody is the editor of a rule set, which is stored under a new name: rule sets do not change.
type editorBody struct {
	From string // the rule set that it began with; "": none
	Name string
	Text string
	verdict
}

// A verdict is what the editor says about a rule set.
type verdict struct {
	Checked bool   `json:"-"`
	Problem string `json:"problem,omitempty"` // "": it is valid
	Line    int    `json:"line,omitempty"`    // of the problem, from 1; 0: all of it
	Summary string `json:"summary,omitempty"` // of a valid one
}

// example is a rule set to begin with.
const example = `{
  "name": "duel",
  "ruleLanguageVersion": "1.0",
  "playerAttributes": [{"name": "skill", "type": "number", "default": 10}],
  "teams": [
    {"name": "red", "minPlayers": 1, "maxPlayers": 1},
    {"name": "blue", "minPlayers": 1, "maxPlayers": 1}
  ],
  "rules": [{
    "name": "CloseSkill",
    "type": "distance",
    "measurements": ["avg(teams[red].players.attributes[skill])"],
    "referenceValue": "avg(teams[blue].players.attributes[skill])",
    "maxDistance": 5
  }],
  "expansions": [{
    "target": "rules[CloseSkill].maxDistance",
    "steps": [{"waitTimeSeconds": 30, "value": 20}]
  }]
}`

func editorPage(v *visit) error {
	b := editorBody{From: v.form("from"), Text: example}
	if b.From != "" {
		r, err := v.findRuleSet(b.From)
		if err != nil {
			return err
		}
		b.Text = formatted(r.RuleSetBody)
	}
	return v.editor(&b, nil)
}

func (v *visit) editor(b *editorBody, refused error) error {
	if err := v.needs("gamelift:CreateMatchmakingRuleSet"); err != nil {
		return err
	}
	p := page{Title: "Create rule set", Nav: "/console/rule-sets", Body: b,
		Crumbs: []link{{"Rule sets", "/console/rule-sets"}}}
	if b.From != "" {
		p.Crumbs = append(p.Crumbs, link{b.From, ruleSetPath(b.From)})
	}
	return v.refused("editor", p, refused)
}

// saveRuleSet checks or stores what the editor has.
func saveRuleSet(v *visit) error {
	b := editorBody{From: v.form("from"), Name: v.form("rule-set-name"),
		Text: strings.ReplaceAll(v.form("body"), "\r\n", "\n")} // Source: HTML standard, form submission
	var err error
	if b.verdict, err = v.check(b.Text); err != nil {
		return v.editor(&b, err)
	}
	if v.form("to") == "check" || b.Problem != "" {
		return v.editor(&b, nil)
	}
	if _, err := call(v, wire.OpCreateMatchmakingRuleSet, &wire.CreateMatchmakingRuleSetInput{Name: b.Name,
		RuleSetBody: b.Text}); err != nil {
		return v.editor(&b, err)
	}
	return v.redirect(ruleSetPath(b.Name) + "?done=rule-set-created")
}

// check asks the API whether a rule set is valid, and finds the line of the problem.
func (v *visit) check(text string) (verdict, error) {
	_, err := call(v, wire.OpValidateMatchmakingRuleSet, &wire.ValidateMatchmakingRuleSetInput{RuleSetBody: text})
	set, problem := ruleset.Parse(text)
	switch {
	case err == nil && problem == nil:
		return verdict{Checked: true, Summary: "Valid: " + plural(len(set.Teams), "team") + ", at most " +
			plural(set.MaxPlayers(), "player") + ", " + plural(len(set.Rules), "rule") + "."}, nil
	case problem != nil && fault.Is(err, fault.InvalidRequest):
		return verdict{Checked: true, Problem: problem.Error(), Line: ruleset.Line(text, problem)}, nil
	}
	return verdict{}, err
}

// checkRuleSet answers the script of the editor.
func checkRuleSet(v *visit) error {
	answer, err := v.check(strings.ReplaceAll(v.form("body"), "\r\n", "\n"))
	if err != nil {
		answer.Problem = fault.Of(err).Message
	}
	v.w.Header().Set("Content-Type", "application/json")
	v.w.WriteHeader(http.StatusOK)
	if err := json.NewEncoder(v.w).Encode(answer); err != nil { // the browser has gone
		v.h.Log.Debug("check not written", "err", err)
	}
	return nil
}
