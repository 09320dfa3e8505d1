package journaltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/journal"
)

func mustAppendBatch(t *testing.T, h journal.History, data string) (seq uint64) {
	t.Helper()
	seq, err := h.Append(t.Context(), []byte(data))
	if err != nil {
		t.Fatalf("append %.20q: %v", data, err)
	}
	return seq
}

// followed returns the next n of a history after a number, as "subject=data", and the number of the last.
func followed(t *testing.T, h journal.History, after uint64, n int) (got []string, last uint64) {
	t.Helper()
	last = after
	err := h.Follow(t.Context(), after, func(s journal.Stored) error {
		if s.Seq <= last {
			t.Errorf("number %d after %d", s.Seq, last)
		}
		if s.Time.IsZero() {
			t.Errorf("number %d has no time", s.Seq)
		}
		got, last = append(got, fmt.Sprintf("%s=%s", s.Subject, s.Data)), s.Seq
		if len(got) == n {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatalf("follow after %d: %v", after, err)
	}
	return got, last
}

func wantFollowed(t *testing.T, h journal.History, after uint64, want ...string) {
	t.Helper()
	if got, _ := followed(t, h, after, len(want)); !slices.Equal(got, want) {
		t.Errorf("after %d there is %q, want %q", after, got, want)
	}
}

// awaitFollowed waits until Follow visits a batch first: a replica may visit what was dropped a moment ago.
func awaitFollowed(t *testing.T, h journal.History, after uint64, want string) {
	t.Helper()
	for got := ""; got != want && t.Context().Err() == nil; {
		all, _ := followed(t, h, after, 1)
		got = all[0]
	}
}

func wantBounds(t *testing.T, h journal.History, first, last uint64) {
	t.Helper()
	b, err := h.Bounds(t.Context(), 0)
	if err != nil || b.First != first || b.Last != last || (b.Bytes == 0 || b.Oldest.IsZero()) != (first > last) {
		t.Fatalf("the history is %+v, %v; want %d to %d", b, err, first, last)
	}
}

func testHistory(t *testing.T, f Fixture) {
	h := f.History()
	wantBounds(t, h, 1, 0)
	first := mustAppendBatch(t, h, "one")
	second := mustAppendBatch(t, f.History(), "two")
	third := mustAppendBatch(t, h, "")
	if first != 1 || second != 2 || third != 3 {
		t.Errorf("numbers %d, %d and %d", first, second, third)
	}
	wantBounds(t, h, 1, 3)
	wantFollowed(t, h, 0, "=one", "=two", "=")
	wantFollowed(t, f.History(), 1, "=two", "=")
	if seq, err := h.NewestEntry(t.Context()); seq != 0 || err != nil {
		t.Errorf("entry %d of a release before, %v", seq, err)
	}
}

func testHistoryFollows(t *testing.T, f Fixture) {
	h := f.History()
	mustAppendBatch(t, h, "one")
	seen, done := make(chan string), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		done <- h.Follow(ctx, 0, func(s journal.Stored) error {
			seen <- string(s.Data)
			return nil
		})
	}()
	for i, want := range []string{"one", "two", "three"} {
		if i > 0 {
			mustAppendBatch(t, h, want)
		}
		if got := <-seen; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
}

func testHistoryDrops(t *testing.T, f Fixture) {
	h := f.History()
	for _, data := range []string{"one", "two", "three"} {
		mustAppendBatch(t, h, data)
	}
	drop := func(seq uint64) {
		t.Helper()
		if err := h.DropThrough(t.Context(), seq); err != nil {
			t.Fatal(err)
		}
	}
	drop(2)
	wantBounds(t, h, 3, 3)
	awaitFollowed(t, h, 0, "=three")
	drop(1)
	wantBounds(t, h, 3, 3)
	drop(3)
	wantBounds(t, h, 4, 3)
	if seq := mustAppendBatch(t, h, "four"); seq != 4 {
		t.Errorf("number %d", seq)
	}
	awaitFollowed(t, h, 1, "=four")
}

// testHistoryLargest: a batch that is too large is refused as such, and changes nothing.
func testHistoryLargest(t *testing.T, f Fixture) {
	h := f.History()
	largest := strings.Repeat("x", journal.MaxEntry)
	if _, err := h.Append(t.Context(), []byte(largest+"x")); !errors.Is(err, journal.ErrTooLarge) {
		t.Errorf("a batch of %d bytes gives %v, want ErrTooLarge", journal.MaxEntry+1, err)
	}
	wantBounds(t, h, 1, 0)
	for range 3 {
		mustAppendBatch(t, h, largest)
	}
	mustAppendBatch(t, h, "small")
	wantFollowed(t, h, 0, "="+largest, "="+largest, "="+largest, "=small")
}

func testHistoryRestart(t *testing.T, f Fixture) {
	h := f.History()
	mustAppendBatch(t, h, "one")
	mustAppendBatch(t, h, "two")
	f.Restart()
	h = f.History()
	wantBounds(t, h, 1, 2)
	wantFollowed(t, h, 0, "=one", "=two")
	if seq := mustAppendBatch(t, h, "three"); seq != 3 {
		t.Errorf("number %d", seq)
	}
	wantFollowed(t, h, 2, "=three")
}

func testHistoryContext(t *testing.T, f Fixture) {
	h := f.History()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Append(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("append: %v", err)
	}
	visit := func(journal.Stored) error { return errEnough }
	if err := h.Follow(ctx, 0, visit); !errors.Is(err, context.Canceled) {
		t.Errorf("follow: %v", err)
	}
	wantBounds(t, h, 1, 0)
}
