package sim

import (
	"bytes"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/internal/capacity"
	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/machines"
	"github.com/muster-gg/muster/internal/region"
)

// machineActions are what the seed may draw in a region with machines.
var machineActions = []action{
	{"join a machine", 6, (*world).joinMachine},
	{"drop a machine's socket", 6, func(w *world) { w.someBox(func(b *box) { b.drop() }) }},
	{"restart an agent", 4, func(w *world) { w.someBox((*box).restart) }},
	{"lose a machine", 1, func(w *world) { w.someBox((*box).stop) }},
	{"drain a machine", 4, func(w *world) { w.someBox(func(b *box) { w.drain(b, true) }) }},
	{"end a drain", 4, func(w *world) { w.someBox(func(b *box) { w.drain(b, false) }) }},
	{"delete a machine", 2, (*world).deleteMachine},
	{"create a fleet", 4, (*world).createFleet},
	{"scale", 14, (*world).scale},
	{"delete a fleet", 1, (*world).deleteFleet},
	{"attach a build", 6, (*world).attachBuild},
	{"detach a build", 2, (*world).detachBuild},
	{"create", 30, (*world).createSession},
	{"terminate", 3, (*world).terminate},
	{"kill a server", 6, (*world).killServer},
	{"drop a socket", 4, (*world).flicker},
	{"tidy", 3, (*world).tidy},
	{"crash", 2, (*world).crashNode},
	{"cut off", 2, (*world).cutNode},
	{"move", 3, (*world).moveOwner},
	{"steal", 3, (*world).stealLease},
	{"pause", 2, (*world).pause},
	{"set a clock", 1, (*world).setClock},
	{"wait", 6, (*world).wait},
}

const home = "us-west-2" // the location that is the region itself

// foundMachines makes a build, fleets and machines.
func (w *world) foundMachines() {
	w.in(time.Minute, (*world).checkUnwanted)
	var raise func(shard int)
	raise = func(shard int) {
		w.ask(&question{shard: shard, repeat: true, cmd: region.RaiseLevel{Level: region.MaxLevel},
			answered: func(_ any, err error) {
				switch {
				case undecided(err):
					w.in(time.Second, func(*world) { raise(shard) })
				case shard == region.CatalogShard:
					var builds []catalog.Command
					for _, id := range []string{"build-1", "build-2", "build-3"} {
						builds = append(builds, catalog.CreateBuild{ID: id, Name: "game",
							OperatingSystem: "AMAZON_LINUX_2023", Hash: hashText, Size: 1,
							Source: catalog.BuildSource{Bucket: "b", Key: "k"}},
							catalog.FinishBuild{ID: id, Hash: hashText})
					}
					w.foundNext(builds)
				}
			}})
	}
	w.level = region.MaxLevel
	for i := range w.shards {
		raise(i)
	}
	w.pass(10 * time.Second)
	for range 2 {
		w.joinMachine()
		w.createFleet()
	}
	w.pass(5 * time.Second)
}

const hashText = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// change asks the catalog for a change, again and again until there is an answer.
func (w *world) change(c catalog.Command, done func()) {
	w.ask(&question{shard: region.CatalogShard, repeat: true, cmd: region.CatalogCommand{Command: c},
		answered: func(_ any, err error) {
			switch {
			case undecided(err) && !w.over:
				w.in(w.between(time.Second, 4*time.Second), func(*world) { w.change(c, done) })
			case done != nil && err == nil:
				done()
			}
		}})
}

// joinMachine adds a machine, perhaps with the name of one that is lost.
func (w *world) joinMachine() {
	on := 0
	name := w.id("machine")
	for _, b := range w.boxes {
		if !b.off {
			on++
		} else if w.chance(20) {
			name = b.name
		}
	}
	if on >= 5 || slices.ContainsFunc(w.boxes, func(b *box) bool { return !b.off && b.name == name }) {
		return
	}
	b := &box{w: w, name: name, serial: len(w.boxes), location: home, token: w.id("token"), slots: map[string]*slot{},
		disk: map[string]files{}, offer: protocol.Offer{MilliCPUs: int32(1+w.rng.IntN(8)) * 1000,
			MemoryMiB: 32 << 10, IP: "10.0.0.1", OS: "linux"}}
	w.boxes = append(w.boxes, b)
	w.in(w.between(0, 10*time.Second), b.beat)
	w.change(catalog.CreateMachineToken{Hash: machines.TokenHash(b.token), Location: home,
		Expires: event.At(time.Now().Add(20 * 24 * time.Hour))}, b.connect)
}

