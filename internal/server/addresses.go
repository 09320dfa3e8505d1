package server

import (
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/muster-gg/muster/internal/config"
)

// serverEndpoint is the URL that game servers are told to dial. It is PublicURL
// when that is set. Else it names the address that is listened on, with this
// host's name in place of a wildcard address, and its scheme is wss as that of
// the managed service: the C++ server SDK speaks nothing but TLS.
func serverEndpoint(c *config.Config, listening net.Addr) string {
	if c.PublicURL != "" {
		return strings.TrimSuffix(c.PublicURL, "/")
	}
	return (&url.URL{Scheme: "wss", Host: dialable(listening)}).String()
}

// dialable turns an address that is listened on into one that others can dial.
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
