package jetstream_test

import (
	"errors"
	"testing"

	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/journal/jetstream"
	"github.com/muster-gg/muster/internal/journal/journaltest"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
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
	defer leaktest.Check(t)()
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
			Feed: func() journal.Feed {
				f, err := e.Feed(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return f
			},
			Audit:  func() journal.Audit { return must(e.Audit(t.Context(), jetstream.AuditLimits{}))(t) },
			Bucket: func() journal.Bucket { return must(e.Grants(t.Context()))(t) },
			Restart: func() {
				mustClose(t, e)
				e = open(t, dir)
			},
		}
	})
}

// What follows the feed leaves nothing in the server when it ends, or clients that
// come and go would pile consumers up.
func TestFollowersLeaveNothing(t *testing.T) {
	defer leaktest.Check(t)()
	e := open(t, t.TempDir())
	defer mustClose(t, e)
	f, err := e.Feed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Append(t.Context(), "one", []byte("one")); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := f.Follow(t.Context(), 0, func(uint64, []byte) bool { return false }); err != nil {
			t.Fatal(err)
		}
	}
	if n := jetstream.Consumers(t, e, "MUSTER_FEED"); n != 0 {
		t.Errorf("%d consumers are left", n)
	}
}

// A journal of an earlier release told nobody of its records.
func TestFollowJournalOfEarlierRelease(t *testing.T) {
	e := open(t, t.TempDir())
	defer mustClose(t, e)
	jetstream.MakeEarlierJournal(t, e, 0)
	j := shardJournal(t, e, 0)
	for last := range uint64(3) {
		if _, err := j.Append(t.Context(), last, nil); err != nil {
			t.Fatal(err)
		}
	}
	enough := errors.New("enough")
	err := j.Follow(t.Context(), 0, func(seq uint64, _ []byte) error {
		if seq < 3 {
			return nil
		}
		return enough
	})
	if !errors.Is(err, enough) {
		t.Error(err)
	}
}
