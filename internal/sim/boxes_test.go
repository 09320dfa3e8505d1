package sim

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/internal/agent/plan"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/instances"
	"github.com/muster-gg/muster/internal/machines"
)

// A box is a machine with its agent, which may be killed while its game servers go on.
type box struct {
	w        *world
	name     string
	serial   int // of its key: another one with the same name has another key
	location string
	token    string
	offer    protocol.Offer

	off    bool // for good
	agent  int  // counts the runs of the agent
	down   bool // the agent does not run
	link   *link
	gen    uint64 // of the newest wanted state that this run of the agent has
	wanted *protocol.Wanted
	slots  map[string]*slot
	disk   map[string]files // of instances that are complete, for the next run of the agent
}

// files are what is on the disk of an instance.
type files struct {
	room   fleet.RoomID
	builds map[string]bool // besides the fleet's own
}

// A link is one socket of a box.
type link struct {
	box    *box
	node   *node
	caller *caller
	conn   machines.Connection // nil until it has joined
	closed bool

	mu     sync.Mutex
	pushed []*protocol.Wanted
	ended  error
	sent   time.Time // when the last push arrives
}

// A slot is an instance on a box: what the instance manager of the agent knows of it.
type slot struct {
	box      *box
	id       string
	room     fleet.RoomID
	stage    protocol.Stage
	failure  *protocol.Failure
	wants    protocol.Instance
	plan     *plan.Machine // nil until it runs
	ports    *plan.Ports
	servers  map[string]*server // that run
	ends     bool
	dropped  bool
	ended    bool
	complete bool
	tick     uint64 // counts planned ticks
	agent    int    // the run of the agent that it belongs to

	builds, preparing map[string]bool // besides the fleet's own: complete, and not yet
}

// live reports whether a slot belongs to the agent that runs.
func (s *slot) live() bool { return !s.box.off && !s.box.down && s.box.agent == s.agent && !s.ended }

// connect opens a socket to a node.
func (b *box) connect() {
	w := b.w
	if b.off || b.down || b.link != nil || w.over {
		return
	}
	n := w.nodes[w.rng.IntN(len(w.nodes))]
	if n.idle() || n.isCut() {
		b.later(b.connect)
		return
	}
	l := &link{box: b, node: n, caller: newCaller(n)}
	b.link = l
	r := machines.Request{
		Join: &protocol.Join{Name: b.name, PublicKey: b.key(), Token: b.token, Offer: b.offer},
		Push: func(wd *protocol.Wanted) { l.put(func() { l.pushed = append(l.pushed, wd) }) },
		End:  func(err error) { l.put(func() { l.ended = err }) },
	}
	l.caller.run(func(ctx context.Context) func() {
		conn, err := n.driver.manager.machines.Join(ctx, r)
		return func() {
			switch {
			case err != nil:
				l.close()
			case l.closed:
				conn.Disconnected()
			default:
				l.conn = conn
				w.seen["machine joined"]++
				n.driver.manager.wake()
			}
		}
	})
	w.in(20*time.Second, func(*world) { // the handshake fails
		if l.conn == nil {
			l.close()
		}
	})
}

// key is its public key.
func (b *box) key() []byte {
	key := make([]byte, 32)
	copy(key, sprintf("key of %s %d", b.name, b.serial))
	return key
}

// later does something after the pause of an agent before another try.
func (b *box) later(do func()) {
	agent := b.agent
	b.w.in(b.w.between(100*time.Millisecond, 8*time.Second), func(*world) {
		if b.agent == agent {
			do()
		}
	})
}

// put changes what is on its way to the box. Callers of the service call it.
func (l *link) put(change func()) {
	l.mu.Lock()
	change()
	l.mu.Unlock()
	l.box.w.stir()
}

// close ends the socket at the box; the node notices sooner or later.
func (l *link) close() {
	if l.closed {
		return
	}
	l.closed = true
	b := l.box
	if b.link == l {
		b.link = nil
		b.later(b.connect)
	}
	if l.conn == nil {
		l.caller.cancel()
		return
	}
	b.w.in(b.w.between(0, 30*time.Second), func(*world) {
		if l.node.process == l.caller.process {
			l.node.do(func() {
				l.conn.Disconnected()
				l.node.driver.manager.wake()
			})
		}
		l.caller.cancel()
	})
}

// passPushes sends what nodes have pushed on its way to boxes.
func (w *world) passPushes() (any bool) {
	for _, b := range w.boxes {
		if l := b.link; l != nil {
			any = l.deliver() || any
		}
	}
	return any
}

