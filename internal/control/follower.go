package control

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/placer"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/shard"
)

// A follower sees what becomes durable in one shard and tells those whom it
// concerns: the catalog's readers, and the server processes that are connected.
type follower struct {
	plane *Plane
	shard int
	rooms map[uint32]fleet.RoomID // by number; the commit goroutine's own
	led   uint64                  // the leading for which the drivers have begun with this shard; the commit goroutine's own

	begun     sync.Once                // hasBegun
	recovered chan struct{}            // holds one when the open sockets have to be announced again
	watches   router.Watches[watchKey] // of game sessions

	mu       sync.RWMutex
	links    map[linkKey]*link                   // the primary socket of each process
	missed   map[linkKey][]UpdateGameSessionPush // by processes without a socket
	expected map[linkKey]expected                // links that are being opened
}

// expected are the links of a process that are being opened.
type expected struct {
	number int
	first  *link // the only one, when the process has no link yet; else nil
}

type linkKey struct {
	room    fleet.RoomID
	process fleet.ProcessKey
}

func newFollower(p *Plane, shard int) *follower {
	return &follower{
		plane: p, shard: shard, rooms: map[uint32]fleet.RoomID{}, recovered: make(chan struct{}, 1), links: map[linkKey]*link{},
		expected: map[linkKey]expected{}, missed: map[linkKey][]UpdateGameSessionPush{},
	}
}

// observe runs on the shard's commit goroutine, before the callers are answered.
func (f *follower) observe(c shard.Commit[*region.Machine]) {
	if c.HasView && f.shard == region.CatalogShard {
		f.plane.placing.step(func(m *placer.Machine) { m.SetCatalog(c.View.Catalog()) })
	}
	if c.Recovered {
		f.begin(c.View)
		f.watches.NotifyAll()
		f.plane.placing.watches.NotifyAll()
		f.plane.matching.watches.NotifyAll()
	}
	drives := f.drives(c)
	for _, fact := range c.Facts {
		f.dispatch(fact)
		f.tellWatches(fact, drives)
		if f.watches.Any() {
			if ordinal := fleet.ChangedGameSession(fact.Body); ordinal != 0 {
				f.watches.Notify(watchKey{f.rooms[fact.Room], ordinal})
			}
		}
	}
	if drives {
		if slices.ContainsFunc(c.Facts, placer.Concerns) {
			f.plane.placing.step(func(m *placer.Machine) { m.Observe(f.shard, c.Facts) })
		}
		f.plane.matching.observe(f, c)
		if c.HasView || announces(c.Facts) {
			router.Wake(f.plane.publisher.news)
		}
		f.begun.Do(f.hasBegun)
	}
	if f.plane.cfg.Observe != nil {
		f.plane.cfg.Observe(f.shard, c.Facts)
	}
}

// drives reports whether the facts of a commit are for the drivers: when this node
// leads, from a commit on that shows the state, with which they begin.
func (f *follower) drives(c shard.Commit[*region.Machine]) bool {
	leading := f.plane.leader.number.Load()
	if leading != 0 && (c.Recovered || c.Refresh) {
		f.led = leading
		f.plane.placing.step(func(m *placer.Machine) { m.Recover(f.shard, c.View) })
	}
	return leading != 0 && f.led == leading
}

// tellWatches wakes those who wait for what becomes of placements and tickets. The
// driver of matchmaking, if it runs here, tells whom it concerns by itself.
func (f *follower) tellWatches(fact event.Fact, drives bool) {
	switch e := fact.Body.(type) {
	case *placement.PlacementFulfilled:
		f.plane.placing.watches.Notify(e.ID)
	case *placement.PlacementEnded:
		f.plane.placing.watches.Notify(e.ID)
	default:
		if fact.Room == region.MatchmakingRoom && !drives && f.plane.matching.watches.Any() {
			f.plane.matching.watches.NotifyAll()
		}
	}
}

// hasBegun notes that the drivers have begun with this shard.
func (f *follower) hasBegun() {
	if int(f.plane.leader.shards.Add(1)) == len(f.plane.follow) {
		close(f.plane.leader.begun)
	}
}

// begin takes the rooms from a view. The sockets that are open have to be
// announced again, because a new owner of the shard knows of none.
func (f *follower) begin(m *region.Machine) {
	clear(f.rooms)
	for _, r := range m.Rooms() {
		f.rooms[uint32(r.Address().Room)] = r.ID()
	}
	select {
	case f.recovered <- struct{}{}:
	default: // it is about to be done
	}
}

