package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/cluster/channel"
	"github.com/muster-gg/muster/internal/shard"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const (
	// tick is the interval of checks of waiting requests.
	tick = 20 * time.Millisecond

	// MaxCommand is the maximum size of a command, and of an answer, in bytes.
	MaxCommand = channel.MaxFrame - 64
)

// failure returns the error for a caller whose request fails.
func failure(err error) error {
	switch {
	case errors.Is(err, channel.ErrLost):
		return fault.Internal(fmt.Errorf("%w: %w", shard.ErrOutcomeUnknown, err))
	case errors.Is(err, channel.ErrFull):
		return &fault.Error{
			Kind: fault.Throttling, Message: "Too many requests are waiting. Try again later.", Err: shard.ErrNotDone,
		}
	case errors.Is(err, channel.ErrCutOff):
		err = shard.ErrPartitioned
	}
	return &fault.Error{
		Kind: fault.ServiceUnavailable, Message: "The service is not ready for this request. Try again.",
		Err: fmt.Errorf("%w: %w", shard.ErrNotDone, err),
	}
}

// Send sends a command to the owner of a shard. Commands of one shard arrive in the order of the calls. done is called
// exactly once, in any goroutine, possibly before Send returns, and must not block. Its error has shard.ErrNotDone or
// shard.ErrOutcomeUnknown in its chain. cmd must not be changed any more.
func (n *Node) Send(shard int, cmd []byte, done func(answer []byte, err error)) {
	if len(cmd) > MaxCommand {
		done(nil, failure(fmt.Errorf("the command has %d bytes, more than %d", len(cmd), MaxCommand)))
		return
	}
	var err error
	n.forward.step(func(f *channel.Forwarder, now time.Duration) { err = f.Send(now, shard, cmd, done) })
	if err != nil {
		done(nil, err)
	}
}

// Ask asks the owner of a shard for the record up to which everything is durable that it had executed before now. The
// rules of Send apply to done; its error always has shard.ErrNotDone in its chain.
func (n *Node) Ask(shard int, done func(seq uint64, err error)) {
	var err error
	n.forward.step(func(f *channel.Forwarder, now time.Duration) { err = f.Ask(now, shard, done) })
	if err != nil {
		done(0, err)
	}
}

// A forwarder runs a channel.Forwarder.
type forwarder struct {
	n       *Node
	mu      sync.Mutex
	machine *channel.Forwarder
}

func newForwarder(n *Node) *forwarder {
	f := &forwarder{n: n}
	cfg := n.channels(&f.mu, func(end *channel.End) {
		f.step(func(m *channel.Forwarder, now time.Duration) { m.Lost(now, end) })
	})
	f.machine = channel.NewForwarder(cfg, n.cfg.Shards, n.cfg.Waiting, failure)
	return f
}

// step calls do with the machine and, without the lock, the callers whose requests have ended.
func (f *forwarder) step(do func(m *channel.Forwarder, now time.Duration)) {
	f.mu.Lock()
	do(f.machine, f.n.elapsed())
	outcomes := f.machine.Outcomes()
	f.mu.Unlock()
	for _, done := range outcomes {
		done()
	}
}

// receive processes a packet of a server.
func (f *forwarder) receive(p channel.Packet) {
	var err error
	f.step(func(m *channel.Forwarder, now time.Duration) { err = m.Receive(now, p) })
	if err != nil {
		f.n.cfg.Log.Error("malformed answer of another node", "process", p.From, "error", err)
	}
}

// moved processes a change of members or owners.
func (f *forwarder) moved(v *view) {
	owners := make([]channel.Owner, len(v.owners))
	for i, run := range v.owners {
		owners[i] = channel.Owner{Process: run.Process, Run: run.Number, Epoch: v.epochs[i]}
	}
	f.step(func(m *channel.Forwarder, now time.Duration) { m.Moved(now, owners, v.has) })
}

// tick checks waiting requests periodically, until ctx is done.
func (f *forwarder) tick(ctx context.Context) {
	ticker := f.n.cfg.Clock.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.Chan():
			f.n.updateCutOff()
			f.step(func(m *channel.Forwarder, now time.Duration) { m.Check(now, f.n.CutOff()) })
		case <-ctx.Done():
			return
		}
	}
}

// stop fails all requests, and those of later calls.
func (f *forwarder) stop() {
	f.step(func(m *channel.Forwarder, now time.Duration) { m.Stop(now) })
}
