package shard_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/journal/memory"
	"github.com/muster-gg/muster/internal/shard"
)

// recordCount is how many records stand behind the newest snapshot, and the
// number of the record that it is the state after.
func recordCount(t *testing.T, j journal.Journal) (n int, seq uint64) {
	t.Helper()
	seq, _, err := j.LoadSnapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Replay(t.Context(), seq, func(uint64, []byte) error { n++; return nil }); err != nil {
		t.Fatal(err)
	}
	return n, seq
}

func TestSnapshotsDuringLoad(t *testing.T) {
	bubble(t, func(t *testing.T) {
		j := memory.New(memory.Config{})
		var mu sync.Mutex
		saved := 0
		s, stop := run(t, toyConfig{
			Journal:       j,
			SnapshotEvery: shard.SnapshotEvery{Records: 10},
			Metrics: shard.Metrics{Snapshot: func(st shard.SnapshotStats) {
				mu.Lock()
				defer mu.Unlock()
				if st.Err != nil || st.Bytes == 0 {
					t.Errorf("snapshot: %+v", st)
				}
				saved++
			}},
		})
		var load sync.WaitGroup
		for i := range 4 {
			load.Go(func() {
				for range 100 {
					_, err := s.Do(context.Background(), command{Name: fmt.Sprint(i), N: 1})
					if err != nil {
						t.Error(err)
					}
					time.Sleep(time.Millisecond)
				}
			})
		}
		load.Wait()
		before := mustView(t, s)
		mustStop(t, stop)
		if saved < 5 {
			t.Errorf("only %d snapshots", saved)
		}
		if n, seq := recordCount(t, j); n > 40 || seq == 0 {
			t.Errorf("%d records behind the snapshot of %d", n, seq)
		}
		if after := replayed(t, j); string(after.bytes()) != string(before.bytes()) {
			t.Errorf("recovered %v, want %v", after, before)
		}
	})
}

// The shard goes on while a snapshot is being written, and what is written is
// the state of the record it is for.
func TestSnapshotBesideTheWriter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		j := memory.New(memory.Config{})
		resume := make(chan struct{})
		j.PauseSnapshot(func() { <-resume })
		s, stop := run(t, toyConfig{Journal: j, SnapshotEvery: shard.SnapshotEvery{Records: 3}})
		for i := range 50 {
			mustDo(t, s, command{Name: "a", N: 1}, i+1)
		}
		close(resume)
		synctest.Wait()
		if _, seq := recordCount(t, j); seq != 3 {
			t.Errorf("the snapshot is of record %d, want 3", seq)
		}
		mustStop(t, stop)
		if got := replayed(t, j).get("a"); got != 50 {
			t.Errorf("recovered %d", got)
		}
	})
}

func TestSnapshotThatFailsIsTriedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		j := memory.New(memory.Config{})
		var errs []bool
		s, stop := run(t, toyConfig{
			Journal: j, SnapshotEvery: shard.SnapshotEvery{Records: -1, Bytes: 2000},
			Metrics: shard.Metrics{Snapshot: func(st shard.SnapshotStats) { errs = append(errs, st.Err != nil) }},
		})
		j.CutSnapshot()
		for i := range 8 {
			mustDo(t, s, command{Name: "a", N: 1, Pad: 600}, i+1)
			synctest.Wait()
		}
		if fmt.Sprint(errs) != "[true false]" {
			t.Errorf("snapshots failed: %v", errs)
		}
		mustStop(t, stop)
		if got := replayed(t, j).get("a"); got != 8 {
			t.Errorf("recovered %d", got)
		}
	})
}

func TestStopDoesNotWaitForASnapshot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		j := slowSnapshots{memory.New(memory.Config{})}
		s, stop := run(t, toyConfig{Journal: j, SnapshotEvery: shard.SnapshotEvery{Records: 1}})
		mustDo(t, s, command{Name: "a", N: 1}, 1)
		begin := time.Now()
		mustStop(t, stop)
		if took := time.Since(begin); took > time.Second {
			t.Errorf("the stop took %v", took)
		}
	})
}

