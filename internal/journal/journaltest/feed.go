package journaltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/journal"
)

func appendTo(t *testing.T, f journal.Feed, id, data string) uint64 {
	t.Helper()
	seq, err := f.Append(t.Context(), id, []byte(data))
	if err != nil {
		t.Fatalf("append %s: %v", id, err)
	}
	return seq
}

// follow returns the next n records.
func follow(t *testing.T, f journal.Feed, after uint64, n int) (got []string, last uint64) {
	t.Helper()
	err := f.Follow(t.Context(), after, func(seq uint64, data []byte) bool {
		if seq <= after || seq <= last {
			t.Errorf("record %d after %d and %d", seq, after, last)
		}
		got, last = append(got, string(data)), seq
		return len(got) < n
	})
	if err != nil {
		t.Fatalf("follow: %v", err)
	}
	return got, last
}

func wantRecords(t *testing.T, f journal.Feed, after uint64, want ...string) {
	t.Helper()
	if got, _ := follow(t, f, after, len(want)); !slices.Equal(got, want) {
		t.Errorf("after %d comes %q, want %q", after, got, want)
	}
}

func testFeed(t *testing.T, f Fixture) {
	feed := f.Feed()
	if last, err := feed.Last(t.Context()); last != 0 || err != nil {
		t.Errorf("an empty feed ends at %d, %v", last, err)
	}
	one := appendTo(t, feed, "1", "one")
	if again := appendTo(t, feed, "1", "one"); again != one {
		t.Errorf("the same id has the numbers %d and %d", one, again)
	}
	if err := feed.SavePosition(t.Context(), "web", one); err != nil {
		t.Fatal(err)
	}
	two := appendTo(t, feed, "2", "two")
	if two <= one {
		t.Errorf("numbers %d, %d", one, two)
	}
	if last, err := feed.Last(t.Context()); last != two || err != nil {
		t.Errorf("the feed ends at %d, %v; want %d", last, err, two)
	}
	wantRecords(t, feed, 0, "one", "two")
	wantRecords(t, feed, one, "two")
	for after, want := range map[uint64]int{0: 2, one: 1, two: 0, two + 7: 0} {
		got := 0
		if err := feed.Read(t.Context(), after, func(uint64, []byte) bool { got++; return true }); got != want ||
			err != nil {
			t.Errorf("after %d there are %d records, %v; want %d", after, got, err, want)
		}
	}
	for _, c := range []struct {
		reader string
		want   uint64
	}{{"web", one}, {"other", 0}} {
		if got, ok, err := feed.Position(t.Context(), c.reader); got != c.want || ok != (c.reader == "web") ||
			err != nil {
			t.Errorf("%s is at %d, %v; want %d", c.reader, got, err, c.want)
		}
	}
	if err := feed.SavePosition(t.Context(), "a b", 1); err == nil {
		t.Error("a reader with a space is kept")
	}
}

// testFeedWaits follows a feed to which records come while it waits.
func testFeedWaits(t *testing.T, f Fixture) {
	feed := f.Feed()
	const records = 50
	ctx, cancel := context.WithCancelCause(t.Context())
	seen, ended := make(chan string), make(chan error, 1)
	go func() {
		ended <- feed.Follow(ctx, 0, func(_ uint64, data []byte) bool {
			seen <- string(data)
			return true
		})
	}()
	for i := range records {
		appendTo(t, feed, fmt.Sprint(i), fmt.Sprint(i))
		if got := <-seen; got != fmt.Sprint(i) {
			t.Fatalf("record %d is %q", i, got)
		}
	}
	stop := errors.New("stop")
	cancel(stop)
	if err := <-ended; !errors.Is(err, stop) {
		t.Errorf("the end is %v", err)
	}
}

func testFeedRestart(t *testing.T, f Fixture) {
	feed := f.Feed()
	one := appendTo(t, feed, "1", "one")
	for seq := range one + 1 {
		if err := feed.SavePosition(t.Context(), "web", seq); err != nil {
			t.Fatal(err)
		}
	}
	f.Restart()
	feed = f.Feed()
	appendTo(t, feed, "2", "two")
	wantRecords(t, feed, 0, "one", "two")
	if got, ok, err := feed.Position(t.Context(), "web"); got != one || !ok || err != nil {
		t.Errorf("the position is %d, %v; want %d", got, err, one)
	}
}

// testFeedMany reads many records, some of them large, between positions, which have numbers of their own.
func testFeedMany(t *testing.T, f Fixture) {
	feed := f.Feed()
	var want []string
	for i := range 200 {
		want = append(want, fmt.Sprint(i, strings.Repeat("x", i%17%2*i*1000)))
		seq := appendTo(t, feed, fmt.Sprint(i), want[i])
		if i%7 == 0 {
			if err := feed.SavePosition(t.Context(), "web", seq); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, enough := range []int{1, 3, 100, len(want) + 1} {
		var got []string
		after := uint64(0)
		err := feed.Read(t.Context(), 0, func(seq uint64, data []byte) bool {
			if seq <= after {
				t.Errorf("number %d after %d", seq, after)
			}
			got, after = append(got, string(data)), seq
			return len(got) < enough
		})
		if err != nil || !slices.Equal(got, want[:min(enough, len(want))]) {
			t.Errorf("%d of %d records are read, or other ones: %v", len(got), enough, err)
		}
	}
}

// ofAudit runs a test of feeds with the audit trail.
func ofAudit(test func(*testing.T, Fixture)) func(*testing.T, Fixture) {
	return func(t *testing.T, f Fixture) {
		f.Feed = func() journal.Feed { return f.Audit() }
		test(t, f)
	}
}

func testAuditAfter(t *testing.T, f Fixture) {
	audit, begun := f.Audit(), now()
	after := func(at time.Time, want ...string) {
		t.Helper()
		seq, err := audit.After(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		if err := audit.Read(t.Context(), seq, func(_ uint64, data []byte) bool {
			got = append(got, string(data))
			return true
		}); err != nil || !slices.Equal(got, want) {
			t.Errorf("from %v on there is %q, %v; want %q", at.Sub(begun), got, err, want)
		}
	}
	after(begun)
	var times []time.Time
	all := []string{"0", "1", "2", "3", "4"}
	for i, data := range all {
		times = append(times, now())
		seq := appendTo(t, audit, data, data)
		if i == 2 { // a message that is no record
			if err := audit.SavePosition(t.Context(), "reader", seq); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, at := range times {
		after(at, all[i:]...)
	}
	after(begun, all...)
	after(time.Time{}, all...)
	after(now())
}

// now returns the time when the clock has advanced, so that what was stored before was stored earlier.
func now() time.Time {
	begun := time.Now()
	for {
		if t := time.Now(); t.After(begun) {
			return t
		}
	}
}
