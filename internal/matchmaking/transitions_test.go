package matchmaking

import (
	"fmt"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// situations bring ticket t1 of player p1 into each status; where there is a match
// it is m, with ticket t2 of player p2, or, in FILLING, with backfill ticket b1.
var situations = []struct {
	name  string
	reach func(w *world)
}{
	{"none", func(*world) {}},
	{"SEARCHING", func(w *world) { w.ticket("t1", "p1"); w.ticket("t2", "p2") }},
	{"REQUIRES_ACCEPTANCE", func(w *world) { w.duel(terms) }},
	{"PLACING", func(w *world) { w.duel(unasked()) }},
	{"FILLING", func(w *world) {
		w.ticket("t1", "p1")
		w.backfill("b1", "p3")
		w.match("m", unasked(), "b1", "t1")
	}},
	{"COMPLETED", func(w *world) { w.duel(unasked()); w.do(Placed{"m", connection("p1", "p2")}) }},
	{"FAILED", func(w *world) { w.duel(unasked()); w.do(PlacementFailed{Match: "m"}) }},
	{"CANCELLED", func(w *world) { w.ticket("t1", "p1"); w.do(Stop{"t1"}) }},
	{"TIMED_OUT", func(w *world) { w.ticket("t1", "p1"); w.wait(time.Minute) }},
}

// unasked are terms without acceptance.
func unasked() MatchSettings {
	t := terms
	t.Acceptance = 0
	return t
}

// notFound and the texts below are the answers that clients meet.
const (
	notFound = "NotFoundException: Matchmaking ticket t1 not found"
	refused  = "InvalidRequestException: "
	noCancel = refused + "Matchmaking ticket is in %s status and cannot be canceled."
	noAnswer = refused + "Matchmaking ticket t1 is in %s status; a match is accepted or rejected in " +
		"REQUIRES_ACCEPTANCE"
	idTaken   = refused + "TicketId t1 is taken by another matchmaking ticket; choose a new one"
	beingUsed = refused + "Matchmaking ticket t1, which holds a player or the game session of this request, is in " +
		"PLACING status and cannot be canceled; try again when it is over"
)

// transitions say what each command makes of t1 in each situation: its status
// afterwards or the refusal, in the order of situations. "=" is: nothing changes.
var transitions = []struct {
	name    string
	command func(w *world)
	want    [9]string
}{
	{"stop", handle(Stop{"t1"}), [9]string{
		notFound, "CANCELLED", "CANCELLED", noCancel, noCancel, noCancel, noCancel, noCancel, noCancel,
	}},
	{"accept", handle(Accept{"t1", []string{"p1"}, true}), [9]string{
		notFound, noAnswer, "REQUIRES_ACCEPTANCE", noAnswer, noAnswer, noAnswer, noAnswer, noAnswer, noAnswer,
	}},
	{"reject", handle(Accept{"t1", []string{"p1"}, false}), [9]string{
		notFound, noAnswer, "CANCELLED", noAnswer, noAnswer, noAnswer, noAnswer, noAnswer, noAnswer,
	}},
	{"id again", handle(Start{ID: "t1", Configuration: ladder, Players: players("p1"), Timeout: 60}), [9]string{
		"SEARCHING", idTaken, idTaken, idTaken, idTaken, idTaken, idTaken, idTaken, idTaken,
	}},
	{"player again", handle(Start{ID: "t9", Configuration: ladder, Players: players("p1"), Timeout: 60}), [9]string{
		"none", "CANCELLED", "CANCELLED", beingUsed, beingUsed, "COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT",
	}},
	{"proposed", handle(Propose{ID: "m2", Settings: terms, Tickets: []Proposed{{ID: "t1"}}}), [9]string{
		"=", "REQUIRES_ACCEPTANCE", "=", "=", "=", "=", "=", "=", "=",
	}},
	{"placed", handle(Placed{"m", connection("p1")}), [9]string{"=", "=", "=", "COMPLETED", "=", "=", "=", "=", "="}},
	{"placement timed out", handle(PlacementTimedOut{"m"}),
		[9]string{"=", "=", "=", "SEARCHING", "=", "=", "=", "=", "="}},
	{"placement failed", handle(PlacementFailed{Match: "m"}),
		[9]string{"=", "=", "=", "FAILED", "=", "=", "=", "=", "="}},
	{"filled", handle(Filled{"m", connection("p1")}), [9]string{"=", "=", "=", "=", "COMPLETED", "=", "=", "=", "="}},
	{"fill failed", handle(FillFailed{Match: "m"}), [9]string{"=", "=", "=", "=", "SEARCHING", "=", "=", "=", "="}},
	{"session over", handle(GameSessionEnded{arena}), [9]string{"=", "=", "=", "=", "SEARCHING", "=", "=", "=", "="}},
	{"discarded", handle(Discard{ladder}), [9]string{"=", "FAILED", "FAILED", "=", "=", "!COMPLETED", "=", "=", "="}},
	{"forgotten", handle(Forget{[]string{"t1"}}), [9]string{"=", "=", "=", "=", "=", "none", "none", "none", "none"}},
	{"other stopped", handle(Stop{"t2"}), [9]string{"!", "SEARCHING", "SEARCHING", "!", "!", "!", "!", "!", "!"}},
	{"other rejects", handle(Accept{"t2", []string{"p2"}, false}),
		[9]string{"!", "!", "CANCELLED", "!", "!", "!", "!", "!", "!"}},
	{"30 seconds", func(w *world) { w.wait(30 * time.Second) },
		[9]string{"=", "=", "CANCELLED", "=", "=", "=", "=", "=", "="}},
	{"60 seconds", func(w *world) { w.wait(60 * time.Second) },
		[9]string{"=", "TIMED_OUT", "CANCELLED", "TIMED_OUT", "=", "=", "=", "=", "="}},
}

func handle(c Command) func(*world) {
	return func(w *world) { w.lastErr = nil; _, _, w.lastErr = w.try(c) }
}

// TestTransitions gives each command to a ticket in each status. "!" marks an
// outcome that is about another ticket alone, or changes something else.
func TestTransitions(t *testing.T) {
	for _, row := range transitions {
		for i, situation := range situations {
			t.Run(row.name+"/"+situation.name, func(t *testing.T) {
				w := newWorld(t)
				situation.reach(w)
				before, status := snapshotOf(t, w.state), w.statusOf("t1")
				row.command(w)
				changed := string(snapshotOf(t, w.state)) != string(before)
				want := row.want[i]
				switch {
				case want == "=":
					if changed || w.lastErr != nil {
						t.Errorf("the state has changed: %v, error %v", changed, w.lastErr)
					}
				case want == "!":
					w.want("status", w.statusOf("t1"), status)
				case want[0] == '!':
					w.want("status", w.statusOf("t1"), want[1:])
				case w.lastErr != nil:
					w.want("refusal", w.lastErr.Error(), text(want, status))
				default:
					w.want("status", w.statusOf("t1"), want)
				}
			})
		}
	}
}

// text puts a status into a refusal that shows it.
func text(want, status string) string {
	if want == noCancel || want == noAnswer {
		return fmt.Sprintf(want, status)
	}
	return want
}

func (w *world) statusOf(id string) string {
	if t, ok := w.state.Ticket(id); ok {
		return string(t.Status)
	}
	return "none"
}

func TestStartRefusesBadPlayers(t *testing.T) {
	w := newWorld(t)
	w.refuse(Start{ID: "t1", Configuration: ladder, Timeout: 60}, fault.InvalidRequest, "Players names no player")
	w.refuse(Start{ID: "t1", Configuration: ladder, Players: players("a", "b", "a"), Timeout: 60}, fault.InvalidRequest,
		"Players names player a twice")
}

func TestSameCallFindsItsTicket(t *testing.T) {
	w := newWorld(t)
	c := Start{ID: "t1", Configuration: ladder, Players: players("p1"), Timeout: 60, Call: "call-1"}
	w.do(c)
	w.wait(10 * time.Second)
	events, answer, err := w.try(c)
	if err != nil || len(events) > 0 || answer.(*Ticket).Started != start {
		t.Errorf("the same call again: %v, %+v, %v", names(events), answer, err)
	}
	c.Call = "call-2"
	w.refuse(c, fault.InvalidRequest, "TicketId t1 is taken by another matchmaking ticket; choose a new one")
}

// TestStaleProposals are those that know less than the State does.
func TestStaleProposals(t *testing.T) {
	other := terms
	other.Configuration.ID = "c-2"
	for name, propose := range map[string]func(w *world) Propose{
		"unknown ticket": func(w *world) Propose {
			c := w.proposal("m2", terms, "t1")
			c.Tickets = append(c.Tickets, Proposed{ID: "t9"})
			return c
		},
		"no ticket":    func(*world) Propose { return Propose{ID: "m2", Settings: terms} },
		"ticket twice": func(w *world) Propose { return w.proposal("m2", terms, "t1", "t1") },
		"another round": func(*world) Propose {
			return Propose{ID: "m2", Settings: terms,
				Tickets: []Proposed{{"t1", 0}}}
		},
		"another configuration": func(w *world) Propose { return w.proposal("m2", other, "t1") },
		"two backfills": func(w *world) Propose {
			w.backfill("b1", "p3")
			w.do(Start{ID: "b2", Configuration: ladder, Players: players("p4"), Timeout: 60, Backfill: true})
			return w.proposal("m2", terms, "b1", "b2", "t1")
		},
		"backfill not first": func(w *world) Propose {
			w.backfill("b1", "p3")
			return w.proposal("m2", terms, "t1", "b1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.duel(unasked())
			w.do(PlacementTimedOut{"m"}) // now they are in round 1
			events, answer, err := w.try(propose(w))
			if err != nil || len(events) > 0 || answer.(*Match) != nil {
				t.Errorf("got %v, %v, %v", names(events), answer, err)
			}
		})
	}
}

// TestProposedAgain answers with the match that is under way.
func TestProposedAgain(t *testing.T) {
	w := newWorld(t)
	w.ticket("t1", "p1")
	c := w.proposal("m", terms, "t1")
	w.do(c)
	events, answer, err := w.try(c)
	if m := answer.(*Match); err != nil || len(events) > 0 || m == nil || m.ID != "m" {
		t.Errorf("got %v, %v, %v", names(events), answer, err)
	}
}
