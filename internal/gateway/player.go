package gateway

import (
	"context"
	"net/http"
)

type playerKey struct{}

// WithPlayer returns a context for a request whose player was authenticated. The
// request may then speak for this player only. An empty id authenticates nobody.
func WithPlayer(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, playerKey{}, id)
}

// Player is the authenticated player of a request's context; "" for none.
func Player(ctx context.Context) string {
	id, _ := ctx.Value(playerKey{}).(string)
	return id
}

// playerOf is the Config.Subject that is used by default.
func playerOf(r *http.Request) string { return Player(r.Context()) }