func (l *link) deliver() bool {
	w := l.box.w
	l.mu.Lock()
	pushed, ended := l.pushed, l.ended
	l.pushed, l.ended = nil, nil
	l.mu.Unlock()
	for _, wd := range pushed {
		at := time.Now().Add(w.latency(5 * time.Millisecond))
		if l.sent.After(at) {
			at = l.sent
		}
		l.sent = at
		w.at(at, func(*world) {
			if !l.closed && !l.node.isCut() {
				l.box.want(wd)
			}
		})
	}
	if ended != nil {
		w.in(w.latency(5*time.Millisecond), func(*world) { l.close() })
	}
	return len(pushed) > 0 || ended != nil
}

// beat reports the state of the box at intervals.
func (b *box) beat(*world) {
	if b.off || b.w.over {
		return
	}
	b.report()
	b.w.in(protocol.ReportInterval, b.beat)
}

// report sends the state of the box.
func (b *box) report() {
	l := b.link
	if l == nil || l.conn == nil || b.wanted == nil || b.down {
		return
	}
	if l.node.process != l.caller.process || l.node.isCut() {
		l.close()
		return
	}
	o := &protocol.Observed{Generation: b.gen, Offer: b.offer, Instances: b.states()}
	b.w.in(b.w.latency(5*time.Millisecond), func(*world) {
		if l.closed {
			return
		}
		l.caller.run(func(ctx context.Context) func() {
			err := l.conn.Observed(ctx, o)
			return func() {
				if err != nil {
					l.close()
				}
			}
		})
	})
}

func (b *box) states() (states []protocol.InstanceState) {
	for _, id := range slices.Sorted(maps.Keys(b.slots)) {
		s := b.slots[id]
		states = append(states, protocol.InstanceState{ID: id, Stage: s.stage, Processes: len(s.servers),
			Failure: s.failure})
	}
	return states
}

// want acts on a wanted state, as package instance does.
func (b *box) want(wd *protocol.Wanted) {
	if b.off || b.down || wd.Generation <= b.gen {
		return
	}
	first := b.wanted == nil
	b.gen, b.wanted = wd.Generation, wd
	b.w.trace.add(b.w.step, "%s gets generation %d with %d instances", b.name, wd.Generation, len(wd.Instances))
	b.apply(first)
	b.report()
}

