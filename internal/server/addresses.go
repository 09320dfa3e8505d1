package server

import (
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/muster-gg/muster/internal/config"
)

// serverEndpoint returns the URL for game servers: PublicURL, else the listen address, with the host name instead of a
// wildcard address. The scheme is wss as in the managed service: the C++ server SDK supports TLS only.
func serverEndpoint(c *config.Config, listening net.Addr) string {
	if c.PublicURL != "" {
		return strings.TrimSuffix(c.PublicURL, "/")
	}
	return (&url.URL{Scheme: "wss", Host: dialable(listening)}).String()
}

// dialable converts a listen address to one that others can dial.
func dialable(listening net.Addr) string {
	host, port, err := net.SplitHostPort(listening.String())
	if err != nil {
		return listening.String()
	}
	if ip := net.ParseIP(host); host != "" && (ip == nil || !ip.IsUnspecified()) {
		return net.JoinHostPort(host, port)
	}
	name, err := os.Hostname()
	if err != nil || name == "" {
		name = "localhost"
	}
	return net.JoinHostPort(name, port)
}
