package matcher_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/matcher"
	"github.com/muster-gg/muster/internal/matcher/naive"
	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

func pool(t testing.TB, body string, o matcher.Options, tickets ...*matcher.Ticket) *matcher.Pool {
	t.Helper()
	p := matcher.NewPool(parse(t, body), o)
	for _, ticket := range tickets {
		p.Add(ticket)
	}
	return p
}

func pit(id string, rank float64) *matcher.Ticket {
	return solo(id, attributes{"rank": number(rank), "arena": text("pit")})
}

// duo is one team of two, and no rule.
const duo = `{"ruleLanguageVersion":"1.0","teams":[{"name":"pair","minPlayers":2,"maxPlayers":2}]}`

func TestTicketsLeave(t *testing.T) {
	p := pool(t, duo, matcher.Options{}, solo("a", nil), solo("b", nil), solo("c", nil))
	if m := search(p, noon); m == nil || p.Len() != 1 || p.Metrics("a") != nil || p.Metrics("c") == nil {
		t.Errorf("match %v, %d tickets are left", m, p.Len())
	}
	p.Remove("c")
	p.Remove("c")
	p.Remove("nobody")
	if m := search(p, noon); m != nil || p.Len() != 0 {
		t.Errorf("match %v, %d tickets are left", m, p.Len())
	}
	p.Add(solo("a", nil)) // back after a match that fell apart
	p.Add(solo("c", nil))
	if m := search(p, noon); m == nil || p.Len() != 0 {
		t.Error("tickets that come again are not matched")
	}
}

func TestAddReplaces(t *testing.T) {
	p := pool(t, ruleSet(t, "A"), matcher.Options{}, pit("a", 100), pit("b", 500))
	if m := search(p, noon); m != nil || p.Len() != 2 {
		t.Fatalf("match %v of %d", m, p.Len())
	}
	p.Add(pit("b", 120))
	if p.Len() != 2 {
		t.Errorf("%d tickets, want 2", p.Len())
	}
	m := search(p, noon)
	if m == nil {
		t.Fatal("no match with the ticket that replaced another")
	}
	if got := m.Tickets[1].Players[0].Attributes["rank"].N; got != 120 {
		t.Errorf("rank %v, want that of the later ticket", got)
	}
}

func TestOrderOfTickets(t *testing.T) {
	body := strings.Replace(duo, `"minPlayers":2,"maxPlayers":2`, `"minPlayers":3,"maxPlayers":3`, 1)
	back := party("back", nil)
	back.Backfill, back.Players[0].Team = true, "pair"
	m := search(pool(t, body, matcher.Options{}, aged(solo("young", nil), 1), aged(solo("old", nil), 9), back), noon)
	if m == nil {
		t.Fatal("no match")
	}
	var ids []string
	for _, ticket := range m.Tickets {
		ids = append(ids, ticket.ID)
	}
	if want := []string{"back", "old", "young"}; !slices.Equal(ids, want) {
		t.Errorf("tickets %v, want the backfill ticket and then by age: %v", ids, want)
	}
	if first := m.Teams[0].Players[0].ID; first != "back1" {
		t.Errorf("the team begins with %s, want the player who is there already", first)
	}
}

func TestAdditionalPlaces(t *testing.T) {
	const body = `{"ruleLanguageVersion":"1.0","teams":[{"name":"north","minPlayers":1,"maxPlayers":2},` +
		`{"name":"south","minPlayers":1,"maxPlayers":2}]}`
	four := func() (all []*matcher.Ticket) {
		for i := range 4 {
			all = append(all, solo(fmt.Sprint(i), nil))
		}
		return all
	}
	tests := []struct {
		name         string
		additional   int
		north, south int
	}{{"none", 0, 2, 2}, {"of the last team", 1, 2, 1}, {"of both", 2, 1, 1}, {"below the minimum", 3, 1, 0}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := search(pool(t, body, matcher.Options{Additional: tt.additional}, four()...), noon)
			if m == nil || len(m.Teams[0].Players) != tt.north || len(m.Teams[1].Players) != tt.south {
				t.Errorf("match %+v, want %d and %d players", m, tt.north, tt.south)
			}
		})
	}
	t.Run("backfill takes them", func(t *testing.T) {
		back := party("back", nil, nil, nil)
		back.Backfill = true
		for i, team := range []string{"north", "north", "south"} {
			back.Players[i].Team = team
		}
		m := search(pool(t, body, matcher.Options{Additional: 1}, back, solo("new", nil)), noon)
		if m == nil || len(m.Teams[1].Players) != 2 {
			t.Errorf("match %+v, want the fourth player in the place that was left open", m)
		}
	})
}

