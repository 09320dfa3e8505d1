package matchmaking

import (
	"fmt"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// parties is a match m of ticket t1 with p1 and p2 and ticket t2 with p3, whose
// players are asked.
func (w *world) parties() {
	w.t.Helper()
	w.ticket("t1", "p1", "p2")
	w.ticket("t2", "p3")
	w.match("m", terms, "t1", "t2")
	w.announced()
}

func TestPartiesAnswerOneByOne(t *testing.T) {
	w := newWorld(t)
	w.parties()
	w.want("first", fmt.Sprint(w.do(Accept{"t1", []string{"p1", "p1"}, true})), "[MatchAnswered]")
	// each call is an event
	w.want("the same again", fmt.Sprint(w.do(Accept{"t1", []string{"p1"}, true})), "[MatchAnswered]")
	w.want("third", fmt.Sprint(w.do(Accept{"t2", []string{"p3"}, true})), "[MatchAnswered]")
	w.want("last", fmt.Sprint(w.do(Accept{"t1", []string{"p1", "p2"}, true})), "[MatchAnswered MatchAccepted]")
	w.want("announcements", w.announced(), `
AcceptMatch m [t1 t2] p1:blue:yes p2:blue p3:blue
AcceptMatch m [t1 t2] p1:blue:yes p2:blue p3:blue
AcceptMatch m [t1 t2] p1:blue:yes p2:blue p3:blue:yes
AcceptMatch m [t1 t2] p1:blue:yes p2:blue:yes p3:blue:yes
AcceptMatchCompleted m [t1 t2] p1:blue:yes p2:blue:yes p3:blue:yes Accepted`)
	if d := w.state.Deadline(); d != w.get("t1").Deadline {
		t.Errorf("in PLACING the deadline is %s after the start", d.Sub(start))
	}
}

func TestAnswersAreFinal(t *testing.T) {
	w := newWorld(t)
	w.parties()
	w.do(Accept{"t1", []string{"p1"}, true})
	w.refuse(Accept{"t1", []string{"p1", "p2"}, false}, fault.InvalidRequest,
		"Player p1 has answered already; an answer to a match is final")
	w.refuse(Accept{"t1", []string{"p3"}, true}, fault.InvalidRequest, "Player p3 is not in matchmaking ticket t1")
	w.refuse(Accept{"t1", nil, true}, fault.InvalidRequest, "PlayerIds names no player")
	w.want("announcements", w.announced(), "\nAcceptMatch m [t1 t2] p1:blue:yes p2:blue p3:blue")
}

// TestEarlyRejection: by the letter of the documentation a ticket whose players had
// not answered when the match was rejected is cancelled too.
func TestEarlyRejection(t *testing.T) {
	w := newWorld(t)
	w.ticket("t1", "p1")
	w.ticket("t2", "p2")
	w.ticket("t3", "p3")
	w.match("m", terms, "t1", "t2", "t3")
	w.do(Accept{"t1", []string{"p1"}, true})
	w.do(Accept{"t2", []string{"p2"}, false})
	w.want("statuses", w.statuses("t1", "t2", "t3"), "t1 SEARCHING, t2 CANCELLED, t3 CANCELLED")
	if t3 := w.get("t3"); t3.Message != MessageNotAccepted || t3.Match != "m" || t3.Ended != w.now {
		t.Errorf("t3 ends as %+v", t3)
	}
}

func TestPlacementFails(t *testing.T) {
	w := newWorld(t)
	w.duel(unasked())
	w.announced()
	w.do(PlacementFailed{"m", "Queue q does not exist"})
	w.want("statuses", w.statuses("t1", "t2"), "t1 FAILED, t2 FAILED")
	w.want("announcements", w.announced(), `
MatchmakingFailed m [t1] p1:blue UNEXPECTED_ERROR
MatchmakingFailed m [t2] p2:blue UNEXPECTED_ERROR`)
	w.want("message", w.get("t2").Message, "Queue q does not exist")
}

// TestStopDuringAcceptance lets the others search again; nobody is told that the
// acceptance completed, for it did not.
func TestStopDuringAcceptance(t *testing.T) {
	w := newWorld(t)
	w.duel(terms)
	w.announced()
	w.want("events", fmt.Sprint(w.do(Stop{"t1"})), "[MatchDropped]")
	w.want("statuses", w.statuses("t1", "t2"), "t1 CANCELLED, t2 SEARCHING")
	w.want("announcements", w.announced(), `
MatchmakingCancelled m [t1] p1:blue Cancelled
MatchmakingSearching [t2] p2`)
	w.want("why t2 searches", w.get("t2").Reason+": "+w.get("t2").Message,
		"AcceptanceFailed: Another ticket of the proposed match was cancelled.")
}

// TestStartBreaksUpMatches of the players, each once, and takes the place of tickets
// that search.
func TestStartBreaksUpMatches(t *testing.T) {
	w := newWorld(t)
	w.ticket("t1", "p1")
	w.ticket("t2", "p2")
	w.ticket("t3", "p3")
	w.match("m", terms, "t1", "t2", "t3")
	w.ticket("t4", "p4")
	w.announced()
	events := w.do(Start{ID: "t9", Configuration: ladder, Players: players("p4", "p1", "p3"), Timeout: 60})
	w.want("events", fmt.Sprint(events), "[TicketEnded MatchDropped TicketStarted]")
	w.want("announcements", w.announced(), `
MatchmakingCancelled [t4] p4 Cancelled
MatchmakingCancelled m [t1] p1:blue Cancelled
MatchmakingSearching [t2] p2
MatchmakingCancelled m [t3] p3:blue Cancelled
MatchmakingSearching [t9] p4 p1 p3`)
}

func TestStandalone(t *testing.T) {
	at := terms
	at.Standalone, at.AutomaticBackfill, at.Capacity = true, true, 10
	w := newWorld(t)
	w.duel(at)
	w.announced()
	w.do(Accept{"t1", []string{"p1"}, true})
	w.want("last answer", fmt.Sprint(w.do(Accept{"t2", []string{"p2"}, true})), "[MatchAnswered MatchCompleted]")
	w.want("announcements", w.announced(), `
AcceptMatch m [t1 t2] p1:blue:yes p2:blue
AcceptMatch m [t1 t2] p1:blue:yes p2:blue:yes
AcceptMatchCompleted m [t1 t2] p1:blue:yes p2:blue:yes Accepted
MatchmakingSucceeded m [t1 t2] p1:blue:yes p2:blue:yes`)

	at.Acceptance = 0
	w.ticket("t3", "p3")
	_, answer, err := w.try(w.proposal("m2", at, "t3"))
	if m := answer.(*Match); err != nil || m != nil {
		t.Errorf("a match that is over at once answers with %v, %v", m, err)
	}
	w.want("statuses", w.statuses("t1", "t2", "t3"), "t1 COMPLETED, t2 COMPLETED, t3 COMPLETED")
	if t3 := w.get("t3"); t3.Connection != nil || t3.Players[0].Team != "blue" {
		t.Errorf("t3 ends as %+v", t3)
	}
}

func TestEstimate(t *testing.T) {
	w := newWorld(t)
	if _, ok := w.state.Estimate(ladder.ID); ok {
		t.Error("there is an estimate before the first match")
	}
	play := func(id string, seconds int) {
		w.ticket(id, id)
		w.wait(time.Duration(seconds) * time.Second)
		w.match("match-of-"+id, unasked(), id)
		w.do(Placed{"match-of-" + id, connection()})
	}
	play("a", 10)
	w.backfill("b", "p")
	w.wait(5 * time.Second)
	w.ticket("c", "c")
	w.match("fill", unasked(), "b", "c")
	w.do(Filled{"fill", connection()}) // c waited for nothing; b does not count
	if s, ok := w.state.Estimate(ladder.ID); !ok || s != 9 {
		t.Errorf("after waits of 10 and 0 the estimate is %g, %v", s, ok)
	}
	w.announced()
	w.ticket("d", "d")
	if a := w.state.Announcements(0, 1)[0]; a.Wait != 9000 {
		t.Errorf("announced are %d ms", a.Wait)
	}
	w.do(Discard{ladder})
	if _, ok := w.state.Estimate(ladder.ID); ok {
		t.Error("the estimate outlives its configuration")
	}
}

func TestDiscardIsBounded(t *testing.T) {
	w := newWorld(t)
	for i := range maxDue + 1 {
		id := fmt.Sprint("t", i)
		if _, _, err := w.state.Handle(w.now, Start{ID: id, Configuration: ladder, Players: players(id),
			Timeout: 60}); err != nil {
			t.Fatal(err)
		}
	}
	w.do(Start{ID: "other", Configuration: Configuration{"chess", "c-2"}, Players: players("x"), Timeout: 60})
	for i, want := range []bool{true, false} {
		if _, answer, err := w.try(Discard{ladder}); err != nil || answer != want {
			t.Errorf("call %d: more is %v, %v", i, answer, err)
		}
	}
	if n := w.state.ActiveTickets(ladder.ID); n != 0 || w.state.ActiveTickets("c-2") != 1 {
		t.Errorf("%d tickets of the configuration are left, and %d of the other", n, w.state.ActiveTickets("c-2"))
	}
}
