package fleet

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/search"
)

// check holds a Room to everything that must be true after every step. It
// counts anew what the Room keeps count of.
func check(r *Room) error {
	c := &checker{room: r, hosts: map[string]*host{}, hostedBy: map[ProcessKey]uint64{}, idle: map[string][]string{}}
	eachProcess(r, func(p *Process) bool { c.process(p); return true })
	if len(r.byKey) != r.processes.Len() {
		c.fail("%d processes by key, %d in all", len(r.byKey), r.processes.Len())
	}
	r.sessions.Scan(func(_ uint64, g *GameSession) bool { c.session(g); return true })
	c.indexes()
	c.numbers()
	c.available()
	c.lookups()
	c.deadlines()
	return errors.Join(c.errs...)
}

// A playerPlace is a player and the ordinal of a game session that he is or was in.
type playerPlace struct {
	player  string
	session uint64
}

type checker struct {
	room     *Room
	counts   Counts
	hosts    map[string]*host // recounted; idle stays nil
	idle     map[string][]string
	hostedBy map[ProcessKey]uint64
	ids      map[string]uint64
	players  []playerPlace
	over     []endedEntry
	docs     int
	passing  []uint64
	errs     []error
}

func (c *checker) fail(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf(format, args...))
}

func (c *checker) host(compute string) *host {
	if c.hosts[compute] == nil {
		c.hosts[compute] = &host{}
	}
	return c.hosts[compute]
}

func (c *checker) process(p *Process) {
	if found, ok := c.room.process(p.ProcessKey); !ok || found != p {
		c.fail("process %v is not found by its key", p.ProcessKey)
	}
	if p.Status == ProcessEnded {
		if p.Connected || p.ForgetAt == 0 || p.Ended == 0 || p.End == 0 {
			c.fail("ended process %v is not as an ended one is: %+v", p.ProcessKey, *p)
		}
		return
	}
	c.host(p.Compute).processes++
	compute, ok := c.room.computes.Get(p.Compute)
	switch {
	case !ok:
		c.fail("process %v lives and its compute is gone", p.ProcessKey)
	case p.Token != 0 && !slices.ContainsFunc(compute.Tokens, func(t Token) bool { return t.Serial == p.Token }):
		c.fail("process %v lives and its token %d is gone", p.ProcessKey, p.Token)
	case p.Requested && (p.Status != ProcessInitializing || p.Connected || p.Build == "" || p.ReconnectBy != 0):
		c.fail("requested process %v is not as one is: %+v", p.ProcessKey, *p)
	case !p.Requested && p.Connected != (p.ReconnectBy == 0):
		c.fail("process %v: connected %v and has to be back by %d", p.ProcessKey, p.Connected, p.ReconnectBy)
	case (p.Status == ProcessInitializing) != (p.ReadyBy != 0):
		c.fail("process %v: status %d and has to be ready by %d", p.ProcessKey, p.Status, p.ReadyBy)
	case (p.HealthBy != 0) != (p.Connected && p.Status != ProcessInitializing):
		c.fail("process %v: status %d, connected %v, health is due at %d", p.ProcessKey, p.Status, p.Connected,
			p.HealthBy)
	case p.Build == "" && (p.Status == ProcessHosting) != (p.Session != 0), p.Build != "" && p.Yields == "",
		p.Build != "" && p.Status == ProcessIdle && p.TerminateBy == 0:
		c.fail("process %v: status %d with game session %d", p.ProcessKey, p.Status, p.Session)
	case p.Unhealthy >= c.room.settings.HealthMisses:
		c.fail("process %v lives after %d bad reports", p.ProcessKey, p.Unhealthy)
	}
	if (p.Status == ProcessIdle || p.Status == ProcessHosting) && p.Connected && p.Unhealthy == 0 {
		c.counts.Healthy++
	}
	switch p.Status {
	case ProcessIdle:
		c.counts.Processes++
		c.counts.Idle++
		if p.Connected && p.TerminateBy == 0 && p.Build == "" {
			c.counts.Waiting++
			c.idle[p.Compute] = append(c.idle[p.Compute], p.ID)
		}
	case ProcessHosting:
		c.counts.Processes++
		if g, ok := c.room.sessions.Get(p.Session); ok &&
			(g.Host != p.ProcessKey || g.HasEnded() && p.TerminateBy == 0) {
			c.fail("process %v hosts game session %d, which is %s on %v", p.ProcessKey, p.Session, g.Status, g.Host)
		}
	}
}