func TestBackfillNeedsOneNew(t *testing.T) {
	back := func(id string) *matcher.Ticket {
		ticket := party(id, nil)
		ticket.Backfill, ticket.Players[0].Team = true, "pair"
		return ticket
	}
	body := strings.Replace(duo, `"minPlayers":2`, `"minPlayers":1`, 1)
	p := pool(t, body, matcher.Options{}, back("a"), back("b"))
	if m := search(p, noon); m != nil {
		t.Errorf("match %+v of backfill tickets alone", m)
	}
	p.Add(solo("new", nil))
	if m := search(p, noon); m == nil || len(m.Tickets) != 2 || p.Len() != 1 {
		t.Errorf("match %+v, want one backfill ticket and the new one", m)
	}
}

// TestBackfillPriority: of a backfill ticket and a new one beside a new one, the first is
// taken that the priority names; normally the older one.
func TestBackfillPriority(t *testing.T) {
	for priority, want := range map[string]string{"high": "back", "normal": "old", "low": "old"} {
		body := strings.Replace(duo, `"teams"`, `"algorithm":{"backfillPriority":"`+priority+`"},"teams"`, 1)
		back := party("back", nil)
		back.Backfill, back.Players[0].Team = true, "pair"
		p := pool(t, body, matcher.Options{}, aged(solo("first", nil), 9), aged(solo("old", nil), 8), aged(back, 7))
		if m := search(p, noon); m == nil ||
			!slices.ContainsFunc(m.Tickets, func(t *matcher.Ticket) bool { return t.ID == want }) {
			t.Errorf("%s: match %+v, want %s in it", priority, m, want)
		}
	}
}

// TestBackfillComesFirst: a ticket that could play in a new match or in the open slot of a game
// session goes where the priority says, or normally to the older of the two, also when that slot
// is not in the first team that lacks players.
func TestBackfillComesFirst(t *testing.T) {
	const body = `{"ruleLanguageVersion":"1.0","algorithm":{"backfillPriority":"PRIORITY"},
		"teams":[{"name":"red","minPlayers":1,"maxPlayers":2},{"name":"blue","minPlayers":1,"maxPlayers":2}]}`
	tests := []struct {
		priority        string
		session, waiter int // ages, seconds
		want            string
	}{
		{"high", 5, 9, "back new"}, {"high", 9, 5, "back new"},
		{"normal", 9, 5, "back new"}, {"normal", 5, 9, "new old"},
		{"low", 9, 5, "new old"}, {"low", 5, 9, "new old"},
	}
	for _, tt := range tests {
		for _, stepwise := range []bool{true, false} { // all at once, or tried in vain before the new ticket comes
			back := aged(party("back", nil, nil, nil), tt.session)
			back.Backfill = true
			for i, team := range []string{"red", "red", "blue"} {
				back.Players[i].Team = team
			}
			// A party of two and the new ticket are a match in which the open slot has no part.
			p := pool(t, strings.Replace(body, "PRIORITY", tt.priority, 1), matcher.Options{}, back,
				aged(party("old", nil, nil), tt.waiter))
			if stepwise && search(p, noon) != nil {
				t.Fatalf("%+v: a match without the new ticket", tt)
			}
			p.Add(solo("new", nil))
			m := search(p, noon)
			if m == nil {
				t.Fatalf("%+v, stepwise %t: no match", tt, stepwise)
			}
			if got, _ := matched(m); got != tt.want {
				t.Errorf("%+v, stepwise %t: match of %s", tt, stepwise, got)
			}
		}
	}
}