// slowSnapshots is a journal whose snapshots take until their context ends.
type slowSnapshots struct{ journal.Journal }

func (slowSnapshots) SaveSnapshot(ctx context.Context, _ uint64, _ func(io.Writer) error) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// Random commands, faults and crashes, many seeds: everything acknowledged is
// there, nothing is there twice, and the journal gives back the same bytes.
func TestRandomCommandsAndCrashes(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			bubble(t, func(t *testing.T) { randomRun(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func randomRun(t *testing.T, random *rand.Rand) {
	j := memory.New(memory.Config{MaxRecord: 400 + random.IntN(2000)})
	// Each name is used once, for one command: 1 acknowledged means that it must
	// be there with its value, 2 that it must not be, 0 that both are possible.
	var mu sync.Mutex // owners that overlap answer at the same time
	state := map[string]int{}
	values := map[string]int{}
	next := 0
	for range 4 {
		s, stop := run(t, toyConfig{
			Journal: j, AppendTimeout: time.Second, BatchRequests: 1 + random.IntN(20),
			BatchBytes:    1 + random.IntN(3000),
			SnapshotEvery: shard.SnapshotEvery{Records: 1 + random.IntN(20)}, FinalSnapshot: random.IntN(2) == 0,
		})
		for range 30 {
			for range random.IntN(8) {
				name := fmt.Sprint("n", next)
				next++
				c := command{Name: name, N: 1 + random.IntN(9), Times: 1 + random.IntN(3), Pad: random.IntN(60)}
				c.Panic = random.IntN(200) == 0
				if random.IntN(10) == 0 {
					c = command{Name: name, Alarm: time.Duration(random.IntN(5000)) * time.Millisecond}
				}
				values[name] = c.N * c.Times
				s.Submit(c, func(_ any, err error) {
					mu.Lock()
					defer mu.Unlock()
					state[name] = outcome(err)
				})
			}
			randomFault(j, random)
			if random.IntN(3) > 0 {
				time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond)
			}
		}
		if random.IntN(2) == 0 { // a crash: the next owner comes while this one still runs
			j = j.Reopen()
			t.Cleanup(func() { _ = stop() })
			continue
		}
		time.Sleep(20 * time.Second)
		before := mustView(t, s)
		mustStop(t, stop)
		if after := replayed(t, j); after.rings.Len() == before.rings.Len() &&
			string(after.bytes()) != string(before.bytes()) {
			t.Fatalf("recovered %v, want %v", after, before)
		}
	}
	last := replayed(t, j)
	mu.Lock()
	defer mu.Unlock()
	check(t, last, state, values)
}

const (
	outcomeUnknown = iota
	outcomeDone
	outcomeNotDone
)

func outcome(err error) int {
	switch {
	case err == nil:
		return outcomeDone
	case isNotDone(err):
		return outcomeNotDone
	default:
		return outcomeUnknown
	}
}

func randomFault(j *memory.Journal, random *rand.Rand) {
	switch random.IntN(12) {
	case 0:
		j.FailAppend(errInjected)
	case 1:
		j.LoseAnswer(errInjected)
	case 2:
		j.CutSnapshot()
	case 3:
		release := j.Hold()
		time.Sleep(time.Duration(random.IntN(4000)) * time.Millisecond)
		release()
	}
}

func check(t *testing.T, m *toy, state, values map[string]int) {
	t.Helper()
	for name, s := range state {
		got, want := m.get(name), values[name]
		if s == outcomeDone && got != want || s == outcomeNotDone && got != 0 || got != 0 && got != want {
			t.Errorf("%s is %d, want %d; outcome %d", name, got, want, s)
		}
	}
	m.rings.Scan(func(name string, n int) bool {
		if n != 1 {
			t.Errorf("%s rang %d times", name, n)
		}
		return true
	})
}
