package gateway

import (
	"context"

	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/wire"
)

// place has a queue place the game session, with the player in it.
func (g *Gateway) place(ctx context.Context, f *flight, in *creation, t Target, tok token) (*created, *failure) {
	began := g.clock.Now()
	p, replayed, bad := g.startPlacement(ctx, in, t, tok)
	if bad != nil {
		return nil, bad
	}
	if in.async {
		return &created{placement: p, replayed: replayed}, nil
	}
	if !replayed { // another's placement is not ours to stop
		f.undo = append(f.undo, func(ctx context.Context) { g.stopPlacement(ctx, tok.String()) })
	}
	p, err := g.queues.AwaitPlacement(ctx, tok.String())
	if err != nil {
		return nil, notActive(ctx, nil, err)
	}
	if bad := unplaced(p); bad != nil {
		return nil, bad
	}
	if replayed {
		return g.placedAgain(ctx, in, p)
	}
	out := &created{sessionID: p.GameSessionArn, waited: g.clock.Since(began)}
	if in.player != "" {
		out.player, bad = g.placedPlayer(ctx, p, in.player)
	}
	return out, bad
}

// placedAgain is the answer to a request whose Idempotency-Key stands for a
// placement.
func (g *Gateway) placedAgain(ctx context.Context, in *creation, p *wire.GameSessionPlacement) (*created, *failure) {
	s, err := g.service.DescribeGameSession(ctx, p.GameSessionArn)
	if err != nil {
		return nil, failed(ctx, err, RequestConflict, Internal)
	}
	return g.again(ctx, in, s)
}

// startPlacement starts the placement or, with an Idempotency-Key, finds the one
// that the key stands for.
func (g *Gateway) startPlacement(ctx context.Context, in *creation, t Target, tok token) (p *wire.GameSessionPlacement, replayed bool, bad *failure) {
	if in.key != "" {
		out, err := g.queues.DescribeGameSessionPlacement(ctx, &wire.DescribeGameSessionPlacementInput{PlacementId: tok.String()})
		switch {
		case err == nil && !samePlacement(out.GameSessionPlacement, in):
			return nil, false, fail(RequestConflict, "The Idempotency-Key was used for another request.")
		case err == nil:
			return out.GameSessionPlacement, true, nil
		case !fault.Is(err, fault.NotFound):
			return nil, false, failed(ctx, err, Internal, Internal)
		}
	}
	out, err := g.queues.StartGameSessionPlacement(ctx, placementInput(in, t, tok))
	if err != nil {
		return nil, false, in.failed(ctx, err, RequestConflict)
	}
	return out.GameSessionPlacement, false, nil
}

func placementInput(in *creation, t Target, tok token) *wire.StartGameSessionPlacementInput {
	input := &wire.StartGameSessionPlacementInput{
		PlacementId: tok.String(), GameSessionQueueName: t.Queue, GameSessionName: in.name, MaximumPlayerSessionCount: wire.Some(in.maximum),
		GameProperties:  append(in.gameProperties(), wire.GameProperty{Key: marker, Value: tok.mark()}),
		GameSessionData: in.data, PlayerLatencies: in.latencies,
	}
	if in.player != "" {
		input.DesiredPlayerSessions = []wire.DesiredPlayerSession{{PlayerId: in.player, PlayerData: in.playerData}}
	}
	return input
}

// samePlacement reports whether a placement is what a request asks for.
func samePlacement(p *wire.GameSessionPlacement, in *creation) bool {
	return p.GameSessionName == in.name && p.MaximumPlayerSessionCount.Or(0) == in.maximum
}

// unplaced says why a placement that is not PENDING any more has no game session.
func unplaced(p *wire.GameSessionPlacement) *failure {
	switch p.Status {
	case wire.GameSessionPlacementStateFulfilled:
		return nil
	case wire.GameSessionPlacementStatePending:
		return &failure{code: ActivationTimeout}
	default:
		return &failure{code: NoCapacity, err: fault.New(fault.OutOfCapacity, "placement %s is %s", p.PlacementId, p.Status)}
	}
}

// placedPlayer is the player session of a player whom a placement was made for.
func (g *Gateway) placedPlayer(ctx context.Context, p *wire.GameSessionPlacement, player string) (*wire.PlayerSession, *failure) {
	for _, placed := range p.PlacedPlayerSessions {
		if placed.PlayerId != player {
			continue
		}
		out, err := g.service.DescribePlayerSessions(ctx, &wire.DescribePlayerSessionsInput{PlayerSessionId: placed.PlayerSessionId})
		if err != nil {
			return nil, failed(ctx, err, Internal, Internal)
		}
		if len(out.PlayerSessions) == 1 {
			return &out.PlayerSessions[0], incomplete(&out.PlayerSessions[0])
		}
	}
	return nil, incomplete(nil)
}

// stopPlacement ends a placement of which no client knows, and the game session of
// one that was fulfilled in the meantime, if it has no player.
func (g *Gateway) stopPlacement(ctx context.Context, id string) {
	_, err := g.queues.StopGameSessionPlacement(ctx, &wire.StopGameSessionPlacementInput{PlacementId: id})
	if err == nil {
		return
	}
	out, err := g.queues.DescribeGameSessionPlacement(ctx, &wire.DescribeGameSessionPlacementInput{PlacementId: id})
	if err != nil {
		g.log.Warn("placement left behind", "placement", id, "error", err)
		return
	}
	if p := out.GameSessionPlacement; p.Status == wire.GameSessionPlacementStateFulfilled && p.GameSessionArn != "" {
		g.abandon(ctx, p.GameSessionArn)
	}
}
