package jetstream_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/journal/jetstream"
	"github.com/muster-gg/muster/internal/journal/journaltest"
)

// startNATS starts a NATS server of somebody else.
func startNATS(t *testing.T) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(), MaxPayload: 8 << 20,
	})
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
	defer noLeaks(t)()
	journaltest.Run(t, func(t *testing.T) journaltest.Fixture {
		cfg := jetstream.Config{Dir: t.TempDir(), External: &jetstream.External{URLs: startNATS(t).ClientURL(), Replicas: 1}}
		e := must(jetstream.Open(t.Context(), cfg))(t)
		t.Cleanup(func() { mustClose(t, e) })
		return journaltest.Fixture{
			Journal: func() journal.Journal { return shardJournal(t, e, 3) },
			History: func() journal.History { return must(e.History(t.Context()))(t) },
			Feed:    func() journal.Feed { return must(e.Feed(t.Context()))(t) },
			Restart: func() {
				mustClose(t, e)
				e = must(jetstream.Open(t.Context(), cfg))(t)
			},
		}
	})
}
