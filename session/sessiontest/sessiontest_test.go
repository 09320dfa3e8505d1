package sessiontest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/muster-gg/muster/internal/mustertest/leaktest"
	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/sessiontest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestProvider(t *testing.T) {
	sessiontest.Provider(t, func(*testing.T) sessiontest.Subject {
		return sessiontest.Subject{Provider: new(sessiontest.Service).Remote(), FleetID: "fleet-1"}
	})
}

func TestManualProvider(t *testing.T) {
	sessiontest.Provider(t, func(*testing.T) sessiontest.Subject {
		service := &sessiontest.Service{Manual: true, NoMatch: true}
		return sessiontest.Subject{
			Provider: service.Remote(), FleetID: "fleet-1", Manual: true,
			Activate: func(_ *testing.T, sessionID string) { service.Activate(sessionID) },
		}
	})
}

// A world is a service, and what a client calls of it.
type world struct {
	*sessiontest.Service
	session.Provider
	session.Matchmaker
}

func ready(t *testing.T, s *sessiontest.Service) world {
	t.Helper()
	if err := s.Remote().Configure(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	return world{s, s.Remote(), s.Remote().(session.Matchmaker)}
}

func TestCapacity(t *testing.T) {
	s := ready(t, &sessiontest.Service{Capacity: 1})
	id, err := s.CreateSession(t.Context(), session.CreateSessionRequest{FleetID: "f", MaxPlayer: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.CreateSession(t.Context(), session.CreateSessionRequest{FleetID: "f"})
	if !errors.Is(err, session.ErrUnavailable) {
		t.Error("more than there is place for:", err)
	}
	s.Terminate(id)
	if _, err := s.CreateSession(t.Context(), session.CreateSessionRequest{FleetID: "f"}); err != nil {
		t.Error("after one has ended:", err)
	}
}

func TestManual(t *testing.T) {
	s := ready(t, &sessiontest.Service{Manual: true})
	id, err := s.CreateSessionOnQueue(t.Context(),
		session.CreateSessionOnQueueRequest{QueueName: "q", PlacementID: "p", MaxPlayer: 1})
	if err != nil {
		t.Fatal(err)
	}
	if p, err := s.Placement(t.Context(), id); err != nil || p.Status != "PENDING" {
		t.Error(p, err)
	}
	if err := s.Fulfil(id); err != nil {
		t.Fatal(err)
	}
	if err := s.Fulfil(id); !errors.Is(err, session.ErrNotFound) {
		t.Error("fulfilled twice:", err)
	}
	hosted := make(chan error)
	go func() {
		_, err := s.Host(t.Context(), session.HostRequest{OwnerID: "ada", Connections: 1})
		hosted <- err
	}()
	if err := s.AwaitSessions(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	s.Activate(s.Sessions()[1].SessionID)
	if err := <-hosted; err != nil {
		t.Error(err)
	}
}

// A match is made only if all players accept it.
func TestAcceptMatch(t *testing.T) {
	s := ready(t, new(sessiontest.Service))
	ctx := t.Context()
	for _, player := range []string{"ada", "bob"} {
		_, err := s.StartMatchmaking(ctx, session.StartMatchmakingRequest{TicketID: "t-" + player,
			Players: []session.Player{{PlayerID: player}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	answer := func(player string, accept bool) {
		t.Helper()
		err := s.AcceptMatch(ctx, session.AcceptMatchRequest{TicketID: "t-" + player, PlayerIDs: []string{player},
			AcceptMatch: accept})
		if err != nil {
			t.Fatal(err)
		}
	}
	status := func(want session.TicketStatus) {
		t.Helper()
		for _, id := range []string{"t-ada", "t-bob"} {
			if ticket, err := s.Ticket(ctx, id); err != nil || ticket.Status != want {
				t.Errorf("ticket %s is %v, %v, not %s", id, ticket.Status, err, want)
			}
		}
	}
	propose := func() {
		t.Helper()
		if _, err := s.Propose("t-ada", "t-bob"); err != nil {
			t.Fatal(err)
		}
		status(session.TicketRequiresAcceptance)
	}
	propose()
	answer("ada", true)
	answer("bob", false)
	status(session.TicketSearching)
	propose()
	answer("ada", true)
	status(session.TicketRequiresAcceptance)
	answer("bob", true)
	status(session.TicketCompleted)
	if ticket, _ := s.Ticket(ctx, "t-bob"); ticket.Reservations["ada"].PlayerSessionID == "" {
		t.Errorf("the ticket is %+v", ticket)
	}
	if err := s.EndTicket("t-ada", session.TicketFailed); !errors.Is(err, session.ErrState) {
		t.Error("a ticket that is over has ended again:", err)
	}
}

func TestFaults(t *testing.T) {
	var c sessiontest.Connector
	boom := errors.New("boom")
	c.Fail("Connect", boom)
	if _, err := c.Connect(t.Context(), session.Reservation{}); !errors.Is(err, boom) {
		t.Error(err)
	}
	reached, release := c.Hold("Connect")
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-reached; cancel() }()
	if _, err := c.Connect(ctx, session.Reservation{}); !errors.Is(err, context.Canceled) {
		t.Error("a call that is held goes on after its context:", err)
	}
	release()
	release()
	if conn, err := c.Connect(t.Context(), session.Reservation{}); err != nil || conn.Err() != nil {
		t.Error(err)
	}
	if c.Calls("Connect") != 3 || len(c.Open()) != 1 {
		t.Errorf("%d calls, connections %v", c.Calls("Connect"), c.Open())
	}
}
