package matcher_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/matcher"
	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

var noon = time.Date(2031, 4, 5, 12, 0, 0, 0, time.UTC)

func number(v float64) ruleset.Value { return ruleset.Value{Type: ruleset.Number, N: v} }

func text(s string) ruleset.Value { return ruleset.Value{Type: ruleset.String, S: s} }

func list(s ...string) ruleset.Value { return ruleset.Value{Type: ruleset.StringList, SL: s} }

func votes(m map[string]float64) ruleset.Value {
	return ruleset.Value{Type: ruleset.NumberMap, SDM: m}
}

type attributes = map[string]ruleset.Value

// solo is a ticket of one player of the same name.
func solo(id string, a attributes) *matcher.Ticket {
	return &matcher.Ticket{ID: id, Start: noon, Players: []matcher.Player{{ID: id, Attributes: a}}}
}

// party is a ticket of one player for each map.
func party(id string, each ...attributes) *matcher.Ticket {
	t := &matcher.Ticket{ID: id, Start: noon}
	for i, a := range each {
		t.Players = append(t.Players, matcher.Player{ID: fmt.Sprint(id, i+1), Attributes: a})
	}
	return t
}

// aged is the ticket at an age in seconds, at noon.
func aged(t *matcher.Ticket, seconds int) *matcher.Ticket {
	t.Start = noon.Add(-time.Duration(seconds) * time.Second)
	return t
}

// pinged gives the ticket a latency to us-east-1.
func pinged(t *matcher.Ticket, ms int) *matcher.Ticket {
	for i := range t.Players {
		t.Players[i].Latency = map[string]int{"us-east-1": ms}
	}
	return t
}