func TestUnmatchable(t *testing.T) {
	wrong := pit("a", 100)
	wrong.Players[0].Attributes["rank"] = text("high")
	nan := pit("a", math.NaN())
	stray := pit("a", 100)
	stray.Backfill, stray.Players[0].Team = true, "west"
	pair := party("a", pit("", 1).Players[0].Attributes, pit("", 1).Players[0].Attributes)
	full := party("a", pit("", 1).Players[0].Attributes, pit("", 1).Players[0].Attributes)
	full.Backfill, full.Players[0].Team, full.Players[1].Team = true, "north", "south"
	tests := []struct {
		name   string
		set    string
		ticket *matcher.Ticket
		want   string
	}{
		{"missing", "A", solo("a", nil), "player a has no value for arena, which has no default"},
		{"wrong type", "A", wrong, "the value of rank of player a has the wrong type"},
		{"no number", "A", nan, "player a has no finite number for rank"},
		{"no players", "A", &matcher.Ticket{ID: "a", Start: noon}, "the ticket has no players"},
		{"too many", "A", pair, "its 2 players do not fit in one team"},
		{"no such team", "A", stray, `player a of the backfill ticket is in unknown team "west"`},
		{"no place free", "A", full,
			"the 2 players of the backfill ticket do not fit in their teams or leave no slot free"},
		{"no latency", "E", solo("a", nil), "rule FairPing needs latencies, but the players report no common location"},
		{"too far", "E", pinged(solo("a", nil), 151),
			"rule FairPing rejects the ticket in any match: no location to which all have at most 150 ms, at most " +
				"40 ms apart from the reference"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := pool(t, ruleSet(t, tt.set), matcher.Options{}, tt.ticket)
			x, ok := p.Explain("a", noon)
			if !ok || x.Unmatchable != tt.want {
				t.Errorf("unmatchable: %q, want %q", x.Unmatchable, tt.want)
			}
			if p.Len() != 1 || len(p.Metrics("a")) == 0 {
				t.Errorf("%d tickets, metrics %v: it waits like any other", p.Len(), p.Metrics("a"))
			}
			p.Remove("a")
			if p.Len() != 0 {
				t.Error("it is still there")
			}
		})
	}
}

// Each team has a rule of its own: the reason is that of the team which turned the
// ticket away last, with what the rule measured there.
func TestUnmatchableInEachTeam(t *testing.T) {
	const set = `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"a","type":"number"},{"name":"b",
		"type":"number"}],
 "teams":[{"name":"red","minPlayers":1,"maxPlayers":2},{"name":"blue","minPlayers":1,"maxPlayers":2}],
 "rules":[{"name":"Red","type":"comparison","operation":"=","measurements":["teams[red].players.attributes[a]",
"teams[red].players.attributes[b]"]},
  {"name":"Blue","type":"comparison","operation":"=","measurements":["teams[blue].players.attributes[a]",
"teams[blue].players.attributes[b]"]}]}`
	a := solo("a", attributes{"a": number(3), "b": number(4)})
	x, ok := pool(t, set, matcher.Options{}, a).Explain("a", noon)
	if want := "rule Blue rejects the ticket in any match: 3 and 4 are not the same"; !ok || x.Unmatchable != want {
		t.Errorf("unmatchable: %q, want %q", x.Unmatchable, want)
	}
}

func TestDue(t *testing.T) {
	p := pool(t, ruleSet(t, "A"), matcher.Options{})
	if due := p.Due(); !due.IsZero() {
		t.Errorf("an empty pool is due at %v", due)
	}
	p.Add(aged(pit("a", 100), 5))
	p.Add(pit("b", 300))
	for _, after := range []int{15, 20, 40, 45, 55, 60} {
		want := noon.Add(time.Duration(after) * time.Second)
		if due := p.Due(); !due.Equal(want) {
			t.Fatalf("due at %v, want %v", due, want)
		}
		if m := search(p, want.Add(-time.Millisecond)); m != nil {
			t.Fatalf("a match before %v", want)
		}
		if m := search(p, want); m != nil {
			if after != 45 {
				t.Errorf("a match after %d s, want one after 45, when the newest may be 400 apart", after)
			}
			return
		}
	}
	t.Error("no match")
}

