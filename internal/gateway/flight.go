package gateway

import (
	"container/list"
	"context"
	"crypto/sha256"
	"sync"
	"time"
)

// Flights are the creations under way. Of those with the same key one is carried
// out, and all get its answer.
type flights struct {
	mu  sync.Mutex
	all map[string]*flight
}

// A flight is one creation. It does not depend on the clients that wait for it:
// who has lost the connection and asks again finds it further on its way.
type flight struct {
	contents [sha256.Size]byte
	undo     []func(context.Context) // what to do when it has failed
	retries  int                     // what was tried in vain
	held     *list.Element           // of Gateway.unused; nil: nothing is counted

	done chan struct{} // closed when what follows is set
	out  *created
	err  *failure
}

// create carries out a creation, or waits for the one under way.
func (c *call) create(in *creation) (*created, *failure) {
	in.caller, in.origin = c.g.caller(c.r), c.origin(in.player)
	f, first, bad := c.g.board(in)
	if bad != nil {
		return nil, bad
	}
	select {
	case <-f.done:
	case <-c.r.Context().Done():
		return nil, &failure{code: ClientGone, err: c.r.Context().Err()}
	}
	c.seen.Retries, c.seen.Shared = f.retries, !first
	if f.err != nil {
		return nil, f.err
	}
	c.seen.Replayed = f.out.replayed
	if first {
		c.seen.Waited = f.out.waited
	}
	return f.out, nil
}

// board finds the flight of a request or starts it.
func (g *Gateway) board(in *creation) (f *flight, first bool, bad *failure) {
	g.flights.mu.Lock()
	defer g.flights.mu.Unlock()
	key, contents := in.flightKey(), in.contents()
	if in.repeatable() {
		if f, ok := g.flights.all[key]; ok {
			if f.contents != contents {
				return nil, false, fail(RequestConflict, "Another request of this player with the same name or key, and other contents, is in progress.")
			}
			return f, false, nil
		}
	}
	f = &flight{contents: contents, done: make(chan struct{})}
	if in.repeatable() {
		if g.flights.all == nil {
			g.flights.all = make(map[string]*flight)
		}
		g.flights.all[key] = f
	}
	g.work.Go(func() { g.fly(f, in, key) })
	return f, true, nil
}

// fly carries a creation out within the deadline, tells those who wait, and then
// cleans up behind a failure.
func (g *Gateway) fly(f *flight, in *creation, key string) {
	ctx, cancel := WithTimeout(g.base, g.clock, g.deadline)
	defer cancel()
	f.out, f.err = g.tryCreate(ctx, f, in)
	if f.err == nil {
		g.unused.settle(f.held, f.out)
	}
	g.land(f, key)
	close(f.done)
	if f.err != nil {
		g.undo(f.undo)
		g.unused.release(f.held)
	}
}

// land lets the next request with the key start anew.
func (g *Gateway) land(f *flight, key string) {
	g.flights.mu.Lock()
	defer g.flights.mu.Unlock()
	if g.flights.all[key] == f {
		delete(g.flights.all, key)
	}
}

// tryCreate makes a panic of the service a failure of this request alone.
func (g *Gateway) tryCreate(ctx context.Context, f *flight, in *creation) (out *created, bad *failure) {
	defer func() {
		if v := recover(); v != nil {
			out, bad = nil, panicked(v)
		}
	}()
	return g.carryOut(ctx, f, in)
}

// handOver tells the service that the answer which names a game session was
// written, beside the requests: nobody waits for it. A service that is killed
// meanwhile ends the game session when the place in it was not taken either.
func (g *Gateway) handOver(id string) {
	g.work.Go(func() {
		ctx, cancel := WithTimeout(context.WithoutCancel(g.base), g.clock, undoTime)
		defer cancel()
		if err := g.service.HandOver(ctx, id); err != nil {
			g.log.Warn("game session not handed over", "game_session", id, "error", err)
		}
	})
}

// undoTime is how long it may take to clean up behind a creation that failed.
const undoTime = 5 * time.Second

// undo cleans up. It has a context of its own: the creation's is over, as a rule.
func (g *Gateway) undo(steps []func(context.Context)) {
	ctx, cancel := WithTimeout(context.Background(), g.clock, undoTime)
	defer cancel()
	for _, step := range steps {
		step(ctx)
	}
}
