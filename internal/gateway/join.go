package gateway

import (
	"context"
	"errors"

	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/wire"
)

// A newPlayer is one who wants a place.
type newPlayer struct {
	id, data string
	origin   string // where the request came from, if id names nobody; see call.origin
}

// reserve reserves places in a game session, all or none, in the order of players.
func (g *Gateway) reserve(ctx context.Context, id string, players []newPlayer) ([]wire.PlayerSession, *failure) {
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
		f := failed(ctx, err, SessionNotFound, SessionNotJoinable)
		_, f.players = errors.AsType[*fault.Error](err)
		return nil, f
	}
	return inOrder(out.PlayerSessions, players)
}

// join reserves a place for one player, or gives the one that is RESERVED already:
// a request that is repeated must not take a second place, not even while the first
// is being answered. Where the player's id names nobody, the slot must have been given
// to the same origin.
func (g *Gateway) join(ctx context.Context, id string, player newPlayer) (*wire.PlayerSession, *failure) {
	release, err := g.joins.take(ctx, id+"\x00"+player.id)
	if err != nil {
		return nil, ended(ctx, err)
	}
	defer release()
	places, bad := g.reserved(ctx, player.id)
	if bad != nil {
		return nil, bad
	}
	for i := range places {
		p := &places[i]
		own := player.origin == "" || g.given.was(p.PlayerSessionId, player.origin)
		if p.GameSessionId == id && own && incomplete(p) == nil {
			return p, nil
		}
	}
	made, bad := g.reserve(ctx, id, []newPlayer{player})
	if bad != nil {
		return nil, bad
	}
	if player.origin != "" {
		g.given.note(made[0].PlayerSessionId, player.origin)
	}
	return &made[0], nil
}

// joinAll is join for one player. Several are one reservation, all or none, each
// time that it is asked for.
func (g *Gateway) joinAll(ctx context.Context, id string, players []newPlayer) ([]wire.PlayerSession, *failure) {
	if len(players) > 1 {
		return g.reserve(ctx, id, players)
	}
	place, bad := g.join(ctx, id, players[0])
	if bad != nil {
		return nil, bad
	}
	return []wire.PlayerSession{*place}, nil
}

// inOrder puts player sessions in the order of the players, and checks that each
// is there and says where to connect.
func inOrder(got []wire.PlayerSession, players []newPlayer) ([]wire.PlayerSession, *failure) {
	byPlayer := make(map[string]*wire.PlayerSession, len(got))
	for i := range got {
		byPlayer[got[i].PlayerId] = &got[i]
	}
	list := make([]wire.PlayerSession, len(players))
	for i, p := range players {
		s := byPlayer[p.id]
		if bad := incomplete(s); bad != nil {
			return nil, bad
		}
		list[i] = *s
	}
	return list, nil
}

// incomplete refuses a player session that clients could do nothing with: the
// older ones would wait forever.
func incomplete(p *wire.PlayerSession) *failure {
	if p == nil || p.PlayerSessionId == "" || p.IpAddress == "" || p.Port.Or(0) <= 0 {
		return &failure{code: Internal, err: errors.New("the service gave a player session without an id, an address or a port")}
	}
	return nil
}

// checkBuild applies the BuildCheck to a client that wants to join.
func (c *call) checkBuild(id string, build wire.Opt[int32]) *failure {
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