func ruleSet(t testing.TB, name string) string {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("ruleset/testdata/sets", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func parse(t testing.TB, body string) *ruleset.Set {
	t.Helper()
	set, err := ruleset.Parse(body)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// matched are the tickets of a match, and its teams.
func matched(m *matcher.Match) (tickets string, teams map[string]string) {
	var ids []string
	for _, t := range m.Tickets {
		ids = append(ids, t.ID)
	}
	slices.Sort(ids)
	teams = map[string]string{}
	for _, team := range m.Teams {
		var players []string
		for _, p := range team.Players {
			players = append(players, p.ID)
		}
		slices.Sort(players)
		teams[team.Name] = strings.Join(players, " ")
	}
	return strings.Join(ids, " "), teams
}

// search calls Match until it finds a match or has tried all.
func search(p *matcher.Pool, now time.Time) *matcher.Match {
	for {
		m, ok, more := p.Match(now)
		if ok {
			return m
		}
		if !more {
			return nil
		}
	}
}

// TestVectors are the vectors of the specification.
func TestVectors(t *testing.T) {
	role := func(id string, roles ...string) *matcher.Ticket { return solo(id, attributes{"role": list(roles...)}) }
	power := func(id string, v float64) *matcher.Ticket { return solo(id, attributes{"power": number(v)}) }
	vote := func(id string, m map[string]float64) *matcher.Ticket {
		return solo(id, attributes{"mapVotes": votes(m)})
	}
	ranked := func(id string, mmr float64, ms int) *matcher.Ticket {
		return pinged(solo(id, attributes{"queueType": text("ranked"), "mmr": number(mmr)}), ms)
	}
	french := solo("p1", attributes{"role": list("healer"), "languages": list("fr")})
	of := func(power float64) attributes { return attributes{"power": number(power)} }
	three := func(mmr float64, id string) *matcher.Ticket {
		return pinged(solo(id, attributes{"mmr": number(mmr)}), 50)
	}
	votesOfX := map[string]float64{"keep": 9, "ford": 1}
	keep := func(id string, n float64) *matcher.Ticket { return vote(id, map[string]float64{"keep": n}) }
	casual := func(id string, ms int) *matcher.Ticket { return pinged(solo(id, nil), ms) }
	oldest := strings.Replace(ruleSet(t, "A"), `"teams"`,
		`"algorithm":{"strategy":"exhaustiveSearch","expansionAgeSelection":"oldest"},"teams"`, 1)
	type tickets = []*matcher.Ticket
	tests := []struct {
		name  string
		set   string // a letter, or a document
		after int    // seconds
		pool  tickets
		want  string            // tickets; "" none. One of several: separated by |
		teams map[string]string // players; nil: any
	}{
		{"V01", "A", 0, tickets{pit("a", 100), pit("b", 140)}, "a b", map[string]string{"north": "a", "south": "b"}},
		{"V02", "A", 0, tickets{pit("a", 100), pit("b", 150)}, "a b", nil},
		{"V03", "A", 0, tickets{pit("a", 100), pit("b", 151)}, "", nil},
		{"V04", "A", 0, tickets{aged(pit("a", 100), 21), aged(pit("b", 250), 20)}, "a b", nil},
		{"V05", "A", 0, tickets{aged(pit("a", 100), 60), aged(pit("b", 200), 5)}, "", nil},
		{"V06", oldest, 0, tickets{aged(pit("a", 100), 60), aged(pit("b", 200), 5)}, "a b", nil},
		{"V07", "A", 1000, tickets{solo("a", attributes{"rank": number(100)}), pit("b", 100)}, "", nil},
		{"V08", "A", 0, tickets{solo("a", attributes{"arena": text("pit")}), pit("b", 130)}, "a b", nil},
		{"V09", "A", 1000, tickets{party("a", pit("", 100).Players[0].Attributes, pit("", 100).Players[0].Attributes),
			pit("b", 100)}, "", nil},
		{"V10", "B", 0, tickets{role("p1", "healer"), role("p2", "damage"), role("p3", "tank")}, "p1 p2 p3", nil},
		{"V11", "B", 0, tickets{role("p1", "damage"), role("p2", "damage"), role("p3", "tank")}, "", nil},
		{"V12", "B", 0, tickets{role("p1", "healer"), role("p2", "healer"), role("p3", "healer"), role("p4", "damage")},
			"p1 p2 p4|p1 p3 p4", nil},
		{"V13 before", "B", 29, tickets{french, role("p2", "damage"), role("p3", "damage")}, "", nil},
		{"V13", "B", 30, tickets{french, role("p2", "damage"), role("p3", "damage")}, "p1 p2 p3", nil},
		{"V14", "B", 0, tickets{role("p1", "healer"), solo("p2", attributes{"avoid": list("p1")}), role("p3", "damage"),
			role("p4", "damage")}, "p1 p3 p4", nil},
		{"V15 before", "B", 39, tickets{role("p1", "healer"), role("p2", "damage")}, "", nil},
		{"V15", "B", 40, tickets{role("p1", "healer"), role("p2", "damage")}, "p1 p2", nil},
		{"V16", "C", 0, tickets{party("q", of(900), of(1100)), party("r", of(1150), of(1250))}, "q r",
			map[string]string{"crew_1": "q1 q2", "crew_2": "r1 r2"}},
		{"V17 before", "C", 14, tickets{power("a", 1000), power("b", 1100), power("c", 1150), power("d", 1201)}, "",
			nil},
		{"V17", "C", 15, tickets{power("a", 1000), power("b", 1100), power("c", 1150), power("d", 1201)}, "a b c d",
			nil},
		{"V18", "C", 1000, tickets{power("a", 1000), power("b", 1000), power("c", 1000),
			solo("d", attributes{"mode": text("defend")})}, "", nil},
		{"V19", "C", 0, tickets{power("a", 1000), power("e", 1190), power("b", 1010), power("c", 1020),
			power("d", 1030)}, "a b c d", nil},
		{"V20", "C", 0, tickets{vote("x", votesOfX), keep("c", 2), keep("b", 5), keep("d", 7), keep("a", 8)}, "a b d x",
			nil},
		{"V21", "D", 0, tickets{ranked("a", 1500, 50), ranked("b", 1540, 60)}, "a b", nil},
		{"V21 apart", "D", 0, tickets{ranked("a", 1500, 50), ranked("b", 1560, 60)}, "", nil},
		{"V22", "D", 0, tickets{three(900, "a"), three(3000, "b"), three(10, "c")}, "a b|a c", nil},
		{"V22 mixed", "D", 0, tickets{ranked("a", 1500, 50), casual("b", 50)}, "", nil},
		{"V23 before", "D", 24, tickets{casual("a", 50), casual("b", 95)}, "", nil},
		{"V23", "D", 25, tickets{casual("a", 50), casual("b", 95)}, "a b", nil},
		{"V23 no latency", "D", 1000, tickets{casual("a", 50), solo("b", nil)}, "", nil},
		{"V24", "E", 0, tickets{casual("a", 60), casual("b", 100)}, "a b", nil},
		{"V24 apart", "E", 0, tickets{casual("a", 40), casual("b", 140)}, "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := tt.set
			if len(body) == 1 {
				body = ruleSet(t, body)
			}
			p := matcher.NewPool(parse(t, body), matcher.Options{})
			for _, ticket := range tt.pool {
				p.Add(ticket)
			}
			m := search(p, noon.Add(time.Duration(tt.after)*time.Second))
			if m == nil {
				if tt.want != "" {
					t.Errorf("no match, want %s", tt.want)
				}
				return
			}
			got, teams := matched(m)
			if !slices.Contains(strings.Split(tt.want, "|"), got) || tt.want == "" {
				t.Errorf("match of %s in %v, want %q", got, teams, tt.want)
			}
			if tt.teams != nil && !maps.Equal(teams, tt.teams) {
				t.Errorf("teams %v, want %v", teams, tt.teams)
			}
			if want := len(tt.pool) - len(m.Tickets); p.Len() != want {
				t.Errorf("%d tickets are left, want %d", p.Len(), want)
			}
		})
	}
}
