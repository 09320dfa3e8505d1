package matchmaking

import (
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// The tests L1 to L7 are the lifecycle vectors of the FlexMatch specification.

func TestL1AllAccept(t *testing.T) {
	w := newWorld(t)
	w.duel(terms)
	w.want("proposed", w.statuses("t1", "t2"), "t1 REQUIRES_ACCEPTANCE, t2 REQUIRES_ACCEPTANCE")
	w.do(Accept{"t1", []string{"p1"}, true})
	w.do(Accept{"t2", []string{"p2"}, true})
	w.want("accepted", w.statuses("t1", "t2"), "t1 PLACING, t2 PLACING")
	w.do(Placed{"m", connection("p1", "p2")})
	w.want("placed", w.statuses("t1", "t2"), "t1 COMPLETED, t2 COMPLETED")
	w.want("announcements", w.announced(), `
MatchmakingSearching [t1] p1
MatchmakingSearching [t2] p2
PotentialMatchCreated m [t1 t2] p1:blue p2:blue
AcceptMatch m [t1 t2] p1:blue:yes p2:blue
AcceptMatch m [t1 t2] p1:blue:yes p2:blue:yes
AcceptMatchCompleted m [t1 t2] p1:blue:yes p2:blue:yes Accepted
MatchmakingSucceeded m [t1 t2] p1:blue:yes p2:blue:yes`)
	if c := w.get("t2").Connection; c == nil || len(c.Players) != 1 || c.Players[0].PlayerID != "p2" ||
		c.GameSession != arena || c.Port != 7777 {
		t.Errorf("t2 is connected to %+v", c)
	}
}

func TestL2Rejected(t *testing.T) {
	w := newWorld(t)
	w.duel(terms)
	w.announced()
	w.do(Accept{"t1", []string{"p1"}, true})
	w.do(Accept{"t2", []string{"p2"}, false})
	w.want("statuses", w.statuses("t1", "t2"), "t1 SEARCHING, t2 CANCELLED")
	w.want("announcements", w.announced(), `
AcceptMatch m [t1 t2] p1:blue:yes p2:blue
AcceptMatch m [t1 t2] p1:blue:yes p2:blue:no
AcceptMatchCompleted m [t1 t2] p1:blue:yes p2:blue:no Rejected
MatchmakingSearching [t1] p1
MatchmakingCancelled m [t2] p2:blue:no Cancelled`)
	if t1 := w.get("t1"); t1.Reason != ReasonAcceptance || t1.Round != 1 || t1.Match != "" || t1.Started != start {
		t.Errorf("t1 searches on as %+v", t1)
	}
}

func TestL3Silent(t *testing.T) {
	w := newWorld(t)
	w.duel(terms)
	w.announced()
	w.do(Accept{"t1", []string{"p1"}, true})
	w.wait(30*time.Second - 1e6)
	w.want("before the end", w.statuses("t1", "t2"), "t1 REQUIRES_ACCEPTANCE, t2 REQUIRES_ACCEPTANCE")
	w.wait(1e6)
	w.want("statuses", w.statuses("t1", "t2"), "t1 SEARCHING, t2 CANCELLED")
	w.want("announcements", w.announced(), `
AcceptMatch m [t1 t2] p1:blue:yes p2:blue
AcceptMatchCompleted m [t1 t2] p1:blue:yes p2:blue TimedOut
MatchmakingSearching [t1] p1
MatchmakingCancelled m [t2] p2:blue Cancelled`)
}

func TestL4Refusals(t *testing.T) {
	w := newWorld(t)
	w.ticket("t1", "p1")
	w.refuse(Accept{"t1", []string{"p1"}, true}, fault.InvalidRequest,
		"Matchmaking ticket t1 is in SEARCHING status; a match is accepted or rejected in REQUIRES_ACCEPTANCE")
	at := terms
	at.Acceptance = 0
	w.match("m", at, "t1")
	w.refuse(Stop{"t1"}, fault.InvalidRequest, "Matchmaking ticket is in PLACING status and cannot be canceled.")
	w.do(Placed{"m", connection("p1")})
	w.refuse(Stop{"t1"}, fault.InvalidRequest, "Matchmaking ticket is in COMPLETED status and cannot be canceled.")
	w.ticket("t2", "p2")
	w.wait(time.Minute)
	w.refuse(Stop{"t2"}, fault.InvalidRequest, "Matchmaking ticket is in TIMED_OUT status and cannot be canceled.")
}

func TestL5PlayerStartsAgain(t *testing.T) {
	w := newWorld(t)
	w.ticket("t1", "p1")
	w.announced()
	w.ticket("t9", "p1")
	w.want("statuses", w.statuses("t1", "t9"), "t1 CANCELLED, t9 SEARCHING")
	w.want("announcements", w.announced(), `
MatchmakingCancelled [t1] p1 Cancelled
MatchmakingSearching [t9] p1`)
}

func TestL6PlacementTimesOut(t *testing.T) {
	w := newWorld(t)
	at := terms
	at.Acceptance = 0
	w.duel(at)
	w.announced()
	w.do(PlacementTimedOut{"m"})
	w.want("statuses", w.statuses("t1", "t2"), "t1 SEARCHING, t2 SEARCHING")
	w.want("announcements", w.announced(), `
MatchmakingSearching [t1] p1
MatchmakingSearching [t2] p2`)
	w.wait(time.Minute)
	w.want("later", w.statuses("t1", "t2"), "t1 TIMED_OUT, t2 TIMED_OUT")
}

func TestL7BackfillNeedsOthers(t *testing.T) {
	w := newWorld(t)
	w.backfill("b1", "p1")
	other := Start{ID: "b2", Configuration: ladder, Players: players("p2"), Timeout: 60, Backfill: true,
		GameSession: arena + "2"}
	w.do(other)
	for _, tickets := range [][]string{{"b1"}, {"b1", "b2"}} {
		if events := w.do(w.proposal("m", terms, tickets...)); len(events) > 0 {
			t.Errorf("a match of %v is taken: %v", tickets, events)
		}
	}
	w.wait(time.Minute)
	w.want("statuses", w.statuses("b1", "b2"), "b1 TIMED_OUT, b2 TIMED_OUT")
}