// TestClockBack: a clock that was ahead and is set right.
func TestClockBack(t *testing.T) {
	p := pool(t, ruleSet(t, "A"), matcher.Options{}, pit("a", 100))
	if m := search(p, noon.Add(time.Hour)); m != nil {
		t.Fatal("a match of one")
	}
	p.Add(pit("b", 400))
	if m := search(p, noon); m != nil {
		t.Error("a match by rules that begin in an hour")
	}
	if due, want := p.Due(), noon.Add(20*time.Second); !due.Equal(want) {
		t.Errorf("due at %v, want %v", due, want)
	}
	if m := search(p, noon.Add(45*time.Second)); m == nil {
		t.Error("no match when the time has come")
	}
}

func TestFarTimes(t *testing.T) {
	early, late := pit("early", 100), pit("late", 120)
	early.Start, late.Start = time.Time{}, time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	p := pool(t, ruleSet(t, "A"), matcher.Options{}, early, late)
	if m := search(p, noon); m == nil {
		t.Error("no match of tickets from other ages")
	}
}

// TestSameCallsSameMatches: a pool of a seed is the same whenever it is run.
func TestSameCallsSameMatches(t *testing.T) {
	run := func() (all []string) {
		r := rand.New(rand.NewPCG(1, 1))
		p := matcher.NewPool(parse(t, fives), matcher.Options{Seed: 7})
		for i := range 1500 {
			p.Add(arrival(r, i, 0, 300, noon.Add(time.Duration(i)*time.Millisecond)))
			if r.IntN(20) == 0 {
				p.Remove(fmt.Sprint("t", r.IntN(i+1)))
			}
			if i%300 != 0 {
				continue
			}
			at := noon.Add(time.Duration(i) * time.Millisecond)
			for m := search(p, at); m != nil; m = search(p, at) {
				ids, _ := matched(m)
				all = append(all, fmt.Sprint(ids, m.Metrics))
			}
		}
		return all
	}
	first := run()
	if len(first) < 50 {
		t.Fatalf("only %d matches", len(first))
	}
	if again := run(); !slices.Equal(first, again) {
		t.Error("the same calls gave other matches")
	}
}

// TestCrowd: over thousands of tickets that come, go and are matched, every match is one, a
// ticket is in one match at most, and is gone from the pool then and only then.
func TestCrowd(t *testing.T) {
	const fair = `{` + twoTeams + `,"algorithm":{"batchingPreference":"sorted","sortByAttributes":["skill"]},
		"rules":[{"name":"Fair","type":"distance","maxDistance":10,
		"measurements":["avg(teams[*].players.attributes[skill])"],
			"referenceValue":"avg(flatten(teams[*].players.attributes[skill]))"},
		{"name":"Ping","type":"latency","maxLatency":80,"maxDistance":60}],
		"expansions":[{"target":"rules[Fair].maxDistance","steps":[{"waitTimeSeconds":5,"value":40}]},
			{"target":"teams[red,blue].minPlayers","steps":[{"waitTimeSeconds":10,"value":3}]}]}`
	for name, body := range map[string]string{"fives": fives, "fair": fair} {
		t.Run(name, func(t *testing.T) { crowd(t, parse(t, body)) })
	}
}

func crowd(t *testing.T, set *ruleset.Set) {
	r := rand.New(rand.NewPCG(5, 5))
	p := matcher.NewPool(set, matcher.Options{})
	waiting := map[string]bool{}
	now, matches := noon, 0
	for i := range 5000 {
		now = now.Add(time.Duration(r.IntN(30)) * time.Millisecond)
		ticket := arrival(r, i, 0, 1000, now)
		if r.IntN(4) == 0 {
			ticket.Players = append(ticket.Players, ticket.Players[0])
			ticket.Players[1].ID += "-friend"
		}
		p.Add(ticket)
		waiting[ticket.ID] = true
		if r.IntN(10) == 0 {
			id := fmt.Sprint("t", r.IntN(i+1))
			p.Remove(id)
			delete(waiting, id)
		}
		if r.IntN(5) > 0 {
			continue
		}
		m, ok, _ := p.Match(now) // whatever more says
		if !ok {
			continue
		}
		matches++
		if err := naive.Check(set, 0, now, seats(m)); err != nil {
			t.Fatalf("match %+v is none: %v", m, err)
		}
		for _, ticket := range m.Tickets {
			if !waiting[ticket.ID] {
				t.Fatalf("%s is in a match and was not waiting", ticket.ID)
			}
			delete(waiting, ticket.ID)
		}
		if p.Len() != len(waiting) {
			t.Fatalf("%d tickets in the pool, want %d", p.Len(), len(waiting))
		}
	}
	if matches < 100 {
		t.Errorf("only %d matches", matches)
	}
}

