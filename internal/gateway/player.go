package gateway

import (
	"context"
	"net/http"
)

type playerKey struct{}

// WithPlayer returns a context for a request of an authenticated player, which may then act for this player only. An
// empty id means no authentication.
func WithPlayer(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, playerKey{}, id)
}

// Player returns the authenticated player of a request's context; "" for none.
func Player(ctx context.Context) string {
	id, _ := ctx.Value(playerKey{}).(string)
	return id
}

// playerOf is the default Config.Subject.
func playerOf(r *http.Request) string { return Player(r.Context()) }
