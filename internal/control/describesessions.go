package control

import (
	"context"

	"github.com/muster-gg/muster/internal/control/history"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/wire"
)

// A sessionReader finds game sessions and player sessions, in memory and in the history. It changes nothing.
type sessionReader struct {
	catalogReader
	history *history.History
}

// sessionQuery is a request of DescribeGameSessions or DescribeGameSessionDetails.
type sessionQuery struct {
	operation, location string
	status              fleet.GameSessionStatus
	limit               int
	token               string
}

// foundSession is a game session with its room.
type foundSession struct {
	room    fleet.RoomID
	session *fleet.GameSession
}

// DescribeGameSessions describes game sessions in any status, including those in the history.
func (sr *sessionReader) DescribeGameSessions(ctx context.Context,
	in *wire.DescribeGameSessionsInput) (*wire.DescribeGameSessionsOutput, error) {
	found, next, err := sr.findSessions(ctx, "DescribeGameSessions", in)
	if err != nil {
		return nil, err
	}
	list := shown(found, func(f foundSession) *wire.GameSession { return sr.gameSession(f.room, f.session) })
	return &wire.DescribeGameSessionsOutput{GameSessions: list, NextToken: next}, nil
}

// DescribeGameSessionDetails is DescribeGameSessions with the protection policy.
func (sr *sessionReader) DescribeGameSessionDetails(ctx context.Context,
	in *wire.DescribeGameSessionDetailsInput) (*wire.DescribeGameSessionDetailsOutput, error) {
	found, next, err := sr.findSessions(ctx, "DescribeGameSessionDetails", (*wire.DescribeGameSessionsInput)(in))
	if err != nil {
		return nil, err
	}
	list := shown(found, func(f foundSession) *wire.GameSessionDetail {
		policy := wire.ProtectionPolicy(f.session.Protection)
		return &wire.GameSessionDetail{GameSession: sr.gameSession(f.room, f.session), ProtectionPolicy: policy}
	})
	return &wire.DescribeGameSessionDetailsOutput{GameSessionDetails: list, NextToken: next}, nil
}

func one(s string) int {
	if s == "" {
		return 0
	}
	return 1
}

func (sr *sessionReader) findSessions(ctx context.Context, operation string,
	in *wire.DescribeGameSessionsInput) (found []foundSession, next string, err error) {
	q := sessionQuery{
		operation: operation, location: in.Location, status: fleet.GameSessionStatus(in.StatusFilter),
		limit: pageSize(in.Limit), token: in.NextToken,
	}
	if given := one(in.FleetId) + one(in.AliasId) + one(in.GameSessionId); given != 1 {
		return nil, "", invalid("Give exactly one of FleetId, AliasId and GameSessionId")
	}
	switch q.status {
	case "", fleet.Active, fleet.Activating, fleet.Terminating, fleet.Terminated:
	default:
		return nil, "", invalid(
			"StatusFilter %s is not one of ACTIVE, ACTIVATING, TERMINATING and TERMINATED", q.status)
	}
	if in.GameSessionId != "" {
		room, g, err := sr.findSession(ctx, in.GameSessionId)
		if err != nil || q.status != "" && g.Status != q.status {
			return nil, "", err
		}
		return []foundSession{{room, g}}, "", nil
	}
	f, err := sr.target(in.FleetId, in.AliasId)
	if err != nil {
		return nil, "", err
	}
	return sr.listSessions(ctx, f.ID, q)
}

// findSession returns a game session by its ARN, from memory or the history.
func (sr *sessionReader) findSession(ctx context.Context,
	gameSessionArn string) (fleet.RoomID, *fleet.GameSession, error) {
	room, id, err := sr.ParseGameSession(gameSessionArn)
	if err != nil {
		return room, nil, err
	}
	g, err := sr.sessionIn(ctx, room, id)
	if err == nil && g == nil {
		err = noGameSession(gameSessionArn)
	}
	return room, g, err
}

// sessionIn returns a game session of a room, from memory or the history; nil if there is none.
func (sr *sessionReader) sessionIn(ctx context.Context, room fleet.RoomID, id string) (*fleet.GameSession, error) {
	g, err := sr.GameSession(ctx, room, id)
	if err == nil && g == nil {
		g, err = sr.history.GameSession(ctx, room, id)
	}
	return g, err
}

func noGameSession(gameSessionArn string) error {
	return notFound("Game session %s not found", gameSessionArn)
}
