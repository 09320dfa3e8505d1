package gateway

import (
	"context"

	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/wire"
)

// maxClaims is how often a creation tries to take over an empty game session
// before it creates one: others want the same.
const maxClaims = 3

// claim takes over an empty game session of the target. Neither an answer nor a
// failure means that there is none.
func (g *Gateway) claim(ctx context.Context, f *flight, in *creation, t Target, tok token) (*created, *failure) {
	claim := Claim{
		Target: t, PlayerID: in.player, Name: in.name, Maximum: in.maximum,
		Properties: append(in.gameProperties(), wire.GameProperty{Key: marker, Value: tok.mark()}),
	}
	if !in.build.IsSet() { // the build of whoever had it before must not stay
		claim.Properties = append(claim.Properties, wire.GameProperty{Key: buildProperty})
	}
	for range maxClaims {
		s, p, err := g.service.ClaimGameSession(ctx, claim)
		switch {
		case err == nil:
			if bad := incomplete(p); bad != nil {
				return nil, bad
			}
			return &created{sessionID: s.GameSessionId, session: s, player: p}, nil
		case fault.Is(err, fault.Conflict):
			f.retries++
		case ctx.Err() != nil:
			return nil, failed(ctx, err, NoCapacity, NoCapacity)
		default: // there is none, or the service has no such thing: create one
			return nil, nil
		}
	}
	return nil, nil
}
