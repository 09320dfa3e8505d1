package session_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/session"
)

// A trackedWorld has a ticket of ada's, polled or watched.
type trackedWorld struct {
	*world
	clock  *clockwork.FakeClock
	polled bool
}

const ticketID = "t-1"

func newTrackedWorld(t *testing.T, polled bool) *trackedWorld {
	w := &trackedWorld{clock: clockwork.NewFakeClock(), polled: polled}
	w.world = newWorld(t, func(c *session.Config) { *c = c.WithClock(w.clock) })
	w.service.NoWatch = polled
	_, err := w.StartMatchmaking(t.Context(), session.StartMatchmakingRequest{
		ConfigurationName: "duel", TicketID: ticketID, Players: []session.Player{{PlayerID: "ada"}},
	})
	must(t, err)
	return w
}

// then makes a change while the tracker sleeps, and lets it see what has become of
// the ticket.
func (w *trackedWorld) then(t *testing.T, change func() error) {
	t.Helper()
	if w.polled {
		must(t, w.clock.BlockUntilContext(t.Context(), 1))
		defer w.clock.Advance(w.PollInterval())
	}
	must(t, change())
}

// propose proposes a match.
func (w *trackedWorld) propose(t *testing.T) (matchID string) {
	t.Helper()
	w.then(t, func() (err error) {
		matchID, err = w.service.Propose(ticketID)
		return err
	})
	return matchID
}

func nothing() error { return nil }

// both runs a test with a provider that reports changes, and with one that is polled.
func both(t *testing.T, test func(*testing.T, *trackedWorld)) {
	for name, polled := range map[string]bool{"watched": false, "polled": true} {
		t.Run(name, func(t *testing.T) { test(t, newTrackedWorld(t, polled)) })
	}
}

func TestTrackToTheMatch(t *testing.T) {
	both(t, func(t *testing.T, w *trackedWorld) {
		must(t, w.StartTracking(ticketID, "ada"))
		inState(t, w.StartTracking("t-2", "ada"), "Tracking")
		w.then(t, nothing)
		first := w.propose(t)
		if e := await[session.MatchAcceptance](t, w.heard, 1); e.Ticket.MatchID != first {
			t.Errorf("asked to accept %+v", e.Ticket)
		}
		w.then(t, nothing) // the same proposal
		w.then(t, nothing)
		second := w.propose(t)
		if e := await[session.MatchAcceptance](t, w.heard, 2); e.Ticket.MatchID != second {
			t.Errorf("asked to accept %+v", e.Ticket)
		}
		w.then(t, func() error {
			return w.AcceptMatch(t.Context(), session.AcceptMatchRequest{TicketID: ticketID, PlayerIDs: []string{"ada"},
				AcceptMatch: true})
		})
		e := await[session.MatchComplete](t, w.heard, 1)
		if place, ok := w.Current(); !ok || place != e.Reservation || place.PlayerID != "ada" || w.Connection() == nil {
			t.Errorf("the player is in %+v, the match in %+v", place, e.Reservation)
		}
		events, _ := w.heard.all()
		if len(only[session.MatchAcceptance](events)) != 2 || len(only[session.MatchError](events)) != 0 ||
			len(only[session.Reserved](events)) != 1 {
			t.Errorf("events are %+v", events)
		}
		must(t, w.StartTracking(ticketID, "bob")) // the first tracking is over
		if e := await[session.MatchError](t, w.heard, 1); !e.Final || !errors.Is(e.Err, session.ErrNotFound) {
			t.Errorf("who is not in the match hears %+v", e)
		}
	})
}

func TestTicketsThatEndWithoutAMatch(t *testing.T) {
	both(t, func(t *testing.T, w *trackedWorld) {
		must(t, w.StartTracking(ticketID, "ada"))
		w.then(t, func() error {
			return w.StopMatchmaking(t.Context(), session.StopMatchmakingRequest{TicketID: ticketID})
		})
		if e := await[session.MatchFailure](t, w.heard, 1); e.Ticket.Status != session.TicketCancelled {
			t.Errorf("the ticket is %+v", e.Ticket)
		}
	})
}

func (w *world) events() []session.Event {
	events, _ := w.heard.all()
	return events
}

// Temporary failures are published and retried; permanent ones end the tracking.
func TestTrackerErrors(t *testing.T) {
	both(t, func(t *testing.T, w *trackedWorld) {
		op := "WatchTicket"
		if w.polled {
			op = "Ticket"
		}
		w.service.Fail(op, errors.New("no route"))
		w.service.Fail(op, session.Errorf(op, session.ErrUnavailable, "slow down"))
		w.service.Fail(op, session.Errorf(op, session.ErrDenied, "no rights"))
		must(t, w.StartTracking(ticketID, "ada"))
		for n, want := range []error{session.ErrTransport, session.ErrUnavailable, session.ErrDenied} {
			if n > 0 {
				must(t, w.clock.BlockUntilContext(t.Context(), 1))
				w.clock.Advance(w.PollInterval())
			}
			e := await[session.MatchError](t, w.heard, n+1)
			if !errors.Is(e.Err, want) || e.Final != (want == session.ErrDenied) || e.TicketID != ticketID {
				t.Errorf("event %d is %+v", n, e)
			}
		}
		must(t, w.StartTracking("unknown", "ada"))
		if e := await[session.MatchError](t, w.heard, 4); !errors.Is(e.Err, session.ErrNotFound) || !e.Final {
			t.Errorf("the event is %+v", e)
		}
	})
}