func (c *checker) session(g *GameSession) {
	if g.Ordinal > c.room.header.Sessions {
		c.fail("game session %d is beyond the last number %d", g.Ordinal, c.room.header.Sessions)
	}
	c.seats(g)
	if (g.Status == Activating) != (g.ActivateBy != 0) {
		c.fail("game session %d is %s and has to be active by %d", g.Ordinal, g.Status, g.ActivateBy)
	}
	if g.ConfirmBy != 0 && (g.Status == Terminating || g.HasEnded() ||
		slices.ContainsFunc(g.PlayerSessions(), func(p *PlayerSession) bool { return p.Status == InGame })) {
		c.fail("game session %d is %s and waits to be handed over", g.Ordinal, g.Status)
	}
	if g.HasEnded() {
		c.over = append(c.over, endedEntry{g.Ended, g.Ordinal})
		if len(g.CurrentPlayers) > 0 || g.Ended == 0 {
			c.fail("game session %d is over and is not as one that is: %+v", g.Ordinal, *g)
		}
		return
	}
	c.liveSession(g)
}

func (c *checker) liveSession(g *GameSession) {
	p, ok := c.room.process(g.Host)
	if !ok || !p.Hosts() || p.Session != g.Ordinal || g.Status == Active && p.Status != ProcessHosting {
		c.fail("game session %d is %s and its process %v does not host it: %+v", g.Ordinal, g.Status, g.Host, p)
	}
	if other := c.hostedBy[g.Host]; other != 0 {
		c.fail("process %v hosts the game sessions %d and %d", g.Host, other, g.Ordinal)
	}
	c.hostedBy[g.Host] = g.Ordinal
	h := c.host(g.Host.Compute)
	if h.sessions == 0 {
		c.counts.BusyComputes++
	}
	h.sessions++
	c.counts.Players += len(g.CurrentPlayers)
	c.counts.MaximumPlayers += int(g.Maximum)
	switch g.Status {
	case Activating:
		c.passing = append(c.passing, g.Ordinal)
		h.activating++
		c.counts.Activating++
		if len(g.CurrentPlayers)+len(g.PastPlayers) > 0 {
			c.fail("game session %d is ACTIVATING and has players", g.Ordinal)
		}
	case Active:
		c.counts.Active++
		c.doc(g)
	case Terminating:
		c.counts.Active++
		c.passing = append(c.passing, g.Ordinal)
	default:
		c.fail("game session %d has the status %q", g.Ordinal, g.Status)
	}
}

// doc compares what a search finds with the game session.
func (c *checker) doc(g *GameSession) {
	c.docs++
	doc, ok := c.room.index.Get(g.Ordinal)
	if !ok {
		c.fail("game session %d is ACTIVE and not in the index", g.Ordinal)
		return
	}
	same := doc.ID == g.ID && doc.Name == g.Name && doc.Prefix == c.room.prefix &&
		doc.Maximum == g.Maximum && doc.Players == int32(len(g.CurrentPlayers)) && doc.Created == g.Created &&
		slices.EqualFunc(doc.Properties, g.Properties, func(a search.Property, b Property) bool {
			return a.Key == b.Key &&
				a.Value == b.Value
		})
	if !same {
		c.fail("the index has %+v for %+v", *doc, *g)
	}
}

