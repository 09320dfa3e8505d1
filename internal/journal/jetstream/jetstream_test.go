package jetstream_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/journal/jetstream"
	"github.com/muster-gg/muster/internal/journal/journaltest"
)

func open(t testing.TB, dir string) *jetstream.Engine {
	t.Helper()
	e, err := jetstream.Open(t.Context(), jetstream.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func mustClose(t testing.TB, e *jetstream.Engine) {
	t.Helper()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

func shardJournal(t testing.TB, e *jetstream.Engine, shard int) journal.Journal {
	t.Helper()
	j, err := e.Journal(t.Context(), shard)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestContract(t *testing.T) {
	defer goleak.VerifyNone(t)
	journaltest.Run(t, func(t *testing.T) journaltest.Fixture {
		dir := t.TempDir()
		e := open(t, dir)
		t.Cleanup(func() { mustClose(t, e) })
		return journaltest.Fixture{
			Journal: func() journal.Journal { return shardJournal(t, e, 3) },
			History: func() journal.History {
				h, err := e.History(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return h
			},
			Restart: func() {
				mustClose(t, e)
				e = open(t, dir)
			},
		}
	})
}
