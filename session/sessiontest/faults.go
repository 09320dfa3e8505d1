package sessiontest

import (
	"context"
	"errors"
	"sync"

	"github.com/muster-gg/muster/session"
)

// Faults makes calls fail or wait. The operations are the names of the methods: "CreateSession", "Connect", "Announce"
// and so on; "Close" is that of a connection, "Update" that of a beacon.
type Faults struct {
	mu    sync.Mutex
	fails map[string][]error
	holds map[string]*held
	calls map[string]int
}

// Fail makes the next call of the operation return err and do nothing else. Each Fail applies to one call, in order.
func (f *Faults) Fail(op string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fails == nil {
		f.fails = make(map[string][]error)
	}
	f.fails[op] = append(f.fails[op], err)
}

// Calls returns how often the operation has been called.
func (f *Faults) Calls(op string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[op]
}

// held blocks the calls of an operation.
type held struct{ reached, release chan struct{} }

// Hold blocks the calls of the operation before they do anything, until release or until their context is done. reached
// is closed when a call is blocked.
func (f *Faults) Hold(op string) (reached <-chan struct{}, release func()) {
	h := &held{reached: make(chan struct{}), release: make(chan struct{})}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.holds == nil {
		f.holds = make(map[string]*held)
	}
	f.holds[op] = h
	return h.reached, sync.OnceFunc(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.holds[op] == h {
			delete(f.holds, op)
		}
		close(h.release)
	})
}

// enter begins each call.
func (f *Faults) enter(ctx context.Context, op string) error {
	h := f.count(op)
	if h != nil {
		select {
		case <-h.release:
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return interrupted(ctx, op)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.fails[op]) == 0 {
		return nil
	}
	err := f.fails[op][0]
	f.fails[op] = f.fails[op][1:]
	return err
}

// interrupted returns the error of a call whose context is done.
func interrupted(ctx context.Context, op string) error {
	kind := session.ErrCanceled
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		kind = session.ErrTimeout
	}
	return &session.Error{Op: op, Kind: kind, Message: "its context is done", Err: ctx.Err()}
}

// count counts a call and returns what blocks it, if anything.
func (f *Faults) count(op string) *held {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls == nil {
		f.calls = make(map[string]int)
	}
	f.calls[op]++
	h := f.holds[op]
	if h == nil {
		return nil
	}
	select {
	case <-h.reached:
	default:
		close(h.reached)
	}
	return h
}
