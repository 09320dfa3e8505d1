// Package lobby is a part of the backend of a game. Its tests show how a backend is tested with package mustertest.
package lobby

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
)

// A Lobby finds game sessions for players, in a location of a fleet.
type Lobby struct {
	Client            *gamelift.Client
	FleetID, Location string
	MaxPlayers        int32         // of a game session
	Poll              time.Duration // between two checks of a game session that is not ACTIVE yet
}

// Join reserves a slot for a player in a game session that has one, or in a new game session. A request that is
// repeated with the same id creates one game session at most.
func (l *Lobby) Join(ctx context.Context, player, request string) (*types.PlayerSession, error) {
	found, err := l.Client.SearchGameSessions(ctx, &gamelift.SearchGameSessionsInput{
		FleetId: &l.FleetID, Location: &l.Location, FilterExpression: new("hasAvailablePlayerSessions=true")})
	if err != nil {
		return nil, fmt.Errorf("search game sessions: %w", err)
	}
	for _, g := range found.GameSessions {
		reserved, err := l.reserve(ctx, *g.GameSessionId, player)
		if _, full := errors.AsType[*types.GameSessionFullException](err); !full { // since the search
			return reserved, err
		}
	}
	id, err := l.create(ctx, request)
	if err != nil {
		return nil, err
	}
	return l.reserve(ctx, id, player)
}

// create creates a game session and waits until its game server has activated it.
func (l *Lobby) create(ctx context.Context, request string) (id string, err error) {
	created, err := l.Client.CreateGameSession(ctx, &gamelift.CreateGameSessionInput{FleetId: &l.FleetID,
		Location: &l.Location, MaximumPlayerSessionCount: &l.MaxPlayers, IdempotencyToken: &request})
	if err != nil {
		return "", fmt.Errorf("create a game session: %w", err)
	}
	g := created.GameSession
	for g.Status == types.GameSessionStatusActivating {
		select {
		case <-time.After(l.Poll):
		case <-ctx.Done():
			return "", ctx.Err()
		}
		now, err := l.Client.DescribeGameSessions(ctx,
			&gamelift.DescribeGameSessionsInput{GameSessionId: g.GameSessionId})
		if err != nil {
			return "", fmt.Errorf("describe game session %s: %w", *g.GameSessionId, err)
		}
		g = &now.GameSessions[0]
	}
	return *g.GameSessionId, nil
}

func (l *Lobby) reserve(ctx context.Context, session, player string) (*types.PlayerSession, error) {
	out, err := l.Client.CreatePlayerSession(ctx, &gamelift.CreatePlayerSessionInput{
		GameSessionId: &session, PlayerId: &player})
	if err != nil {
		return nil, fmt.Errorf("create a player session: %w", err)
	}
	return out.PlayerSession, nil
}
