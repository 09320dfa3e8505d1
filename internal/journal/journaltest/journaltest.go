// Package journaltest holds every implementation of the journal's contract to what package journal promises.
package journaltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/journal"
)

// A Fixture is an implementation under test, with empty data of its own.
type Fixture struct {
	// Journal opens a handle on the one journal of the fixture. Each call gives another writer's handle on the same
	// records.
	Journal func() journal.Journal
	// History opens a handle on the one history of the fixture.
	History func() journal.History
	// Feed opens a handle on the one feed of the fixture.
	Feed func() journal.Feed
	// Audit opens a handle on the one audit trail of the fixture.
	Audit func() journal.Audit
	// Bucket opens a handle on the one bucket of the fixture, whose values Restart may lose.
	Bucket func() journal.Bucket
	// Restart ends the process, as far as the implementation can tell, and starts it anew. Handles from before are not
	// used any more.
	Restart func()
}

// Run tests an implementation. fixture is called once per test.
func Run(t *testing.T, fixture func(t *testing.T) Fixture) {
	tests := []struct {
		name string
		test func(*testing.T, Fixture)
	}{
		{"AppendNumbersWithoutGaps", testAppend},
		{"AppendIsFenced", testFence},
		{"AppendKeepsNothingOfItsArgument", testArgument},
		{"AppendOfTheLargestRecord", testLargest},
		{"ReplayFromAnywhere", testReplayFrom},
		{"ReplayReturnsTheError", testApplyError(journal.Journal.Replay)},
		{"ReplayOfManyRecords", testReplayMany},
		{"ReplayEndsWithItsContext", testReplayContext},
		{"FollowFromAnywhere", testFollowFrom},
		{"FollowReturnsTheError", testApplyError(journal.Journal.Follow)},
		{"FollowWaits", testFollowWaits},
		{"FollowOfTheLargestRecord", testFollowLargest},
		{"FollowOfForgottenRecords", testFollowForgotten},
		{"SnapshotAndTail", testSnapshotAndTail},
		{"SnapshotsForgetRecords", testForget},
		{"SnapshotThatFails", testSnapshotFails},
		{"SnapshotOfAnySize", testSnapshotSizes},
		{"SnapshotBesideAppends", testSnapshotBeside},
		{"RestartKeepsEverything", testRestart},
		{"History", testHistory},
		{"HistoryFollows", testHistoryFollows},
		{"HistoryDrops", testHistoryDrops},
		{"HistoryOfTheLargestBatch", testHistoryLargest},
		{"HistoryEndsWithItsContext", testHistoryContext},
		{"HistorySurvivesRestart", testHistoryRestart},
		{"Feed", testFeed},
		{"FeedWaits", testFeedWaits},
		{"FeedSurvivesRestart", testFeedRestart},
		{"FeedOfManyRecords", testFeedMany},
		{"Audit", ofAudit(testFeed)},
		{"AuditWaits", ofAudit(testFeedWaits)},
		{"AuditSurvivesRestart", ofAudit(testFeedRestart)},
		{"AuditAfterATime", testAuditAfter},
		{"Bucket", testBucket},
		{"BucketOfOneKey", testBucketKey},
		{"BucketRefuses", testBucketRefuses},
		{"BucketIsFull", testBucketFull},
		{"BucketDeletesOnce", testBucketDeletesOnce},
		{"BucketCreatesOnce", testBucketCreatesOnce},
		{"BucketEndsWithItsContext", testBucketContext},
		{"BucketAfterRestart", testBucketRestart},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.test(t, fixture(t)) })
	}
}

func mustAppend(t *testing.T, j journal.Journal, last uint64, data string) {
	t.Helper()
	seq, err := j.Append(t.Context(), last, []byte(data))
	if err != nil {
		t.Fatalf("append after %d: %v", last, err)
	}
	if seq != last+1 {
		t.Fatalf("append after %d became %d", last, seq)
	}
}