// someBox does something with a machine that runs.
func (w *world) someBox(do func(*box)) {
	var on []*box
	for _, b := range w.boxes {
		if !b.off {
			on = append(on, b)
		}
	}
	if len(on) > 0 {
		do(on[w.rng.IntN(len(on))])
	}
}

// drop closes the socket of a box.
func (b *box) drop() {
	if b.link != nil {
		b.w.seen["machine lost its socket"]++
		b.link.close()
	}
}

func (w *world) drain(b *box, drained bool) {
	w.change(catalog.DrainMachine{Name: b.name, Drained: drained}, nil)
}

// deleteMachine deletes a machine that is off, or drained.
func (w *world) deleteMachine() {
	if len(w.boxes) == 0 {
		return
	}
	b := w.boxes[w.rng.IntN(len(w.boxes))]
	m, ok := w.truth().Machine(b.name)
	if ok && (b.off || m.Drained) {
		w.change(catalog.DeleteMachine{Name: b.name, Lost: b.off}, nil)
	}
}

// truth is the catalog.
func (w *world) truth() *catalog.State { return w.shards[region.CatalogShard].mirror.machine.Catalog() }

// createFleet creates an EC2-type fleet.
func (w *world) createFleet() {
	if len(w.fleets) >= 4 {
		return
	}
	id := w.id("fleet-managed")
	kind := []string{"t2.micro", "c5.large", "c5.xlarge"}[w.rng.IntN(3)]
	w.fleets[id] = kind
	w.rooms = append(w.rooms, fleet.RoomID{Fleet: fleet.ID(id), Location: home})
	process := catalog.ServerProcess{LaunchPath: "/local/game/server", Parameters: "-port {port}",
		ConcurrentExecutions: int32(1 + w.rng.IntN(3))}
	w.change(catalog.CreateManagedFleet{ID: id, Attributes: catalog.Attributes{Name: id}, EventID: w.id("event"),
		Runtime: &catalog.RuntimeConfiguration{ServerProcesses: []catalog.ServerProcess{process}},
		Managed: catalog.Managed{Build: "build-1", InstanceType: kind, Home: home, FleetType: "ON_DEMAND",
			Certificate: "DISABLED"}}, nil)
}

// someFleet draws an EC2-type fleet.
func (w *world) someFleet() (string, bool) {
	ids := slices.Sorted(maps.Keys(w.fleets))
	if len(ids) == 0 {
		return "", false
	}
	return ids[w.rng.IntN(len(ids))], true
}

// scale changes the desired number of instances of a fleet.
func (w *world) scale() {
	if id, ok := w.someFleet(); ok {
		desired := int32(w.rng.IntN(6))
		w.change(catalog.SetCapacity{Fleet: id, Location: home, Max: new(int32(8)), Desired: &desired,
			EventID: w.id("event")}, nil)
	}
}

func (w *world) deleteFleet() {
	if id, ok := w.someFleet(); ok && w.chance(50) {
		w.change(catalog.DeleteFleet{Fleet: id}, nil)
	}
}

// createSession is a backend that wants a game session, which may be protected.
func (w *world) createSession() {
	if len(w.rooms) == 0 {
		return
	}
	c := fleet.CreateGameSession{ID: w.id("game"), Maximum: 2, MaxActivations: 1 + w.rng.IntN(3),
		ActivationTimeout: w.between(20*time.Second, 2*time.Minute), Fingerprint: []byte("as asked")}
	if w.chance(50) {
		c.Protection = string(catalog.FullProtection)
	}
	room := w.rooms[w.rng.IntN(len(w.rooms))]
	if w.chance(40) {
		w.chooseVersion(room, &c)
	}
	w.createAs(room, c, 2)
}

// runsOn notes where an instance begins: on one machine only.
func (w *world) runsOn(id string, b *box) {
	if other := w.begunOn[id]; other != nil && other != b {
		w.fail("instance %s begins on %s (%d) and has been on %s (%d)", id, b.name, b.serial, other.name, other.serial)
	}
	w.begunOn[id] = b
}

// closing reports whether the instances of a fleet end whatever they do.
func closing(s *catalog.State, i *catalog.Instance) bool {
	f, ok := s.Fleet(i.Fleet)
	l, known := s.FleetLocation(i.Fleet, i.Location)
	return !ok || !known || f.Status == catalog.StatusDeleting || f.Status == catalog.StatusError ||
		l.Status == catalog.StatusDeleting || i.Stage == catalog.StageFailed
}

