package instance

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/internal/listen/localca"
)

// issuer answers for a service with a CA.
type issuer struct {
	dir    string
	clock  *clockwork.FakeClock
	names  []string
	issued chan struct{} // has an element for each certificate
	fails  int           // so many requests first
}

func (s *issuer) Token(context.Context, string) (protocol.Token, error) {
	return protocol.Token{}, errNever
}

func (s *issuer) RoleKeys(context.Context, string) (protocol.RoleKeys, error) {
	return protocol.RoleKeys{}, errNever
}

func (s *issuer) Changed() {}

var errNever = errors.New("not now")

func (s *issuer) Certificate(_ context.Context, _ string, request []byte) (t protocol.Token, err error) {
	if s.fails--; s.fails >= 0 {
		return t, errNever
	}
	certificate, root, err := localca.Certify(s.dir, request, s.names, s.clock.Now())
	s.issued <- struct{}{}
	return protocol.Token{Certificate: string(certificate), Root: string(root)}, err
}

func newIssuer(t *testing.T) (*issuer, *instance) {
	t.Helper()
	clock := clockwork.NewFakeClockAt(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	s := &issuer{dir: t.TempDir(), clock: clock, names: []string{"i-1.fleet-1.muster.internal", "127.0.0.1"},
		issued: make(chan struct{}, 10)}
	if err := localca.CreateCA(s.dir, clock.Now()); err != nil {
		t.Fatal(err)
	}
	m := &Instances{cfg: Config{Data: t.TempDir(), Clock: clock, Log: slog.New(slog.DiscardHandler)}, tokens: s}
	m.ctx, m.cancel = context.WithCancel(t.Context())
	return s, newInstance(m, "i-1")
}

// read returns the files of the certificate.
func read(t *testing.T, i *instance) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, name := range []string{certificateFile, chainFile, keyFile, rootFile} {
		text, err := os.ReadFile(i.certificatePath(name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = text
	}
	return files
}

// TestServeTLS: a game server serves TLS with the files, and clients that trust the CA verify its name and address.
func TestServeTLS(t *testing.T) {
	s, i := newIssuer(t)
	for range 2 {
		if !i.certify() || len(s.issued) != 1 {
			t.Fatalf("%d certificates were issued", len(s.issued))
		}
	}
	pair, err := tls.LoadX509KeyPair(i.certificatePath(chainFile), i.certificatePath(keyFile))
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(read(t, i)[rootFile]) {
		t.Fatal("the root certificate is none")
	}
	for _, c := range []struct {
		name string
		ok   bool
	}{{"i-1.fleet-1.muster.internal", true}, {"127.0.0.1", true}, {"i-2.fleet-1.muster.internal", false}} {
		client, server := net.Pipe()
		go func() {
			conn := tls.Server(server, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
			_, _ = conn.Write([]byte("welcome")) // fails if the client refuses
			_ = conn.Close()
		}()
		conn := tls.Client(client, &tls.Config{ServerName: c.name, RootCAs: trusted, Time: s.clock.Now,
			MinVersion: tls.VersionTLS12})
		text, err := io.ReadAll(conn)
		if (err == nil) != c.ok || c.ok && string(text) != "welcome" {
			t.Errorf("as %s: %q, %v", c.name, text, err)
		}
		_ = client.Close()
	}
}

// TestRenewal: the certificate is replaced after two thirds of its life, and its key is kept.
func TestRenewal(t *testing.T) {
	s, i := newIssuer(t)
	if !i.certify() {
		t.Fatal("no certificate")
	}
	<-s.issued
	first := read(t, i)
	done := make(chan struct{})
	go func() {
		defer close(done)
		i.renew()
	}()
	for range 59 {
		if err := s.clock.BlockUntilContext(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		s.clock.Advance(24 * time.Hour)
	}
	if len(s.issued) != 0 {
		t.Error("it was replaced before 60 days")
	}
	s.fails = 2 // it tries again
	for len(s.issued) == 0 {
		if err := s.clock.BlockUntilContext(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		s.clock.Advance(12 * time.Hour)
	}
	if err := s.clock.BlockUntilContext(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	i.abort()
	<-done
	second := read(t, i)
	for name, same := range map[string]bool{certificateFile: false, chainFile: false, keyFile: true, rootFile: true} {
		if bytes.Equal(first[name], second[name]) != same {
			t.Errorf("%s is the same: %v", name, !same)
		}
	}
}

// TestNoCertificate: an instance waits for its first certificate, with the reason, until it ends.
func TestNoCertificate(t *testing.T) {
	s, i := newIssuer(t)
	s.fails = 1000
	done := make(chan bool)
	go func() { done <- i.certify() }()
	if err := s.clock.BlockUntilContext(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	i.m.mu.Lock()
	if f := i.failure; f == nil || f.Message != "certificate: not now" || i.state.Stage != protocol.Building {
		t.Errorf("the reason is %v at stage %s", f, i.state.Stage)
	}
	i.m.mu.Unlock()
	i.abort()
	if <-done {
		t.Error("it has a certificate")
	}
}
