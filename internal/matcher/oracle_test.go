package matcher_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/matcher"
	"github.com/muster-gg/muster/internal/matcher/naive"
	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

// A world is a random rule set and random tickets for it.
type world struct {
	*rand.Rand
	teams []string // all names that expressions can use
	names []string // of rules that may stand in a compound rule
	doc   map[string]any
	back  int  // percent of the tickets that are for backfill
	large bool // those are of large game sessions, and other tickets are of one player
}

type object = map[string]any

func (w *world) one(of ...string) string { return of[w.IntN(len(of))] }

func (w *world) chance(percent int) bool { return w.IntN(100) < percent }

// set makes a rule set. The numbers are small, so that averages of them are exact enough
// and rules are often just met or just missed.
func (w *world) set() string {
	w.doc = object{"ruleLanguageVersion": "1.0", "playerAttributes": []any{
		object{"name": "skill", "type": "number", "default": 3},
		object{"name": "mode", "type": "string"},
		object{"name": "tags", "type": "string_list", "default": []string{"a"}},
		object{"name": "votes", "type": "string_number_map", "default": object{"x": 1}},
	}}
	w.doc["algorithm"] = object{
		"strategy": "exhaustiveSearch", "expansionAgeSelection": w.one("newest", "oldest"),
		"backfillPriority": w.one("normal", "high", "low"),
	}
	if w.chance(20) {
		w.doc["algorithm"].(object)["batchingPreference"] = "sorted"
		w.doc["algorithm"].(object)["sortByAttributes"] = []string{w.one("skill", "mode")}
	}
	if w.chance(20) {
		w.doc["algorithm"] = object{"strategy": "balanced", "balancedAttribute": "skill"}
	}
	var teams []any
	for i := range 1 + w.IntN(2) {
		team := object{"name": string(rune('p' + i)), "minPlayers": w.IntN(3), "maxPlayers": 2 + w.IntN(2)}
		w.teams = append(w.teams, team["name"].(string))
		if w.chance(30) {
			team["quantity"] = 2
		}
		teams = append(teams, team)
	}
	w.doc["teams"] = teams
	var rules, expansions []any
	for i := range w.IntN(5) {
		name := fmt.Sprint("r", i)
		rule, target, value := w.rule(name)
		rule["name"] = name
		rules = append(rules, rule)
		if target != "" && w.chance(40) {
			step := object{"waitTimeSeconds": 10 * (1 + w.IntN(3)), "value": value}
			expansions = append(expansions, object{"target": "rules[" + name + "]." + target, "steps": []any{step}})
		}
	}
	if w.chance(30) {
		expansions = append(expansions, object{"target": "teams[p].minPlayers",
			"steps": []any{object{"waitTimeSeconds": 10, "value": w.IntN(3)}}})
	}
	w.doc["rules"], w.doc["expansions"] = rules, expansions
	body, _ := json.Marshal(w.doc)
	return string(body)
}

// valid makes sets until one is valid: what an expression gives depends on the number of
// teams.
func (w *world) valid() (*ruleset.Set, string) {
	for {
		w.teams, w.names = nil, nil
		body := w.set()
		if set, err := ruleset.Parse(body); err == nil {
			return set, body
		}
	}
}

func (w *world) path() (path string, grouped bool) {
	if w.chance(60) {
		return "teams[*].players", true
	}
	return "teams[" + w.one(w.teams...) + "].players", false
}

// number is an expression that gives one number.
func (w *world) number() string {
	path, _ := w.path()
	switch w.IntN(6) {
	case 0:
		return "count(teams[" + w.one(w.teams...) + "].players)"
	case 1:
		return fmt.Sprintf("%s(%s(teams[*].players.attributes[skill]))", w.one("min", "max", "avg"),
			w.one("min", "max", "avg", "sum", "count"))
	case 2:
		return "count(set_intersection(flatten(teams[*].players.attributes[tags])))"
	case 3:
		return "max(max(count(teams[*].players.attributes[tags])))"
	default:
		return fmt.Sprintf("%s(flatten(%s.attributes[skill]))", w.one("min", "max", "avg", "median", "sum", "stddev"),
			path)
	}
}

