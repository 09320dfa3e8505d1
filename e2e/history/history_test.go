package history

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

const limit = 10 * time.Second

// at is an operation on the one game session of these tests, from one time to another.
func at(from, to time.Duration, o Operation) Operation {
	o.Session, o.Call, o.Return = "game", from, to
	return o
}

func reserve(players ...string) Operation { return Operation{Action: Reserve, Players: players} }
func accept(player string) Operation      { return Operation{Action: Accept, Players: []string{player}} }
func remove(player string) Operation      { return Operation{Action: Remove, Players: []string{player}} }
func describe(s Status, current, maximum int32) Operation {
	return Operation{Action: Describe, Seen: Seen{s, current, maximum}}
}
func list(present map[string]Status) Operation { return Operation{Action: List, Present: present} }

func refused(o Operation, fault string) Operation {
	o.Fault = fault
	return o
}

// begun is a game session for two that has become ACTIVE by the time 10.
func begun(then ...Operation) []Operation {
	return append([]Operation{
		at(1, 4, Operation{Action: Create, Maximum: 2}), at(3, 9, Operation{Action: Activate}),
	}, then...)
}

// The checker accepts what one game session could have answered, and nothing else.
func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		history []Operation
		wrong   bool
	}{
		"a life": {history: begun(
			at(11, 12, reserve("ann")), at(13, 14, accept("ann")), at(15, 16, list(map[string]Status{"ann": Active})),
			at(17, 18, remove("ann")),
			at(19, 20, Operation{Action: Terminate}), at(21, 22, describe(Terminating, 0, 2)),
			at(23, 24, Operation{Action: End}), at(25, 26, describe(Terminated, 0, 2)),
		)},
		"read before the answer": {history: begun(at(11, 20, reserve("ann")),
			at(12, 13, describe(Active, 1, 2)))},
		"read before it happened": {history: begun(at(11, 20, reserve("ann")),
			at(12, 13, describe(Active, 0, 2)))},
		"no answer, happened": {history: begun(at(11, Pending, reserve("ann")),
			at(12, 13, describe(Active, 1, 2)))},
		"no answer, did not happen": {history: begun(at(11, Pending, reserve("ann")),
			at(12, 13, describe(Active, 0, 2)))},
		"no answer, happened much later": {history: begun(at(11, Pending, reserve("ann")),
			at(12, 13, describe(Active, 0, 2)), at(14, 15, describe(Active, 1, 2)))},
		"no answer to its creation, never": {history: []Operation{at(1, Pending, Operation{Action: Create, Maximum: 2}),
			at(2, 3, refused(describe("", 0, 0), notFound))}},
		"full": {history: begun(at(11, 12, reserve("ann", "bob")),
			at(13, 14, refused(reserve("cid"), full)))},
		"full by one without an answer": {history: begun(at(11, Pending, reserve("ann", "bob")),
			at(13, 14, refused(reserve("cid"), full)))},
		"a repeated creation": {history: begun(at(11, 12, Operation{Action: Create, Maximum: 2}),
			at(13, 14, describe(Active, 0, 2)))},
		"no process, then one": {history: []Operation{
			at(1, 2, refused(Operation{Action: Create, Maximum: 2}, noCapacity)),
			at(3, 4, Operation{Action: Create, Maximum: 2}), at(5, 6, describe(Activating, 0, 2)),
		}},
		"ended with players": {history: begun(
			at(11, 12, reserve("ann", "bob")), at(13, 14, accept("ann")), at(15, 16, Operation{Action: End}),
			at(17, 18, list(map[string]Status{"ann": Completed, "bob": TimedOut})),
			at(19, 20, refused(accept("bob"), "Conflict")),
		)},

		"lost write": {wrong: true,
			history: begun(at(11, 12, reserve("ann")), at(13, 14, describe(Active, 0, 2)))},
		"lost creation": {wrong: true,
			history: []Operation{at(1, 2, Operation{Action: Create, Maximum: 2}),
				at(3, 4, refused(describe("", 0, 0), notFound))}},
		"lost acceptance": {wrong: true,
			history: begun(at(11, 12, reserve("ann")), at(13, 14, accept("ann")),
				at(15, 16, list(map[string]Status{"ann": Reserved})))},
		"stale read": {wrong: true,
			history: begun(at(11, 20, reserve("ann")), at(12, 13, describe(Active, 1, 2)),
				at(14, 15, describe(Active, 0, 2)))},
		"read of the future": {wrong: true,
			history: begun(at(11, 12, describe(Active, 1, 2)), at(13, 14, reserve("ann")))},
		"double reservation": {wrong: true,
			history: begun(at(11, 12, reserve("ann")), at(13, 14, reserve("bob")), at(15, 16, reserve("cid")))},
		"two at the same time": {wrong: true,
			history: begun(at(11, 20, reserve("ann", "bob")), at(11, 20, reserve("cid")))},
		"done twice": {wrong: true,
			history: begun(at(11, 12, reserve("ann")), at(13, 14, describe(Active, 2, 2)))},
		"refused and done": {wrong: true,
			history: begun(at(11, 12, refused(reserve("ann"), full)), at(13, 14, describe(Active, 1, 2)))},
		"full without reason": {wrong: true,
			history: begun(at(11, 12, reserve("ann")), at(13, 14, refused(reserve("bob"), full)))},
		"no process after creation": {wrong: true,
			history: begun(at(11, 12, refused(Operation{Action: Create, Maximum: 2}, noCapacity)))},
		"came back to life": {wrong: true,
			history: begun(at(11, 12, Operation{Action: End}), at(13, 14, describe(Active, 0, 2)))},
		"a player whom nobody sent": {wrong: true,
			history: begun(at(11, 12, list(map[string]Status{"eve": Reserved})))},
		"no answer, undone": {wrong: true,
			history: begun(at(11, Pending, reserve("ann")), at(12, 13, describe(Active, 1, 2)),
				at(14, 15, describe(Active, 0, 2)))},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Check(c.history, limit)
			violation, wrong := errors.AsType[*Violation](err)
			if wrong != c.wrong || !wrong && err != nil {
				t.Fatalf("got %v; want wrong: %t", err, c.wrong)
			}
			if wrong {
				isPicture(t, violation.File)
			}
		})
	}
}