// apply has each instance act on what is wanted.
func (b *box) apply(first bool) {
	wanted := map[string]bool{}
	for _, i := range b.wanted.Instances {
		wanted[i.ID] = true
		b.slot(i.ID, fleet.RoomID{Fleet: fleet.ID(i.Fleet), Location: b.location}).set(i)
	}
	if first {
		for _, id := range slices.Sorted(maps.Keys(b.disk)) {
			b.slot(id, b.disk[id].room)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(b.slots)) {
		s := b.slots[id]
		if !wanted[id] {
			s.drop()
		}
		if s.dropped && s.ended {
			delete(b.slots, id)
		}
	}
}

// slot returns an instance, which may begin.
func (b *box) slot(id string, room fleet.RoomID) *slot {
	if s := b.slots[id]; s != nil && !(s.dropped && s.ended) {
		return s
	}
	s := &slot{box: b, id: id, room: room, stage: protocol.Waiting, servers: map[string]*server{}, agent: b.agent,
		ports: plan.NewPorts(20000, 20999), builds: map[string]bool{}, preparing: map[string]bool{}}
	b.slots[id] = s
	b.w.runsOn(id, b)
	if f, complete := b.disk[id]; complete {
		s.complete, s.builds = true, f.builds
		b.w.in(0, func(*world) { s.serve() })
	} else {
		s.prepare(protocol.Downloading)
	}
	return s
}

// configure passes on what the agent may start.
func (s *slot) configure() {
	s.plan.Configure(s.entries())
	s.plan.Hold(s.box.wanted != nil && s.box.wanted.Drain)
}

// set takes over what is wanted.
func (s *slot) set(i protocol.Instance) {
	s.wants = i
	if s.plan != nil {
		s.configure()
		s.keepBuilds()
		s.next()
	}
	if i.Ends && !s.ends {
		s.ends = true
		if s.plan == nil {
			s.finish()
			return
		}
		s.perform(s.plan.TerminateCompute(time.Now()))
		s.next()
	}
}

func (s *slot) entries() (entries []plan.Entry) {
	for _, p := range s.wants.Runtime {
		entries = append(entries, plan.Entry{LaunchPath: p.LaunchPath, Parameters: p.Parameters, Count: int(p.Count)})
	}
	return entries
}

// drop ends an instance that is not wanted, at once.
func (s *slot) drop() {
	s.dropped = true
	for _, id := range slices.Sorted(maps.Keys(s.servers)) {
		s.servers[id].die(-9)
	}
	s.finish()
}

// finish is the end of the instance: nothing of it is left.
func (s *slot) finish() {
	if s.ended || len(s.servers) > 0 {
		return
	}
	s.ended, s.stage, s.failure = true, protocol.Ended, nil
	delete(s.box.disk, s.id)
	s.box.w.trace.add(s.box.w.step, "%s has ended on %s", s.id, s.box.name)
	s.box.report()
}

// prepare goes through the stages to RUNNING.
func (s *slot) prepare(stage protocol.Stage) {
	w := s.box.w
	w.in(w.between(100*time.Millisecond, 3*time.Second), func(*world) {
		if !s.live() || s.dropped {
			return
		}
		s.stage = stage
		switch {
		case !w.calm && w.chance(2):
			s.stage = protocol.Failed
			s.failure = &protocol.Failure{Code: "FLEET_BINARY_DOWNLOAD_FAILED", Message: "no bytes"}
		case stage == protocol.Downloading:
			s.prepare(protocol.Building)
		case stage == protocol.Building:
			s.box.disk[s.id] = files{s.room, s.builds} // the record is written last
			s.complete = true
			s.serve()
		}
		s.box.report()
	})
}

// serve runs the agent of the instance.
func (s *slot) serve() {
	if !s.live() || s.plan != nil || s.dropped {
		return
	}
	s.stage = protocol.Running
	s.plan = plan.New(s.ports)
	w := s.box.w
	for _, g := range w.servers { // of an earlier run of the agent
		if g.alive && g.box == s.box && g.key.Compute == s.id {
			g.slot = s
			s.servers[g.key.ID] = g
			s.plan.Adopt(time.Now(), g.key.ID, g.entry, g.build, g.port, g.begun)
			if g.ready {
				s.plan.Registered(g.key.ID)
			}
		}
	}
	for _, g := range w.servers {
		if !g.alive && !g.reported && g.box == s.box && g.key.Compute == s.id {
			s.plan.Adopt(time.Now(), g.key.ID, g.entry, g.build, g.port, g.begun)
			s.perform(s.plan.Exited(time.Now(), g.key.ID, 1, w.rng.Float64())) // it has ended without an agent
		}
	}
	s.configure()
	s.keepBuilds()
	s.register(func() {
		if s.live() && !s.dropped {
			s.perform(s.plan.Heartbeat(time.Now(), plan.Initializing, nil, nil))
			s.perform(s.plan.Heartbeat(time.Now(), plan.Active, nil, nil))
			if s.ends {
				s.perform(s.plan.TerminateCompute(time.Now()))
			}
			s.next()
			s.beats()
		}
	})
	if s.ends {
		s.perform(s.plan.TerminateCompute(time.Now()))
		s.next()
	}
}

// register is the request for a token, with which the service registers the compute.
func (s *slot) register(done func()) {
	w := s.box.w
	n := w.nodes[w.rng.IntN(len(w.nodes))]
	again := func() {
		w.in(w.between(time.Second, 5*time.Second), func(*world) {
			if s.live() && !s.dropped && !s.ended {
				s.register(done)
			}
		})
	}
	if n.idle() {
		again()
		return
	}
	i, ok := n.driver.manager.view.Load().Instance(s.id)
	if !ok || i.Machine != s.box.name {
		again()
		return
	}
	newCaller(n).run(func(ctx context.Context) func() {
		err := instances.Register(ctx, &changer{n.driver.manager}, i)
		return func() {
			if err != nil {
				again()
				return
			}
			done()
		}
	})
	process := n.process
	w.in(patience, func(*world) { // an answer that is lost
		if n.process != process {
			again()
		}
	})
}

// next plans the next tick of the agent.
func (s *slot) next() {
	s.tick++
	tick := s.tick
	at := s.plan.Next()
	if at.IsZero() {
		return
	}
	s.box.w.at(maxTime(at, time.Now()), func(w *world) {
		if s.tick == tick && s.live() {
			s.perform(s.plan.Tick(time.Now(), w.id("process")))
			if s.live() {
				s.next()
			}
		}
	})
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// perform does what the machine of the agent returns.
func (s *slot) perform(actions []plan.Action) {
	w := s.box.w
	for _, a := range actions {
		switch a := a.(type) {
		case plan.Start:
			s.start(a)
		case plan.Signal:
			g := s.servers[a.ID]
			switch {
			case g == nil:
			case a.Kill:
				g.die(-9)
			case !g.hung:
				w.in(w.between(0, 5*time.Second), func(*world) { g.die(0) })
			}
		case plan.Report:
			s.exit(a)
		case plan.Beat:
			if s.ends {
				s.terminating()
			} else {
				s.beat()
			}
		case plan.Finish:
			s.finish()
		}
	}
}

// start starts a game server, and holds the start to the rules.
func (s *slot) start(a plan.Start) {
	w := s.box.w
	equal := 0
	for _, g := range w.servers {
		if g.alive && g.key.Compute == s.id {
			if g.box != s.box {
				w.fail("instance %s runs on %s and starts on %s", s.id, g.box.name, s.box.name)
			}
			if g.entry == a.Entry {
				equal++
			}
		}
	}
	if equal >= a.Entry.Count {
		w.fail("instance %s has %d processes of %+v and starts another one", s.id, equal, a.Entry)
	}
	key := serverKey{s.room, fleet.ProcessKey{Compute: s.id, ID: a.ID}}
	if w.byKey[key] != nil {
		w.fail("process %s of instance %s is started again", a.ID, s.id)
	}
	if a.Build != "" && !s.builds[a.Build] || !w.calm && w.chance(4) {
		w.unstarted[key] = true
		s.perform(s.plan.StartFailed(time.Now(), a.ID, w.rng.Float64()))
		return
	}
	w.seen["process started"]++
	g := &server{w: w, room: s.room, key: key.key, build: a.Build, alive: true,
		hung: !w.calm && w.chance(4), slot: s, box: s.box, entry: a.Entry, port: a.Port, begun: time.Now()}
	g.run = "run-" + a.ID
	s.servers[a.ID] = g
	w.servers = append(w.servers, g)
	w.byKey[key] = g
	w.in(w.between(0, time.Second), func(*world) { g.connect() })
	w.in(time.Minute, g.beat)
	if !w.calm && w.chance(15) {
		w.in(w.between(0, 3*time.Minute), func(*world) { g.die(1) })
	}
}

// exited is the end of a game server, which its supervisor knows.
func (s *slot) exited(g *server, code int) {
	delete(s.servers, g.key.ID)
	if !s.live() {
		return // the next run of the agent finds it ended
	}
	if s.plan != nil {
		s.perform(s.plan.Exited(time.Now(), g.key.ID, code, s.box.w.rng.Float64()))
		s.next()
	}
	if s.dropped {
		s.finish()
	}
	if g.build != "" {
		s.keepBuilds()
	}
}

// exit reports the end of a game server until the service has confirmed it.
func (s *slot) exit(r plan.Report) {
	w := s.box.w
	if g := w.byKey[serverKey{s.room, fleet.ProcessKey{Compute: s.id, ID: r.ID}}]; g != nil {
		g.reported = true
	}
	w.askRoom(s.room, fleet.ExitProcess{ProcessKey: fleet.ProcessKey{Compute: s.id, ID: r.ID},
		Reason: fleet.ExitReason(r.Reason)}, true, func(_ any, err error) {
		if undecided(err) && !s.box.off {
			w.in(w.between(time.Second, 5*time.Second), func(*world) { s.exit(r) })
		}
	})
}

// terminating reports that the compute ends, so that the service asks its processes to end.
func (s *slot) terminating() {
	w := s.box.w
	w.askRoom(s.room, fleet.StopCompute{Name: s.id}, true, func(_ any, err error) {
		if undecided(err) && s.live() {
			w.in(w.between(time.Second, 5*time.Second), func(*world) { s.terminating() })
		}
	})
}

// restart kills the agent, and starts it again after a while. Its game servers go on.
func (b *box) restart() {
	if b.off || b.down {
		return
	}
	w := b.w
	w.seen["agent restarted"]++
	w.trace.add(w.step, "the agent of %s restarts", b.name)
	b.down = true
	if b.link != nil {
		b.link.close()
	}
	w.in(w.between(100*time.Millisecond, 20*time.Second), func(*world) {
		if b.off {
			return
		}
		b.agent++
		b.down, b.gen, b.wanted, b.slots = false, 0, nil, map[string]*slot{}
		b.connect()
	})
}

// stop ends the machine for good.
func (b *box) stop() {
	w := b.w
	w.trace.add(w.step, "%s is lost for good", b.name)
	b.off = true
	if b.link != nil {
		b.link.close()
	}
	for _, g := range w.servers {
		if g.box == b && g.alive {
			g.die(-9)
		}
	}
}
