package jetstream_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/journal/jetstream"
	"github.com/muster-gg/muster/internal/journal/journaltest"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
)

func TestDirectoryHasOneEngine(t *testing.T) {
	defer leaktest.Check(t)()
	dir := t.TempDir()
	e := open(t, dir)
	if _, err := jetstream.Open(t.Context(), jetstream.Config{Dir: dir}); !errors.Is(err, jetstream.ErrInUse) ||
		!strings.Contains(err.Error(), dir) {
		t.Errorf("a second engine gives %v, want ErrInUse with the directory", err)
	}
	mustClose(t, e)
	mustClose(t, open(t, dir))
}

func TestDirectoryThatCannotBe(t *testing.T) {
	defer leaktest.Check(t)()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	occupied := t.TempDir()
	// Where the server has its files.
	if err := os.WriteFile(filepath.Join(occupied, "jetstream"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below"), occupied} {
		if _, err := jetstream.Open(t.Context(), jetstream.Config{Dir: dir}); err == nil ||
			!strings.Contains(err.Error(), dir) {
			t.Errorf("%s gives %v, want an error with the directory", dir, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	if e, err := jetstream.Open(ctx, jetstream.Config{Dir: dir}); err == nil {
		mustClose(t, e) // it may have been quicker than its context
	}
	mustClose(t, open(t, dir))
}

func TestServerSpeaksThroughTheLog(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&lockedWriter{w: &out}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	e, err := jetstream.Open(t.Context(), jetstream.Config{Dir: t.TempDir(), Log: log})
	if err != nil {
		t.Fatal(err)
	}
	mustClose(t, e)
	if s := out.String(); !strings.Contains(s, "Starting nats-server") || strings.Contains(s, "level=ERROR") ||
		strings.Contains(s, "level=INFO") {
		t.Errorf("the log says:\n%s", s)
	}
}

type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

func TestShardsAreApart(t *testing.T) {
	e := open(t, t.TempDir())
	defer mustClose(t, e)
	var opened sync.WaitGroup
	for i := range 4 {
		opened.Go(func() {
			j, err := e.Journal(t.Context(), i)
			if err != nil {
				t.Error(err)
				return
			}
			for last := range uint64(i + 1) {
				if _, err := j.Append(t.Context(), last, []byte{byte(i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	opened.Wait()
	for i := range 4 {
		n := 0
		err := shardJournal(t, e, i).Replay(t.Context(), 0, func(_ uint64, data []byte) error {
			if n++; data[0] != byte(i) {
				return fmt.Errorf("record of shard %d", data[0])
			}
			return nil
		})
		if err != nil || n != i+1 {
			t.Errorf("shard %d has %d records, %v", i, n, err)
		}
	}
}

func TestAppendAfterClose(t *testing.T) {
	e := open(t, t.TempDir())
	j := shardJournal(t, e, 0)
	mustClose(t, e)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, err := j.Append(ctx, 0, nil); err == nil || errors.Is(err, journal.ErrFenced) {
		t.Errorf("got %v, want an error that is no fence", err)
	}
	if err := j.Replay(ctx, 0, func(uint64, []byte) error { return nil }); err == nil {
		t.Error("a replay after the end succeeds")
	}
}

func TestAppendWhoseTimeIsOver(t *testing.T) {
	e := open(t, t.TempDir())
	defer mustClose(t, e)
	j := shardJournal(t, e, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := j.Append(ctx, 0, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's end", err)
	}
}

func TestHistoryForgets(t *testing.T) {
	e, err := jetstream.Open(t.Context(), jetstream.Config{Dir: t.TempDir(), HistoryAge: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, e)
	h, err := e.History(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Append(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for first := uint64(1); first == 1; { // until it is deleted, or the test's time is over
		b, err := h.Bounds(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		first = b.First
	}
}

// TestOldEntries are followed with their subjects, beside batches.
func TestOldEntries(t *testing.T) {
	e := open(t, t.TempDir())
	defer mustClose(t, e)
	h, err := e.History(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	newest := func(want uint64) {
		t.Helper()
		if got, err := h.NewestEntry(t.Context()); got != want || err != nil {
			t.Errorf("the newest entry is %d, %v; want %d", got, err, want)
		}
	}
	newest(0)
	for _, subject := range []string{"s.f.l.g.0-1-2", "p.x.f.l.g.0-1-2", "q.a", "q.a"} {
		jetstream.PutEntry(t, e, subject, "data")
	}
	newest(4)
	if _, err := h.Append(t.Context(), []byte("batch")); err != nil {
		t.Fatal(err)
	}
	newest(4)
	var got []string
	enough := errors.New("enough")
	err = h.Follow(t.Context(), 0, func(s journal.Stored) error {
		if got = append(got, fmt.Sprint(s.Seq, s.Subject)); len(got) == 4 {
			return enough
		}
		return nil
	})
	want := []string{"1s.f.l.g.0-1-2", "2p.x.f.l.g.0-1-2", "4q.a", "5"}
	if !errors.Is(err, enough) || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	if err := h.DropThrough(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	newest(0)
}

func snapshotOf(t *testing.T, j journal.Journal) (seq uint64, data string) {
	t.Helper()
	seq, r, err := j.LoadSnapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r == nil {
		return 0, ""
	}
	all, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return seq, string(all)
}

// A snapshot that is damaged is not given back: the older one is, and its
// records are there.
func TestDamagedSnapshot(t *testing.T) {
	large := strings.Repeat("x", 1<<20)
	for name, damage := range map[string]func(*testing.T, *jetstream.Engine, string){
		"a chunk is missing": jetstream.DropChunk,
		"a chunk is another": jetstream.ReplaceChunk,
	} {
		t.Run(name, func(t *testing.T) {
			e := open(t, t.TempDir())
			defer mustClose(t, e)
			j := shardJournal(t, e, 5)
			for last := range uint64(9) {
				if _, err := j.Append(t.Context(), last, []byte("r")); err != nil {
					t.Fatal(err)
				}
				if last%3 == 2 {
					err := j.SaveSnapshot(t.Context(), last, journaltest.Writing(fmt.Sprint(last, large)))
					if err != nil {
						t.Fatal(err)
					}
				}
			}
			damage(t, e, "muster-shard-5")
			seq, data := snapshotOf(t, j)
			if seq != 5 || data != "5"+large {
				t.Errorf("got the snapshot of %d, want the older one, of 5", seq)
			}
			n := 0
			if err := j.Replay(t.Context(), seq, func(uint64, []byte) error { n++; return nil }); err != nil || n != 4 {
				t.Errorf("%d records behind it, %v", n, err)
			}
			if err := j.SaveSnapshot(t.Context(), 9, journaltest.Writing("9")); err != nil {
				t.Fatal(err)
			}
			if seq, _ := snapshotOf(t, j); seq != 9 {
				t.Errorf("got the snapshot of %d, want the new one", seq)
			}
		})
	}
}

// What a process left behind that died in the middle of a snapshot is removed.
func TestAbandonedChunksAreRemoved(t *testing.T) {
	e := open(t, t.TempDir())
	defer mustClose(t, e)
	j := shardJournal(t, e, 0)
	if _, err := j.Append(t.Context(), 0, nil); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if err := j.SaveSnapshot(t.Context(), 1, journaltest.Writing("state")); err != nil {
			t.Fatal(err)
		}
		jetstream.AddChunk(t, e, "muster-shard-0")
	}
	if err := j.SaveSnapshot(t.Context(), 1, journaltest.Writing("state")); err != nil {
		t.Fatal(err)
	}
	if n := jetstream.Messages(t, e, "OBJ_muster-shard-0"); n != 4 {
		t.Errorf("the object store has %d messages, want a chunk and a name for each of two snapshots", n)
	}
}

func TestReplayLeavesNoConsumer(t *testing.T) {
	e := open(t, t.TempDir())
	defer mustClose(t, e)
	j := shardJournal(t, e, 0)
	for last := range uint64(3) {
		if _, err := j.Append(t.Context(), last, nil); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if err := j.Replay(t.Context(), 0, func(uint64, []byte) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if n := jetstream.Consumers(t, e, "MUSTER_SHARD_0"); n != 0 {
		t.Errorf("%d consumers are left", n)
	}
}

// Snapshots have the layout that every NATS tool knows.
func TestSnapshotIsAnObject(t *testing.T) {
	e := open(t, t.TempDir())
	defer mustClose(t, e)
	j := shardJournal(t, e, 0)
	if _, err := j.Append(t.Context(), 0, nil); err != nil {
		t.Fatal(err)
	}
	want := strings.Repeat("state", 100_000)
	if err := j.SaveSnapshot(t.Context(), 1, journaltest.Writing(want)); err != nil {
		t.Fatal(err)
	}
	if got := jetstream.NewestObject(t, e, "muster-shard-0"); string(got) != want {
		t.Errorf("the object has %d bytes, want %d", len(got), len(want))
	}
}