// instanceLaw: instances fit on their machine, and none ends that hosts what must not end.
func (w *world) instanceLaw(s *catalog.State, body any) string {
	switch e := body.(type) {
	case *catalog.InstanceCreated:
		m, ok := s.Machine(e.Machine)
		if !ok || m.Drained {
			return "the machine takes no instance"
		}
		return w.packingLaw(s, m, &e.Instance)
	case *catalog.BuildVersionPut:
		w.attached[versionKey{e.Fleet, e.Version.Version, e.Version.Build}] = true
	case *catalog.InstanceStatusSet:
		i, ok := s.Instance(e.ID)
		if !ok || e.Status != catalog.InstanceTerminating || closing(s, i) {
			return ""
		}
		w.seen["instance terminated"]++
		return w.protectionLaw(s, i)
	}
	return ""
}

// packingLaw: an instance is on a machine that has room for it, or has no other.
func (w *world) packingLaw(s *catalog.State, m *catalog.Machine, i *catalog.Instance) string {
	others := slices.DeleteFunc(slices.Clone(s.InstancesOf(m.Name)), func(i *catalog.Instance) bool {
		return i.Stage == catalog.StageEnded
	})
	need := w.need(i)
	cpus, memory := need.MilliCPUs, need.MemoryMiB
	for _, other := range others {
		need := w.need(other)
		cpus, memory = cpus+need.MilliCPUs, memory+need.MemoryMiB
	}
	return unless(len(others) == 0 || cpus <= m.Offer.MilliCPUs && memory <= m.Offer.MemoryMiB,
		"machine %s has %d CPUs and its instances need %d", m.Name, m.Offer.MilliCPUs, cpus)
}

func (w *world) need(i *catalog.Instance) capacity.Need {
	need, _ := capacity.NeedOf(w.fleets[i.Fleet])
	return need
}

// protectionLaw: an instance that ends has no protected game session, and none at all if it ends because its machine is
// drained: the driver may have chosen it for a lower capacity before the machine was drained.
func (w *world) protectionLaw(s *catalog.State, i *catalog.Instance) (broken string) {
	room := fleet.RoomID{Fleet: fleet.ID(i.Fleet), Location: i.Location}
	r, ok := w.shards[w.shardOf(room)].mirror.machine.Room(room)
	if !ok {
		return ""
	}
	m, _ := s.Machine(i.Machine)
	drained := m != nil && m.Drained && !surplus(s, i)
	r.ProcessesOf(i.ID, func(p *fleet.Process) bool {
		g, ok := r.GameSessionAt(p.Session)
		if ok && p.Hosts() && !g.HasEnded() && (g.Protection == string(catalog.FullProtection) || drained) {
			broken = sprintf("it hosts game session %s with protection %q", g.ID, g.Protection)
		}
		return broken == ""
	})
	return broken
}

// surplus reports whether the location of an instance has more instances than it should have.
func surplus(s *catalog.State, i *catalog.Instance) bool {
	l, ok := s.FleetLocation(i.Fleet, i.Location)
	live := 0
	for _, other := range s.Instances(i.Fleet, i.Location) {
		if other.Status != catalog.InstanceTerminating {
			live++
		}
	}
	return ok && live > int(l.Capacity.Desired)
}

// beginLaw: no game session begins on an instance that ends.
func (w *world) beginLaw(compute string) string {
	s := w.truth()
	i, ok := s.Instance(compute)
	ends := ok && i.Status == catalog.InstanceTerminating && !closing(s, i)
	return unless(!ends, "instance %s is TERMINATING", compute)
}

// unwantedLimit is how long a process may run on a machine that is connected while it is not wanted: the time that game
// servers have to end, and that of messages that are lost.
const unwantedLimit = 8 * time.Minute

// checkUnwanted holds processes that are not wanted to their limit.
func (w *world) checkUnwanted() {
	if w.over {
		return
	}
	s := w.truth()
	for _, g := range w.servers {
		if g.box == nil {
			continue
		}
		key := g.box.name + "/" + g.key.Compute
		if g.build != "" {
			key += "/" + g.key.ID
		}
		i, ok := s.Instance(g.key.Compute)
		wanted := ok && i.Status != catalog.InstanceTerminating && i.Machine == g.box.name &&
			(g.build == "" || w.needed(g))
		l := g.box.link
		if !g.alive || wanted || l == nil || l.conn == nil {
			delete(w.idle, key)
			continue
		}
		since, noted := w.idle[key]
		if !noted {
			w.idle[key] = time.Now()
		} else if time.Since(since) > unwantedLimit {
			w.fail("process %v runs on %s and is not wanted since %s", g.key, g.box.name, since)
		}
	}
	w.in(30*time.Second, (*world).checkUnwanted)
}

