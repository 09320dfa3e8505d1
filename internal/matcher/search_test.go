package matcher

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

var morning = time.Date(2031, 4, 5, 9, 0, 0, 0, time.UTC)

func newPool(t *testing.T, name string) *Pool {
	t.Helper()
	return poolOf(t, "sets/"+name)
}

func poolOf(t *testing.T, file string) *Pool {
	t.Helper()
	body, err := os.ReadFile("ruleset/testdata/" + file + ".json")
	if err != nil {
		t.Fatal(err)
	}
	set, err := ruleset.Parse(string(body))
	if err != nil {
		t.Fatal(err)
	}
	return NewPool(set, Options{})
}

func duelist(i int, rank float64) *Ticket {
	id := fmt.Sprint("t", i)
	return &Ticket{ID: id, Start: morning, Players: []Player{{ID: id, Attributes: map[string]ruleset.Value{
		"rank": {Type: ruleset.Number, N: rank}, "arena": {Type: ruleset.String, S: fmt.Sprint("arena-", i%3)},
	}}}}
}

// tried is the work of calls until nothing more is to be tried; a call does a bounded
// amount of it.
func tried(t *testing.T, p *Pool, now time.Time) (work int) {
	t.Helper()
	for {
		before := p.worked
		_, ok, more := p.Match(now)
		if ok {
			t.Fatal("a match of tickets that do not go together")
		}
		if call := p.worked - before; call > workOfCall+maxDepth {
			t.Fatalf("one call did %d of work", call)
		}
		work += p.worked - before
		if !more {
			return work
		}
	}
}

// TestHopelessTicketsCostNothing: what was tried in vain is tried again when something has
// changed for it.
func TestHopelessTicketsCostNothing(t *testing.T) {
	p := newPool(t, "A")
	const waiting = 10_000
	for i := range waiting {
		p.Add(duelist(i, float64(10_000+500*i)))
	}
	if work := tried(t, p, morning); work > 20*waiting {
		t.Errorf("%d of work for %d tickets that have nobody near", work, waiting)
	}
	if work := tried(t, p, morning.Add(time.Second)); work != 0 {
		t.Errorf("%d of work when nothing has changed", work)
	}
	p.Add(duelist(waiting, 10_100))
	if work := tried(t, p, morning.Add(2*time.Second)); work > 30 {
		t.Errorf("%d of work for one new ticket", work)
	}
	if work := tried(t, p, morning.Add(20*time.Second)); work > 20*waiting {
		t.Errorf("%d of work when all tickets come to the next step", work)
	}
	if work := tried(t, p, morning.Add(21*time.Second)); work != 0 {
		t.Errorf("%d of work when nothing has changed", work)
	}
}

// TestHopelessArrivals: a ticket that comes to a pool in which hardly anybody can be matched costs little, also over
// the steps of its expansions, since the index shows that it has nobody to go with.
func TestHopelessArrivals(t *testing.T) {
	healer := map[string]ruleset.Value{"character": {Type: ruleset.StringList, SL: []string{"healer"}}}
	tests := []struct {
		set        string
		attributes func(i int) map[string]ruleset.Value
		most       int // work for each ticket
	}{
		// At most 5 of at least 9 players are healers.
		{"three-teams", func(int) map[string]ruleset.Value { return healer }, 20},
		{"explicit-sorting", func(i int) map[string]ruleset.Value {
			return map[string]ruleset.Value{"modes": {Type: ruleset.StringList, SL: []string{fmt.Sprint("mode-", i)}}}
		}, 250},
		{"compound", func(i int) map[string]ruleset.Value {
			v := float64(1000 * i)
			return map[string]ruleset.Value{
				"league": {Type: ruleset.Number, N: v}, "skill": {Type: ruleset.Number, N: v},
				"map": {Type: ruleset.String, S: "harbour"}, "mode": {Type: ruleset.String, S: fmt.Sprint("mode-", i)},
			}
		}, 350},
	}
	for _, tt := range tests {
		const arrivals = 3000
		p, now := poolOf(t, "guide/"+tt.set), morning
		for i := range arrivals {
			now = now.Add(10 * time.Millisecond)
			id := fmt.Sprint("t", i)
			p.Add(&Ticket{ID: id, Start: now, Players: []Player{{ID: id, Attributes: tt.attributes(i),
				Latency: map[string]int{"us-east-1": 20}}}})
			tried(t, p, now)
		}
		if each := p.worked / arrivals; each > tt.most {
			t.Errorf("%s: %d of work for each ticket that comes, want at most %d", tt.set, each, tt.most)
		}
	}
}

