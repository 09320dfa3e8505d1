package guard

import (
	"fmt"
	"net/http"
	"runtime/debug"
)

// recoverPanics answers for a handler that panicked. If it has written a part of its answer, the connection is closed,
// so that the client notices.
func (g *Guard) recoverPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := recording(w)
		defer func() {
			p := recover()
			switch {
			case p == nil:
				return
			case p == http.ErrAbortHandler: // closes the connection
				panic(p)
			}
			if suppressed, ok := g.lines.Allow("panic"); ok {
				g.cfg.Log.Error("handler panicked", "panic", fmt.Sprint(p), "request", RequestID(r.Context()),
					"suppressed", suppressed, "stack", string(debug.Stack()))
			}
			if rec.status != 0 {
				panic(http.ErrAbortHandler)
			}
			for _, name := range []string{"Content-Length", "Content-Encoding", "Etag"} { // of the handler's answer
				rec.Header().Del(name)
			}
			g.refuse(rec, r, "panic", panicked)
		}()
		next.ServeHTTP(rec, r)
	})
}
