package serversdk

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"strings"
)

type encryptedKey struct{}

// ConnContext is for http.Server.ConnContext. It records whether a connection is encrypted: Request.TLS is not set for
// one that another server has read from before.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	for {
		if _, ok := c.(*tls.Conn); ok {
			return context.WithValue(ctx, encryptedKey{}, true)
		}
		outer, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return ctx
		}
		c = outer.NetConn()
	}
}

// dialed returns the URL that a server process dialed, without the query; "" without a Host header. Behind a proxy that
// terminates TLS the scheme is that of X-Forwarded-Proto. The client can forge all of it, but only this client is sent
// to it.
func dialed(r *http.Request) string {
	if r.Host == "" {
		return ""
	}
	u := url.URL{Scheme: "ws", Host: r.Host, Path: strings.TrimRight(r.URL.Path, "/")} // the C++ edition adds slashes
	encrypted, _ := r.Context().Value(encryptedKey{}).(bool)
	forwarded := r.Header.Get("X-Forwarded-Proto")
	if encrypted || r.TLS != nil || strings.EqualFold(forwarded, "https") || strings.EqualFold(forwarded, "wss") {
		u.Scheme = "wss"
	}
	return u.String()
}
