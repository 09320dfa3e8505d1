package shard_test

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/journal/memory"
	"github.com/muster-gg/muster/internal/shard"
)

// recordsOf takes the records of a journal apart.
func recordsOf(t *testing.T, j journal.Journal) (list []shard.Record) {
	t.Helper()
	err := j.Replay(t.Context(), 0, func(_ uint64, data []byte) error {
		r, err := shard.ReadRecord(data)
		list = append(list, r)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// The first record of an owner says that it is that, also the one after a failure.
func TestOpeningRecordIsMarked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		j := memory.New(memory.Config{})
		s, stop := run(t, toyConfig{Journal: j})
		mustDo(t, s, command{Name: "a", N: 1}, 1)
		j.FailAppend(errors.New("the disk hiccups"))
		if _, err := s.Do(t.Context(), command{Name: "a", N: 1}); err == nil {
			t.Error("a command whose append failed was answered")
		}
		mustDo(t, s, command{Name: "a", N: 1}, 2)
		mustStop(t, stop)
		var marks []bool
		for _, r := range recordsOf(t, j) {
			marks = append(marks, r.Opening)
		}
		if want := []bool{true, false, true, false}; len(marks) != 4 || marks[0] != want[0] || marks[1] != want[1] ||
			marks[2] != want[2] || marks[3] != want[3] {
			t.Errorf("the records are opening ones: %v, want %v", marks, want)
		}
	})
}

// An owner without lease answers a read only when an append has shown that nobody
// else has written.
func TestReadsWithoutLeaseAreProvedByAnAppend(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var holds atomic.Bool
		holds.Store(true)
		j := memory.New(memory.Config{})
		old, stopOld := run(t, toyConfig{Journal: j, HoldsLease: holds.Load})
		mustDo(t, old, command{Name: "a", N: 1}, 1)
		mustView(t, old)
		before := old.Durable()
		if before != 2 {
			t.Errorf("record %d is durable, want the second", before)
		}
		holds.Store(false)
		if got := mustView(t, old).get("a"); got != 1 {
			t.Errorf("the read gives %d", got)
		}
		if got := old.Durable(); got != before+1 {
			t.Errorf("record %d is durable behind the read, want %d", got, before+1)
		}
		next, _ := run(t, toyConfig{Journal: j.Reopen()})
		mustDo(t, next, command{Name: "a", N: 1}, 2)
		if _, err := old.View(t.Context()); err == nil {
			t.Error("an owner that was replaced has answered a read")
		}
		if err := stopOld(); !errors.Is(err, journal.ErrFenced) {
			t.Errorf("Run gives %v", err)
		}
		if old.FinalState() != nil {
			t.Error("an owner that was replaced left its machine")
		}
	})
}

// An owner that was slow to begin, and lost its lease meanwhile, must not fence the
// one that has it: that one would go on to answer reads from what it knew.
func TestNobodyBeginsWithoutLease(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var holds atomic.Bool
		holds.Store(true)
		j := memory.New(memory.Config{})
		mine := j.Reopen()
		release := mine.Hold() // the opening record takes its time
		late, stopLate := run(t, toyConfig{Journal: mine, HoldsLease: holds.Load})
		synctest.Wait()
		holds.Store(false)
		next, stopNext := run(t, toyConfig{Journal: j, HoldsLease: func() bool { return true }})
		mustDo(t, next, command{Name: "a", N: 1}, 1)
		release()
		time.Sleep(time.Minute)
		if late.Serving() {
			t.Error("an owner serves that has no lease")
		}
		mustDo(t, next, command{Name: "a", N: 1}, 2)
		if n := len(recordsOf(t, j)); n != 3 {
			t.Errorf("%d records are stored, want those of the one owner, 3", n)
		}
		holds.Store(true) // it gets the lease after all
		mustDo(t, late, command{Name: "a"}, 2)
		mustStop(t, stopLate)
		if err := stopNext(); err != nil && !errors.Is(err, journal.ErrFenced) {
			t.Error(err)
		}
	})
}

// What one owner leaves another begins with.
func TestStartFromAMachine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		j := memory.New(memory.Config{})
		s, stop := run(t, toyConfig{Journal: j})
		mustDo(t, s, command{Name: "a", N: 3}, 3)
		mustStop(t, stop)
		rest := s.FinalState()
		if rest == nil || rest.Seq != 2 || rest.Machine.get("a") != 3 {
			t.Fatalf("the owner left %+v", rest)
		}
		other, stopOther := run(t, toyConfig{Journal: j.Reopen()})
		mustDo(t, other, command{Name: "a", N: 1}, 4)
		mustStop(t, stopOther)

		var recovered shard.RecoveryStats
		mine := j.Reopen()
		again, stopAgain := run(t, toyConfig{Journal: mine, Start: rest,
			Metrics: shard.Metrics{Recovery: func(r shard.RecoveryStats) { recovered = r }}})
		mustDo(t, again, command{Name: "a", N: 1}, 5)
		synctest.Wait()
		if recovered.Records != 2 {
			t.Errorf("%d records were replayed, want the 2 of the other owner", recovered.Records)
		}
		mine.FailAppend(errors.New("the disk hiccups"))
		if _, err := again.Do(t.Context(), command{Name: "a", N: 1}); err == nil {
			t.Error("a command whose append failed was answered")
		}
		mustDo(t, again, command{Name: "a", N: 1}, 6) // from the journal, not from what it began with
		mustStop(t, stopAgain)
	})
}

// Who asks is shown the state behind everything that happened, beside the facts.
func TestRemind(t *testing.T) {
	bubble(t, func(t *testing.T) {
		j := memory.New(memory.Config{})
		var seen []string
		s, stop := run(t, toyConfig{Journal: j, Observe: func(c shard.Commit[*toy]) {
			if c.Refresh {
				seen = append(seen, fmt.Sprintf("%v %d facts, record %d, %v", c.View, len(c.Facts), c.Seq, c.HasView))
			}
		}})
		mustDo(t, s, command{Name: "a", N: 3}, 3)
		s.Refresh()
		synctest.Wait()
		mustDo(t, s, command{Name: "a", N: 1}, 4)
		s.Refresh()
		synctest.Wait()
		mustStop(t, stop)
		s.Refresh() // in vain
		want := []string{"[a=3] 0 facts, record 2, true", "[a=4] 0 facts, record 3, true"}
		if !slices.Equal(seen, want) {
			t.Errorf("the observer was reminded of %q, want %q", seen, want)
		}
	})
}
