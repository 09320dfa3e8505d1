package memory

import (
	"context"
	"sync"
)

// Failures are faults of the appends of a handle on a journal, or of a feed.
type Failures struct {
	mu   sync.Mutex
	next []failure
}

type failure struct {
	err    error
	stored bool // the record is kept all the same
}

// FailAppend makes the next append store nothing and return err. Calls add up: one failure each.
func (f *Failures) FailAppend(err error) { f.add(failure{err: err}) }

// LoseAnswer makes the next append store its record and return err all the same, as an engine whose answer was lost.
func (f *Failures) LoseAnswer(err error) { f.add(failure{err: err, stored: true}) }

func (f *Failures) add(one failure) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next = append(f.next, one)
}

// append calls store, unless a fault prevents that.
func (f *Failures) append(store func() (uint64, error)) (uint64, error) {
	one, ok := f.take()
	if ok && !one.stored {
		return 0, one.err
	}
	seq, err := store()
	if ok {
		return 0, one.err
	}
	return seq, err
}

func (f *Failures) take() (one failure, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.next) == 0 {
		return failure{}, false
	}
	one, f.next = f.next[0], f.next[1:]
	return one, true
}

// CutSnapshot makes the next SaveSnapshot leave half of its bytes and fail, as a process that died meanwhile.
func (j *Journal) CutSnapshot() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.cut = true
}

// PauseSnapshot makes each SaveSnapshot call pause when everything is written and nothing is kept yet. Nil ends that.
func (j *Journal) PauseSnapshot(pause func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.pauses = pause
}

// Hold makes the appends of this handle wait until release is called. An append whose context ends meanwhile returns,
// and its record is stored at the release, if its turn has not passed: as an engine does that was slow.
func (j *Journal) Hold() (release func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.holding = true
	return j.release
}

// AwaitHeld waits until n appends wait for release, or ctx is done.
func (j *Journal) AwaitHeld(ctx context.Context, n int) error {
	for {
		j.mu.Lock()
		have, arrived := len(j.held), j.arrived
		j.mu.Unlock()
		if have >= n {
			return nil
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Lag makes those who follow this handle see no further record until catchUp is called: as a replica that is late.
func (j *Journal) Lag() (catchUp func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.lagging != nil {
		return func() {}
	}
	lagging := make(chan struct{})
	j.lagging = lagging
	return func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		if j.lagging == lagging {
			close(lagging)
			j.lagging = nil
		}
	}
}

// awaitFollowing waits while the followers of this handle lag.
func (j *Journal) awaitFollowing(ctx context.Context) error {
	j.mu.Lock()
	lagging := j.lagging
	j.mu.Unlock()
	if lagging == nil {
		return nil
	}
	select {
	case <-lagging:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// A heldAppend waits for release.
type heldAppend struct {
	last uint64
	data []byte
	done chan struct{} // closed when seq and err are there
	seq  uint64
	err  error
}

// hold takes an append aside while the handle holds them back, else nil.
func (j *Journal) hold(last uint64, data []byte) *heldAppend {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.holding {
		return nil
	}
	h := &heldAppend{last: last, data: append([]byte(nil), data...), done: make(chan struct{})}
	j.held = append(j.held, h)
	close(j.arrived)
	j.arrived = make(chan struct{})
	return h
}

func (j *Journal) release() {
	j.mu.Lock()
	held := j.held
	j.held, j.holding = nil, false
	j.mu.Unlock()
	for _, h := range held {
		h.seq, h.err = j.append(h.last, h.data)
		close(h.done)
	}
}

func (j *Journal) snapshotFaults() (cut bool, pause func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	cut, j.cut = j.cut, false
	return cut, j.pauses
}