// rule makes a rule, and what an expansion can set in it to which value.
func (w *world) rule(name string) (rule object, target string, value any) {
	fold := w.one("avg", "min", "max")
	w.names = append(w.names, name)
	switch w.IntN(12) {
	case 0:
		return object{
			"type": "comparison", "operation": w.one("<", "<=", "=", "!=", ">", ">="),
			"measurements":   []string{w.number()},
			"referenceValue": w.IntN(6), "partyAggregation": fold,
		}, "referenceValue", w.IntN(6)
	case 1:
		return object{"type": "comparison", "operation": w.one("<=", "=", ">="), "measurements": []string{w.number()},
			"referenceValue": w.number()}, "", nil
	case 2:
		return object{"type": "comparison", "operation": w.one("=", "!="),
			"measurements": []string{"flatten(teams[*].players.attributes[mode])"}}, "", nil
	case 3:
		return object{
			"type": "comparison", "operation": w.one("=", "!="),
			"measurements":   []string{"flatten(teams[*].players.attributes[mode])"},
			"referenceValue": w.one("m", "n"),
		}, "referenceValue", w.one("m", "n")
	case 4, 5:
		measured := w.one("max(flatten(teams[*].players.attributes[skill]))",
			"flatten(teams[*].players.attributes[skill])",
			"avg(teams[*].players.attributes[skill])", w.number())
		reference := w.one("min", "avg", "median") + "(flatten(teams[*].players.attributes[skill]))"
		r := object{"type": "distance", "measurements": []string{measured}, "referenceValue": reference,
			"maxDistance": w.IntN(3), "partyAggregation": fold}
		if w.chance(15) {
			r["minDistance"] = 0
			r["maxDistance"] = 2
		}
		if w.chance(10) {
			r["referenceValue"] = 3
		}
		return r, "maxDistance", 1 + w.IntN(4)
	case 6:
		w.names = w.names[:len(w.names)-1]
		if w.chance(50) {
			return object{"type": "batchDistance", "batchAttribute": "mode"}, "", nil
		}
		return object{"type": "batchDistance", "batchAttribute": "skill", "maxDistance": w.IntN(4),
			"partyAggregation": fold}, "maxDistance", 1 + w.IntN(4)
	case 7:
		r := object{"type": "collection", "operation": "contains", "referenceValue": w.one("a", "b"),
			"measurements": []string{w.one(
				"flatten(teams[*].players.attributes[tags])", "teams[p].players.attributes[tags]",
				"flatten(flatten(teams[*].players.attributes[tags]))", "flatten(teams[*].players.attributes[mode])",
			)}}
		w.bounds(r)
		r["partyAggregation"] = w.one("union", "intersection")
		return r, "", nil
	case 8:
		r := object{"type": "collection", "operation": "intersection", "measurements": []string{w.one(
			"flatten(teams[*].players.attributes[tags])", "set_intersection(teams[*].players.attributes[tags])",
			"flatten(teams[*].players.attributes[mode])", "teams[*].players.attributes[mode]",
		)}}
		w.bounds(r)
		r["partyAggregation"] = w.one("union", "intersection")
		return r, "", nil
	case 9:
		r := object{
			"type": "collection", "operation": "reference_intersection_count",
			"measurements": []string{w.one("flatten(teams[*].players.attributes[tags])",
				"flatten(flatten(teams[*].players.attributes[tags]))",
				"set_intersection(teams[*].players.attributes[tags])")},
			"referenceValue": w.one("flatten(teams[*].players[playerId])",
				"set_intersection(flatten(teams[*].players.attributes[tags]))",
				"flatten(flatten(teams[*].players.attributes[tags]))"),
		}
		if w.chance(40) {
			r["referenceValue"] = []string{"a", "b"}
		}
		w.bounds(r)
		return r, "", nil
	case 10:
		r := object{"type": "latency", "maxLatency": 50 + 10*w.IntN(4), "partyAggregation": fold}
		if w.chance(40) {
			r["maxDistance"] = 10 * w.IntN(3)
			r["distanceReference"] = w.one("min", "avg")
		}
		return r, "maxLatency", 80
	default:
		w.names = w.names[:len(w.names)-1]
		if len(w.names) == 0 || w.chance(30) {
			return object{
				"type": w.one("absoluteSort", "distanceSort"), "sortDirection": w.one("ascending", "descending"),
				"sortAttribute": "votes", "mapKey": w.one("minValue", "maxValue"),
			}, "", nil
		}
		return object{"type": "compound", "statement": w.statement(2)}, "", nil
	}
}

