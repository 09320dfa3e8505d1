package server

import (
	"context"
	"crypto/x509"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/config"
)

// TestCertificateIsWatched warns of a certificate that clients reject, or will.
func TestCertificateIsWatched(t *testing.T) {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	leaf := &x509.Certificate{NotBefore: begin, NotAfter: begin.AddDate(0, 0, 90),
		DNSNames: []string{"games.example.com"}}
	const url = "wss://games.example.com:9080"
	for _, c := range []struct {
		after     time.Duration // the begin
		cert, url string
		want      []string // in the log; none: nothing
	}{
		{24 * time.Hour, "cert.pem", url, nil},
		{69*24*time.Hour - time.Second, "cert.pem", url, nil},
		{70 * 24 * time.Hour, "cert.pem", url, []string{"certificate expires soon", "cert.pem", "2026-04-01"}},
		{70 * 24 * time.Hour, "", url, []string{"local CA", "why it was not renewed"}},
		{91 * 24 * time.Hour, "cert.pem", url, []string{"certificate has expired", "renew it"}},
		{-time.Hour, "cert.pem", url, []string{"not valid yet", "check the clock"}},
		{24 * time.Hour, "cert.pem", "wss://other.example.com", []string{"lacks the name", "other.example.com"}},
		{24 * time.Hour, "cert.pem", "ws://other.example.com", nil},
	} {
		var log strings.Builder
		s := &service{certificate: func() *x509.Certificate { return leaf }}
		s.cfg.TLSCert, s.cfg.PublicURL = c.cert, c.url
		s.cfg.Clock, s.cfg.Log = clockwork.NewFakeClockAt(begin.Add(c.after)), slog.New(slog.NewTextHandler(&log, nil))
		s.reportCertificate()
		if len(c.want) == 0 && log.Len() > 0 {
			t.Errorf("after %s: logged %s", c.after, &log)
		}
		for _, want := range c.want {
			if !strings.Contains(log.String(), want) {
				t.Errorf("after %s: logged %q, want %q", c.after, &log, want)
			}
		}
	}
}

// TestLocalCertificateIsRenewed while the service runs: the ports load it, and its CA stays.
func TestLocalCertificateIsRenewed(t *testing.T) {
	clock := clockwork.NewFakeClock()
	var log strings.Builder
	s := &service{}
	s.cfg = config.Config{Data: t.TempDir(),
		Process: config.Process{Clock: clock, Log: slog.New(slog.NewTextHandler(&log, nil))}}
	if err := s.openCertificate(t.Context()); err != nil {
		t.Fatal(err)
	}
	authority, err := os.ReadFile(s.caFile)
	if err != nil {
		t.Fatal(err)
	}
	first := s.certificate()
	s.renewCertificate()
	if !s.certificate().Equal(first) {
		t.Error("renewed at once")
	}
	clock.Advance(first.NotAfter.Sub(clock.Now()) - CertificateWarning)
	s.renewCertificate()
	clock.Advance(time.Minute) // the files are read at most once a second
	second := s.certificate()
	if second.Equal(first) || !second.NotAfter.After(first.NotAfter) {
		t.Errorf("the certificate ends at %s, %s before", second.NotAfter, first.NotAfter)
	}
	s.reportCertificate()
	clock.Advance(10 * 365 * 24 * time.Hour) // the CA has expired
	s.renewCertificate()
	if now, err := os.ReadFile(s.caFile); err != nil || string(now) != string(authority) {
		t.Errorf("another CA while the service runs: %v", err)
	}
	if strings.Contains(log.String(), "level=WARN") {
		t.Errorf("logged %s", &log)
	}
	if err := os.Remove(s.caFile); err != nil {
		t.Fatal(err)
	}
	s.renewCertificate()
	if !strings.Contains(log.String(), "certificate not renewed") {
		t.Errorf("without a CA: logged %s", &log)
	}
}

// TestCertificateIsWatchedDaily until the service stops.
func TestCertificateIsWatchedDaily(t *testing.T) {
	clock := clockwork.NewFakeClock()
	looked := make(chan struct{})
	s := &service{certificate: func() *x509.Certificate {
		looked <- struct{}{}
		return &x509.Certificate{NotAfter: clock.Now().AddDate(1, 0, 0)}
	}}
	s.cfg = config.Config{Process: config.Process{Clock: clock, Log: slog.New(slog.DiscardHandler)}}
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { done <- s.watchCertificate(ctx) }()
	<-looked
	clock.Advance(certificatePause)
	<-looked
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
