package matcher

import (
	"fmt"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/ruleset"
)

// The largest partial match is found also after a search that was cut short.
func TestExplainFindsTheLargest(t *testing.T) {
	p := NewPool(parsed(t, `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"}],
		"teams":[{"name":"red","minPlayers":5,"maxPlayers":5},{"name":"blue","minPlayers":5,"maxPlayers":5}],
		"rules":[{"name":"Fair","type":"distance","maxDistance":40,"measurements":["avg(teams[*].players.attributes[skill])"],"referenceValue":"avg(flatten(teams[*].players.attributes[skill]))"},
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
