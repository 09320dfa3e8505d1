// Package local puts the session gateway in front of the region of the same
// process: what it waits for is told, not polled.
package local

import (
	"context"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/gateway"
	"github.com/muster-gg/muster/internal/wire"
)

// A Service is the gateway.Service of a control plane.
type Service struct{ *control.Plane }

var (
	_ gateway.Service     = Service{}
	_ gateway.Matchmaking = Service{}
	_ gateway.Queues      = Service{}
)

// Fleet names the oldest fleet that is ACTIVE.
func (s Service) Fleet(context.Context) (string, error) { return s.FirstActiveFleet() }

// Locations tells how many processes wait in each location.
func (s Service) Locations(ctx context.Context, t gateway.Target) ([]gateway.Location, error) {
	idle, err := s.IdleProcesses(ctx, t.FleetID, t.AliasID)
	locations := make([]gateway.Location, 0, len(idle))
	for name, n := range idle {
		locations = append(locations, gateway.Location{Name: name, Idle: n})
	}
	return locations, err
}

// CreateGameSession starts a game session that ends by itself when it is not
// handed over.
func (s Service) CreateGameSession(ctx context.Context, c gateway.Creation) (*wire.GameSession, error) {
	if c.HandOverBy.IsZero() {
		out, err := s.Plane.CreateGameSession(ctx, c.Input)
		if err != nil {
			return nil, err
		}
		return out.GameSession, nil
	}
	return s.CreateGameSessionFor(ctx, c.Input, c.HandOverBy, c.Fresh)
}

// DescribePlayerSessions answers the question that the gateway asks with each
// request, which places a player has reserved, without the history.
func (s Service) DescribePlayerSessions(ctx context.Context, in *wire.DescribePlayerSessionsInput) (*wire.DescribePlayerSessionsOutput, error) {
	if in.PlayerId == "" || in.PlayerSessionStatusFilter != string(wire.PlayerSessionStatusReserved) {
		return s.Plane.DescribePlayerSessions(ctx, in)
	}
	reserved, err := s.ReservedPlayerSessions(ctx, in.PlayerId)
	return &wire.DescribePlayerSessionsOutput{PlayerSessions: reserved}, err
}

// ClaimGameSession takes an empty game session, in one step.
func (s Service) ClaimGameSession(ctx context.Context, c gateway.Claim) (*wire.GameSession, *wire.PlayerSession, error) {
	return s.Plane.ClaimGameSession(ctx, control.Claim{
		FleetID: c.Target.FleetID, AliasID: c.Target.AliasID, Location: c.Target.Location,
		Name: c.Name, Maximum: c.Maximum, Properties: c.Properties, PlayerID: c.PlayerID,
	})
}

// HandOver says that somebody is told of a game session.
func (s Service) HandOver(ctx context.Context, gameSessionID string) error {
	return s.HandOverGameSession(ctx, gameSessionID)
}

// Ready reports whether all shards serve.
func (s Service) Ready(context.Context) error {
	if !s.Serving() {
		return fault.New(fault.ServiceUnavailable, "The service is starting or recovering. Try again.")
	}
	return nil
}
