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

// holdTimeout is how long a holder of the gate waits for what is being published.
// Everyone else waits meanwhile, so it is well below the time that an append has.
const holdTimeout = 2 * time.Second

// A gate is what everyone passes who is to be stopped at times: every message on its
// way into a stream, or everyone who removes some. Whoever holds it finds all at rest.
//
// A publisher that gave up waiting has left the gate, and its message may still
// come, as the contract of the journal says. Nobody has been told of it,
// and nobody will be before its shard has recovered, which begins with a message.
type gate struct {
	mu     sync.Mutex
	inside int
	opened chan struct{} // closed when it opens; nil while it is open
	empty  chan struct{} // closed when nobody is inside any more; nil while nobody waits for that
}

// enter waits until the gate is open. Who has entered must leave.
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

// tryEnter enters if the gate is open.
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

// errHeld says that somebody else holds the gate.
var errHeld = errors.New("the gate is held")

// hold shuts the gate and waits until nobody is inside. The caller calls release.
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

// A Region is who brings everyone to rest who writes into the engine's streams: for a node
// alone the engine itself, for one of several who reaches all of them.
type Region interface {
	// Keep lets no snapshot, and no record behind one, be forgotten until release is
	// called. There is one who keeps them at a time; else the error has journal.ErrCut in its
	// chain.
	Keep(ctx context.Context) (release func(), err error)

	// Hold lets nothing be published until release is called: what was being
	// published is stored or has failed when it returns, and whoever publishes waits. So
	// release must be called within moments; its error says that something may have
	// been published before.
	//
	// acknowledged has the number of the newest message of each stream that somebody has
	// been told is stored.
	Hold(ctx context.Context) (acknowledged map[string]uint64, release func() error, err error)
}

// Keep is that of a Region, for this node.
func (e *Engine) Keep(ctx context.Context) (release func(), err error) {
	release, err = e.tidy.hold(ctx)
	if errors.Is(err, errHeld) {
		return nil, journal.ErrCut
	}
	if err != nil {
		return nil, fmt.Errorf("what is being forgotten did not come to an end: %w", err)
	}
	return release, nil
}

// Hold is that of a Region, for this node. The error says that publishing did not come
// to rest within 2 s.
func (e *Engine) Hold(ctx context.Context) (acknowledged map[string]uint64, release func() error, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, holdTimeout, fmt.Errorf("what is being written did not come to an end within %v: the disk is too slow", holdTimeout))
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

// acknowledged has the newest message of each stream of which this process was told
// that it is stored.
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
