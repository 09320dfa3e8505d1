package jetstream_test

import (
	"crypto/tls"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/journal/jetstream"
	"github.com/muster-gg/muster/internal/journal/journaltest"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
)

// startNATS starts a NATS server of somebody else.
func startNATS(t *testing.T, change ...func(*server.Options)) *server.Server {
	t.Helper()
	options := &server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(),
		MaxPayload: 8 << 20,
	}
	for _, f := range change {
		f(options)
	}
	s, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not get ready")
	}
	return s
}

// The contract holds with a NATS elsewhere. A restart is one of this process.
func TestExternalContract(t *testing.T) {
	defer leaktest.Check(t)()
	journaltest.Run(t, func(t *testing.T) journaltest.Fixture {
		cfg := jetstream.WithWaits(jetstream.Config{Dir: t.TempDir(),
			External: &jetstream.External{URLs: startNATS(t).ClientURL(), Replicas: 1}}, contractWait, busyWait)
		e := must(jetstream.Open(t.Context(), cfg))(t)
		t.Cleanup(func() { mustClose(t, e) })
		return journaltest.Fixture{
			Journal: func() journal.Journal { return shardJournal(t, e, 3) },
			History: func() journal.History { return must(e.History(t.Context()))(t) },
			Feed:    func() journal.Feed { return must(e.Feed(t.Context()))(t) },
			Audit:   func() journal.Audit { return must(e.Audit(t.Context(), jetstream.AuditLimits{}))(t) },
			Bucket:  func() journal.Bucket { return must(e.Grants(t.Context()))(t) },
			Restart: func() {
				mustClose(t, e)
				e = must(jetstream.Open(t.Context(), cfg))(t)
			},
		}
	})
}

// A NATS that does not take what may be written is refused at once, with what to set.
func TestExternalPayload(t *testing.T) {
	defer leaktest.Check(t)()
	t.Run("nats", func(t *testing.T) {
		nats := startNATS(t, func(o *server.Options) { o.MaxPayload = 1 << 20 })
		_, err := jetstream.Open(t.Context(), jetstream.Config{Dir: t.TempDir(),
			External: &jetstream.External{URLs: nats.ClientURL(), Replicas: 1}})
		if err == nil || !strings.Contains(err.Error(), "set max_payload to 8MB") {
			t.Errorf("got %v", err)
		}
	})
}

// A NATS that asks for a certificate is shown one, and its own is checked.
func TestExternalOverTLS(t *testing.T) {
	defer leaktest.Check(t)()
	t.Run("nats", func(t *testing.T) {
		ours := newAuthority(t)
		nats := startNATS(t, func(o *server.Options) {
			o.TLSConfig, o.TLSTimeout = ours.node(), 5
			o.TLSConfig.ClientAuth, o.TLSConfig.ClientCAs = tls.RequireAndVerifyClientCert, ours.pool
		})
		open := func(cfg *tls.Config) error {
			e, err := jetstream.Open(t.Context(), jetstream.Config{Dir: t.TempDir(),
				External: &jetstream.External{URLs: nats.ClientURL(), TLS: cfg, Replicas: 1}})
			if err != nil {
				return err
			}
			if _, err := shardJournal(t, e, 0).Append(t.Context(), 0, record(1)); err != nil {
				t.Error(err)
			}
			return e.Close()
		}
		if err := open(ours.node()); err != nil {
			t.Error(err)
		}
		for name, cfg := range map[string]*tls.Config{
			"no certificate":    {RootCAs: ours.pool, MinVersion: tls.VersionTLS13},
			"another authority": newAuthority(t).node(),
		} {
			if err := open(cfg); err == nil {
				t.Errorf("%s: it is open", name)
			}
		}
	})
}