func TestMetrics(t *testing.T) {
	const near = `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"rank","type":"number"},{"name":"arena",
		"type":"string"}],"teams":[{"name":"pair","minPlayers":2,"maxPlayers":2}],
		"rules":[{"name":"SameArena","type":"comparison","operation":"=",
		"measurements":["flatten(teams[*].players.attributes[arena])"]},
		{"name":"RankGap","type":"distance","maxDistance":50,
		"measurements":["avg(flatten(teams[*].players.attributes[rank]))"],
		"referenceValue":"min(flatten(teams[*].players.attributes[rank]))"}]}`
	p := pool(t, near, matcher.Options{}, pit("a", 100), pit("b", 201))
	search(p, noon)
	want := []matcher.Metric{{Rule: "SameArena", Passed: 3}, {Rule: "RankGap", Passed: 2, Failed: 1}}
	sum := func(a, b []matcher.Metric) (all []matcher.Metric) {
		for i := range a {
			all = append(all, matcher.Metric{Rule: a[i].Rule, Passed: a[i].Passed + b[i].Passed,
				Failed: a[i].Failed + b[i].Failed})
		}
		return all
	}
	got := sum(p.Metrics("a"), p.Metrics("b"))
	for i := range want {
		if got[i].Rule != want[i].Rule || got[i].Passed < want[i].Passed || got[i].Failed < want[i].Failed {
			t.Errorf("metrics %+v, want at least %+v", got, want)
		}
	}
	if _, ok := p.Explain("a", noon); !ok || !slices.Equal(got, sum(p.Metrics("a"), p.Metrics("b"))) {
		t.Error("to explain is no evaluation")
	}
	p.Remove("b")
	p.Add(pit("c", 120))
	m := search(p, noon)
	if m == nil || len(m.Metrics) != 2 || m.Metrics[1].Rule != "RankGap" || m.Metrics[1].Passed == 0 {
		t.Errorf("match %+v, want the evaluations of its tickets", m)
	}
	sorts := matcher.NewPool(parse(t, ruleSet(t, "C")), matcher.Options{})
	sorts.Add(solo("a", nil))
	if got := sorts.Metrics("a"); len(got) != 2 || got[0].Rule != "PowerBand" {
		t.Errorf("metrics %+v, want none of rules that sort", got)
	}
}