// quiet is how long everything has to become as it is wanted when all faults have ended: longer than a game session,
// the end of an instance, the delay of a successor and the time for which a fleet that has failed keeps its instances.
const quiet = 40 * time.Minute

// concludeMachines ends all faults, and holds the world to what is desired.
func (w *world) concludeMachines() {
	if w.err != nil {
		return
	}
	w.trace.add(w.step, "all faults end")
	w.rates, w.calm = rates{}, true
	for _, n := range w.nodes {
		n.paused, n.cut = time.Time{}, [2]time.Time{}
		n.clock.skew.Store(0)
	}
	for _, g := range w.servers {
		g.hung = false
	}
	const rounds = 10
	for range rounds {
		w.pass(quiet / rounds)
		w.poke()
	}
	w.pass(patience)
	w.poke()
	w.pass(time.Second)
	for _, s := range w.shards {
		if w.err == nil {
			w.checkEnd(s)
		}
	}
	if w.err == nil {
		w.checkDesired()
	}
}

// checkDesired: there are as many instances as desired, or no room for more; machines run them and nothing else.
func (w *world) checkDesired() {
	s := w.truth()
	fleets, _ := s.Fleets("", math.MaxInt)
	for _, f := range fleets {
		if f.Status == catalog.StatusDeleting {
			w.fail("fleet %s is not deleted", f.ID)
		}
		for _, l := range s.FleetLocations(f.ID) {
			w.checkLocation(s, f, &l)
		}
	}
	for _, room := range w.rooms {
		w.checkComputes(s, room)
	}
	for _, b := range w.boxes {
		w.checkBox(s, b)
	}
}

func (w *world) checkLocation(s *catalog.State, f *catalog.Fleet, l *catalog.FleetLocation) {
	all := s.Instances(f.ID, l.Location)
	if f.Status == catalog.StatusError {
		if len(all) > 0 {
			w.fail("fleet %s has failed and has %d instances", f.ID, len(all))
		}
		return
	}
	room := false
	for _, b := range w.boxes {
		m, ok := s.Machine(b.name)
		if ok && !b.off && b.link != nil && !m.Drained && m.Location == l.Location && len(all) > 0 {
			room = room || w.packingLaw(s, m, all[0]) == ""
		}
	}
	switch n := int(l.Capacity.Desired); {
	case len(all) > n:
		w.fail("fleet %s has %d instances and %d are desired", f.ID, len(all), n)
	case len(all) < n && room:
		w.fail("fleet %s has %d instances of %d, and there is room", f.ID, len(all), n)
	case n > 0:
		w.seen["desired checked"]++
	}
}

// checkComputes: the computes of a fleet are its instances.
func (w *world) checkComputes(s *catalog.State, room fleet.RoomID) {
	r, ok := w.shards[w.shardOf(room)].mirror.machine.Room(room)
	if !ok {
		return
	}
	r.Computes("", func(c *fleet.Compute) bool {
		if _, ok := s.Instance(c.Name); !ok {
			w.fail("compute %s of fleet %s has no instance", c.Name, room.Fleet)
		}
		return w.err == nil
	})
}

// checkBox: a machine runs what is wanted of it.
func (w *world) checkBox(s *catalog.State, b *box) {
	m, ok := s.Machine(b.name)
	if b.off || !ok || !bytes.Equal(m.Key, b.key()) { // it was deleted
		return
	}
	if b.link == nil || b.link.conn == nil {
		w.fail("%s is not connected", b.name)
		return
	}
	wanted := map[string]bool{}
	for _, i := range s.InstancesOf(b.name) {
		wanted[i.ID] = true
		sl := b.slots[i.ID]
		if sl == nil || sl.stage != protocol.Running && sl.stage != protocol.Failed {
			w.fail("%s does not run instance %s", b.name, i.ID)
			continue
		}
		count := 0
		for _, e := range sl.entries() {
			count += e.Count
		}
		_, loops := sl.plan.Loop()
		if len(sl.servers) != count && !loops {
			w.fail("instance %s on %s has %d processes of %d", i.ID, b.name, len(sl.servers), count)
		}
		w.checkBuilds(sl)
		w.seen["instance checked"]++
	}
	for _, g := range w.servers {
		if g.box == b && g.alive && !wanted[g.key.Compute] {
			w.fail("process %v runs on %s, which has no such instance", g.key, b.name)
		}
	}
}
