package server

import (
	"crypto/tls"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/listen"
)

// TestExposureIsLogged warns of what others can read on the network.
func TestExposureIsLogged(t *testing.T) {
	at := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 9080} }
	both, secure := listen.Config{TLS: &tls.Config{}}, listen.Config{TLS: &tls.Config{}, RefusePlain: true}
	for name, c := range map[string]struct {
		report func(*slog.Logger)
		want   string // in the log; "": nothing
	}{
		"all interfaces": {func(l *slog.Logger) { reportUnencrypted(l, "listen", at("::"), both) }, "setting=listen"},
		"a public address": {func(l *slog.Logger) { reportUnencrypted(l, "listen", at("192.0.2.1"), both) },
			"plaintext=refuse"},
		"no TLS at all": {func(l *slog.Logger) { reportUnencrypted(l, "gateway-listen", at("::"), listen.Config{}) },
			"setting=gateway-listen"},
		"TLS only": {func(l *slog.Logger) { reportUnencrypted(l, "listen", at("::"), secure) }, ""},
		"loopback": {func(l *slog.Logger) { reportUnencrypted(l, "listen", at("127.0.0.1"), both) }, ""},
		"open metrics": {func(l *slog.Logger) { reportOpen(l, "metrics-listen", at("::")) },
			"setting=metrics-listen"},
		"local metrics": {func(l *slog.Logger) { reportOpen(l, "metrics-listen", at("::1")) }, ""},
		"NATS elsewhere": {func(l *slog.Logger) { reportNATS(l, []string{"nats://user:secret@10.0.0.7:4222"}) },
			"host=10.0.0.7:4222"},
		"NATS by TLS": {func(l *slog.Logger) {
			reportNATS(l, []string{"tls://10.0.0.7:4222", "wss://nats.example.com"})
		}, ""},
		"NATS here": {func(l *slog.Logger) {
			reportNATS(l, []string{"nats://localhost:4222", "nats://127.0.0.1:4222", "nats://[::1]:4222"})
		}, ""},
	} {
		var log strings.Builder
		c.report(slog.New(slog.NewTextHandler(&log, nil)))
		if !strings.Contains(log.String(), c.want) || (c.want == "") != (log.Len() == 0) ||
			strings.Contains(log.String(), "secret") {
			t.Errorf("%s: logged %q, want %q", name, log.String(), c.want)
		}
	}
}
