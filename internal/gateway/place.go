package gateway

import (
	"context"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// place starts a placement of the game session and the player on a queue.
func (g *Gateway) place(ctx context.Context, ic *inflightCall, in *creation, t Target, tok token) (*created, error) {
	began := g.clock.Now()
	p, replayed, err := g.startPlacement(ctx, in, t, tok)
	if err != nil {
		return nil, err
	}
	if in.async {
		return &created{placement: p, replayed: replayed}, nil
	}
	if !replayed { // a placement of an earlier request is not stopped
		ic.undo = append(ic.undo, func(ctx context.Context) { g.stopPlacement(ctx, tok.String()) })
	}
	p, err = g.queues.AwaitPlacement(ctx, tok.String())
	if err != nil {
		return nil, notActive(ctx, nil, err)
	}
	if err := unplaced(p); err != nil {
		return nil, err
	}
	if replayed {
		return g.placedAgain(ctx, in, p)
	}
	out := &created{sessionID: p.GameSessionArn, waited: g.clock.Since(began)}
	if in.player != "" {
		out.player, err = g.placedPlayer(ctx, p, in.player)
	}
	return out, err
}

// placedAgain returns the result of an Idempotency-Key that identifies a placement.
func (g *Gateway) placedAgain(ctx context.Context, in *creation, p *wire.GameSessionPlacement) (*created, error) {
	s, err := g.service.DescribeGameSession(ctx, p.GameSessionArn)
	if err != nil {
		return nil, failed(ctx, err, RequestConflict, Internal)
	}
	return g.again(ctx, in, s)
}

// startPlacement starts the placement, or finds the one of the Idempotency-Key.
func (g *Gateway) startPlacement(ctx context.Context, in *creation, t Target,
	tok token) (p *wire.GameSessionPlacement, replayed bool, err error) {
	if in.key != "" {
		out, err := g.queues.DescribeGameSessionPlacement(ctx,
			&wire.DescribeGameSessionPlacementInput{PlacementId: tok.String()})
		switch {
		case err == nil && !samePlacement(out.GameSessionPlacement, in):
			return nil, false, fail(RequestConflict, "The Idempotency-Key was used for another request.")
		case err == nil:
			return out.GameSessionPlacement, true, nil
		case !fault.Is(err, fault.NotFound):
			return nil, false, err
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
		PlacementId: tok.String(), GameSessionQueueName: t.Queue, GameSessionName: in.name,
		MaximumPlayerSessionCount: wire.Some(in.maximum),
		GameProperties:            append(in.gameProperties(), wire.GameProperty{Key: marker, Value: tok.mark()}),
		GameSessionData:           in.data, PlayerLatencies: in.latencies,
	}
	if in.player != "" {
		input.DesiredPlayerSessions = []wire.DesiredPlayerSession{{PlayerId: in.player, PlayerData: in.playerData}}
	}
	return input
}

// samePlacement reports whether a placement is of an equal request.
func samePlacement(p *wire.GameSessionPlacement, in *creation) bool {
	return p.GameSessionName == in.name && p.MaximumPlayerSessionCount.Or(0) == in.maximum
}

// unplaced returns why a placement has no game session; nil if it is FULFILLED.
func unplaced(p *wire.GameSessionPlacement) error {
	switch p.Status {
	case wire.GameSessionPlacementStateFulfilled:
		return nil
	case wire.GameSessionPlacementStatePending:
		return &failure{code: ActivationTimeout}
	default:
		return &failure{code: NoCapacity, err: fault.New(fault.OutOfCapacity, "placement %s is %s",
			p.PlacementId, p.Status)}
	}
}

// placedPlayer returns the player session of a player of a placement.
func (g *Gateway) placedPlayer(ctx context.Context, p *wire.GameSessionPlacement,
	player string) (*wire.PlayerSession, error) {
	for _, placed := range p.PlacedPlayerSessions {
		if placed.PlayerId != player {
			continue
		}
		out, err := g.service.DescribePlayerSessions(ctx,
			&wire.DescribePlayerSessionsInput{PlayerSessionId: placed.PlayerSessionId})
		if err != nil {
			return nil, err
		}
		if len(out.PlayerSessions) == 1 {
			return &out.PlayerSessions[0], incomplete(&out.PlayerSessions[0])
		}
	}
	return nil, incomplete(nil)
}

// stopPlacement cancels a placement that no client knows. If it has been FULFILLED, it ends the game session, unless
// that has a player.
func (g *Gateway) stopPlacement(ctx context.Context, id string) {
	_, err := g.queues.StopGameSessionPlacement(ctx, &wire.StopGameSessionPlacementInput{PlacementId: id})
	if err == nil {
		return
	}
	out, err := g.queues.DescribeGameSessionPlacement(ctx, &wire.DescribeGameSessionPlacementInput{PlacementId: id})
	if err != nil {
		g.log.Warn("placement cleanup failed", "placement", id, "error", err)
		return
	}
	if p := out.GameSessionPlacement; p.Status == wire.GameSessionPlacementStateFulfilled && p.GameSessionArn != "" {
		g.abandon(ctx, p.GameSessionArn)
	}
}
