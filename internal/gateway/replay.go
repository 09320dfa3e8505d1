package gateway

import (
	"context"
	"slices"
	"strconv"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// replay returns the result of an earlier equal request; nil and no error if there is none.
func (g *Gateway) replay(ctx context.Context, in *creation, t Target, tok token) (*created, error) {
	switch {
	case in.key != "" && t.Queue == "":
		return g.replayKey(ctx, in, t, tok)
	case in.player != "" && !in.async:
		return g.replayPlayer(ctx, in, tok)
	default:
		return nil, nil
	}
}

// replayPlayer searches for a RESERVED player session of the player in a game session that was created for this
// request.
func (g *Gateway) replayPlayer(ctx context.Context, in *creation, tok token) (*created, error) {
	slots, err := g.reserved(ctx, in.player)
	if err != nil {
		return nil, err
	}
	for i := range slots {
		p := &slots[i]
		s, err := g.createdFor(ctx, tok, p.GameSessionId)
		if err != nil {
			return nil, err
		}
		if s != nil && incomplete(p) == nil {
			return &created{sessionID: p.GameSessionId, session: s, player: p, replayed: true}, nil
		}
	}
	return nil, nil
}

// maxReservedPages limits the pages of a player's reservations; a player usually has one or two reservations.
const maxReservedPages = 5

// reserved returns the RESERVED player sessions of a player.
func (g *Gateway) reserved(ctx context.Context, player string) ([]wire.PlayerSession, error) {
	in := &wire.DescribePlayerSessionsInput{PlayerId: player,
		PlayerSessionStatusFilter: string(wire.PlayerSessionStatusReserved)}
	var all []wire.PlayerSession
	for range maxReservedPages {
		out, err := g.service.DescribePlayerSessions(ctx, in)
		if fault.Is(err, fault.NotFound) { // the player has never had one
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		// A service without filters, such as GameLift Local, returns all.
		all = append(all, slices.DeleteFunc(out.PlayerSessions, func(p wire.PlayerSession) bool {
			return p.Status != wire.PlayerSessionStatusReserved || p.PlayerId != player
		})...)
		if in.NextToken = out.NextToken; in.NextToken == "" {
			break
		}
	}
	return all, nil
}

// createdFor returns the game session if it was created for the request of a token and is ACTIVE; otherwise nil. A
// marker property takes precedence over the id: the gateway did not choose the id, or another request has claimed the
// game session since.
func (g *Gateway) createdFor(ctx context.Context, tok token, id string) (*wire.GameSession, error) {
	owned := tok.owns(id)
	if !owned && !g.marks {
		return nil, nil
	}
	s, err := g.service.DescribeGameSession(ctx, id)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if mark, marked := propertyOf(s, marker); marked {
		owned = mark == tok.mark()
	}
	if s.Status != wire.GameSessionStatusActive || !owned {
		return nil, nil
	}
	return s, nil
}

// replayKey searches for the game session of an Idempotency-Key and waits until it is ACTIVE.
func (g *Gateway) replayKey(ctx context.Context, in *creation, t Target, tok token) (*created, error) {
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

// again returns the result of an Idempotency-Key that identifies a game session.
func (g *Gateway) again(ctx context.Context, in *creation, s *wire.GameSession) (*created, error) {
	if ending(s) {
		return nil, fail(RequestConflict,
			"The Idempotency-Key was used: the game session that it stands for is over. Use a new key.")
	}
	out := &created{sessionID: s.GameSessionId, session: s, replayed: true}
	if in.player == "" {
		return out, nil
	}
	return g.replaySlot(ctx, in, out)
}

// replaySlot finds the player session in a game session of an earlier request, or creates it if that request failed
// before.
func (g *Gateway) replaySlot(ctx context.Context, in *creation, out *created) (*created, error) {
	slots, err := g.reserved(ctx, in.player)
	if err != nil {
		return nil, err
	}
	for i := range slots {
		if slots[i].GameSessionId == out.sessionID && incomplete(&slots[i]) == nil {
			out.player = &slots[i]
			return out, nil
		}
	}
	players, err := g.reserve(ctx, out.sessionID, []newPlayer{{id: in.player, data: in.playerData}})
	if err != nil {
		return nil, err
	}
	out.player = &players[0]
	return out, nil
}

// sameRequest reports whether a game session is of an equal request.
func sameRequest(s *wire.GameSession, in *creation) bool {
	want := in.gameProperties()
	return s.Name == in.name && s.MaximumPlayerSessionCount.Or(0) == in.maximum &&
		len(want) == len(s.GameProperties) && !slices.ContainsFunc(want, func(p wire.GameProperty) bool {
		value, ok := propertyOf(s, p.Key)
		return !ok || value != p.Value
	})
}

func propertyOf(s *wire.GameSession, key string) (string, bool) {
	for _, p := range s.GameProperties {
		if p.Key == key {
			return p.Value, true
		}
	}
	return "", false
}

// buildOf returns the build of a game session, if it has one.
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