func TestExplain(t *testing.T) {
	t.Run("nobody near", func(t *testing.T) {
		arena := pit("x", 100)
		arena.Players[0].Attributes["arena"] = text("dome")
		p := pool(t, ruleSet(t, "A"), matcher.Options{}, aged(pit("a", 100), 5), pit("b", 151), pit("c", 300), arena,
			solo("never", nil))
		search(p, noon)
		got, ok := p.Explain("a", noon)
		want := matcher.Explanation{
			Ticket: "a", Age: 5 * time.Second, AgeSeconds: 5, Pool: 5, Largest: 1,
			Missing: "team south has 0 of at least 1 players", Candidates: 3,
			Rejections: []matcher.Rejection{
				{Rule: "RankGap", Candidates: 2, Example: "b: distance 51, at most 50"},
				{Rule: "SameArena", Candidates: 1, Example: `x: "pit" and "dome" are not the same`},
			},
			Next: &matcher.Expansion{In: 15 * time.Second, Seconds: 15,
				Changes: []matcher.Change{{Target: "rules[RankGap].maxDistance", From: "50", To: "150"}}},
		}
		if !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("got\n%+v, next %+v, want\n%+v, next %+v", got, got.Next, want, want.Next)
		}
		if again, _ := p.Explain("b", noon.Add(15*time.Second)); again.Next == nil || again.Next.Seconds != 5 ||
			again.Next.Admits != 2 {
			t.Errorf("%+v, next %+v, want both to be admitted in 5 s", again, again.Next)
		}
	})
	t.Run("quota", func(t *testing.T) {
		p := pool(t, ruleSet(t, "B"), matcher.Options{}, solo("a", nil), solo("b", nil), solo("c", nil))
		search(p, noon)
		got, _ := p.Explain("a", noon)
		if got.Largest != 3 || got.Missing != `rule HealerQuota does not hold: 0 have "healer", need 1 to 2` ||
			len(got.Rejections) != 0 || got.Candidates != 2 {
			t.Errorf("%+v", got)
		}
	})
	t.Run("no room", func(t *testing.T) {
		const body = `{"ruleLanguageVersion":"1.0","teams":[{"name":"trio","minPlayers":3,"maxPlayers":3}]}`
		p := pool(t, body, matcher.Options{}, party("a", nil, nil), party("b", nil, nil))
		got, _ := p.Explain("a", noon)
		want := []matcher.Rejection{{Candidates: 1, Example: "b: no team has room for it"}}
		if got.Largest != 2 || !slices.Equal(got.Rejections, want) || got.Next != nil {
			t.Errorf("%+v", got)
		}
	})
	t.Run("unknown", func(t *testing.T) {
		if _, ok := pool(t, duo, matcher.Options{}).Explain("a", noon); ok {
			t.Error("explains a ticket that is not there")
		}
	})
}

// TestExplainChangesNothing: the matches are the same whether somebody asks or not.
func TestExplainChangesNothing(t *testing.T) {
	run := func(ask bool) (all []string) {
		r := rand.New(rand.NewPCG(8, 8))
		p := matcher.NewPool(parse(t, duoOfMany), matcher.Options{Batch: 5})
		for i := range 200 {
			p.Add(solo(fmt.Sprint("t", i), attributes{"skill": number(float64(r.IntN(100)))}))
			if ask {
				p.Explain(fmt.Sprint("t", r.IntN(i+1)), noon)
			} else {
				r.IntN(i + 1)
			}
		}
		for m := search(p, noon); m != nil; m = search(p, noon) {
			ids, _ := matched(m)
			all = append(all, ids)
		}
		return all
	}
	if quiet, asked := run(false), run(true); !slices.Equal(quiet, asked) || len(quiet) == 0 {
		t.Errorf("%d matches, and %d others with explanations", len(quiet), len(asked))
	}
}

const duoOfMany = `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"}],
	"teams":[{"name":"pair","minPlayers":2,"maxPlayers":2}],
	"rules":[{"name":"Sum","type":"comparison","operation":"=","referenceValue":100,
	"measurements":["sum(flatten(teams[*].players.attributes[skill]))"]}]}`

// TestLaterThanTheBatch: with more tickets than a batch has, those who can be matched are
// found in the end.
func TestLaterThanTheBatch(t *testing.T) {
	p := matcher.NewPool(parse(t, duoOfMany), matcher.Options{Batch: 10})
	for i := range 200 {
		p.Add(solo(fmt.Sprint("t", i), attributes{"skill": number(float64(i % 7))}))
	}
	p.Add(solo("x", attributes{"skill": number(99)})) // goes with those of skill 1
	now := noon
	for range 1000 {
		if m := search(p, now); m != nil {
			return
		}
		due := p.Due()
		if due.IsZero() {
			break
		}
		now = due
	}
	t.Error("no match, though there is one")
}

// TestOutsiderOfTheBatch: the ticket that a key could go with is not among the nearest.
func TestOutsiderOfTheBatch(t *testing.T) {
	const body = `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"}],
		"teams":[{"name":"pair","minPlayers":2,"maxPlayers":2}],
		"rules":[{"name":"Far","type":"distance","minDistance":50,
		"measurements":["max(flatten(teams[*].players.attributes[skill]))"],
			"referenceValue":"min(flatten(teams[*].players.attributes[skill]))"}]}`
	p := matcher.NewPool(parse(t, body), matcher.Options{Batch: 10})
	p.Add(solo("low", attributes{"skill": number(0)}))
	for i := range 100 {
		p.Add(solo(fmt.Sprint("t", i), attributes{"skill": number(40 + float64(i)/100)}))
	}
	if m := search(p, noon); m != nil {
		t.Fatal("a match of those who are near")
	}
	p.Add(solo("high", attributes{"skill": number(60)}))
	now := noon
	for range 100 {
		if m := search(p, now); m != nil {
			if ids, _ := matched(m); ids != "high low" {
				t.Errorf("match of %s", ids)
			}
			return
		}
		now = p.Due()
	}
	t.Error("no match, though there is one")
}

