package journaltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/muster-gg/muster/internal/journal"
)

// errEnough ends a Follow that has seen what it came for.
var errEnough = errors.New("enough")

// followRecords returns the n records after the given one, as "number=data".
func followRecords(t *testing.T, j journal.Journal, after uint64, n int) []string {
	t.Helper()
	var got []string
	err := j.Follow(t.Context(), after, func(seq uint64, data []byte) error {
		if got = append(got, fmt.Sprintf("%d=%s", seq, data)); len(got) == n {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatalf("follow after %d: %v", after, err)
	}
	return got
}

func testFollowFrom(t *testing.T, f Fixture) {
	j := f.Journal()
	for i := range uint64(3) {
		mustAppend(t, j, i, "r")
	}
	if got, want := followRecords(t, j, 0, 3), []string{"1=r", "2=r", "3=r"}; !slices.Equal(got, want) {
		t.Errorf("from the first: %q", got)
	}
	if got, want := followRecords(t, f.Journal(), 1, 2), []string{"2=r", "3=r"}; !slices.Equal(got, want) {
		t.Errorf("from the second: %q", got)
	}
	err := j.Follow(t.Context(), 4, func(uint64, []byte) error { return nil })
	if !errors.Is(err, journal.ErrMissing) {
		t.Errorf("behind the end: %v, want ErrMissing", err)
	}
}

// testFollowWaits has several followers, which begin at different moments, see each record when it has come, and
// appends that do not wait for them.
func testFollowWaits(t *testing.T, f Fixture) {
	const records, followers = 150, 3
	writer, other := f.Journal(), f.Journal()
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	defer cancel(stop)
	seen := make(chan uint64, records*followers)
	for i := range uint64(records) {
		if i%(records/followers) == 0 {
			running.Go(func() {
				last := i
				err := other.Follow(ctx, last, func(seq uint64, data []byte) error {
					if last++; seq != last || string(data) != fmt.Sprint(seq) {
						return fmt.Errorf("record %d is number %d, %q", last, seq, data)
					}
					seen <- seq
					return nil
				})
				if !errors.Is(err, stop) {
					t.Errorf("follow after %d ends after %d with %v", i, last, err)
				}
			})
		}
		mustAppend(t, writer, i, fmt.Sprint(i+1))
		if i < 20 { // one at a time: each is seen without another one behind it
			<-seen
		}
	}
	for range records + records*2/3 + records/3 - 20 {
		<-seen
	}
}

func testFollowLargest(t *testing.T, f Fixture) {
	j := f.Journal()
	const records = 8 // more than is read at a time
	largest := bytes.Repeat([]byte{0xa5, 0}, j.MaxRecord()/2+1)[:j.MaxRecord()]
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var running sync.WaitGroup
	running.Go(func() {
		err := j.Follow(ctx, 0, func(seq uint64, data []byte) error {
			if !bytes.Equal(data, largest) {
				return fmt.Errorf("the bytes of record %d differ", seq)
			}
			clear(data) // the data is ours
			if seq == records {
				return errEnough
			}
			return nil
		})
		if !errors.Is(err, errEnough) {
			t.Error(err)
		}
	})
	for i := range uint64(records) {
		if _, err := f.Journal().Append(t.Context(), i, largest); err != nil {
			t.Error(err)
			cancel() // else the follower waits for what is never appended
			break
		}
	}
	running.Wait()
}

// testFollowForgotten looks for records that are forgotten, and has records forgotten while a follower is busy with one
// before them.
func testFollowForgotten(t *testing.T, f Fixture) {
	j := f.Journal()
	mustAppend(t, j, 0, "r")
	busy, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		last := uint64(0)
		ended <- f.Journal().Follow(t.Context(), 0, func(seq uint64, _ []byte) error {
			if last++; seq != last {
				return fmt.Errorf("record %d comes after %d", seq, last-1)
			}
			if seq == 1 {
				close(busy)
				<-goOn
			}
			if seq == 6 {
				return errEnough
			}
			return nil
		})
	}()
	<-busy
	for i := range uint64(5) {
		mustAppend(t, j, i+1, "r")
	}
	mustSave(t, j, 4, "state of 4")
	mustSave(t, j, 5, "state of 5")
	close(goOn)
	// What it had been sent already it may show.
	if err := <-ended; !errors.Is(err, journal.ErrMissing) && !errors.Is(err, errEnough) {
		t.Errorf("a follower whose next records are forgotten ends with %v", err)
	}
	err := j.Follow(t.Context(), 3, func(uint64, []byte) error { return errEnough })
	if !errors.Is(err, journal.ErrMissing) {
		t.Errorf("forgotten records give %v, want ErrMissing", err)
	}
	if got := followRecords(t, j, 4, 2); !slices.Equal(got, []string{"5=r", "6=r"}) {
		t.Errorf("the records behind them are %q", got)
	}
}
