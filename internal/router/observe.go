package router

import (
	"slices"
	"sync/atomic"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/shard"
)

// A Commit is what has become durable in a shard. The observer may use it until it returns.
type Commit struct {
	shard.Commit[*region.Machine]
	Shard int
	Rooms []fleet.RoomID // of Facts, one for each; zero for a fact that is not of a fleet location
}

// seen is the state of a shard's observer. Other goroutines than the commit goroutine may only read level, and the
// number of the shard in commit, which does not change.
type seen struct {
	rooms  map[uint32]fleet.RoomID // by number
	level  atomic.Int64            // of features
	commit Commit                  // reused
}

// observe runs on the shard's commit goroutine, before the callers are answered.
func (s *Shard) observe(c shard.Commit[*region.Machine]) {
	seen := &s.seen
	if c.HasView && seen.commit.Shard == region.CatalogShard {
		s.router.view.Store(c.View.Catalog())
	}
	if c.Recovered {
		seen.level.Store(int64(c.View.Level()))
		s.router.reach(c.View.History())
		clear(seen.rooms)
		for _, r := range c.View.Rooms() {
			seen.rooms[uint32(r.Address().Room)] = r.ID()
		}
	}
	seen.commit.Commit, seen.commit.Rooms = c, seen.commit.Rooms[:0]
	for _, f := range c.Facts {
		if e, ok := f.Body.(*region.HistoryReached); ok {
			s.router.reach(*e)
		}
		seen.commit.Rooms = append(seen.commit.Rooms, seen.room(f))
	}
	s.router.cfg.Observe(&seen.commit)
	seen.commit.Commit = shard.Commit[*region.Machine]{} // keeps nothing in memory
}

// room returns the room of a fact, and processes facts that open and close rooms.
func (s *seen) room(f event.Fact) fleet.RoomID {
	switch e := f.Body.(type) {
	case *region.RoomOpened:
		s.rooms[f.Room] = fleet.RoomID{Fleet: e.Fleet, Location: e.Location}
	case *region.RoomClosed:
		defer delete(s.rooms, f.Room)
	case *region.LevelRaised:
		s.level.Store(int64(e.Level))
	}
	return s.rooms[f.Room]
}

// Level returns the feature level of a shard, as far as this node has read its journal; at least 1.
func (s *Shard) Level() int { return max(1, int(s.seen.level.Load())) }

// viewWhen returns the condition for a new view: the catalog has changed.
func viewWhen(shard int) func([]event.Fact) bool {
	if shard != region.CatalogShard {
		return nil
	}
	return func(facts []event.Fact) bool {
		return slices.ContainsFunc(facts, func(f event.Fact) bool { return f.Room == 0 })
	}
}

// reach records that shards rely on a batch of the history.
func (r *Router) reach(e region.HistoryReached) {
	advance(&r.historySeq, e.Seq)
	advance(&r.historySettled, e.Settled)
}

func advance(n *atomic.Uint64, to uint64) {
	for at := n.Load(); at < to && !n.CompareAndSwap(at, to); at = n.Load() {
	}
}

// HistoryReached returns the newest batch of the history on which a shard relies, and the newest entry that is known to
// have left memory, as far as this node has read the journals: at least what holds for any state that was read.
func (r *Router) HistoryReached() (seq, settled uint64) {
	return r.historySeq.Load(), r.historySettled.Load()
}