func (w *world) bounds(r object) {
	if w.chance(70) {
		r["minCount"] = w.IntN(3)
	}
	if w.chance(50) {
		r["maxCount"] = 2 + w.IntN(2)
	}
}

func (w *world) statement(depth int) string {
	if depth == 0 || w.chance(30) {
		return w.one(w.names...)
	}
	if op := w.one("and", "or", "xor", "not"); op != "not" {
		return fmt.Sprintf("%s(%s, %s)", op, w.statement(depth-1), w.statement(depth-1))
	}
	return fmt.Sprintf("not(%s)", w.statement(depth-1))
}

// ticket makes a ticket that came in the last half minute.
func (w *world) ticket(id string, set *ruleset.Set) *matcher.Ticket {
	t := &matcher.Ticket{ID: id, Start: noon.Add(-time.Duration(w.IntN(35)) * time.Second)}
	t.Backfill = w.chance(w.back)
	n := 1
	switch {
	case w.large && t.Backfill:
		n = set.MaxPlayers() - 1 - w.IntN(3)
	case !w.large && w.chance(30):
		n = 2
	}
	for i := range n {
		p := matcher.Player{ID: fmt.Sprint(id, "-", i), Attributes: attributes{"mode": text(w.one("m", "m", "m", "n"))}}
		if w.chance(80) {
			p.Attributes["skill"] = number(float64(w.IntN(6)))
		}
		if w.chance(60) {
			p.Attributes["tags"] = list([]string{"a", "b", fmt.Sprintf("t%d-0", w.IntN(7))}[w.IntN(2) : 2+w.IntN(2)]...)
		}
		if w.chance(3) {
			delete(p.Attributes, "mode")
		}
		for _, location := range []string{"eu", "us", "ap"} {
			if w.chance(75) {
				if p.Latency == nil {
					p.Latency = map[string]int{}
				}
				p.Latency[location] = 30 + 10*w.IntN(6)
			}
		}
		if t.Backfill {
			p.Team = set.Teams[w.IntN(len(set.Teams))].Name
		}
		if w.large && t.Backfill { // its players are many, and no rule may keep them apart
			p.Team = set.Teams[i%len(set.Teams)].Name
			if i > 0 {
				p.Attributes, p.Latency = t.Players[0].Attributes, t.Players[0].Latency
			}
		}
		t.Players = append(t.Players, p)
	}
	return t
}

// seats are the tickets of a match in their teams.
func seats(m *matcher.Match) []naive.Assignment {
	var all []naive.Assignment
	for _, t := range m.Tickets {
		team := slices.IndexFunc(m.Teams, func(team matcher.Team) bool {
			return slices.ContainsFunc(team.Players, func(p matcher.Player) bool { return p.ID == t.Players[0].ID })
		})
		all = append(all, naive.Assignment{Ticket: t, Team: team})
	}
	return all
}

// TestOracle compares the pool with trying everything, on random small pools: every match
// it makes is one, backfillPriority puts no other before it, and while there is one it makes
// one. Tickets come and go in between, and time passes.
func TestOracle(t *testing.T) {
	pools := 2000
	if testing.Short() {
		pools = 500
	}
	found := 0
	for seed := range pools {
		w := &world{Rand: rand.New(rand.NewPCG(uint64(seed), 6)), back: []int{15, 40}[seed%2]}
		set, body := w.valid()
		found += w.compare(t, seed, set, body)
		if t.Failed() {
			return
		}
	}
	if found < pools/2 {
		t.Errorf("only %d matches in %d pools: the test has lost its teeth", found, pools)
	}
}

