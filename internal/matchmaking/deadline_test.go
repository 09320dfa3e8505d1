package matchmaking

import (
	"testing"
	"time"
)

// late is how much younger ticket t2 of apart is than t1.
const late = 40 * time.Second

// apart is a match m of t1 and t2, of which t1 has 20 seconds left.
func (w *world) apart(t MatchSettings) {
	w.t.Helper()
	w.ticket("t1", "p1")
	w.wait(late)
	w.ticket("t2", "p2")
	w.match("m", t, "t1", "t2")
	w.announced()
}

// A ticket that is asked to accept ends at its deadline, before the acceptance does.
// The others of its match search again.
func TestDeadlineWhileAccepting(t *testing.T) {
	w := newWorld(t)
	w.apart(terms) // 30 seconds to accept
	w.do(Accept{"t1", []string{"p1"}, true})
	w.announced()
	w.wait(20*time.Second - 1e6)
	w.want("before the deadline", w.statuses("t1", "t2"), "t1 REQUIRES_ACCEPTANCE, t2 REQUIRES_ACCEPTANCE")
	w.wait(1e6)
	w.want("statuses", w.statuses("t1", "t2"), "t1 TIMED_OUT, t2 SEARCHING")
	w.want("announcements", w.announced(), `
MatchmakingTimedOut m [t1] p1:blue:yes TimedOut
MatchmakingSearching [t2] p2`)
	if t2 := w.get("t2"); t2.Reason != ReasonAcceptance || t2.Message != MessageExpired || t2.Round != 1 {
		t.Errorf("t2 searches on as %+v", t2)
	}
	w.want("matches", w.matches(), "")
}

// An acceptance that ends in the same moment counts: a silent player is not TIMED_OUT.
func TestDeadlineWithAcceptance(t *testing.T) {
	w := newWorld(t)
	w.ticket("t1", "p1")
	w.wait(terms.timeout() - 30*time.Second)
	w.ticket("t2", "p2")
	w.match("m", terms, "t1", "t2")
	w.wait(30 * time.Second)
	w.want("statuses", w.statuses("t1", "t2"), "t1 CANCELLED, t2 CANCELLED")
}

func (t *MatchSettings) timeout() time.Duration { return time.Duration(t.RequestTimeout) * time.Second }

// While a node of an older release may own the tickets, a match that is being placed has
// no deadline: that release would leave its placement behind.
func TestDeadlineBelowItsLevel(t *testing.T) {
	w := newWorld(t)
	w.state.Raise(cancelLevel - 1)
	w.apart(unasked())
	w.wait(20 * time.Second)
	w.want("below the level", w.statuses("t1", "t2"), "t1 PLACING, t2 PLACING")
	w.state.Raise(cancelLevel)
	w.wait(0)
	w.want("at the level", w.statuses("t1", "t2"), "t1 TIMED_OUT, t2 SEARCHING")
}

// A ticket in PLACING ends at its deadline, the others of its match search again, and
// the match stays until its placement is known to be over.
func TestDeadlineWhilePlacing(t *testing.T) {
	w := newWorld(t)
	w.apart(unasked())
	w.wait(20*time.Second - 1e6)
	w.want("before the deadline", w.statuses("t1", "t2"), "t1 PLACING, t2 PLACING")
	w.wait(1e6)
	w.want("statuses", w.statuses("t1", "t2"), "t1 TIMED_OUT, t2 SEARCHING")
	w.want("announcements", w.announced(), `
MatchmakingTimedOut m [t1] p1:blue TimedOut
MatchmakingSearching [t2] p2`)
	if t1, t2 := w.get("t1"), w.get("t2"); len(t1.Metrics) != 1 || t2.Reason != ReasonPlacement ||
		t2.Message != MessageExpired || t2.Players[0].Team != "" {
		t.Errorf("t1 ends as %+v, t2 searches on as %+v", t1, t2)
	}
	w.want("matches", w.matches(), "m 4")
	w.ticket("t3", "p1") // the player may start again at once
	for _, c := range []Command{
		Placed{"m", connection("p1", "p2")}, PlacementFailed{Match: "m"}, FillFailed{Match: "m"},
	} {
		if events := w.do(c); len(events) > 0 {
			t.Errorf("%T leads to %v", c, events)
		}
	}
	w.want("after a late answer", w.statuses("t1", "t2"), "t1 TIMED_OUT, t2 SEARCHING")
	w.do(PlacementTimedOut{"m"})
	w.want("matches in the end", w.matches(), "")
	w.want("statuses in the end", w.statuses("t1", "t2", "t3"), "t1 TIMED_OUT, t2 SEARCHING, t3 SEARCHING")
}

// A placement that is fulfilled at the deadline comes too late, also when the timer
// was not looked at yet.
func TestPlacedAtTheDeadline(t *testing.T) {
	for left, want := range map[time.Duration]string{
		1e6: "t1 COMPLETED, t2 COMPLETED", 0: "t1 TIMED_OUT, t2 SEARCHING",
	} {
		w := newWorld(t)
		w.apart(unasked())
		w.now = w.get("t1").Deadline.Add(-left)
		w.do(Placed{"m", connection("p1", "p2")})
		w.want(left.String()+" before the deadline", w.statuses("t1", "t2"), want)
	}
}

// A match that fills a game session has its slots within one step, so that it may end
// behind the deadline. If it fails, the tickets that are due are TIMED_OUT.
func TestDeadlineWhileFilling(t *testing.T) {
	w := newWorld(t)
	w.ticket("t1", "p1")
	w.wait(late)
	w.backfill("b1", "p3")
	w.match("m", unasked(), "b1", "t1")
	w.wait(30 * time.Second)
	w.want("behind the deadline", w.statuses("t1", "b1"), "t1 PLACING, b1 PLACING")
	w.do(FillFailed{Match: "m"})
	w.want("statuses", w.statuses("t1", "b1"), "t1 TIMED_OUT, b1 FAILED")
}

// matches shows those that something is to be done about: "m 1, n 2", with stages.
func (w *world) matches() (text string) {
	w.state.Matches(func(m *Match) bool {
		if text != "" {
			text += ", "
		}
		text += m.ID + " " + string('0'+rune(m.Stage))
		return true
	})
	return text
}
