package matcher

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

// duel is a small set with strategy balanced, and a rule that some swaps break.
const duel = `{"ruleLanguageVersion":"1.0",
	"playerAttributes":[{"name":"skill","type":"number"},{"name":"role","type":"string_list"}],
	"algorithm":{"strategy":%q%s},
	"teams":[{"name":"a","minPlayers":5,"maxPlayers":5},{"name":"b","minPlayers":5,"maxPlayers":5}],
	"rules":[{"name":"OneHealerA","type":"collection","operation":"contains","referenceValue":"healer",
	"measurements":["flatten(teams[a].players.attributes[role])"],"minCount":1,"maxCount":1}]}`

// Small matches of strategy balanced are more even than others, and keep their rules.
func TestSmallBalances(t *testing.T) {
	gap := func(body string) (sum float64) {
		p := NewPool(parsed(t, body), Options{Seed: 1})
		r := rand.New(rand.NewPCG(3, 3))
		for id := range 400 {
			ticket := &Ticket{ID: fmt.Sprint("t", id), Start: largeStart.Add(time.Duration(id) * time.Second)}
			for i := range max(1, r.IntN(5)-2) {
				role := []string{"healer", "damage", "tank"}[r.IntN(3)]
				ticket.Players = append(ticket.Players,
					Player{ID: fmt.Sprintf("p%d-%d", id, i), Attributes: map[string]ruleset.Value{
						"skill": numberValue(float64(r.IntN(100))), "role": ruleset.List([]string{role}),
					}})
			}
			p.Add(ticket)
			for m := nextMatch(p, ticket.Start); m != nil; m = nextMatch(p, ticket.Start) {
				healers, totals := 0, [2]float64{}
				for i, team := range m.Teams {
					for _, player := range team.Players {
						totals[i] += player.Attributes["skill"].N
						if i == 0 && slices.Contains(player.Attributes["role"].SL, "healer") {
							healers++
						}
					}
				}
				if healers != 1 {
					t.Errorf("%s: team a has %d healers", m.Tickets[0].ID, healers)
				}
				sum += math.Abs(totals[0] - totals[1])
			}
		}
		return sum
	}
	plain, balanced := gap(fmt.Sprintf(duel, "exhaustiveSearch", "")),
		gap(fmt.Sprintf(duel, "balanced", `,"balancedAttribute":"skill"`))
	if plain == 0 || balanced > plain/2 {
		t.Errorf("the teams of balanced matches differ by %g in all, others by %g", balanced, plain)
	}
}