func (f *follower) dispatch(fact event.Fact) {
	switch e := fact.Body.(type) {
	case *region.RoomOpened:
		f.rooms[fact.Room] = fleet.RoomID{Fleet: e.Fleet, Location: e.Location}
	case *region.RoomClosed:
		delete(f.rooms, fact.Room)
	case *fleet.ProcessConnected:
		f.connected(linkKey{f.rooms[fact.Room], e.ProcessKey})
	case *fleet.ProcessResumed:
		f.resumed(linkKey{f.rooms[fact.Room], e.ProcessKey})
	case *fleet.GameSessionCreated:
		if l, room, ok := f.linkOf(fact.Room, e.Host); ok {
			l.startGameSession(f.plane.startPush(room, e))
		}
	case *fleet.ProcessAskedToEnd:
		if l, _, ok := f.linkOf(fact.Room, e.ProcessKey); ok {
			l.terminate(e.By)
		}
	case *fleet.ProcessHasEnded:
		f.forgetUpdates(linkKey{f.rooms[fact.Room], e.ProcessKey})
		if l, room, ok := f.linkOf(fact.Room, e.ProcessKey); ok {
			f.drop(linkKey{room, e.ProcessKey}, l)
			l.ended(e)
		}
	}
}

func (f *follower) linkOf(number uint32, process fleet.ProcessKey) (*link, fleet.RoomID, bool) {
	room := f.rooms[number]
	l := f.linkFor(linkKey{room, process})
	return l, room, l != nil
}

// linkFor is the primary link of a process, or nil.
func (f *follower) linkFor(key linkKey) *link {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.links[key]
}

// install makes l the primary link of its process and returns the one before.
func (f *follower) install(l *link) (old *link) {
	f.mu.Lock()
	defer f.mu.Unlock()
	old = f.links[l.key]
	f.links[l.key] = l
	return old
}

// expect notes that l is being opened, which arrived or abandon ends. If it turns
// out to be the first link of a new process, it is installed at that very place
// among the events of the shard, and so misses nothing.
func (f *follower) expect(l *link) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.expected[l.key]
	e.number++
	e.first = nil
	if e.number == 1 && f.links[l.key] == nil {
		e.first = l
	}
	f.expected[l.key] = e
}

// connected installs the link of a new process, unless there is a doubt which.
func (f *follower) connected(key linkKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if l := f.expected[key].first; l != nil && f.links[key] == nil {
		f.links[key] = l
	}
}

// resumed forgets what a process has missed that has connected to another node: there
// it hears it.
func (f *follower) resumed(key linkKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.expected[key].number == 0 && f.links[key] == nil {
		delete(f.missed, key)
	}
}

// arrived ends the opening of l, and reports whether it was installed.
func (f *follower) arrived(l *link) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unexpect(l)
	return f.links[l.key] == l
}

// abandon ends the opening of l without result: its process may have been told to
// have a socket, and then has lost it, unless it has another.
func (f *follower) abandon(l *link) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unexpect(l)
	if f.links[l.key] == l {
		delete(f.links, l.key)
	}
	if f.links[l.key] == nil {
		l.noteLost()
	}
}

func (f *follower) unexpect(l *link) {
	e := f.expected[l.key]
	if e.number--; e.number == 0 {
		delete(f.expected, l.key)
		return
	}
	e.first = nil
	f.expected[l.key] = e
}

// drop removes l if it is still the primary link.
func (f *follower) drop(key linkKey, l *link) (was bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.links[key] != l {
		return false
	}
	delete(f.links, key)
	return true
}

// lose is drop, and notes in the room that the process has no socket. Both
// happen under the lock, so that a link that is installed later sees the note
// and can take it back; see link.catchUp.
func (f *follower) lose(l *link) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.links[l.key] == l {
		delete(f.links, l.key)
		l.noteLost()
	}
}

// loseOrphan notes in the room that the process of l has no socket, unless one
// is there. It is for a link whose socket may have been announced in vain.
func (f *follower) loseOrphan(l *link) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.links[l.key] == nil {
		l.noteLost()
	}
}

// resuming is how many sockets are announced again at a time, so that one batch
// of the shard takes many of them.
const resuming = 256

// resumeLinks announces the open sockets again whenever the shard has recovered.
func (f *follower) resumeLinks(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-f.recovered:
		}
		var group errgroup.Group
		group.SetLimit(resuming)
		for _, l := range f.all() {
			group.Go(func() error {
				l.resume(ctx)
				return nil
			})
		}
		_ = group.Wait() // what fails is logged
	}
}

// all lists the links of the moment.
func (f *follower) all() []*link {
	f.mu.RLock()
	defer f.mu.RUnlock()
	links := make([]*link, 0, len(f.links))
	for _, l := range f.links {
		links = append(links, l)
	}
	return links
}

// followerOf is the follower of the shard that holds a fleet location.
func (p *Plane) followerOf(id fleet.RoomID) *follower {
	return p.follow[region.ShardOf(id, len(p.follow))]
}
