package jetstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// holdTimeout is how long a holder of the gate waits for what is being published.
// Everyone else waits meanwhile, so it is well below the time that an append has.
const holdTimeout = 2 * time.Second

// A gate is what every message passes on its way into a stream. Whoever holds it
// finds all streams at rest.
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

// Hold lets nothing be published until release is called: what was being
// published is stored or has failed when it returns, and whoever publishes waits. So
// release must be called within moments. The error says that publishing did not come
// to rest within 2 s.
func (e *Engine) Hold(ctx context.Context) (release func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, holdTimeout, fmt.Errorf("what is being written did not come to an end within %v: the disk is too slow", holdTimeout))
	defer cancel()
	if release, err = e.gate.hold(ctx); err != nil {
		return nil, fmt.Errorf("hold the journal: %w", err)
	}
	return release, nil
}