// TestManyLocations: more of them than a mask has bits.
func TestManyLocations(t *testing.T) {
	const body = `{"ruleLanguageVersion":"1.0","teams":[{"name":"pair","minPlayers":2,"maxPlayers":2}],` +
		`"rules":[{"name":"Ping","type":"latency","maxLatency":50}]}`
	p := pool(t, body, matcher.Options{})
	at := func(id string, location int) *matcher.Ticket {
		ticket := solo(id, nil)
		ticket.Players[0].Latency = map[string]int{fmt.Sprint("place-", location): 20}
		return ticket
	}
	for i := range 200 {
		p.Add(at(fmt.Sprint("t", i), i))
	}
	if m := search(p, noon); m != nil {
		t.Fatalf("match %+v of players without a location in common", m)
	}
	p.Add(at("x", 130))
	if m := search(p, noon); m == nil {
		t.Error("no match at the location of two")
	} else if ids, _ := matched(m); ids != "t130 x" {
		t.Errorf("match of %s", ids)
	}
}

// FuzzPool: whatever the rule set and the tickets are, the pool answers, and loses no ticket.
func FuzzPool(f *testing.F) {
	for _, name := range []string{"A", "B", "C", "D", "E"} {
		f.Add(ruleSet(f, name), uint64(1), "pit", 100.0)
	}
	f.Fuzz(func(t *testing.T, body string, seed uint64, word string, size float64) {
		set, err := ruleset.Parse(body)
		if err != nil || set.Large() {
			return
		}
		r := rand.New(rand.NewPCG(seed, 0))
		p := matcher.NewPool(set, matcher.Options{Additional: r.IntN(3), Batch: r.IntN(20)})
		now, here := noon, 0
		for i := range 12 {
			ticket := strange(r, set, fmt.Sprint("t", i), word, size)
			p.Add(ticket)
			here++
			m, ok, _ := p.Match(now)
			if ok {
				here -= len(m.Tickets)
			}
			if p.Explain(ticket.ID, now); p.Len() != here {
				t.Fatalf("%d tickets, want %d", p.Len(), here)
			}
			now = now.Add(time.Duration(r.IntN(30)-5) * time.Second)
		}
		for i := range 12 {
			p.Remove(fmt.Sprint("t", i))
		}
		if p.Len() != 0 || !p.Due().IsZero() {
			t.Errorf("%d tickets, due at %v, want nothing", p.Len(), p.Due())
		}
	})
}

// strange is a ticket with random values, of any type.
func strange(r *rand.Rand, set *ruleset.Set, id, word string, size float64) *matcher.Ticket {
	ticket := &matcher.Ticket{ID: id, Start: noon.Add(-time.Duration(r.IntN(100)) * time.Second),
		Backfill: r.IntN(5) == 0}
	for i := range r.IntN(4) {
		p := matcher.Player{ID: fmt.Sprint(id, i), Attributes: attributes{},
			Team: set.Teams[r.IntN(len(set.Teams))].Name}
		for _, a := range set.Attributes {
			v := ruleset.Value{Type: a.Type, N: size * float64(r.IntN(3)), S: word,
				SL: []string{word, "healer"}[:r.IntN(3)], SDM: map[string]float64{word: size}}
			if r.IntN(10) == 0 {
				v.Type = ruleset.Type(r.IntN(5)) //nolint:gosec // small
			}
			p.Attributes[a.Name] = v
		}
		if r.IntN(4) > 0 {
			p.Latency = map[string]int{"us-east-1": r.IntN(200), word: r.IntN(200)}
		}
		ticket.Players = append(ticket.Players, p)
	}
	return ticket
}