// isPicture checks what is written about a violation, and removes it.
func isPicture(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "<html") || !strings.Contains(string(text), string(Create)) {
		t.Errorf("%s does not show the history", file)
	}
	if err := os.Remove(file); err != nil {
		t.Error(err)
	}
}

// A game that answers as the model does, now and then not at all, and forgets one
// acknowledged reservation if told to.
type game struct {
	mu     sync.Mutex
	state  state
	forget bool
}

func (g *game) do(o Operation) (Operation, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	next, fault := g.state.do(o)
	if o.Fault = fault; fault == "" && g.forget && o.Action == Reserve {
		g.forget = false
		return o, true
	} else if fault == "" {
		g.state = next
	}
	if o.Action == Describe {
		o.Seen = Seen{g.state.status, g.state.current(), g.state.maximum}
	}
	if o.Action == List {
		o.Present = map[string]Status{}
		for _, p := range g.state.players {
			o.Present[p.id] = p.status
		}
	}
	return o, rand.IntN(20) > 0
}

// drive makes many callers use a game, and records it.
func drive(g *game) []Operation {
	const (
		callers = 6
		each    = 40
	)
	recorder := New()
	call := func(o Operation) {
		o.Session = "game"
		noted := recorder.Begin(o)
		if answer, ok := g.do(o); ok {
			recorder.End(noted, func(n *Operation) {
				n.Fault, n.Seen, n.Present = answer.Fault, answer.Seen, answer.Present
			})
		}
	}
	call(Operation{Action: Create, Maximum: 4})
	call(Operation{Action: Activate})
	call(Operation{Action: Activate}) // one of the two is answered, most likely
	var running sync.WaitGroup
	for n := range callers {
		running.Go(func() {
			for i := range each {
				id := fmt.Sprint(n, "-", i)
				switch i % 5 {
				case 0:
					call(describe("", 0, 0))
				case 1:
					call(list(nil))
				default:
					call(reserve(id))
					call(accept(id))
					call(remove(id))
				}
			}
		})
	}
	running.Wait()
	call(list(nil))
	call(list(nil))
	return recorder.Operations()
}

// What was recorded of a game that is right is accepted, and one lost write of hundreds
// is found.
func TestRecorded(t *testing.T) {
	all := drive(&game{})
	v, err := Check(all, limit)
	if err != nil {
		t.Error(err)
	}
	if v.Operations != len(all) || v.Sessions != 1 || v.Pending == 0 || v.Longest != len(all) {
		t.Errorf("%d operations: %+v", len(all), v)
	}
	_, err = Check(drive(&game{forget: true}), limit)
	violation, wrong := errors.AsType[*Violation](err)
	if !wrong {
		t.Fatalf("got %v, want a violation", err)
	}
	isPicture(t, violation.File)
}
