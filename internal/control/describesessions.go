package control

import (
	"context"
	"slices"

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

func (f foundSession) standsIn(list []foundSession) bool {
	return slices.ContainsFunc(list, func(o foundSession) bool { return o.room == f.room && o.session.ID == f.session.ID })
}

// sessionPosition is the last game session of a page: in memory first, by
// location and order of creation, then in the history.
type sessionPosition struct {
	Location string `json:"l,omitempty"`
	Ordinal  uint64 `json:"o,omitempty"`
	Past     bool   `json:"p,omitempty"`
	Seq      uint64 `json:"s,omitempty"`
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
	room, id, err := p.gameSessionPlace(gameSessionArn)
	if err != nil {
		return room, nil, err
	}
	var g *fleet.GameSession
	if _, err := p.read(ctx, room, func(r *fleet.Room) { g, _ = r.GameSession(id) }); err != nil {
		return room, nil, err
	}
	if g != nil {
		return room, g, nil
	}
	if g, err = p.pastGameSession(ctx, room, id); err != nil || g != nil {
		return room, g, err
	}
	return room, nil, fault.New(fault.NotFound, "Game session %s not found", gameSessionArn)
}

// listSessions gives one page of a fleet's game sessions.
func (p *Plane) listSessions(ctx context.Context, id string, q sessionQuery) (found []foundSession, next string, err error) {
	pages := p.secrets.pages(q.operation, id, q.location, string(q.status))
	var at sessionPosition
	if err := pages.read(q.token, &at); err != nil {
		return nil, "", err
	}
	if !at.Past {
		var more bool
		if found, at, more, err = p.sessionsInMemory(ctx, id, q, at); err != nil || more {
			return found, pages.token(at), err
		}
		at = sessionPosition{Past: true}
	}
	if q.status != "" && q.status != fleet.Terminated {
		return found, "", nil
	}
	rooms, err := p.rooms(ctx, id, q.location)
	if err != nil {
		return nil, "", err
	}
	past, at, more, err := p.pastSessions(ctx, id, q.location, at, q.limit-len(found))
	if more {
		next = pages.token(at)
	}
	past = slices.DeleteFunc(past, func(f foundSession) bool { return f.standsIn(found) || f.isHeldBy(rooms) })
	return append(found, past...), next, err
}

// isHeldBy reports whether a game session of the history is still on its way out
// of memory. It was listed from there, on this page or on one before.
func (f foundSession) isHeldBy(rooms []*fleet.Room) bool {
	return slices.ContainsFunc(rooms, func(r *fleet.Room) bool {
		if r.ID() != f.room {
			return false
		}
		_, held := r.GameSession(f.session.ID)
		return held
	})
}

// sessionsInMemory lists game sessions behind a position; more says that
// there are further ones than a page holds.
func (p *Plane) sessionsInMemory(ctx context.Context, id string, q sessionQuery, at sessionPosition) (found []foundSession, last sessionPosition, more bool, err error) {
	rooms, err := p.rooms(ctx, id, q.location)
	for _, r := range rooms {
		if r.ID().Location < at.Location {
			continue
		}
		var after uint64
		if r.ID().Location == at.Location {
			after = at.Ordinal
		}
		r.GameSessions(after, func(g *fleet.GameSession) bool {
			if q.status != "" && g.Status != q.status {
				return true
			}
			if more = len(found) == q.limit; more {
				return false
			}
			found = append(found, foundSession{r.ID(), g})
			return true
		})
		if more {
			break
		}
	}
	if len(found) > 0 {
		f := found[len(found)-1]
		last = sessionPosition{Location: f.room.Location, Ordinal: f.session.Ordinal}
	}
	return found, last, more, err
}
