package matcher

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

// Rules over whole teams let any two tickets pass. They are named with the larger
// matches that they turn away, complete ones and those that can never hold again.
func TestExplainNamesRulesOfTeams(t *testing.T) {
	p := NewPool(parsed(t, `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"},
		{"name":"role","type":"string_list"}],
		"teams":[{"name":"red","minPlayers":2,"maxPlayers":2},{"name":"blue","minPlayers":2,"maxPlayers":2}],
		"rules":[{"name":"FairTeams","type":"distance","maxDistance":10,
		"measurements":["avg(teams[*].players.attributes[skill])"],
		"referenceValue":"avg(flatten(teams[*].players.attributes[skill]))"},
			{"name":"TwoHealers","type":"collection","operation":"contains","referenceValue":"healer","maxCount":2,
			"measurements":["flatten(teams[*].players.attributes[role])"]}]}`), Options{})
	for i, skill := range []float64{10, 20, 30, 900, 40} {
		role := ruleset.Value{Type: ruleset.StringList, SL: []string{"healer"}}
		if i > 1 && i < 4 {
			role.SL[0] = "tank"
		}
		player := Player{ID: fmt.Sprint("p", i), Attributes: map[string]ruleset.Value{"skill": numberValue(skill),
			"role": role}}
		p.Add(&Ticket{ID: fmt.Sprint("t", i), Start: largeStart, Players: []Player{player}})
		if nextMatch(p, largeStart) != nil {
			t.Fatal("matched")
		}
	}
	x, _ := p.Explain("t0", largeStart.Add(time.Second))
	named := map[string]Failure{}
	for _, f := range x.Failures {
		named[f.Rule] = f
	}
	if len(x.Rejections) > 0 || named["FairTeams"].Matches == 0 || named["TwoHealers"].Matches == 0 ||
		!strings.Contains(named["FairTeams"].Example, "at most 10") {
		t.Errorf("got %+v", x)
	}
}

// The largest partial match is found also after a search that was cut short.
func TestExplainFindsTheLargest(t *testing.T) {
	p := NewPool(parsed(t, `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"}],
		"teams":[{"name":"red","minPlayers":5,"maxPlayers":5},{"name":"blue","minPlayers":5,"maxPlayers":5}],
		"rules":[{"name":"Fair","type":"distance","maxDistance":40,
		"measurements":["avg(teams[*].players.attributes[skill])"],
		"referenceValue":"avg(flatten(teams[*].players.attributes[skill]))"},
			{"name":"Near","type":"batchDistance","batchAttribute":"skill","maxDistance":200}]}`), Options{})
	for i, skill := range []float64{1000, 1050, 1300, 1100, 1500} {
		player := Player{ID: fmt.Sprint("p", i), Attributes: map[string]ruleset.Value{"skill": numberValue(skill)}}
		p.Add(&Ticket{ID: fmt.Sprint("t", i), Start: largeStart, Players: []Player{player}})
		if nextMatch(p, largeStart) != nil {
			t.Fatal("matched")
		}
	}
	if x, _ := p.Explain("t0", largeStart.Add(time.Second)); x.Largest != 3 || x.Missing == "" {
		t.Errorf("got %+v", x)
	}
}