// TestNoCreditNoStarvation: a ticket that comes to another level while no credit is left is tried all the same, within
// two times the longest wait.
func TestNoCreditNoStarvation(t *testing.T) {
	p := newPool(t, "A")
	p.Add(duelist(0, 100))
	p.Add(duelist(3, 240)) // of the same arena; 150 apart are allowed after 20 s
	tried(t, p, morning)
	var found bool
	for now := morning; !found && now.Before(morning.Add(20*time.Second+2*lastRetry)); now = now.Add(time.Second) {
		p.tick(now)
		p.credit = 0
		_, found, _ = p.Match(now)
	}
	if !found {
		t.Error("no match")
	}
}

// TestPoolForgets: nothing of a ticket stays when it leaves.
func TestPoolForgets(t *testing.T) {
	for _, name := range []string{"A", "B", "C", "D", "E"} {
		p := newPool(t, name)
		literals := len(p.strings.numbers)
		for round := range 3 {
			for i := range 50 {
				ticket := duelist(i, float64(i*1000))
				ticket.Players[0].Attributes["role"] = ruleset.Value{Type: ruleset.StringList,
					SL: []string{fmt.Sprint("role-", round, i)}}
				ticket.Players[0].Latency = map[string]int{fmt.Sprint("place-", round, i): 1000 * round,
					"us-east-1": 50}
				p.Add(ticket)
			}
			for _, ok, more := p.Match(morning); ok || more; _, ok, more = p.Match(morning) {
			}
			for i := range 50 {
				p.Remove(fmt.Sprint("t", i))
			}
			if p.fresh.Len()+p.due.Len()+len(p.groups)+len(p.entries)+len(p.locations.numbers) != 0 ||
				len(p.strings.numbers) != literals {
				t.Errorf("%s: fresh %d, due %d, groups %d, entries %d, locations %d, strings %d of %d", name,
					p.fresh.Len(), p.due.Len(), len(p.groups), len(p.entries), len(p.locations.numbers),
					len(p.strings.numbers), literals)
			}
			for level, n := range p.ages {
				if n != 0 {
					t.Errorf("%s: %d tickets of level %d", name, n, level)
				}
			}
		}
		if n := len(p.locations.strings); n > 60 {
			t.Errorf("%s: numbers for %d locations, and there were 51 at a time", name, n)
		}
	}
}

func TestTable(t *testing.T) {
	var table table
	a, b := table.number("a"), table.number("b")
	if a == b || table.number("a") != a || table.text(b) != "b" {
		t.Errorf("a is %d, b is %d", a, b)
	}
	table.release(a)
	if table.number("a") != a {
		t.Error("a string in use lost its number")
	}
	table.release(a)
	table.release(a)
	if c := table.number("c"); c != a || table.text(c) != "c" {
		t.Errorf("c is %d, want the number %d that is free", c, a)
	}
}

func TestSettled(t *testing.T) {
	trends := []trend{free, fixed, rising, falling}
	for op, holds := range relations {
		for _, ta := range trends {
			for _, tb := range trends {
				for a := -1.0; a <= 1; a++ {
					for b := -1.0; b <= 1; b++ {
						if !settled(op, a, b, ta, tb) {
							continue
						}
						for _, later := range after(a, ta) {
							for _, against := range after(b, tb) {
								if holds(later, against) != holds(a, b) {
									t.Errorf("%v %s %v is settled with %d, %d, and %v %s %v is not the same", a, op, b,
										ta, tb, later, op, against)
								}
							}
						}
					}
				}
			}
		}
	}
	if !settled("<=", 1, 0, rising, fixed) || settled("<=", 0, 1, rising, fixed) ||
		!settled("=", 1, 0, fixed, falling) {
		t.Error("what can never be mended is not seen")
	}
}

// after is what a value can become.
func after(v float64, of trend) []float64 {
	switch of {
	case fixed:
		return []float64{v}
	case rising:
		return []float64{v, v + 1, v + 9}
	case falling:
		return []float64{v, v - 1, v - 9}
	default:
		return []float64{v - 9, v - 1, v, v + 1, v + 9}
	}
}