func (c *checker) seats(g *GameSession) {
	indexes := map[uint32]bool{}
	if !slices.IsSortedFunc(g.CurrentPlayers, func(a, b *PlayerSession) int { return int(a.Index) - int(b.Index) }) {
		c.fail("game session %d: the places are out of order", g.Ordinal)
	}
	if len(g.randomBits) != len(g.CurrentPlayers) {
		c.fail("game session %d: %d places and %d tickets", g.Ordinal, len(g.CurrentPlayers), len(g.randomBits))
		return
	}
	for i, p := range g.CurrentPlayers {
		indexes[p.Index] = true
		if g.randomBits[i] != p.ID.randomBits() {
			c.fail("game session %d: place %d has the ticket of another player", g.Ordinal, i)
		}
		if p.Ended != 0 || !(p.Status == Reserved && p.Expires != 0 || p.Status == InGame && p.Expires == 0) {
			c.fail("game session %d: %+v has a place", g.Ordinal, *p)
		}
	}
	for _, p := range g.PastPlayers {
		indexes[p.Index] = true
		if p.Ended == 0 || p.Expires != 0 || p.Status != Completed && p.Status != TimedOut {
			c.fail("game session %d: %+v has left", g.Ordinal, *p)
		}
	}
	n := len(g.CurrentPlayers) + len(g.PastPlayers)
	last := g.Archived + uint32(n) - 1
	for index := range indexes {
		if index > last {
			c.fail("game session %d: player session %d is beyond the last one %d", g.Ordinal, index, last)
		}
	}
	if len(indexes) != n || n > 0 && g.Archived == 0 && !indexes[last] {
		c.fail("game session %d: the indexes of its %d players and %d in the history are %v", g.Ordinal, n, g.Archived,
			slices.Sorted(maps.Keys(indexes)))
	}
	if c.room.withExcess.Contains(g.Ordinal) != (len(g.PastPlayers) > keptPlayers) {
		c.fail("game session %d: %d player sessions have ended, and it is in withExcess: %v", g.Ordinal,
			len(g.PastPlayers), c.room.withExcess.Contains(g.Ordinal))
	}
	for _, p := range slices.Concat(g.CurrentPlayers, g.PastPlayers) {
		if at, ordinal := p.ID.Locate(); at != c.room.address || ordinal != g.Ordinal {
			c.fail("player session %s names another place than game session %d", p.ID, g.Ordinal)
		}
		c.players = append(c.players, playerPlace{p.PlayerID, g.Ordinal})
	}
	if c.ids == nil {
		c.ids = map[string]uint64{}
	}
	c.ids[g.ID] = g.Ordinal
}

func (c *checker) numbers() {
	c.counts.Computes = c.room.computes.Len()
	if c.counts != c.room.counts {
		c.fail("counts are %+v, counted anew %+v", c.room.counts, c.counts)
	}
}

// available compares what free looks at with the processes.
func (c *checker) available() {
	r := c.room
	if len(r.hosts) != len(c.hosts) {
		c.fail("%d hosts instead of %d", len(r.hosts), len(c.hosts))
	}
	var want, got []rank
	for _, compute := range slices.Sorted(maps.Keys(c.hosts)) {
		counted, h := c.hosts[compute], r.hosts[compute]
		if h == nil {
			c.fail("compute %s lives and is no host", compute)
			continue
		}
		if h.processes != counted.processes || h.sessions != counted.sessions || h.activating != counted.activating {
			c.fail("host %s is %+v, counted anew %+v", compute, *h, *counted)
		}
		var idle []string
		h.idle.Scan(func(e idleEntry) bool {
			idle = append(idle, e.id)
			if p, ok := r.process(ProcessKey{compute, e.id}); !ok || p.Ready != e.ready {
				c.fail("idle process %s of %s stands at the wrong time", e.id, compute)
			}
			return true
		})
		slices.Sort(idle)
		if !slices.Equal(idle, c.idle[compute]) {
			c.fail("idle processes of %s are %v, counted anew %v", compute, idle, c.idle[compute])
		}
		if len(c.idle[compute]) > 0 {
			want = append(want, rank{counted.activating, counted.sessions, compute})
		}
	}
	r.live.available.Scan(func(k rank) bool { got = append(got, k); return true })
	slices.SortFunc(want, func(a, b rank) int {
		if a.before(b) {
			return -1
		}
		return 1
	})
	if !slices.Equal(got, want) {
		c.fail("computes to choose from are %v, counted anew %v", got, want)
	}
}

