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

// ConnContext is http.Server.ConnContext: it keeps whether a connection is encrypted,
// which Request.TLS does not tell of one that another server has read from before.
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

// dialed is the URL that a server process has dialed, without the query; "" if the
// request does not tell the host. Behind a proxy that ends TLS it is as the proxy's
// X-Forwarded-Proto says. All of it is the client's word, and only this client is
// ever sent to it.
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