// replay returns the records after the given one, as "number=data".
func replay(t *testing.T, j journal.Journal, after uint64) []string {
	t.Helper()
	var got []string
	err := j.Replay(t.Context(), after, func(seq uint64, data []byte) error {
		got = append(got, fmt.Sprintf("%d=%s", seq, data))
		return nil
	})
	if err != nil {
		t.Fatalf("replay after %d: %v", after, err)
	}
	return got
}

func wantReplay(t *testing.T, j journal.Journal, after uint64, want ...string) {
	t.Helper()
	if got := replay(t, j, after); !slices.Equal(got, want) {
		t.Fatalf("replay after %d gives %q, want %q", after, got, want)
	}
}

func testAppend(t *testing.T, f Fixture) {
	j := f.Journal()
	wantReplay(t, j, 0)
	for i := range uint64(5) {
		mustAppend(t, j, i, fmt.Sprint("r", i+1))
	}
	wantReplay(t, j, 0, "1=r1", "2=r2", "3=r3", "4=r4", "5=r5")
	wantReplay(t, f.Journal(), 0, "1=r1", "2=r2", "3=r3", "4=r4", "5=r5")
}

func testFence(t *testing.T, f Fixture) {
	a, b := f.Journal(), f.Journal()
	mustAppend(t, a, 0, "a1")
	mustAppend(t, b, 1, "b2")
	for _, last := range []uint64{0, 1, 3, 100} {
		if seq, err := a.Append(t.Context(), last, []byte("late")); !errors.Is(err, journal.ErrFenced) {
			t.Errorf("append after %d gives %d, %v; want ErrFenced", last, seq, err)
		}
	}
	wantReplay(t, a, 0, "1=a1", "2=b2")
	mustAppend(t, a, 2, "a3")
	if _, err := b.Append(t.Context(), 2, []byte("b3")); !errors.Is(err, journal.ErrFenced) {
		t.Errorf("the other writer gets %v, want ErrFenced", err)
	}
	wantReplay(t, b, 0, "1=a1", "2=b2", "3=a3")
}

