package jetstream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/journal"
)

// holdTimeout bounds how long Hold waits for messages that are being published. All others wait meanwhile, so it is
// well below the timeout of an append.
const holdTimeout = 2 * time.Second

// errBusy is why Hold has failed.
var errBusy = fmt.Errorf("writes in progress did not finish within %v: the disk is too slow", holdTimeout)

// A gate is a lock for pausing: publishers of messages, or all that deletes some, enter and leave it concurrently, and
// its holder excludes them.
//
// A publisher that timed out has left the gate, and its message may still be stored, as the contract of the journal
// says. No caller knows of that message before its shard has recovered, which starts with a message.
type gate struct {
	mu     sync.Mutex
	inside int
	opened chan struct{} // closed by release; nil while the gate is not held
	empty  chan struct{} // closed when inside becomes 0; nil while no holder waits for that
}

// enter waits until the gate is not held. The caller must call leave.
func (g *gate) enter(ctx context.Context) error {
	for {
		g.mu.Lock()
		opened := g.opened
		if opened == nil {
			g.inside++
			g.mu.Unlock()
			return nil
		}
		g.mu.Unlock()
		select {
		case <-opened:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// tryEnter enters if the gate is not held.
func (g *gate) tryEnter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened != nil {
		return false
	}
	g.inside++
	return true
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside--; g.inside == 0 && g.empty != nil {
		close(g.empty)
		g.empty = nil
	}
}

// errHeld reports that the gate is held already.
var errHeld = errors.New("the gate is held")

// hold closes the gate and waits until all have left it. The caller calls release.
func (g *gate) hold(ctx context.Context) (release func(), err error) {
	g.mu.Lock()
	if g.opened != nil {
		g.mu.Unlock()
		return nil, errHeld
	}
	g.opened = make(chan struct{})
	var empty chan struct{}
	if g.inside > 0 {
		empty = make(chan struct{})
		g.empty = empty
	}
	g.mu.Unlock()
	release = sync.OnceFunc(g.release)
	if empty == nil {
		return release, nil
	}
	select {
	case <-empty:
		return release, nil
	case <-ctx.Done():
		release()
		return nil, context.Cause(ctx)
	}
}

func (g *gate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.opened)
	g.opened, g.empty = nil, nil
}

// A Region pauses all writers of the engine's streams: for a node alone the engine itself, for one of several nodes an
// object that reaches all of them.
type Region interface {
	// Keep prevents the deletion of snapshots, and of records that they include, until release is called. Only one
	// caller can have it; otherwise the error has journal.ErrSnapshotOpen in its chain.
	Keep(ctx context.Context) (release func(), err error)

	// Hold prevents all publishing until release is called: when it returns, publishes in progress have succeeded or
	// failed, and new ones wait. So release must be called within milliseconds; its error says that something may have
	// been published before.
	//
	// acknowledged has the number of the newest acknowledged message of each stream.
	Hold(ctx context.Context) (acknowledged map[string]uint64, release func() error, err error)
}

// Keep is Region.Keep for this node.
func (e *Engine) Keep(ctx context.Context) (release func(), err error) {
	release, err = e.tidy.hold(ctx)
	if errors.Is(err, errHeld) {
		return nil, journal.ErrSnapshotOpen
	}
	if err != nil {
		return nil, fmt.Errorf("deletion in progress did not finish: %w", err)
	}
	return release, nil
}

// Hold is Region.Hold for this node. It fails if publishing does not finish within 2 s.
func (e *Engine) Hold(ctx context.Context) (acknowledged map[string]uint64, release func() error, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, holdTimeout, errBusy)
	defer cancel()
	open, err := e.gate.hold(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("hold the journal: %w", err)
	}
	release = func() error {
		open()
		return nil
	}
	return e.acknowledged.all(), release, nil
}

// acknowledged has the newest message of each stream that was acknowledged to this process.
type acknowledged struct {
	mu   sync.Mutex
	last map[string]uint64
}

func (a *acknowledged) note(stream string, seq uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last == nil {
		a.last = map[string]uint64{}
	}
	a.last[stream] = max(a.last[stream], seq)
}

func (a *acknowledged) all() map[string]uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.last)
}
