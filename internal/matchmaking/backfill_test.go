package matchmaking

import (
	"fmt"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestBackfillWithAcceptance(t *testing.T) {
	w := newWorld(t)
	w.backfill("b1", "p1")
	w.ticket("t2", "p2")
	w.match("m", terms, "b1", "t2")
	w.announced()
	w.want("statuses", w.statuses("b1", "t2"), "b1 REQUIRES_ACCEPTANCE, t2 REQUIRES_ACCEPTANCE")
	w.refuse(Accept{"b1", []string{"p1"}, true}, fault.InvalidRequest,
		"Matchmaking ticket b1 is a backfill ticket; only joining players accept a match")
	w.do(Accept{"t2", []string{"p2"}, true})
	if m, _ := w.state.Match("m"); m.Stage != StageFilling || m.Backfill != arena {
		t.Errorf("the match goes on as %+v", m)
	}
	w.want("statuses", w.statuses("b1", "t2"), "b1 PLACING, t2 PLACING")
	w.do(Filled{"m", connection("p2")})
	w.want("announcements", w.announced(), `
AcceptMatch m [b1 t2] p1:red p2:blue:yes
AcceptMatchCompleted m [b1 t2] p1:red p2:blue:yes Accepted
MatchmakingSucceeded m [b1 t2] p1:red p2:blue:yes`)
	if b := w.get("b1").Connection; b == nil || b.GameSession != arena || len(b.Players) != 0 {
		t.Errorf("the backfill ticket is connected to %+v", b)
	}
}

// TestBackfillReturnsAfterFailedAcceptance and keeps the teams of its players.
func TestBackfillReturnsAfterFailedAcceptance(t *testing.T) {
	w := newWorld(t)
	w.backfill("b1", "p1")
	w.ticket("t2", "p2")
	w.match("m", terms, "b1", "t2")
	w.wait(30 * time.Second)
	w.want("statuses", w.statuses("b1", "t2"), "b1 SEARCHING, t2 CANCELLED")
	if b := w.get("b1"); b.Players[0].Team != "red" || b.Round != 1 {
		t.Errorf("the backfill ticket searches on as %+v", b)
	}
}

func TestFillFails(t *testing.T) {
	w := newWorld(t)
	w.backfill("b1", "p1")
	w.ticket("t2", "p2")
	w.match("m", unasked(), "b1", "t2")
	w.announced()
	w.do(FillFailed{"m", "The game session " + arena + " was not found"})
	w.want("announcements", w.announced(), `
MatchmakingFailed m [b1] p1:red UNEXPECTED_ERROR
MatchmakingSearching [t2] p2`)
	w.want("why t2 searches", w.get("t2").Reason, ReasonBackfill)
}

func TestNewerBackfillReplacesOlder(t *testing.T) {
	w := newWorld(t)
	w.backfill("b1", "p1")
	w.backfill("b2", "p2") // p1 has left
	w.want("SEARCHING", w.statuses("b1", "b2"), "b1 CANCELLED, b2 SEARCHING")
	w.ticket("t", "x")
	w.match("m", terms, "b2", "t")
	w.backfill("b3", "p3")
	w.want("REQUIRES_ACCEPTANCE", w.statuses("b2", "b3", "t"), "b2 CANCELLED, b3 SEARCHING, t SEARCHING")
	w.match("m2", unasked(), "b3", "t")
	w.refuse(Start{ID: "b4", Configuration: ladder, Players: players("p4"), Timeout: 60, Backfill: true,
		GameSession: arena}, fault.InvalidRequest,
		"Matchmaking ticket b3, which holds a player or the game session of this request, is in PLACING status and "+
			"cannot be canceled; try again when it is over")
}

// TestStandaloneBackfillsStandSideBySide, because nothing says whether they are of
// the same game session.
func TestStandaloneBackfillsStandSideBySide(t *testing.T) {
	w := newWorld(t)
	at := unasked()
	at.Standalone = true
	for _, id := range []string{"b1", "b2"} {
		w.do(Start{ID: id, Configuration: ladder, Players: players("player-" + id), Timeout: 60, Backfill: true})
	}
	w.want("both search", w.statuses("b1", "b2"), "b1 SEARCHING, b2 SEARCHING")
	w.ticket("t1", "p1")
	w.match("m", at, "b2", "t1")
	w.want("one is filled", w.statuses("b1", "b2", "t1"), "b1 SEARCHING, b2 COMPLETED, t1 COMPLETED")
}

func TestSessionOver(t *testing.T) {
	for name, bring := range map[string]func(w *world){
		"SEARCHING":           func(*world) {},
		"REQUIRES_ACCEPTANCE": func(w *world) { w.match("m", terms, "b1", "t2") },
		"PLACING":             func(w *world) { w.match("m", unasked(), "b1", "t2") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.backfill("b1", "p1")
			w.ticket("t2", "p2")
			bring(w)
			w.do(GameSessionEnded{arena})
			w.want("statuses", w.statuses("b1", "t2"), "b1 CANCELLED, t2 SEARCHING")
			w.want("message", w.get("b1").Message, MessageGameSessionEnded)
			w.want("filled too late", fmt.Sprint(w.do(Filled{"m", connection()})), "[]")
			w.want("over again", fmt.Sprint(w.do(GameSessionEnded{arena})), "[]")
		})
	}
}