func testArgument(t *testing.T, f Fixture) {
	j := f.Journal()
	data := []byte("first")
	for i := range uint64(2) {
		if _, err := j.Append(t.Context(), i, data); err != nil {
			t.Fatal(err)
		}
		copy(data, "XXXXX")
	}
	err := j.Replay(t.Context(), 0, func(_ uint64, data []byte) error {
		clear(data) // the data is ours for the moment
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	wantReplay(t, j, 0, "1=first", "2=XXXXX")
}

func testLargest(t *testing.T, f Fixture) {
	j := f.Journal()
	largest := bytes.Repeat([]byte{0xa5, 0}, j.MaxRecord()/2+1)[:j.MaxRecord()]
	if _, err := j.Append(t.Context(), 0, append(largest, 1)); !errors.Is(err, journal.ErrTooLarge) {
		t.Errorf("one byte too many gives %v, want ErrTooLarge", err)
	}
	for i := range uint64(6) { // more than a replay reads ahead
		if _, err := j.Append(t.Context(), i, largest); err != nil {
			t.Fatalf("the largest record: %v", err)
		}
	}
	n := 0
	err := j.Replay(t.Context(), 0, func(_ uint64, data []byte) error {
		n++
		if !bytes.Equal(data, largest) {
			return errors.New("the bytes differ")
		}
		return nil
	})
	if err != nil || n != 6 {
		t.Errorf("replay gives %d records and %v", n, err)
	}
	if _, err := j.Append(t.Context(), 6, nil); err != nil {
		t.Errorf("an empty record: %v", err)
	}
	wantReplay(t, j, 6, "7=")
}

func testReplayFrom(t *testing.T, f Fixture) {
	j := f.Journal()
	for i := range uint64(3) {
		mustAppend(t, j, i, "r")
	}
	wantReplay(t, j, 1, "2=r", "3=r")
	wantReplay(t, j, 3)
	err := j.Replay(t.Context(), 4, func(uint64, []byte) error { return nil })
	if !errors.Is(err, journal.ErrMissing) {
		t.Errorf("replay behind the end gives %v, want ErrMissing", err)
	}
}

// testApplyError tests that a reading method of a journal returns the error of apply at once.
func testApplyError(
	read func(journal.Journal, context.Context, uint64, func(seq uint64, data []byte) error) error,
) func(*testing.T, Fixture) {
	return func(t *testing.T, f Fixture) {
		j := f.Journal()
		for i := range uint64(3) {
			mustAppend(t, j, i, "r")
		}
		stop, calls := errors.New("stop"), 0
		err := read(j, t.Context(), 0, func(seq uint64, _ []byte) error {
			if calls++; seq == 2 {
				return stop
			}
			return nil
		})
		if !errors.Is(err, stop) || calls != 2 {
			t.Errorf("got %v after %d calls, want apply's error after 2", err, calls)
		}
	}
}

func testReplayMany(t *testing.T, f Fixture) {
	const n = 1200 // more messages than one pull
	j := f.Journal()
	for i := range uint64(n) {
		mustAppend(t, j, i, fmt.Sprint(i+1))
	}
	want := uint64(0)
	err := j.Replay(t.Context(), 0, func(seq uint64, data []byte) error {
		if want++; seq != want || string(data) != fmt.Sprint(want) {
			return fmt.Errorf("record %d is number %d, %q", want, seq, data)
		}
		return nil
	})
	if err != nil || want != n {
		t.Errorf("replay ends after %d with %v", want, err)
	}
}

func testReplayContext(t *testing.T, f Fixture) {
	j := f.Journal()
	for i := range uint64(3) {
		mustAppend(t, j, i, "r")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	calls := 0
	err := j.Replay(ctx, 0, func(uint64, []byte) error { calls++; cancel(); return nil })
	if !errors.Is(err, context.Canceled) || calls == 0 {
		t.Errorf("got %v after %d calls, want the context's end", err, calls)
	}
}

// Writing is a snapshot that writes data.
func Writing(data string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, data)
		return err
	}
}

func mustSave(t *testing.T, j journal.Journal, seq uint64, data string) {
	t.Helper()
	if err := j.SaveSnapshot(t.Context(), seq, Writing(data)); err != nil {
		t.Fatalf("save snapshot of %d: %v", seq, err)
	}
}

func wantSnapshot(t *testing.T, j journal.Journal, wantSeq uint64, want string) {
	t.Helper()
	seq, r, err := j.LoadSnapshot(t.Context())
	if err != nil {
		t.Fatalf("load snapshot: %v", err)
	}
	if seq != wantSeq || (r == nil) != (wantSeq == 0) {
		t.Fatalf("snapshot of record %d (reader %v), want %d", seq, r, wantSeq)
	}
	if r == nil {
		return
	}
	got, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatalf("read snapshot: %v", err)
	}
	if string(got) != want {
		t.Fatalf("snapshot of %d bytes, want %d: %.40q, want %.40q", len(got), len(want), got, want)
	}
}

func testSnapshotAndTail(t *testing.T, f Fixture) {
	j := f.Journal()
	wantSnapshot(t, j, 0, "")
	for i := range uint64(4) {
		mustAppend(t, j, i, "r")
	}
	mustSave(t, j, 3, "state of 3")
	wantSnapshot(t, j, 3, "state of 3")
	wantSnapshot(t, f.Journal(), 3, "state of 3")
	wantReplay(t, j, 3, "4=r")
	wantReplay(t, j, 0, "1=r", "2=r", "3=r", "4=r") // one snapshot alone forgets nothing: it could be damaged
	mustAppend(t, j, 4, "r")
	mustSave(t, j, 5, "state of 5")
	wantSnapshot(t, j, 5, "state of 5")
	wantReplay(t, j, 5)
}

