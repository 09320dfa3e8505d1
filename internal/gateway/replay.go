package gateway

import (
	"context"
	"slices"
	"strconv"

	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/wire"
)

// replay finds the answer that the same request was given before. Neither an
// answer nor a failure means that there is none.
func (g *Gateway) replay(ctx context.Context, in *creation, t Target, tok token) (*created, *failure) {
	switch {
	case in.key != "" && t.Queue == "":
		return g.replayKey(ctx, in, t, tok)
	case in.player != "" && !in.async:
		return g.replayPlayer(ctx, in, tok)
	default:
		return nil, nil
	}
}

// replayPlayer looks for a place of the player that is still RESERVED, in a game
// session that was created for this request.
func (g *Gateway) replayPlayer(ctx context.Context, in *creation, tok token) (*created, *failure) {
	places, bad := g.reserved(ctx, in.player)
	if bad != nil {
		return nil, bad
	}
	for i := range places {
		p := &places[i]
		s, bad := g.createdFor(ctx, tok, p.GameSessionId)
		if bad != nil {
			return nil, bad
		}
		if s != nil && incomplete(p) == nil {
			return &created{sessionID: p.GameSessionId, session: s, player: p, replayed: true}, nil
		}
	}
	return nil, nil
}

// maxReservedPages is how many pages of a player's reservations are looked at; a
// player has one or two, as a rule.
const maxReservedPages = 5

// reserved are the player sessions of a player that are RESERVED.
func (g *Gateway) reserved(ctx context.Context, player string) ([]wire.PlayerSession, *failure) {
	in := &wire.DescribePlayerSessionsInput{PlayerId: player, PlayerSessionStatusFilter: string(wire.PlayerSessionStatusReserved)}
	var all []wire.PlayerSession
	for range maxReservedPages {
		out, err := g.service.DescribePlayerSessions(ctx, in)
		if fault.Is(err, fault.NotFound) { // of a player that was never there
			return all, nil
		}
		if err != nil {
			return nil, failed(ctx, err, Internal, Internal)
		}
		// Whoever knows no filter, as the local test tool, sends all.
		all = append(all, slices.DeleteFunc(out.PlayerSessions, func(p wire.PlayerSession) bool {
			return p.Status != wire.PlayerSessionStatusReserved || p.PlayerId != player
		})...)
		if in.NextToken = out.NextToken; in.NextToken == "" {
			break
		}
	}
	return all, nil
}

// createdFor gives the game session if it was created for the request of a token
// and is ACTIVE; else nil. Its marker says so if it has one: then the id was not ours
// to choose, or another request has taken the game session over since.
func (g *Gateway) createdFor(ctx context.Context, tok token, id string) (*wire.GameSession, *failure) {
	owned := tok.owns(id)
	if !owned && !g.marks {
		return nil, nil
	}
	s, err := g.service.DescribeGameSession(ctx, id)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, failed(ctx, err, Internal, Internal)
	}
	if mark, marked := propertyOf(s, marker); marked {
		owned = mark == tok.mark()
	}
	if s.Status != wire.GameSessionStatusActive || !owned {
		return nil, nil
	}
	return s, nil
}

// replayKey looks for the game session that an Idempotency-Key stands for. While
// that is being activated, it is waited for.
func (g *Gateway) replayKey(ctx context.Context, in *creation, t Target, tok token) (*created, *failure) {
	s, err := g.lookUp(ctx, t, tok.String())
	if err != nil {
		return nil, failed(ctx, err, NoFleet, Internal)
	}
	if s == nil {
		return nil, nil
	}
	if !sameRequest(s, in) {
		return nil, fail(RequestConflict, "The Idempotency-Key was used for another request.")
	}
	if s.Status == wire.GameSessionStatusActivating {
		if s, err = g.service.AwaitGameSession(ctx, s.GameSessionId); err != nil {
			return nil, notActive(ctx, nil, err)
		}
	}
	return g.again(ctx, in, s)
}

// again is the answer to a request whose Idempotency-Key stands for a game session.
func (g *Gateway) again(ctx context.Context, in *creation, s *wire.GameSession) (*created, *failure) {
	if over(s) {
		return nil, fail(RequestConflict, "The Idempotency-Key was used: the game session that it stands for is over. Use a new key.")
	}
	out := &created{sessionID: s.GameSessionId, session: s, replayed: true}
	if in.player == "" {
		return out, nil
	}
	return g.replayPlace(ctx, in, out)
}

// replayPlace finds the player's place in a game session that was created before,
// or reserves it if the first request did not come so far.
func (g *Gateway) replayPlace(ctx context.Context, in *creation, out *created) (*created, *failure) {
	places, bad := g.reserved(ctx, in.player)
	if bad != nil {
		return nil, bad
	}
	for i := range places {
		if places[i].GameSessionId == out.sessionID && incomplete(&places[i]) == nil {
			out.player = &places[i]
			return out, nil
		}
	}
	players, bad := g.reserve(ctx, out.sessionID, []newPlayer{{id: in.player, data: in.playerData}})
	if bad != nil {
		return nil, bad
	}
	out.player = &players[0]
	return out, nil
}

// sameRequest reports whether a game session is what a request asks for.
func sameRequest(s *wire.GameSession, in *creation) bool {
	want := in.gameProperties()
	return s.Name == in.name && s.MaximumPlayerSessionCount.Or(0) == in.maximum &&
		len(want) == len(s.GameProperties) && !slices.ContainsFunc(want, func(p wire.GameProperty) bool {
		value, ok := propertyOf(s, p.Key)
		return !ok || value != p.Value
	})
}

// propertyOf is the value of one of a game session's properties.
func propertyOf(s *wire.GameSession, key string) (string, bool) {
	for _, p := range s.GameProperties {
		if p.Key == key {
			return p.Value, true
		}
	}
	return "", false
}

// buildOf is the build that a game session is for, if it says one.
func buildOf(s *wire.GameSession) (wire.Opt[int32], bool) {
	text, ok := propertyOf(s, buildProperty)
	if !ok {
		return wire.Opt[int32]{}, false
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return wire.Opt[int32]{}, false
	}
	return wire.Some(int32(n)), true
}
