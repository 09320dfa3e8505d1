// Package local connects the session gateway to the region of the same process. It is notified of changes and does not
// poll.
package local

import (
	"context"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/gateway"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A Service is the gateway.Service of a control plane.
type Service struct{ *control.Plane }

var (
	_ gateway.Service     = Service{}
	_ gateway.Matchmaking = Service{}
	_ gateway.Queues      = Service{}
)

// Fleet returns the oldest ACTIVE fleet with server processes, or else the oldest ACTIVE one.
func (s Service) Fleet(ctx context.Context) (string, error) { return s.DefaultFleet(ctx) }

// Locations returns the number of idle processes of each location.
func (s Service) Locations(ctx context.Context, t gateway.Target) ([]gateway.Location, error) {
	idle, err := s.IdleProcesses(ctx, t.FleetID, t.AliasID)
	locations := make([]gateway.Location, 0, len(idle))
	for name, n := range idle {
		locations = append(locations, gateway.Location{Name: name, Idle: n})
	}
	return locations, err
}

// CreateGameSession starts a game session that ends by itself unless it is confirmed.
func (s Service) CreateGameSession(ctx context.Context, c gateway.Creation) (*wire.GameSession, error) {
	if c.ConfirmBy.IsZero() {
		out, err := s.Plane.CreateGameSession(ctx, c.Input)
		if err != nil {
			return nil, err
		}
		return out.GameSession, nil
	}
	return s.CreateGameSessionFor(ctx, c.Input, c.ConfirmBy, c.Fresh)
}

// DescribePlayerSessions skips the history for the reservations of a player, which the gateway looks up with each
// request.
func (s Service) DescribePlayerSessions(ctx context.Context,
	in *wire.DescribePlayerSessionsInput) (*wire.DescribePlayerSessionsOutput, error) {
	if in.PlayerId == "" || in.PlayerSessionStatusFilter != string(wire.PlayerSessionStatusReserved) {
		return s.Plane.DescribePlayerSessions(ctx, in)
	}
	reserved, err := s.ReservedPlayerSessions(ctx, in.PlayerId)
	return &wire.DescribePlayerSessionsOutput{PlayerSessions: reserved}, err
}

// ClaimGameSession claims an empty game session, atomically.
func (s Service) ClaimGameSession(ctx context.Context,
	c gateway.Claim) (*wire.GameSession, *wire.PlayerSession, error) {
	return s.Plane.ClaimGameSession(ctx, control.Claim{
		FleetID: c.Target.FleetID, AliasID: c.Target.AliasID, Location: c.Target.Location,
		Name: c.Name, Maximum: c.Maximum, Properties: c.Properties, PlayerID: c.PlayerID,
	})
}

// Ready returns an error unless all shards serve.
func (s Service) Ready(context.Context) error {
	if !s.Serving() {
		return fault.New(fault.ServiceUnavailable, "The service is starting or recovering. Try again.")
	}
	return nil
}
