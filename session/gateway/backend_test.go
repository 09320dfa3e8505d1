package gateway_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	httpgateway "github.com/muster-gg/muster/internal/gateway"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
	"github.com/muster-gg/muster/session"
)

// A backend has one queue and one matchmaking ticket, and shows what it was asked
// for. What it does not have panics.
type backend struct {
	httpgateway.Service
	httpgateway.Queues
	asked  chan any
	placed atomic.Pointer[wire.GameSessionPlacement] // nil before there is one
}

func (b *backend) StartGameSessionPlacement(_ context.Context, in *wire.StartGameSessionPlacementInput) (
	*wire.StartGameSessionPlacementOutput, error,
) {
	b.asked <- in
	b.placed.Store(&wire.GameSessionPlacement{
		PlacementId: in.PlacementId, GameSessionQueueName: in.GameSessionQueueName, GameSessionName: in.GameSessionName,
		MaximumPlayerSessionCount: in.MaximumPlayerSessionCount, Status: wire.GameSessionPlacementStateFulfilled,
		GameSessionArn: gsess, IpAddress: "203.0.113.7", Port: wire.Some[int32](7777),
	})
	return &wire.StartGameSessionPlacementOutput{GameSessionPlacement: &wire.GameSessionPlacement{
		PlacementId: in.PlacementId, GameSessionQueueName: in.GameSessionQueueName,
		Status: wire.GameSessionPlacementStatePending,
	}}, nil
}

func (b *backend) DescribeGameSessionPlacement(_ context.Context, in *wire.DescribeGameSessionPlacementInput) (
	*wire.DescribeGameSessionPlacementOutput, error,
) {
	placed := b.placed.Load()
	if placed == nil || placed.PlacementId != in.PlacementId {
		return nil, fault.New(fault.NotFound, "no such placement")
	}
	return &wire.DescribeGameSessionPlacementOutput{GameSessionPlacement: placed}, nil
}

func (b *backend) StartMatchmaking(_ context.Context, in *wire.StartMatchmakingInput) (
	*wire.StartMatchmakingOutput, error,
) {
	b.asked <- in
	return &wire.StartMatchmakingOutput{MatchmakingTicket: b.ticket(in.TicketId,
		wire.MatchmakingConfigurationStatusQueued)}, nil
}

func (b *backend) StopMatchmaking(_ context.Context, in *wire.StopMatchmakingInput) error {
	if in.TicketId == "missing" {
		return fault.New(fault.NotFound, "no such ticket")
	}
	b.asked <- in
	return nil
}

func (b *backend) AcceptMatch(_ context.Context, in *wire.AcceptMatchInput) error {
	b.asked <- in
	return nil
}

func (b *backend) DescribeTicket(_ context.Context, id string) (*wire.MatchmakingTicket, error) {
	if id == "missing" {
		return nil, fault.New(fault.NotFound, "no such ticket")
	}
	return b.ticket(id, wire.MatchmakingConfigurationStatusRequiresAcceptance), nil
}

func (b *backend) WatchTicket(_ context.Context, id string, changed func(*wire.MatchmakingTicket) error) error {
	if id == "missing" {
		return fault.New(fault.NotFound, "no such ticket")
	}
	if err := changed(b.ticket(id, wire.MatchmakingConfigurationStatusSearching)); err != nil {
		return err
	}
	return changed(b.ticket(id, wire.MatchmakingConfigurationStatusCompleted))
}

func (b *backend) ticket(id string, status wire.MatchmakingConfigurationStatus) *wire.MatchmakingTicket {
	t := &wire.MatchmakingTicket{TicketId: id, ConfigurationName: "duels", Status: status,
		Players: []wire.Player{{PlayerId: "ada", Team: "red"}}}
	if status == wire.MatchmakingConfigurationStatusCompleted {
		t.GameSessionConnectionInfo = &wire.GameSessionConnectionInfo{
			GameSessionArn: gsess, IpAddress: "203.0.113.7", Port: wire.Some[int32](7777),
			MatchedPlayerSessions: []wire.MatchedPlayerSession{{PlayerId: "ada", PlayerSessionId: "psess-1"}},
		}
	}
	return t
}

