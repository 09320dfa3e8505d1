package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/muster-gg/muster/internal/config"
	"github.com/muster-gg/muster/internal/listen/localca"
	"github.com/muster-gg/muster/internal/serversdk/legacy"
)

// legacyPorts are the ports for game servers on server SDK 3 and 4. They may be nil.
type legacyPorts struct {
	endpoint *legacy.Endpoint
	ports    []*sidePort
	fleet    func() string
}

func (s *service) openLegacy(ctx context.Context) error {
	if s.cfg.Legacy != config.On {
		return nil
	}
	l := &legacyPorts{fleet: s.plane.LegacyFleet}
	l.endpoint = legacy.New(legacy.Config{
		Servers: s.plane.LegacyServers(), Ready: s.awaitReady, Clock: s.cfg.Clock, Log: s.cfg.Log,
		Metrics: s.metrics.Sockets(), Verbose: s.cfg.Local(), Certificate: s.legacyCertificate,
	})
	s.legacy = l
	handlers := []http.Handler{l.endpoint.SocketIO(), l.endpoint.Calls(), l.endpoint.Pushes()}
	for i, port := range strings.Split(s.cfg.LegacyPorts, ",") {
		if err := s.openLegacyPort(ctx, port, handlers[i]); err != nil {
			return err
		}
	}
	if s.cfg.Local() { // the words of GameLift Local
		s.cfg.Log.Info("SocketIO server started at port: " + portOf(l.ports[0].listener))
		s.cfg.Log.Info("WebSocket Server started", "port", portOf(l.ports[len(l.ports)-1].listener))
	}
	return nil
}

func portOf(l net.Listener) string {
	_, port, _ := net.SplitHostPort(l.Addr().String()) // a TCP address has one
	return port
}

// openLegacyPort listens on a port; for localhost with IPv4 and, where there is any, IPv6, because SDKs dial both.
func (s *service) openLegacyPort(ctx context.Context, port string, handler http.Handler) error {
	hosts := []string{s.cfg.LegacyListen}
	if s.cfg.LegacyListen == "localhost" {
		hosts = []string{"127.0.0.1", "::1"}
	}
	for i, host := range hosts {
		p, err := openSidePort(ctx, "legacy-ports", net.JoinHostPort(host, port), handler, s.cfg.Log)
		switch {
		case i > 0 && err != nil && !errors.Is(err, syscall.EADDRINUSE):
			continue // no IPv6
		case err != nil:
			return fmt.Errorf("%w: \"muster doctor --legacy\" shows who uses the port", err)
		}
		port = portOf(p.listener) // the same for both
		p.listener = s.limits.Listen(p.listener)
		s.legacy.ports = append(s.legacy.ports, p)
		s.opened.add(p.close)
	}
	return nil
}

// legacyTLSDir has the certificate for game servers, and its CA, in the data directory.
const legacyTLSDir = "legacy-tls"

// legacyCertificate returns the files of a certificate for game servers on this machine. They are created on first use.
func (s *service) legacyCertificate() (legacy.Certificate, error) {
	dir, err := filepath.Abs(filepath.Join(s.cfg.Data, legacyTLSDir))
	if err != nil {
		return legacy.Certificate{}, err
	}
	issued, err := localca.Load(dir, nil, s.cfg.Clock.Now())
	if err != nil {
		return legacy.Certificate{}, err
	}
	// GameLift Local gives the certificate as its chain, too.
	return legacy.Certificate{
		CertificatePath: issued.CertificateFile, CertificateChainPath: issued.CertificateFile,
		PrivateKeyPath: issued.KeyFile, RootCertificatePath: issued.CAFile, HostName: "localhost",
	}, nil
}

func (l *legacyPorts) all() []*sidePort {
	if l == nil {
		return nil
	}
	return l.ports
}

// addresses returns one address of each port.
func (l *legacyPorts) addresses() (addresses []string) {
	seen := map[string]bool{}
	for _, p := range l.all() {
		if port := portOf(p.listener); !seen[port] {
			seen[port] = true
			addresses = append(addresses, p.listener.Addr().String())
		}
	}
	return addresses
}

// report is the answer to GET /v1/legacy.
func (l *legacyPorts) report(ctx context.Context) any {
	r := legacy.Report{Fleet: l.fleet(), Servers: l.endpoint.Report(ctx)}
	for _, p := range l.ports {
		r.Addresses = append(r.Addresses, p.listener.Addr().String())
	}
	return r
}

func (l *legacyPorts) close(ctx context.Context) error {
	if l == nil {
		return nil
	}
	return l.endpoint.Close(ctx)
}
