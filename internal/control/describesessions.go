package control

import (
	"context"

	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/wire"
)

// sessionQuery is what DescribeGameSessions and DescribeGameSessionDetails ask.
type sessionQuery struct {
	operation                       string
	fleet, alias, session, location string
	status                          fleet.GameSessionStatus
	limit                           int
	token                           string
}

// foundSession is a game session and where it is.
type foundSession struct {
	room    fleet.RoomID
	session *fleet.GameSession
}

// DescribeGameSessions describes game sessions in any status, those in the
// history included.
func (p *Plane) DescribeGameSessions(ctx context.Context, in *wire.DescribeGameSessionsInput) (*wire.DescribeGameSessionsOutput, error) {
	found, next, err := p.findSessions(ctx, sessionQuery{
		operation: "DescribeGameSessions", fleet: in.FleetId, alias: in.AliasId, session: in.GameSessionId, location: in.Location,
		status: fleet.GameSessionStatus(in.StatusFilter), limit: pageSize(in.Limit), token: in.NextToken,
	})
	if err != nil {
		return nil, err
	}
	out := &wire.DescribeGameSessionsOutput{GameSessions: []wire.GameSession{}, NextToken: next}
	for _, f := range found {
		out.GameSessions = append(out.GameSessions, *p.gameSession(f.room, f.session))
	}
	return out, nil
}

// DescribeGameSessionDetails is DescribeGameSessions with the protection policy.
func (p *Plane) DescribeGameSessionDetails(ctx context.Context, in *wire.DescribeGameSessionDetailsInput) (*wire.DescribeGameSessionDetailsOutput, error) {
	found, next, err := p.findSessions(ctx, sessionQuery{
		operation: "DescribeGameSessionDetails", fleet: in.FleetId, alias: in.AliasId, session: in.GameSessionId, location: in.Location,
		status: fleet.GameSessionStatus(in.StatusFilter), limit: pageSize(in.Limit), token: in.NextToken,
	})
	if err != nil {
		return nil, err
	}
	out := &wire.DescribeGameSessionDetailsOutput{GameSessionDetails: []wire.GameSessionDetail{}, NextToken: next}
	for _, f := range found {
		out.GameSessionDetails = append(out.GameSessionDetails, wire.GameSessionDetail{
			GameSession: p.gameSession(f.room, f.session), ProtectionPolicy: wire.ProtectionPolicy(f.session.Protection),
		})
	}
	return out, nil
}

func (q *sessionQuery) check() error {
	if given := one(q.fleet) + one(q.alias) + one(q.session); given != 1 {
		return fault.New(fault.InvalidRequest, "Give exactly one of FleetId, AliasId and GameSessionId")
	}
	switch q.status {
	case "", fleet.Active, fleet.Activating, fleet.Terminating, fleet.Terminated:
		return nil
	}
	return fault.New(fault.InvalidRequest, "StatusFilter %s is not one of ACTIVE, ACTIVATING, TERMINATING and TERMINATED", q.status)
}

func one(s string) int {
	if s == "" {
		return 0
	}
	return 1
}

func (p *Plane) findSessions(ctx context.Context, q sessionQuery) ([]foundSession, string, error) {
	if err := q.check(); err != nil {
		return nil, "", err
	}
	if q.session != "" {
		room, g, err := p.findSession(ctx, q.session)
		if err != nil || q.status != "" && g.Status != q.status {
			return nil, "", err
		}
		return []foundSession{{room, g}}, "", nil
	}
	f, err := p.target(q.fleet, q.alias)
	if err != nil {
		return nil, "", err
	}
	return p.listSessions(ctx, f.ID, q)
}

// findSession finds one game session by its ARN, in memory or in the history.
func (p *Plane) findSession(ctx context.Context, gameSessionArn string) (fleet.RoomID, *fleet.GameSession, error) {
	room, id, err := p.ParseGameSession(gameSessionArn)
	if err != nil {
		return room, nil, err
	}
	g, err := p.GameSession(ctx, room, id)
	if err == nil && g == nil {
		g, err = p.pastGameSession(ctx, room, id)
	}
	if err == nil && g == nil {
		err = noGameSession(gameSessionArn)
	}
	return room, g, err
}

func noGameSession(gameSessionArn string) error {
	return fault.New(fault.NotFound, "Game session %s not found", gameSessionArn)
}
