package control

import (
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// brief is the configuration "brief" whose tickets have three seconds, before a queue
// whose placements have ten minutes.
func brief(t testing.TB, processes int, options ...option) *arcade {
	a := matchmakers(t, processes, options...)
	a.must("UpdateGameSessionQueue", object{"Name": "games", "TimeoutInSeconds": 600})
	a.configure("brief", duelRules, object{"RequestTimeoutSeconds": 3})
	return a
}

// matchOf is the match that a ticket is in or ended with.
func (a *arcade) matchOf(ticket string) string {
	a.t.Helper()
	found, err := a.findTickets(a.ctx, []string{ticket})
	if err != nil || found[0].ticket == nil {
		a.t.Fatalf("ticket %s: %v", ticket, err)
	}
	return found[0].ticket.Match
}

// cancelled returns when the placement of a match is CANCELLED and the match forgotten.
func (a *arcade) cancelled(match string) {
	a.t.Helper()
	a.await("the placement to be cancelled", func() bool {
		p, err := a.findPlacement(a.ctx, match)
		return err == nil && p.Status == placement.Cancelled
	})
	a.forgotten(match)
}

// forgotten returns when the machine has nothing more to do for a match.
func (a *arcade) forgotten(match string) {
	a.t.Helper()
	a.await("the match to be forgotten", func() bool {
		known := true
		err := a.TicketShard().Read(a.ctx, func(m *region.Machine) { _, known = m.Matchmaking().Match(match) })
		return err == nil && !known
	})
}

// Without a server process tickets end when RequestTimeoutSeconds are over, not when
// the queue gives up. Their players may start again.
func TestTicketsTimeOutWhilePlacing(t *testing.T) {
	a := brief(t, 0)
	a.seek("brief", "t1", "p1")
	a.seek("brief", "t2", "p2")
	a.becomes("PLACING", "t1", "t2")
	match := a.matchOf("t1")
	a.placed("t1")
	a.elapse(3 * time.Second)
	a.becomes("TIMED_OUT", "t1", "t2")
	a.cancelled(match)
	a.seek("brief", "t3", "p1")
	a.seek("brief", "t4", "p2")
	a.becomes("PLACING", "t3", "t4")
}

// A game session that is being started for a match that timed out is terminated.
func TestTicketsTimeOutWhileActivating(t *testing.T) {
	a := brief(t, 1)
	a.seek("brief", "t1", "p1")
	a.seek("brief", "t2", "p2")
	a.becomes("PLACING", "t1", "t2")
	match := a.matchOf("t1")
	var push processes.Push
	a.await("a game session to start", func() bool {
		select {
		case push = <-a.sockets[0].pushes:
			return true
		default:
			return false
		}
	})
	a.elapse(3 * time.Second)
	a.becomes("TIMED_OUT", "t1", "t2")
	a.cancelled(match)
	a.ends(push.(processes.CreateGameSessionPush).GameSessionID)
}

// ends returns when a game session is terminated, or is asked to end.
func (a *arcade) ends(gameSession string) {
	a.t.Helper()
	a.await("the game session to end", func() bool {
		status := text(a.must("DescribeGameSessions", object{"GameSessionId": gameSession}), "GameSessions", 0,
			"Status")
		return status == "TERMINATING" || status == "TERMINATED"
	})
}

// The intent to cancel a placement outlives the node that has it.
func TestCancelSurvivesRestart(t *testing.T) {
	for _, when := range []string{"while placing", "after the deadline"} {
		t.Run(when, func(t *testing.T) {
			a := brief(t, 0)
			a.seek("brief", "t1", "p1")
			a.seek("brief", "t2", "p2")
			a.becomes("PLACING", "t1", "t2")
			match := a.matchOf("t1")
			a.placed("t1")
			if when == "while placing" {
				a.stop()
				a.clock.Advance(time.Minute)
				a.start()
			} else {
				a.elapse(3 * time.Second)
				a.restart()
			}
			a.becomes("TIMED_OUT", "t1", "t2")
			a.cancelled(match)
		})
	}
}

// A failed append at any step does not leave a match or a placement behind.
func TestTimeOutSurvivesFailures(t *testing.T) {
	for n := range 4 {
		a := brief(t, 0, withShards(1))
		a.seek("brief", "t1", "p1")
		a.seek("brief", "t2", "p2")
		a.becomes("PLACING", "t1", "t2")
		match := a.matchOf("t1")
		a.placed("t1")
		for range n {
			a.journals[0].FailAppend(errDisk)
		}
		t.Cleanup(ticking(a.clock)) // the shard waits before it recovers
		a.await("the tickets to time out", func() bool { return a.is("TIMED_OUT", "t1") && a.is("TIMED_OUT", "t2") })
		a.await("the placement to be cancelled", func() bool {
			p, err := a.findPlacement(a.ctx, match)
			return err == nil && p.Status == placement.Cancelled
		})
	}
}

// A ticket ends at its deadline while its players are asked. The others search again.
func TestTicketTimesOutWhileAccepting(t *testing.T) {
	a := careful(t, 1)
	a.seek("careful", "t1", "p1")
	a.elapse(40 * time.Second)
	a.seek("careful", "t2", "p2")
	a.becomes("REQUIRES_ACCEPTANCE", "t1", "t2")
	a.answer("t1", "ACCEPT", "p1")
	a.elapse(20 * time.Second)
	a.becomes("TIMED_OUT", "t1")
	a.becomes("SEARCHING", "t2")
	same(t, at(a.ticketNow("t2"), "StatusMessage"), `"Another ticket of the match timed out."`)
	_, err := a.call("StopMatchmaking", object{"TicketId": "t1"})
	want := "Matchmaking ticket is in TIMED_OUT status and cannot be canceled."
	if !fault.Is(err, fault.InvalidRequest) || fault.Of(err).Message != want {
		t.Errorf("got %v", err)
	}
}
