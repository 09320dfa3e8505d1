package gateway

import (
	"context"
	"errors"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A newPlayer is a request for a player session.
type newPlayer struct {
	id, data string
	origin   string // see call.origin
}

// reserve creates player sessions in a game session, all or none, in the order of players.
func (g *Gateway) reserve(ctx context.Context, id string, players []newPlayer) ([]wire.PlayerSession, error) {
	in := &wire.CreatePlayerSessionsInput{GameSessionId: id, PlayerIds: make([]string, len(players))}
	for i, p := range players {
		in.PlayerIds[i] = p.id
		if p.data != "" {
			if in.PlayerDataMap == nil {
				in.PlayerDataMap = make(map[string]string)
			}
			in.PlayerDataMap[p.id] = p.data
		}
	}
	out, err := g.service.CreatePlayerSessions(ctx, in)
	if err != nil {
		f := asFailure(failed(ctx, err, SessionNotFound, SessionNotJoinable))
		_, f.players = errors.AsType[*fault.Error](err)
		return nil, f
	}
	return inOrder(out.PlayerSessions, players)
}

// join creates a player session for one player, or returns the one that is RESERVED already: a repeated request must
// not take a second slot, even while the first one is in progress. If the player id is not an identity, the slot must
// be of the same origin.
func (g *Gateway) join(ctx context.Context, id string, player newPlayer) (*wire.PlayerSession, error) {
	unlock, err := g.joins.lock(ctx, id+"\x00"+player.id)
	if err != nil {
		return nil, ended(ctx, err)
	}
	defer unlock()
	slots, err := g.reserved(ctx, player.id)
	if err != nil {
		return nil, err
	}
	for i := range slots {
		p := &slots[i]
		same := player.origin == "" || g.slots.has(p.PlayerSessionId, player.origin)
		if p.GameSessionId == id && same && incomplete(p) == nil {
			return p, nil
		}
	}
	made, err := g.reserve(ctx, id, []newPlayer{player})
	if err != nil {
		return nil, err
	}
	if player.origin != "" {
		g.slots.add(made[0].PlayerSessionId, player.origin)
	}
	return &made[0], nil
}

// joinAll is join for one player. Several players get new player sessions with every request, all or none.
func (g *Gateway) joinAll(ctx context.Context, id string, players []newPlayer) ([]wire.PlayerSession, error) {
	if len(players) > 1 {
		return g.reserve(ctx, id, players)
	}
	slot, err := g.join(ctx, id, players[0])
	if err != nil {
		return nil, err
	}
	return []wire.PlayerSession{*slot}, nil
}

// inOrder returns player sessions in the order of the players. It fails if one is missing or incomplete.
func inOrder(got []wire.PlayerSession, players []newPlayer) ([]wire.PlayerSession, error) {
	byPlayer := make(map[string]*wire.PlayerSession, len(got))
	for i := range got {
		byPlayer[got[i].PlayerId] = &got[i]
	}
	list := make([]wire.PlayerSession, len(players))
	for i, p := range players {
		s := byPlayer[p.id]
		if err := incomplete(s); err != nil {
			return nil, err
		}
		list[i] = *s
	}
	return list, nil
}

// incomplete returns a failure for a player session without an id or an endpoint: the oldest clients would wait for
// ever.
func incomplete(p *wire.PlayerSession) error {
	if p == nil || p.PlayerSessionId == "" || p.IpAddress == "" || p.Port.Or(0) <= 0 {
		return &failure{code: Internal,
			err: errors.New("the service returned a player session without an id, an address or a port")}
	}
	return nil
}

// checkBuild applies the BuildCheck to a client that joins.
func (c *call) checkBuild(id string, build wire.Opt[int32]) error {
	if !build.IsSet() || c.g.buildCheck == BuildOff {
		return nil
	}
	s, err := c.g.service.DescribeGameSession(c.ctx, id)
	if err != nil {
		return failed(c.ctx, err, SessionNotFound, Internal)
	}
	of, ok := buildOf(s)
	if !ok || of == build {
		return nil
	}
	if c.g.buildCheck == BuildWarn {
		if suppressed, ok := c.g.lines.Allow("other build"); ok {
			c.g.log.Warn("a client joins a game session of another build",
				"build", build.Or(0), "game_session_build", of.Or(0), "suppressed", suppressed)
		}
		return nil
	}
	return fail(BuildMismatch, "The game session is for build %d, the client is build %d.", of.Or(0), build.Or(0))
}