// A stream that breaks is opened again after growing waits.
func TestBrokenStream(t *testing.T) {
	w := newTrackedWorld(t, false)
	waits := []time.Duration{250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000}
	for range waits {
		w.service.Fail("WatchTicket", errors.New("no route"))
	}
	must(t, w.StartTracking(ticketID, "ada"))
	for n, wait := range waits {
		await[session.MatchError](t, w.heard, n+1)
		must(t, w.clock.BlockUntilContext(t.Context(), 1))
		w.clock.Advance(wait*time.Millisecond - 1)
		if calls := w.service.Calls("WatchTicket"); calls != n+1 {
			t.Fatalf("%d attempts before the wait of %v ms is over, want %d", calls, wait, n+1)
		}
		w.clock.Advance(1)
	}
	w.propose(t)
	await[session.MatchAcceptance](t, w.heard, 1)
}

// A polled ticket is requested at once when its match was accepted.
func TestLookAfterAcceptMatch(t *testing.T) {
	w := newTrackedWorld(t, true)
	must(t, w.StartTracking(ticketID, "ada"))
	w.propose(t)
	await[session.MatchAcceptance](t, w.heard, 1)
	must(t, w.clock.BlockUntilContext(t.Context(), 1))
	must(t, w.AcceptMatch(t.Context(), session.AcceptMatchRequest{TicketID: ticketID, PlayerIDs: []string{"ada"},
		AcceptMatch: true}))
	await[session.MatchComplete](t, w.heard, 1) // the clock has not moved
}

// A ticket that does not change is requested as often as PollInterval allows, after the first seconds.
func TestQuietTicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.service.NoWatch = true
		_, err := w.StartMatchmaking(t.Context(), session.StartMatchmakingRequest{
			ConfigurationName: "duel", TicketID: ticketID, Players: []session.Player{{PlayerID: "ada"}},
		})
		must(t, err)
		must(t, w.StartTracking(ticketID, "ada"))
		time.Sleep(15*time.Second + 750*time.Millisecond) // 0.25 + 0.5 + … + 8
		synctest.Wait()
		if calls := w.service.Calls("Ticket"); calls != 7 {
			t.Errorf("%d requests in the first seconds, want 7", calls)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if calls := w.service.Calls("Ticket"); calls != 7+60 {
			t.Errorf("%d requests after ten minutes more, want 67", calls)
		}
	})
}

// StopTracking waits for the tracker, and leaves the ticket alone.
func TestStopTracking(t *testing.T) {
	both(t, func(t *testing.T, w *trackedWorld) {
		must(t, w.StopTracking(t.Context())) // nothing is tracked
		must(t, w.StartTracking(ticketID, "ada"))
		must(t, w.StopTracking(t.Context()))
		if ticket, err := w.service.Remote().(session.Matchmaker).Ticket(t.Context(), ticketID); err != nil ||
			ticket.Status != session.TicketSearching {
			t.Error("the ticket is", ticket, err)
		}
		must(t, w.service.Match(ticketID))
		reached, _ := w.connector.Hold("Connect")
		must(t, w.StartTracking(ticketID, "ada"))
		waitFor(t, reached)
		must(t, w.StopTracking(t.Context())) // interrupts the connecting
		if len(w.connector.Open()) != 0 || w.Connection() != nil {
			t.Error("the player is in the match")
		}
		for _, place := range w.service.Places() {
			// Without a Releaser it runs out.
			must(t, w.service.Remote().(session.Releaser).Release(t.Context(), place, false))
		}
		if events := w.events(); len(only[session.MatchError](events))+len(only[session.MatchComplete](events)) != 0 {
			t.Errorf("events are %+v", events)
		}
	})
}

// A player who is in a game does not come into a match.
func TestMatchWhileInAGame(t *testing.T) {
	w := newTrackedWorld(t, false)
	must(t, w.JoinSession(t.Context(), session.JoinSessionRequest{SessionID: w.active(t), PlayerID: "ada"}))
	must(t, w.service.Match(ticketID))
	must(t, w.StartTracking(ticketID, "ada"))
	if e := await[session.MatchError](t, w.heard, 1); !e.Final {
		t.Errorf("the event is %+v", e)
	} else {
		inState(t, e.Err, session.InProgress)
	}
	for _, place := range w.service.Places() {
		if current, _ := w.Current(); place != current {
			t.Errorf("place %v is left", place)
		}
	}
}

// A service that turns out not to report changes is polled.
func TestWatchUnsupported(t *testing.T) {
	w := newTrackedWorld(t, false)
	w.service.Fail("WatchTicket", session.Errorf("WatchTicket", session.ErrUnsupported, "no stream"))
	must(t, w.service.EndTicket(ticketID, session.TicketTimedOut))
	must(t, w.StartTracking(ticketID, "ada"))
	if e := await[session.MatchFailure](t, w.heard, 1); e.Ticket.Status != session.TicketTimedOut ||
		w.service.Calls("Ticket") != 1 {
		t.Errorf("the event is %+v after %d looks", e, w.service.Calls("Ticket"))
	}
}

func TestNoMatchmaking(t *testing.T) {
	w := newWorld(t, func(c *session.Config) {
		c.Remote = struct{ session.Provider }{c.Remote} // has no more than it must
	})
	for _, err := range []error{
		w.StartTracking(ticketID, "ada"),
		w.StopMatchmaking(t.Context(), session.StopMatchmakingRequest{TicketID: ticketID}),
	} {
		if !errors.Is(err, session.ErrUnsupported) {
			t.Error(err)
		}
	}
}