// indexes looks at how the indexes by text are made.
func (c *checker) indexes() {
	for _, x := range []*textIndex{c.room.byID, c.room.byPlayer} {
		if err := soundIndex(x); err != nil {
			c.fail("%w", err)
		}
	}
}

// lookups compares the ways to find game sessions with a scan.
func (c *checker) lookups() {
	r := c.room
	ids := newTextIndex()
	for id, ordinal := range c.ids {
		ids.add(id, ordinal)
	}
	if got, want := entriesOf(r.byID), entriesOf(ids); !slices.Equal(got, want) {
		c.fail("game sessions by id are %x, by a scan %x", got, want)
	}
	players := newTextIndex()
	for _, p := range c.players {
		players.add(p.player, p.session)
	}
	if got, want := entriesOf(r.byPlayer), entriesOf(players); !slices.Equal(got, want) {
		c.fail("game sessions by player are %x, by a scan %x", got, want)
	}
	var over []endedEntry
	r.ended.Scan(func(e endedEntry) bool { over = append(over, e); return true })
	slices.SortFunc(c.over, func(a, b endedEntry) int {
		if a.before(b) {
			return -1
		}
		return 1
	})
	if !slices.Equal(over, c.over) {
		c.fail("game sessions that are over are %v, by a scan %v", over, c.over)
	}
	if r.index.Len() != c.docs {
		c.fail("the index holds %d game sessions; %d are ACTIVE", r.index.Len(), c.docs)
	}
	var passing []uint64
	for g := range r.Passing() {
		passing = append(passing, g.Ordinal)
	}
	if !slices.Equal(passing, c.passing) {
		c.fail("game sessions %v are ACTIVATING or TERMINATING, by a scan %v", passing, c.passing)
	}
}

// deadlines holds the queue of timers to the records.
func (c *checker) deadlines() {
	r := c.room
	queued := map[timerEntry]bool{}
	for _, e := range r.timers.heap {
		queued[e] = true
	}
	record := func(key timerKey, wake event.Time) {
		pending := r.timers.pending(key)
		if wake != 0 && (pending == 0 || pending > wake || !queued[timerEntry{pending, key}]) {
			c.fail("record %+v is to be looked at by %d and is at %d", key, wake, pending)
		}
		if d := r.Deadline(); wake != 0 && (d == 0 || d > wake) {
			c.fail("the deadline of the room is %d, that of %+v is %d", d, key, wake)
		}
	}
	eachProcess(r, func(p *Process) bool { record(timerKey{process: p.ProcessKey}, p.wake()); return true })
	r.sessions.Scan(func(n uint64, g *GameSession) bool { record(timerKey{session: n}, g.wake()); return true })
	if _, n, ok := r.fleetEvents.Min(); ok && r.Deadline() > n.At.Add(r.settings.FleetEventRetention) {
		c.fail("the deadline of the room is %d and a fleet event of %d is kept", r.Deadline(), n.At)
	}
}

// checkExpired holds a Room, all of whose due work has been done, to having no
// deadline left in the past.
func checkExpired(r *Room, now event.Time) error {
	if at := r.Deadline(); at != 0 && at <= now {
		return fmt.Errorf("deadline %d is not after %d", at, now)
	}
	var errs []error
	late := func(what any, times ...event.Time) {
		if at := earliest(times...); at != 0 && at <= now {
			errs = append(errs, fmt.Errorf("%v has a deadline at %d, which is not after %d", what, at, now))
		}
	}
	eachProcess(r, func(p *Process) bool {
		if p.Status == ProcessEnded {
			late(p.ProcessKey, p.ForgetAt)
		} else {
			late(p.ProcessKey, p.ReadyBy, p.ReconnectBy, p.HealthBy, p.TerminateBy)
		}
		return true
	})
	r.sessions.Scan(func(n uint64, g *GameSession) bool {
		late(n, g.ActivateBy)
		for _, p := range g.CurrentPlayers {
			late(p.ID, p.Expires)
		}
		return true
	})
	return errors.Join(errs...)
}
