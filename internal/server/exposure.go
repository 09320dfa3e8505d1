package server

import (
	"log/slog"
	"net"
	"net/url"
	"strings"

	"github.com/muster-gg/muster/internal/listen"
)

// reportExposure warns of unprotected addresses.
func (s *service) reportExposure() {
	reportUnencrypted(s.cfg.Log, "listen", s.listener.Addr(), s.listening())
	if s.gateway != nil {
		reportUnencrypted(s.cfg.Log, "gateway-listen", s.gateway.listener.Addr(), s.listening())
	}
	for _, port := range append(s.legacy.all(), s.scrapes, s.profiler) {
		if port != nil {
			reportOpen(s.cfg.Log, port.setting, port.listener.Addr())
		}
	}
	if s.cfg.Local() {
		reportOpen(s.cfg.Log, "listen", s.listener.Addr())
	}
	reportNATS(s.cfg.Log, s.cfg.Cluster.NATS)
}

// reportUnencrypted warns of an address with unencrypted connections from other machines.
func reportUnencrypted(log *slog.Logger, setting string, at net.Addr, c listen.Config) {
	if !isLoopback(at) && (c.TLS == nil || !c.RefusePlain) {
		log.Warn("unencrypted connections from other machines accepted", "setting", setting, "listen", at.String(),
			"fix", "plaintext=refuse, or a loopback address behind a proxy that ends TLS")
	}
}

// reportOpen warns of an address without encryption and authentication for other machines.
func reportOpen(log *slog.Logger, setting string, at net.Addr) {
	if !isLoopback(at) {
		log.Warn("address without encryption and authentication reachable from other machines",
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
		log.Warn("connection to NATS may be unencrypted, but transfers all state of the region",
			"setting", "nats", "host", u.Host, "fix", "tls://")
	}
}

// isLoopbackHost reports whether a host name or address is this machine's.
func isLoopbackHost(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
