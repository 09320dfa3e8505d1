package gateway

import (
	"context"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// maxClaims limits the attempts to claim an empty game session: other requests compete for the same ones.
const maxClaims = 3

// claim claims an empty game session of the target. It returns nil and no error if there is none.
func (g *Gateway) claim(ctx context.Context, ic *inflightCall, in *creation, t Target, tok token) (*created, error) {
	claim := Claim{
		Target: t, PlayerID: in.player, Name: in.name, Maximum: in.maximum,
		Properties: append(in.gameProperties(), wire.GameProperty{Key: marker, Value: tok.mark()}),
	}
	if !in.build.IsSet() { // clear the previous build
		claim.Properties = append(claim.Properties, wire.GameProperty{Key: buildProperty})
	}
	for range maxClaims {
		s, p, err := g.service.ClaimGameSession(ctx, claim)
		switch {
		case err == nil:
			return &created{sessionID: s.GameSessionId, session: s, player: p}, incomplete(p)
		case fault.Is(err, fault.Conflict):
			ic.retries++
		case ctx.Err() != nil:
			return nil, failed(ctx, err, NoCapacity, NoCapacity)
		default: // there is none, or the service cannot claim
			return nil, nil
		}
	}
	return nil, nil
}
