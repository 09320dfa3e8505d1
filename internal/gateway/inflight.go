package gateway

import (
	"container/list"
	"context"
	"crypto/sha256"
	"sync"
	"time"
)

// inflight is the table of creations in progress. Requests with equal keys share one call, and its result is not kept.
// Package singleflight does not fit: a request with the key of another one and different contents is rejected, and the
// cleanup of a failed call runs after its waiters are answered.
type inflight struct {
	mu    sync.Mutex
	calls map[string]*inflightCall
}

// An inflightCall is one creation in progress. It does not depend on the clients that wait for it: a client that lost
// its connection and repeats the request joins the call.
type inflightCall struct {
	contents [sha256.Size]byte
	undo     []func(context.Context) // run when the creation has failed
	retries  int                     // failed attempts: locations without a free server process, lost claims
	held     *list.Element           // of Gateway.unused; nil: nothing is counted

	done chan struct{} // closed when out and err are set
	out  *created
	err  error
}

// join returns the call with the key; first reports whether it is a new one, which the caller must run. An empty key is
// never shared.
func (t *inflight) join(key string, contents [sha256.Size]byte) (ic *inflightCall, first bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ic, ok := t.calls[key]; ok {
		if ic.contents != contents {
			return nil, false, fail(RequestConflict,
				"Another request of this player with the same name or key, and other contents, is in progress.")
		}
		return ic, false, nil
	}
	ic = &inflightCall{contents: contents, done: make(chan struct{})}
	if key != "" {
		if t.calls == nil {
			t.calls = make(map[string]*inflightCall)
		}
		t.calls[key] = ic
	}
	return ic, true, nil
}

// complete removes a call, so that the next request with the key starts a new one, and wakes its waiters.
func (t *inflight) complete(key string, ic *inflightCall) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.calls, key)
	close(ic.done)
}

// create runs a creation, or waits for the equal one in progress.
func (c *call) create(in *creation) (*created, error) {
	in.caller, in.origin = c.g.caller(c.r), c.origin(in.player)
	key := ""
	if in.repeatable() {
		key = in.requestKey()
	}
	ic, first, err := c.g.creations.join(key, in.contents())
	if err != nil {
		return nil, err
	}
	if first {
		c.g.work.Go(func() { c.g.run(ic, in, key) })
	}
	select {
	case <-ic.done:
	case <-c.r.Context().Done():
		return nil, &failure{code: ClientGone, err: c.r.Context().Err()}
	}
	c.seen.Retries, c.seen.Shared = ic.retries, !first
	if ic.err != nil {
		return nil, ic.err
	}
	c.seen.Replayed = ic.out.replayed
	if first {
		c.seen.Waited = ic.out.waited
	}
	return ic.out, nil
}

// run executes a creation within the deadline, answers its waiters, and then cleans up if it failed.
func (g *Gateway) run(ic *inflightCall, in *creation, key string) {
	ctx, cancel := WithTimeout(g.base, g.clock, g.deadline)
	defer cancel()
	ic.out, ic.err = g.tryCreate(ctx, ic, in)
	if ic.err == nil {
		g.unused.settle(ic.held, ic.out)
	}
	g.creations.complete(key, ic)
	if ic.err != nil {
		g.undo(ic.undo)
		g.unused.release(ic.held)
	}
}

// tryCreate turns a panic of the service into a failure of this creation alone.
func (g *Gateway) tryCreate(ctx context.Context, ic *inflightCall, in *creation) (out *created, err error) {
	defer func() {
		if v := recover(); v != nil {
			out, err = nil, panicked(v)
		}
	}()
	if out, err = g.carryOut(ctx, ic, in); err != nil {
		return nil, failed(ctx, err, Internal, Internal)
	}
	return out, nil
}

// confirm reports to the service, in the background, that the answer with a game session was sent. If the gateway is
// killed before, the service ends the game session, unless its player has connected.
func (g *Gateway) confirm(id string) {
	g.work.Go(func() {
		ctx, cancel := WithTimeout(context.WithoutCancel(g.base), g.clock, undoTime)
		defer cancel()
		if err := g.service.ConfirmGameSession(ctx, id); err != nil {
			g.log.Warn("game session confirmation failed", "game_session", id, "error", err)
		}
	})
}

// undoTime limits the cleanup after a failed creation.
const undoTime = 5 * time.Second

// undo cleans up. Its context is not the creation's, whose deadline may have passed.
func (g *Gateway) undo(steps []func(context.Context)) {
	ctx, cancel := WithTimeout(context.Background(), g.clock, undoTime)
	defer cancel()
	for _, step := range steps {
		step(ctx)
	}
}
