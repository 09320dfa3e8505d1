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

func mustPut(t *testing.T, h journal.History, subject, data string) {
	t.Helper()
	if err := h.Put(t.Context(), subject, []byte(data)); err != nil {
		t.Fatalf("put %s: %v", subject, err)
	}
}

func wantEntry(t *testing.T, h journal.History, subject, want string, there bool) {
	t.Helper()
	got, ok, err := h.Get(t.Context(), subject)
	if err != nil || ok != there || string(got) != want {
		t.Fatalf("get %s gives %q, %v, %v; want %q, %v", subject, got, ok, err, want, there)
	}
}

// list returns at most limit entries as "subject=data", and the number of the last.
func list(t *testing.T, h journal.History, filter string, after uint64, limit int) (got []string, last uint64) {
	t.Helper()
	err := h.List(t.Context(), filter, after, func(seq uint64, subject string, data []byte) bool {
		if seq <= after || seq <= last {
			t.Errorf("entry %d after %d and %d", seq, after, last)
		}
		got, last = append(got, fmt.Sprintf("%s=%s", subject, data)), seq
		return len(got) < limit
	})
	if err != nil {
		t.Fatalf("list %s: %v", filter, err)
	}
	return got, last
}

func wantList(t *testing.T, h journal.History, filter string, want ...string) {
	t.Helper()
	if got, _ := list(t, h, filter, 0, 1000); !slices.Equal(got, want) {
		t.Errorf("list %s gives %q, want %q", filter, got, want)
	}
}

func wantLast(t *testing.T, h journal.History, want uint64) {
	t.Helper()
	if got, err := h.Last(t.Context()); got != want || err != nil {
		t.Fatalf("last is %d, %v; want %d", got, err, want)
	}
}

func testHistory(t *testing.T, f Fixture) {
	h := f.History()
	wantEntry(t, h, "session.f1.s1", "", false)
	wantLast(t, h, 0)
	mustPut(t, h, "session.f1.s1", "one")
	mustPut(t, h, "session.f1.s2", "two")
	wantLast(t, h, 2)
	wantEntry(t, h, "session.f1.s1", "one", true)
	mustPut(t, h, "session.f1.s1", "three")
	wantEntry(t, h, "session.f1.s1", "three", true)
	wantEntry(t, h, "session.f1.s2", "two", true)
	wantEntry(t, h, "session.f1", "", false)
	mustPut(t, h, "session.f1.s1", "")
	wantEntry(t, h, "session.f1.s1", "", true)
}

func testHistoryList(t *testing.T, f Fixture) {
	h := f.History()
	wantList(t, h, ">")
	for _, s := range []string{"session.f1.s1", "session.f2.s1", "session.f1.s2", "other.f1.s1", "session.f1.s3"} {
		mustPut(t, h, s, "x")
	}
	mustPut(t, h, "session.f1.s1", "y") // becomes the newest
	wantList(t, h, "session.f1.*", "session.f1.s2=x", "session.f1.s3=x", "session.f1.s1=y")
	wantList(t, h, "session.>", "session.f2.s1=x", "session.f1.s2=x", "session.f1.s3=x", "session.f1.s1=y")
	wantList(t, h, "*.f1.s1", "other.f1.s1=x", "session.f1.s1=y")
	wantList(t, h, "session.f1.s3", "session.f1.s3=x")
	wantList(t, h, "session.*")
	wantList(t, h, "session")

	first, last := list(t, h, "session.f1.*", 0, 2)
	rest, last := list(t, h, "session.f1.*", last, 2)
	got := append(first, rest...)
	if !slices.Equal(got, []string{"session.f1.s2=x", "session.f1.s3=x", "session.f1.s1=y"}) {
		t.Errorf("two pages give %q", got)
	}
	if none, _ := list(t, h, "session.f1.*", last, 2); none != nil {
		t.Errorf("after the last one there is %q", none)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.List(ctx, ">", 0, func(uint64, string, []byte) bool { return true }); err == nil {
		t.Error("a list with a context that has ended succeeds")
	}
}

func testHistorySubjects(t *testing.T, f Fixture) {
	h := f.History()
	for _, bad := range []string{
		"", ".", "a.", ".a", "a..b", "a b", "a\tb", "a.*", "a.>", "a\x00b", string(make([]byte, 5000)),
	} {
		if err := h.Put(t.Context(), bad, nil); err == nil {
			t.Errorf("put %q succeeds", bad)
		}
		if _, _, err := h.Get(t.Context(), bad); err == nil {
			t.Errorf("get %q succeeds", bad)
		}
	}
	for _, bad := range []string{"", "a..b", "a.>.b", ">.a", "a b"} {
		if err := h.List(t.Context(), bad, 0, func(uint64, string, []byte) bool { return true }); err == nil {
			t.Errorf("list %q succeeds", bad)
		}
	}
	for _, good := range []string{
		"a", "arn:aws:gamelift:us-west-2::gamesession/fleet-1/custom-home/gsess-1", "a*b.c>d", "ä.€", "$a-_/",
	} {
		mustPut(t, h, good, good)
		wantEntry(t, h, good, good, true)
	}
}

// testHistoryLargest: an entry that is too large is refused as such, and changes nothing.
func testHistoryLargest(t *testing.T, f Fixture) {
	h := f.History()
	largest := strings.Repeat("x", journal.MaxEntry)
	mustPut(t, h, "a.b", largest)
	wantLargest := func() {
		t.Helper()
		if got, ok, err := f.History().Get(t.Context(), "a.b"); string(got) != largest || !ok || err != nil {
			t.Errorf("the entry is read as %d bytes, %v, %v", len(got), ok, err)
		}
		wantEntry(t, h, "a.c", "", false)
		wantLast(t, h, 1)
	}
	wantLargest()
	for _, subject := range []string{"a.b", "a.c"} {
		if err := h.Put(t.Context(), subject, []byte(largest+"x")); !errors.Is(err, journal.ErrTooLarge) {
			t.Errorf("an entry of %d bytes gives %v, want ErrTooLarge", journal.MaxEntry+1, err)
		}
	}
	wantLargest()
	f.Restart()
	h = f.History()
	wantLargest()
}

func testHistoryRestart(t *testing.T, f Fixture) {
	h := f.History()
	mustPut(t, h, "a.b", "one")
	mustPut(t, h, "a.c", "two")
	mustPut(t, h, "a.b", "three")
	f.Restart()
	h = f.History()
	wantEntry(t, h, "a.b", "three", true)
	wantList(t, h, "a.*", "a.c=two", "a.b=three")
	mustPut(t, h, "a.d", "four")
	wantList(t, h, ">", "a.c=two", "a.b=three", "a.d=four")
}
