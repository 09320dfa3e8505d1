package bots

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/mustertest"
	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/sessiontest"
)

// A field is a run of bots with a service in memory.
type field struct {
	*testing.T
	service   sessiontest.Service
	connector sessiontest.Connector
	clock     *clockwork.FakeClock
	stats     Stats
	stop      context.CancelFunc
	ended     chan error
}

// start starts bots that stay for a minute.
func (f *field) start(t *testing.T, players int, ticket func(string) session.StartMatchmakingRequest) {
	f.T, f.clock, f.ended = t, clockwork.NewFakeClock(), make(chan error, 1)
	f.connector.Service = &f.service
	ctx, stop := context.WithCancel(t.Context())
	f.stop = stop
	t.Cleanup(stop)
	go func() {
		f.ended <- Run(ctx, Config{Players: players, Stay: time.Minute, Slots: 2, Ticket: ticket, Name: "bot",
			Clock: f.clock, Client: func(id string) *session.Client {
				return session.New(session.Config{Remote: f.service.Remote(), PlayerID: id,
					Connector: Connector{&f.connector}})
			}}, &f.stats)
	}()
}

func (f *field) await(what string, condition func(Snapshot) bool) {
	f.Helper()
	mustertest.Eventually(f, what, func() bool { return condition(f.stats.Snapshot()) })
}

// end stops the run, in which all bots must leave.
func (f *field) end() {
	f.Helper()
	f.stop()
	if err := <-f.ended; err != nil || len(f.connector.Open()) != 0 {
		f.Errorf("ended with %v, %d connections are left", err, len(f.connector.Open()))
	}
}

// TestRun has bots that join, leave and join again, and one that loses its connection.
func TestRun(t *testing.T) {
	t.Parallel()
	var f field
	f.start(t, 3, nil)
	f.await("all have joined", func(s Snapshot) bool { return s.Joined == 3 })
	if err := f.clock.BlockUntilContext(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	f.clock.Advance(time.Minute)
	f.await("all have joined again", func(s Snapshot) bool { return s.Joins == 6 && s.Leaves == 3 && s.Joined == 3 })

	f.connector.Drop("bot-2")
	f.await("one has lost its connection", func(s Snapshot) bool {
		return s.Joined == 2 && len(s.Failures) == 1 && s.Failures[0].Reason == "disconnected"
	})
	if err := f.clock.BlockUntilContext(t.Context(), 3); err != nil { // two play, one rests
		t.Fatal(err)
	}
	f.clock.Advance(firstRest)
	f.await("it has joined again", func(s Snapshot) bool { return s.Joined == 3 && s.Most == 3 && s.Waiting == 0 })
	f.end()
}

// TestNoCapacity has more bots than slots.
func TestNoCapacity(t *testing.T) {
	t.Parallel()
	var f field
	f.service.Capacity = 1
	f.start(t, 3, nil)
	f.await("two have joined and one waits", func(s Snapshot) bool {
		return s.Joined == 2 && s.Waiting == 1 && slices.ContainsFunc(s.Failures,
			func(f Failure) bool { return errors.Is(f.Last, session.ErrUnavailable) })
	})
	f.end()
}

// TestHost has bots that wait for the game session of the first one, and create another when that takes too long.
func TestHost(t *testing.T) {
	t.Parallel()
	var f field
	f.service.Manual = true
	f.start(t, 2, nil)
	if err := f.service.AwaitSessions(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	f.service.Activate(f.service.Sessions()[0].SessionID)
	f.await("both have joined", func(s Snapshot) bool { return s.Joined == 2 && len(s.Failures) == 0 })
	if n := len(f.service.Sessions()); n != 1 {
		t.Errorf("they have created %d game sessions", n)
	}
	f.end()

	var slow field
	slow.service.Manual = true
	slow.start(t, 1, nil)
	if err := slow.clock.BlockUntilContext(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	slow.clock.Advance(hostLimit)
	slow.await("it has failed", func(s Snapshot) bool {
		return len(s.Failures) == 1 && s.Failures[0].Last.Error() == errNoServer.Error()
	})
	slow.end()
}

// TestMatches has two bots that accept a match, one whose ticket times out, and one that waits until the end.
func TestMatches(t *testing.T) {
	t.Parallel()
	var f field
	f.start(t, 4, func(id string) session.StartMatchmakingRequest {
		return session.StartMatchmakingRequest{ConfigurationName: "duel", TicketID: "ticket-" + id,
			Players: []session.Player{{PlayerID: id}}}
	})
	tickets := f.service.Remote().(session.Matchmaker)
	status := func(id string) session.TicketStatus {
		ticket, _ := tickets.Ticket(context.WithoutCancel(t.Context()), id) // zero before it exists
		return ticket.Status
	}
	mustertest.Eventually(t, "all search", func() bool {
		return !slices.ContainsFunc([]string{"ticket-bot-1", "ticket-bot-2", "ticket-bot-3", "ticket-bot-4"},
			func(id string) bool { return status(id) != session.TicketSearching })
	})
	if _, err := f.service.Propose("ticket-bot-1", "ticket-bot-2"); err != nil {
		t.Fatal(err)
	}
	f.await("two have joined", func(s Snapshot) bool { return s.Joined == 2 && s.Waiting == 2 })
	if err := f.service.EndTicket("ticket-bot-3", session.TicketTimedOut); err != nil {
		t.Fatal(err)
	}
	f.await("one has no match", func(s Snapshot) bool {
		return len(s.Failures) == 1 && s.Failures[0].Reason == "ticket TIMED_OUT"
	})
	f.end()
	if got := status("ticket-bot-4"); got != session.TicketCancelled {
		t.Errorf("the ticket of the bot that waited is %s", got)
	}
}

// TestHopeless ends with the first error that a retry cannot help, unless a bot has joined.
func TestHopeless(t *testing.T) {
	t.Parallel()
	missing := session.Errorf("Find", session.ErrNotFound, "there is no fleet")
	var f field
	f.service.Fail("Find", missing)
	f.start(t, 1, nil)
	if err := <-f.ended; !errors.Is(err, session.ErrNotFound) {
		t.Errorf("ended with %v", err)
	}

	var later field
	later.start(t, 1, nil)
	later.await("it has joined", func(s Snapshot) bool { return s.Joined == 1 })
	later.service.Fail("Find", missing)
	if err := later.clock.BlockUntilContext(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	later.clock.Advance(time.Minute)
	later.await("the search fails", func(s Snapshot) bool { return len(s.Failures) == 1 })
	later.end()
}