// automatic are terms with automatic backfill, for four players.
func automatic() MatchSettings {
	t := unasked()
	t.AutomaticBackfill, t.Capacity = true, 4
	return t
}

// TestAutomaticBackfill follows a game session from its first two players until it
// is full.
func TestAutomaticBackfill(t *testing.T) {
	w := newWorld(t)
	start := Start{ID: "t1", Configuration: ladder, Timeout: 60, Players: players("p1", "p2")}
	start.Players[0].Latencies = []Latency{{"custom-away", 90}, {"custom-home", 20}}
	w.do(start)
	w.match("m", automatic(), "t1")
	m, _ := w.state.Match("m")
	if id, ok := w.state.AutomaticAfter(m); !ok || id != "auto-backfill-m" {
		t.Errorf("the match will be followed by %q, %v", id, ok)
	}
	w.announced()
	w.do(Placed{"m", connection("p1", "p2")})
	w.want("placed", w.announced(), `
MatchmakingSucceeded m [t1] p1:blue p2:blue
MatchmakingSearching [auto-backfill-m] p1:blue p2:blue`)
	b := w.get("auto-backfill-m")
	if !b.Backfill || !b.Automatic || b.GameSession != arena || b.Deadline.Sub(w.now) != time.Minute ||
		fmt.Sprint(b.Players[0].Latencies) != "[{custom-home 20}]" {
		t.Errorf("the automatic ticket is %+v", b)
	}

	w.ticket("t3", "p3")
	w.fill("m2", "auto-backfill-m", "t3")
	w.want("filled", w.announced(), `
MatchmakingSearching [t3] p3
PotentialMatchCreated m2 [auto-backfill-m t3] p1:blue p2:blue p3:blue
MatchmakingSucceeded m2 [auto-backfill-m t3] p1:blue p2:blue p3:blue
MatchmakingSearching [auto-backfill-m2] p1:blue p2:blue p3:blue`)

	w.ticket("t4", "p4")
	w.fill("m3", "auto-backfill-m2", "t4")
	w.want("full", w.announced(), `
MatchmakingSearching [t4] p4
PotentialMatchCreated m3 [auto-backfill-m2 t4] p1:blue p2:blue p3:blue p4:blue
MatchmakingSucceeded m3 [auto-backfill-m2 t4] p1:blue p2:blue p3:blue p4:blue`)
	if n := w.state.ActiveTickets(ladder.ID); n != 0 {
		t.Errorf("%d tickets are active", n)
	}
}

// fill fills the arena with the tickets of a match.
func (w *world) fill(match string, tickets ...string) {
	w.t.Helper()
	w.match(match, automatic(), tickets...)
	w.do(Filled{match, connection()})
}

