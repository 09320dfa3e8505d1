package drivers

import (
	"context"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/internal/matchmaking/matchdriver"
	"github.com/muster-gg/muster/internal/placement/placer"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
)

// A leader records whether this node leads.
type leader struct {
	number atomic.Uint64 // not 0 while it does; another one each time
	shards []ledShard

	begun chan struct{} // closed when the drivers have begun with all shards for the first time
	with  atomic.Int64  // with how many they have

	mu   sync.Mutex
	last uint64
	over chan struct{} // while it does: closed at the end
}

// A ledShard belongs to the commit goroutine of a shard.
type ledShard struct {
	number uint64 // of the leadership for which the drivers have begun with this shard
	begun  bool   // they have begun with it at some time
}

// drives reports whether a commit is for the drivers: when this node leads, beginning with a commit that shows the
// whole state.
func (l *leader) drives(c *router.Commit) bool {
	number := l.number.Load()
	if c.Recovered || c.Refresh {
		l.shards[c.Shard].number = number
	}
	return number != 0 && l.shards[c.Shard].number == number
}

// hasBegun records that the drivers have started with a shard.
func (l *leader) hasBegun(shard int) {
	if s := &l.shards[shard]; !s.begun {
		s.begun = true
		if int(l.with.Add(1)) == len(l.shards) {
			close(l.begun)
		}
	}
}

// ended returns a channel that is closed when this node does not lead any more; nil if it does not lead.
func (l *leader) ended() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}

func (l *leader) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	l.over = make(chan struct{})
	l.number.Store(l.last)
}

func (l *leader) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.number.Store(0)
	close(l.over)
	l.over = nil
}

// Run runs the drivers whenever this node leads, until ctx is done.
func (d *Drivers) Run(ctx context.Context) error {
	catalog := d.cfg.Router.Shards()[region.CatalogShard]
	for ctx.Err() == nil {
		if !catalog.Owned() {
			select {
			case <-catalog.OwnershipChanged():
			case <-ctx.Done():
			}
			continue
		}
		if err := d.leadOnce(ctx); err != nil {
			return err
		}
	}
	return nil
}

// leadOnce leads until another node does, or ctx is done.
func (d *Drivers) leadOnce(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := d.cfg.History.Begin(ctx); err != nil && ctx.Err() == nil {
		d.cfg.Log.Warn("history does not respond; listings may show moved records twice", "err", err)
	}
	d.placing.step((*placer.Machine).Begin)
	d.matching.begin()
	d.publisher.Begin()
	d.leader.begin()
	defer func() {
		d.leader.end()
		d.placing.step((*placer.Machine).End)
		d.matching.step((*matchdriver.Driver).End)
	}()
	for _, s := range d.cfg.Router.Shards() {
		s.Refresh()
	}
	group, ctx := errgroup.WithContext(ctx)
	drivers := []func(context.Context) error{d.placing.review, d.matching.review, d.publisher.Run, d.tidy, d.raiseLevel}
	for _, run := range append(drivers, d.cfg.Others...) {
		group.Go(func() error { return run(ctx) })
	}
	group.Go(func() error {
		defer cancel()
		d.awaitSuccessor(ctx)
		return nil
	})
	return group.Wait()
}

// awaitSuccessor returns when this node does not own the catalog any more.
func (d *Drivers) awaitSuccessor(ctx context.Context) {
	catalog := d.cfg.Router.Shards()[region.CatalogShard]
	for catalog.Owned() {
		select {
		case <-catalog.OwnershipChanged():
		case <-ctx.Done():
			return
		}
	}
}