func testForget(t *testing.T, f Fixture) {
	j := f.Journal()
	last := uint64(0)
	for i := range uint64(4) {
		for range 5 {
			mustAppend(t, j, last, "r")
			last++
		}
		mustSave(t, j, last-1, fmt.Sprint("state ", i))
	}
	wantSnapshot(t, j, 19, "state 3")
	wantReplay(t, j, 19, "20=r")
	if got := len(replay(t, j, 14)); got != 6 {
		t.Errorf("%d records behind the older snapshot, want 6", got)
	}
	err := j.Replay(t.Context(), 13, func(uint64, []byte) error { return nil })
	if !errors.Is(err, journal.ErrMissing) {
		t.Errorf("replay of forgotten records gives %v, want ErrMissing", err)
	}
	mustAppend(t, j, 20, "r")
	f.Restart()
	j = f.Journal()
	wantSnapshot(t, j, 19, "state 3")
	wantReplay(t, j, 19, "20=r", "21=r")
	mustAppend(t, j, 21, "r")
}

func testSnapshotFails(t *testing.T, f Fixture) {
	j := f.Journal()
	mustAppend(t, j, 0, "r")
	mustAppend(t, j, 1, "r")
	broken := errors.New("broken")
	fail := func(w io.Writer) error {
		_, err := w.Write(make([]byte, 1<<20))
		return errors.Join(err, broken)
	}
	if err := j.SaveSnapshot(t.Context(), 1, fail); !errors.Is(err, broken) {
		t.Errorf("got %v, want the writer's error", err)
	}
	wantSnapshot(t, j, 0, "")
	mustSave(t, j, 1, "state of 1")
	if err := j.SaveSnapshot(t.Context(), 2, fail); !errors.Is(err, broken) {
		t.Errorf("got %v, want the writer's error", err)
	}
	wantSnapshot(t, j, 1, "state of 1")
	ctx, cancel := context.WithCancel(t.Context())
	err := j.SaveSnapshot(ctx, 2, func(w io.Writer) error {
		_, err := w.Write(make([]byte, 1<<20))
		cancel()
		return err
	})
	if err == nil {
		t.Error("a snapshot whose context ended was saved")
	}
	f.Restart()
	j = f.Journal()
	wantSnapshot(t, j, 1, "state of 1")
	wantReplay(t, j, 1, "2=r")
	mustSave(t, j, 2, "state of 2")
	wantSnapshot(t, j, 2, "state of 2")
}

func testSnapshotSizes(t *testing.T, f Fixture) {
	j := f.Journal()
	random := rand.NewChaCha8([32]byte{1})
	for i, size := range []int{0, 1, 128<<10 - 1, 128 << 10, 128<<10 + 1, 3<<20 + 17} {
		data := make([]byte, size)
		_, _ = random.Read(data)
		mustAppend(t, j, uint64(i), "r")
		err := j.SaveSnapshot(t.Context(), uint64(i+1), func(w io.Writer) error {
			for piece := range slices.Chunk(data, 1000) {
				if _, err := w.Write(piece); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		wantSnapshot(t, j, uint64(i+1), string(data))
	}
}

func testSnapshotBeside(t *testing.T, f Fixture) {
	j := f.Journal()
	mustAppend(t, j, 0, "r")
	saved := make(chan error, 1)
	go func() {
		for range 3 {
			if err := j.SaveSnapshot(t.Context(), 1, Writing(strings.Repeat("x", 300_000))); err != nil {
				saved <- err
				return
			}
		}
		saved <- nil
	}()
	for i := range uint64(50) {
		mustAppend(t, j, i+1, "r")
		if i%10 == 0 {
			replay(t, j, 1)
		}
	}
	if err := <-saved; err != nil {
		t.Fatal(err)
	}
	if got := len(replay(t, j, 1)); got != 50 {
		t.Errorf("%d records, want 50", got)
	}
}

func testRestart(t *testing.T, f Fixture) {
	last := uint64(0)
	for range 3 {
		j := f.Journal()
		if got := len(replay(t, j, 0)); got != int(last) {
			t.Fatalf("%d records after the restart, want %d", got, last)
		}
		for range 10 {
			mustAppend(t, j, last, "r")
			last++
		}
		f.Restart()
	}
	if _, err := f.Journal().Append(t.Context(), last-1, nil); !errors.Is(err, journal.ErrFenced) {
		t.Errorf("the fence is gone after a restart: %v", err)
	}
}
