package gateway

import (
	"context"
	"net/http"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// sessionID checks the id in the path.
func (c *call) sessionID() (string, error) {
	if !sessionID.MatchString(c.id) {
		return "", invalid("The id of a game session has 1 to %d letters, digits and :/- only.", maxSessionID)
	}
	return c.id, nil
}

// getSession answers GET /v1/sessions/{id}.
func getSession(c *call) (answer, error) {
	id, err := c.sessionID()
	if err != nil {
		return answer{}, err
	}
	s, err := c.g.service.DescribeGameSession(c.ctx, id)
	if err != nil {
		return answer{}, failed(c.ctx, err, SessionNotFound, Internal)
	}
	return answer{body: viewSession(s)}, nil
}

// maxPlayerSession is the maximum length of a player session id.
const maxPlayerSession = 256

// endSession answers DELETE /v1/sessions/{id}. Only the player who has created the game session may end it, before
// a player has entered it; the id of its player session is the proof.
func endSession(c *call) (answer, error) {
	id, err := c.sessionID()
	if err != nil {
		return answer{}, err
	}
	q, err := c.query()
	if err != nil {
		return answer{}, err
	}
	slot := q.text("playerSession", maxPlayerSession)
	if slot == "" {
		q.wrong("playerSession", "is missing: it is the id of the creator's player session")
	}
	if q.problem != nil {
		return answer{}, q.problem
	}
	s, err := c.g.service.DescribeGameSession(c.ctx, id)
	if err == nil && !ending(s) {
		if err = c.mayEnd(s, slot); err != nil {
			return answer{}, err
		}
		if err = c.g.terminate(c.ctx, id); err == nil || fault.Is(err, fault.InvalidGameSessionStatus) {
			s, err = c.g.service.DescribeGameSession(c.ctx, id)
		}
	}
	if err != nil {
		return answer{}, failed(c.ctx, err, SessionNotFound, Internal)
	}
	return answer{body: viewSession(s)}, nil
}

// mayEnd rejects a caller who does not hold the only slot of a game session that it has created.
func (c *call) mayEnd(s *wire.GameSession, slot string) error {
	p, err := c.g.playerSession(c.ctx, slot)
	if err != nil {
		return failed(c.ctx, err, SessionNotFound, Internal)
	}
	if p == nil || p.GameSessionId != s.GameSessionId || p.Status != wire.PlayerSessionStatusReserved ||
		s.CurrentPlayerSessionCount.Or(0) != 1 {
		return fail(Forbidden, "Only the creator of a game session may end it, while no player has entered it.")
	}
	creator := &creation{name: s.Name, player: p.PlayerId, origin: c.origin(p.PlayerId)}
	if !c.g.newToken(creator).sameCreator(s) {
		return fail(Forbidden, "Another player has created the game session.")
	}
	return c.mayActFor(p.PlayerId)
}

// playerSession returns a player session; nil if it does not exist.
func (g *Gateway) playerSession(ctx context.Context, id string) (*wire.PlayerSession, error) {
	out, err := g.service.DescribePlayerSessions(ctx, &wire.DescribePlayerSessionsInput{PlayerSessionId: id})
	switch {
	case fault.Is(err, fault.NotFound), fault.Is(err, fault.InvalidRequest):
		return nil, nil
	case err != nil || len(out.PlayerSessions) == 0:
		return nil, err
	}
	return &out.PlayerSessions[0], nil
}

// joinSession answers POST /v1/sessions/{id}/players.
func joinSession(c *call) (answer, error) {
	id, err := c.sessionID()
	if err != nil {
		return answer{}, err
	}
	o, err := c.object()
	if err != nil {
		return answer{}, err
	}
	players, build := o.newPlayers("players", maxJoin), o.build()
	if *o.problem != nil {
		return answer{}, *o.problem
	}
	for i := range players {
		p := &players[i]
		if err := c.mayActFor(p.id); err != nil {
			return answer{}, err
		}
		p.origin = c.origin(p.id)
	}
	if err := c.checkBuild(id, build); err != nil {
		return answer{}, err
	}
	reserved, err := c.g.joinAll(c.ctx, id, players)
	if err != nil {
		return answer{}, err
	}
	views := make([]*playerView, len(reserved))
	for i := range reserved {
		views[i] = viewPlayer(&reserved[i])
	}
	return answer{status: http.StatusCreated, body: map[string]any{"players": views}}, nil
}

// newPlayers reads players, who must differ.
func (o *object) newPlayers(name string, most int) []newPlayer {
	var players []newPlayer
	seen := make(map[string]bool)
	for i, text := range o.list(name, 1, most) {
		p := o.objectOf(element(name, i), text).newPlayer()
		if seen[p.id] {
			o.wrong(name, "names a player twice")
		}
		seen[p.id] = true
		players = append(players, p)
	}
	return players
}
