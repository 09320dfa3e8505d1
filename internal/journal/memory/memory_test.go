package memory_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/journal/journaltest"
	"github.com/muster-gg/muster/internal/journal/memory"
)

func TestContract(t *testing.T) {
	journaltest.Run(t, func(*testing.T) journaltest.Fixture {
		j := memory.New(memory.Config{MaxRecord: 1 << 20})
		h := memory.NewHistory(clockwork.NewRealClock(), 0)
		f, audit, b := memory.NewFeed(), memory.NewFeed(), memory.NewBucket(clockwork.NewRealClock())
		return journaltest.Fixture{
			Journal: func() journal.Journal { return j.Reopen() },
			Feed:    func() journal.Feed { return f },
			Audit:   func() journal.Audit { return audit },
			Bucket:  func() journal.Bucket { return b },
			History: func() journal.History { return h },
			Restart: func() {},
		}
	})
}

func records(t *testing.T, j journal.Journal) (n int) {
	t.Helper()
	err := j.Replay(t.Context(), 0, func(uint64, []byte) error { n++; return nil })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestFaults(t *testing.T) {
	j, broken := memory.New(memory.Config{}), errors.New("broken")
	j.FailAppend(broken)
	j.LoseAnswer(broken)
	for want := range 2 {
		if _, err := j.Append(t.Context(), 0, nil); !errors.Is(err, broken) {
			t.Errorf("got %v, want the fault", err)
		}
		if got := records(t, j); got != want {
			t.Errorf("%d records, want %d", got, want)
		}
	}
	if _, err := j.Append(t.Context(), 1, nil); err != nil {
		t.Errorf("after the faults: %v", err)
	}
	j.FailAppend(broken)
	if _, err := j.Reopen().Append(t.Context(), 2, nil); err != nil {
		t.Errorf("another handle has this one's fault: %v", err)
	}
}

func TestHeldAppendLandsLate(t *testing.T) {
	j := memory.New(memory.Config{})
	release := j.Hold()
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := j.Append(ctx, 0, []byte("late"))
		failed <- err
	}()
	if err := j.AwaitHeld(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's end", err)
	}
	if got := records(t, j); got != 0 {
		t.Errorf("%d records before the release", got)
	}
	release()
	if got := records(t, j); got != 1 {
		t.Errorf("%d records after the release", got)
	}
}

// A follower that lags sees what came meanwhile when it catches up, another
// handle's sees it at once.
func TestLag(t *testing.T) {
	j := memory.New(memory.Config{})
	catchUp := j.Lag()
	var followers sync.WaitGroup
	defer followers.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	follow := func(j journal.Journal) <-chan uint64 {
		seen := make(chan uint64, 2)
		followers.Go(func() {
			_ = j.Follow(ctx, 0, func(seq uint64, _ []byte) error { seen <- seq; return nil })
		})
		return seen
	}
	late, prompt := follow(j), follow(j.Reopen())
	if _, err := j.Append(t.Context(), 0, nil); err != nil {
		t.Fatal(err)
	}
	<-prompt
	if len(late) > 0 {
		t.Error("a follower that lags has seen a record")
	}
	catchUp()
	catchUp() // again does no harm
	if seq := <-late; seq != 1 {
		t.Errorf("record %d", seq)
	}
}

func TestCutSnapshotIsIgnored(t *testing.T) {
	j := memory.New(memory.Config{})
	if _, err := j.Append(t.Context(), 0, nil); err != nil {
		t.Fatal(err)
	}
	j.CutSnapshot()
	if err := j.SaveSnapshot(t.Context(), 1, journaltest.Writing("state")); err == nil {
		t.Error("a cut snapshot is no error")
	}
	if seq, r, err := j.LoadSnapshot(t.Context()); seq != 0 || r != nil || err != nil {
		t.Errorf("got snapshot %d, %v, %v; want none", seq, r, err)
	}
}

func TestHistoryForgets(t *testing.T) {
	clock := clockwork.NewFakeClock()
	h := memory.NewHistory(clock, time.Hour)
	if _, err := h.Append(t.Context(), []byte("a")); err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Hour + 1)
	if b, err := h.Bounds(t.Context(), 0); err != nil || b.First != 2 || b.Last != 1 {
		t.Errorf("got %+v, %v; want it deleted", b, err)
	}
}

func TestFeedFaults(t *testing.T) {
	f, broken := memory.NewFeed(), errors.New("broken")
	f.FailAppend(broken)
	f.LoseAnswer(broken)
	for want := range uint64(2) {
		if _, err := f.Append(t.Context(), "id", nil); !errors.Is(err, broken) {
			t.Errorf("got %v, want the fault", err)
		}
		if last, err := f.Last(t.Context()); last != want || err != nil {
			t.Errorf("%d records, %v; want %d", last, err, want)
		}
	}
	if seq, err := f.Append(t.Context(), "id", nil); seq != 1 || err != nil {
		t.Errorf("the repeated append is number %d, %v", seq, err)
	}
}

func TestBucketForgets(t *testing.T) {
	clock := clockwork.NewFakeClock()
	b := memory.NewBucket(clock)
	create := func(key string, size int) (uint64, error) { return b.Create(t.Context(), key, make([]byte, size)) }
	for i := range journal.BucketBytes / journal.MaxValue {
		_, _ = create(string(rune('a'+i)), journal.MaxValue) // until it is full
	}
	if _, err := create("more", journal.MaxValue); !errors.Is(err, journal.ErrFull) {
		t.Fatalf("got %v, want ErrFull", err)
	}
	clock.Advance(journal.BucketAge / 2)
	_, revision, err := b.Get(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if revision, err = b.Update(t.Context(), "a", nil, revision); err != nil {
		t.Fatal(err)
	}
	clock.Advance(journal.BucketAge/2 + 1)
	if _, _, err := b.Get(t.Context(), "b"); !errors.Is(err, journal.ErrNoValue) {
		t.Errorf("an old value gives %v", err)
	}
	if _, got, err := b.Get(t.Context(), "a"); got != revision || err != nil {
		t.Errorf("a value that was written again has revision %d, %v; want %d", got, err, revision)
	}
	if _, err := create("more", journal.MaxValue); err != nil {
		t.Errorf("with the old values deleted: %v", err)
	}
}
