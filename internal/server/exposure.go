package server

import (
	"log/slog"
	"net"
	"net/url"
	"strings"

	"github.com/muster-gg/muster/internal/listen"
)

// reportExposure warns of what others can read or change on the network.
func (s *service) reportExposure() {
	reportUnencrypted(s.cfg.Log, "listen", s.listener.Addr(), s.listening())
	if s.gateway != nil {
		reportUnencrypted(s.cfg.Log, "gateway-listen", s.gateway.listener.Addr(), s.listening())
	}
	for _, port := range []*sidePort{s.scrapes, s.profiler} {
		if port != nil {
			reportOpen(s.cfg.Log, port.setting, port.listener.Addr())
		}
	}
	reportNATS(s.cfg.Log, s.cfg.Cluster.NATS)
}

// reportUnencrypted warns of an address that other machines reach and that answers
// unencrypted connections.
func reportUnencrypted(log *slog.Logger, setting string, at net.Addr, c listen.Config) {
	if !isLoopback(at) && (c.TLS == nil || !c.RefusePlain) {
		log.Warn("unencrypted connections from other machines are answered", "setting", setting, "listen", at.String(),
			"fix", "plaintext=refuse, or a loopback address behind a proxy that ends TLS")
	}
}

// reportOpen warns of an address that other machines reach and that is neither
// encrypted nor authenticated.
func reportOpen(log *slog.Logger, setting string, at net.Addr) {
	if !isLoopback(at) {
		log.Warn("an address without encryption and authentication is open to other machines",
			"setting", setting, "listen", at.String(), "fix", "a loopback address, or a firewall")
	}
}

// reportNATS warns of unencrypted connections to a NATS on another machine.
func reportNATS(log *slog.Logger, servers []string) {
	for _, text := range servers {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "nats" && u.Scheme != "ws" || isLoopbackHost(u.Hostname()) {
			continue
		}
		log.Warn("the connection to NATS may be unencrypted: all state of the region passes over it",
			"setting", "nats", "host", u.Host, "fix", "tls://")
	}
}

// isLoopbackHost reports whether a host name or address is this machine's.
func isLoopbackHost(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