// largeSet makes a rule set for large matches, of which a few players are enough for one.
func (w *world) largeSet() string {
	team := func(name string) object {
		return object{"name": name, "minPlayers": 1 + w.IntN(2), "maxPlayers": 21 + w.IntN(2)}
	}
	rules := []any{object{"name": "near", "type": "latency", "maxLatency": 50 + 10*w.IntN(4),
		"partyAggregation": w.one("avg", "min", "max")}}
	if w.chance(50) {
		rules = append(rules, object{"name": "band", "type": "batchDistance", "batchAttribute": "skill",
			"maxDistance": w.IntN(4)})
	}
	if w.chance(50) {
		rules = append(rules, object{"name": "mode", "type": "batchDistance", "batchAttribute": "mode"})
	}
	body, _ := json.Marshal(object{
		"ruleLanguageVersion": "1.0",
		"playerAttributes": []any{
			object{"name": "skill", "type": "number", "default": 3}, object{"name": "mode", "type": "string"},
			object{"name": "tags", "type": "string_list", "default": []string{"a"}},
		},
		"algorithm": object{
			"strategy": "balanced", "balancedAttribute": "skill", "expansionAgeSelection": w.one("newest", "oldest"),
			"batchingPreference": w.one("largestPopulation", "fastestRegion"),
		},
		"teams": []any{team("p"), team("q")}, "rules": rules,
		"expansions": []any{object{"target": "rules[near].maxLatency",
			"steps": []any{object{"waitTimeSeconds": 10, "value": 80}}}},
	})
	return string(body)
}

// TestLargeOracle is TestOracle for large matches of few tickets, some of which are for backfill and leave few slots
// open. Its new tickets are single players: for parties the order of the guide need not find a match.
func TestLargeOracle(t *testing.T) {
	pools := 500
	if testing.Short() {
		pools = 350
	}
	found := 0
	for seed := range pools {
		w := &world{Rand: rand.New(rand.NewPCG(uint64(seed), 7)), back: 30, large: true}
		body := w.largeSet()
		found += w.compare(t, seed, parse(t, body), body)
		if t.Failed() {
			return
		}
	}
	if found < pools/2 {
		t.Errorf("only %d matches in %d pools: the test has lost its teeth", found, pools)
	}
}

func (w *world) compare(t *testing.T, seed int, set *ruleset.Set, body string) (found int) {
	additional := max(0, w.IntN(4)-2)
	pool := matcher.NewPool(set, matcher.Options{Additional: additional, Seed: int64(seed)})
	var waiting []*matcher.Ticket
	now, next := noon, 0
	for range 3 {
		for range 1 + w.IntN(3) {
			ticket := w.ticket(fmt.Sprint("t", next), set)
			ticket.Start = ticket.Start.Add(now.Sub(noon))
			next++
			waiting = append(waiting, ticket)
			pool.Add(ticket)
		}
		if w.chance(20) {
			i := w.IntN(len(waiting))
			pool.Remove(waiting[i].ID)
			waiting = slices.Delete(waiting, i, i+1)
		}
		for {
			m := search(pool, now)
			if m == nil {
				break
			}
			found++
			made := seats(m)
			if err := naive.Check(set, additional, now, made); err != nil {
				t.Errorf("seed %d: a match of %s is none: %v\n%s", seed, describe(made, set), err, body)
				return found
			}
			if prior := naive.Prior(set, additional, now, made, waiting); prior != nil {
				t.Errorf("seed %d: a match of %s was formed before one of %s\n%s", seed, describe(made, set),
					describe(prior, set), body)
				return found
			}
			for _, ticket := range m.Tickets {
				i := slices.Index(waiting, ticket)
				if i < 0 {
					t.Errorf("seed %d: %s is in a match and was not waiting", seed, ticket.ID)
					return found
				}
				waiting = slices.Delete(waiting, i, i+1)
			}
		}
		if pool.Len() != len(waiting) {
			t.Errorf("seed %d: %d tickets in the pool, want %d", seed, pool.Len(), len(waiting))
		}
		if want := naive.Find(set, additional, now, waiting); want != nil {
			t.Errorf("seed %d: no match, and there is %s, additional %d\n%s", seed, describe(want, set), additional,
				body)
			return found
		}
		now = now.Add(time.Duration(w.IntN(15)) * time.Second)
	}
	return found
}

func describe(seats []naive.Assignment, set *ruleset.Set) (text string) {
	for _, s := range seats {
		text += fmt.Sprintf("%+v in %s; ", *s.Ticket, set.Teams[s.Team].Name)
	}
	return text
}