// inArena is a game of p1 and p2 with its automatic backfill ticket.
func (w *world) inArena() {
	w.t.Helper()
	w.ticket("t1", "p1", "p2")
	w.match("m", automatic(), "t1")
	w.do(Placed{"m", connection("p1", "p2")})
}

func TestAutomaticBackfillGoesOnAfterTimeOut(t *testing.T) {
	w := newWorld(t)
	w.inArena()
	w.announced()
	w.want("events", fmt.Sprint(w.wait(time.Minute)), "[TicketEnded TicketStarted]")
	w.want("announcements", w.announced(), `
MatchmakingTimedOut [auto-backfill-m] p1:blue p2:blue TimedOut
MatchmakingSearching [auto-backfill-m-2] p1:blue p2:blue`)
	w.do(Forget{[]string{"auto-backfill-m"}}) // its id is not given again
	w.wait(time.Minute)
	w.want("statuses", w.statuses("auto-backfill-m-2", "auto-backfill-m-3"),
		"auto-backfill-m-2 TIMED_OUT, auto-backfill-m-3 SEARCHING")

	// It also times out while it is in a match.
	w.ticket("t9", "p9")
	at := automatic()
	at.Acceptance = 90
	w.match("m2", at, "auto-backfill-m-3", "t9")
	w.wait(time.Minute)
	w.want("at their deadline", w.statuses("auto-backfill-m-3", "auto-backfill-m-4", "t9"),
		"auto-backfill-m-3 TIMED_OUT, auto-backfill-m-4 SEARCHING, t9 TIMED_OUT")
}

// TestAutomaticBackfillEnds by a request to stop it, when somebody backfills on his
// own, when a player goes elsewhere, and with its game session.
func TestAutomaticBackfillEnds(t *testing.T) {
	for name, end := range map[string]func(w *world){
		"stopped": func(w *world) { w.do(Stop{"auto-backfill-m"}) },
		"replaced": func(w *world) {
			w.backfill("b1", "p1", "p2")
			w.ticket("t3", "p3")
			w.fill("m2", "b1", "t3")
		},
		"player goes":  func(w *world) { w.ticket("t9", "p2"); w.do(Stop{"t9"}) },
		"session over": func(w *world) { w.do(GameSessionEnded{arena}) },
		"fill failed": func(w *world) {
			w.ticket("t3", "p3")
			w.match("m2", automatic(), "auto-backfill-m", "t3")
			w.do(FillFailed{Match: "m2"})
			w.do(Stop{"t3"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.inArena()
			end(w)
			w.wait(time.Hour)
			if n := w.state.ActiveTickets(ladder.ID); n != 0 {
				t.Errorf("%d tickets are active", n)
			}
			if status := w.get("auto-backfill-m").Status; status == TimedOut {
				t.Error("it has timed out instead")
			}
		})
	}
}

// TestAutomaticBackfillLeavesOthersAlone that are of the same game session.
func TestAutomaticBackfillLeavesOthersAlone(t *testing.T) {
	w := newWorld(t)
	w.ticket("t1", "p1", "p2")
	w.match("m", automatic(), "t1")
	w.backfill("b1", "bot")
	w.want("events", fmt.Sprint(w.do(Placed{"m", connection("p1", "p2")})), "[MatchCompleted]")
	w.want("statuses", w.statuses("b1"), "b1 SEARCHING")
}

// TestAutomaticBackfillFindsAFreeID if somebody has taken its own.
func TestAutomaticBackfillFindsAFreeID(t *testing.T) {
	w := newWorld(t)
	w.ticket("auto-backfill-m", "x")
	w.ticket("auto-backfill-m-3", "y")
	w.inArena()
	w.want("opened", w.statuses("auto-backfill-m-2"), "auto-backfill-m-2 SEARCHING")
	w.wait(time.Minute)
	w.want("next", w.statuses("auto-backfill-m-2", "auto-backfill-m-4"),
		"auto-backfill-m-2 TIMED_OUT, auto-backfill-m-4 SEARCHING")
}