// atGateway returns a provider for Muster's own gateway in front of a backend.
func atGateway(t *testing.T) (provider, *backend) {
	t.Helper()
	b := &backend{asked: make(chan any, 1)}
	g, err := httpgateway.New(httpgateway.Config{Service: b, Queues: b, Matchmaking: b, Region: "eu-central-1",
		AllowTarget: true})
	if err != nil {
		t.Fatal(err)
	}
	s := &script{Server: httptest.NewServer(g.Handler())}
	t.Cleanup(func() {
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
		s.Close()
	})
	return s.provider(t), b
}

// TestPlacementsAtTheGateway places by a queue.
func TestPlacementsAtTheGateway(t *testing.T) {
	t.Parallel()
	p, b := atGateway(t)
	r := session.CreateSessionOnQueueRequest{
		SessionName: "duel", MaxPlayer: 2, QueueName: "q", PlacementID: "mine",
		SessionProperties: map[string]string{"mode": "ctf"},
	}
	id, err := p.CreateSessionOnQueue(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := p.CreateSessionOnQueue(t.Context(), r); err != nil || again != id {
		t.Errorf("the same placement id gave %q, then %q, %v", id, again, err)
	}
	in := (<-b.asked).(*wire.StartGameSessionPlacementInput)
	if in.PlacementId != id || in.GameSessionQueueName != "q" || in.GameSessionName != "duel" ||
		in.MaximumPlayerSessionCount.Or(0) != 2 {
		t.Errorf("%q was asked for as %+v", id, in)
	}
	got, err := p.Placement(t.Context(), id)
	want := session.Placement{PlacementID: id, Status: "FULFILLED", SessionID: gsess, IPAddress: "203.0.113.7",
		Port: 7777}
	if err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	_, err = p.Placement(t.Context(), "missing")
	wantError(t, err, session.ErrNotFound, "placement_not_found")
}

// TestMatchmakingAtTheGateway takes a ticket to its match.
func TestMatchmakingAtTheGateway(t *testing.T) {
	t.Parallel()
	p, b := atGateway(t)
	id, err := p.StartMatchmaking(t.Context(),
		session.StartMatchmakingRequest{ConfigurationName: "duels", TicketID: "t-1", Players: []session.Player{{
			PlayerID: "ada", PlayerAttributes: map[string]json.RawMessage{"skill": json.RawMessage(`{"N": 23}`)},
		}}})
	if err != nil || id != "t-1" {
		t.Fatal(id, err)
	}
	if in := (<-b.asked).(*wire.StartMatchmakingInput); in.TicketId != "t-1" ||
		in.Players[0].PlayerAttributes["skill"].N.Or(0) != 23 {
		t.Errorf("asked for %+v", in)
	}
	if got, err := p.Ticket(t.Context(), "t-1"); err != nil || got.Status != session.TicketRequiresAcceptance ||
		got.MatchID == "" {
		t.Errorf("%+v, %v", got, err)
	}
	if err := p.AcceptMatch(t.Context(), session.AcceptMatchRequest{
		TicketID: "t-1", PlayerIDs: []string{"ada"}, AcceptMatch: true,
	}); err != nil {
		t.Error(err)
	}
	if in := (<-b.asked).(*wire.AcceptMatchInput); in.AcceptanceType != wire.AcceptanceTypeAccept ||
		in.PlayerIds[0] != "ada" {
		t.Errorf("asked for %+v", in)
	}
	if err := p.StopMatchmaking(t.Context(), session.StopMatchmakingRequest{TicketID: "t-1"}); err != nil {
		t.Error(err)
	}
	var last session.Ticket
	if err := p.WatchTicket(t.Context(), "t-1", func(ticket session.Ticket) { last = ticket }); err != nil ||
		last.Reservations["ada"] != place {
		t.Errorf("%+v, %v", last, err)
	}
	_, err = p.Ticket(t.Context(), "missing")
	wantError(t, err, session.ErrNotFound, "ticket_not_found")
	wantError(t, p.WatchTicket(t.Context(), "missing", nil), session.ErrNotFound, "ticket_not_found")
	wantError(t, p.StopMatchmaking(t.Context(), session.StopMatchmakingRequest{TicketID: "missing"}),
		session.ErrNotFound, "ticket_not_found")
}
