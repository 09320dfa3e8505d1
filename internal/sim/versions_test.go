package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/agent/plan"
	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/fleet"
)

// What runs of builds besides those of the fleets: operators attach and detach them, instances keep their files, agents
// start the processes that rooms request of them.

// A versionKey is a build that a fleet has had under the name of a version.
type versionKey struct{ fleet, version, build string }

// attachBuild is an operator who gives a fleet a build version, or another build for it.
func (w *world) attachBuild() {
	if id, ok := w.someFleet(); ok {
		w.change(catalog.PutBuildVersion{Fleet: id, Version: sprintf("v%d", w.rng.IntN(2)),
			Build: sprintf("build-%d", 2+w.rng.IntN(2)), EventID: w.id("event")}, nil)
	}
}

// detachBuild is an operator who takes a build version from a fleet.
func (w *world) detachBuild() {
	if id, ok := w.someFleet(); ok {
		w.change(catalog.DeleteBuildVersion{Fleet: id, Version: sprintf("v%d", w.rng.IntN(2)),
			EventID: w.id("event")}, nil)
	}
}

// chooseVersion has a game session name a build version of its fleet, as package control does with its property.
func (w *world) chooseVersion(room fleet.RoomID, c *fleet.CreateGameSession) {
	f, ok := w.truth().Fleet(string(room.Fleet))
	if !ok || f.Managed == nil || len(f.Managed.Versions) == 0 {
		return
	}
	v := f.Managed.Versions[w.rng.IntN(len(f.Managed.Versions))]
	c.Properties = []fleet.Property{{Key: fleet.VersionProperty, Value: v.Version}}
	c.Build, c.Process = v.Build, w.id("process")
}

// process is what is true of a process; the zero value if there is none.
func (w *world) process(room fleet.RoomID, key fleet.ProcessKey) (found fleet.Process) {
	if r, ok := w.shards[w.shardOf(room)].mirror.machine.Room(room); ok {
		if p, ok := r.Process(key); ok {
			found = *p
		}
	}
	return found
}

// slotOf is the instance of a compute, whose agent runs.
func (w *world) slotOf(compute string) *slot {
	if b := w.begunOn[compute]; b != nil {
		if s := b.slots[compute]; s != nil && s.live() && s.plan != nil {
			return s
		}
	}
	return nil
}

// request has the agent of a compute start a process, over one socket after another until it has connected, or drop the
// request if the process has ended.
func (w *world) request(room fleet.RoomID, key fleet.ProcessKey) {
	p, s := w.process(room, key), w.slotOf(key.Compute)
	waits := p.Requested && p.Status != fleet.ProcessEnded
	switch {
	case s == nil || w.over:
	case !waits:
		s.perform(s.plan.ForceExit(time.Now(), key.ID, plan.NormalTermination))
		s.next()
	case !w.chance(w.rates.lost):
		s.plan.Request(key.ID, p.Build)
		s.next()
	}
	if waits && !w.over {
		w.in(w.between(time.Second, 20*time.Second), func(*world) { w.request(room, key) })
	}
}

// wantsBuild reports whether processes may be requested of a build.
func (s *slot) wantsBuild(id string) bool {
	for _, b := range s.wants.Versions {
		if b.ID == id {
			return true
		}
	}
	return false
}

// keepBuilds prepares the files of the builds that are wanted, and removes those of others that no game server has, as
// package instance does.
func (s *slot) keepBuilds() {
	if !s.live() || s.dropped || s.plan == nil {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(s.builds)) {
		used := s.wantsBuild(id)
		for _, g := range s.servers {
			used = used || g.build == id
		}
		if !used {
			delete(s.builds, id)
		}
	}
	for _, b := range s.wants.Versions {
		if !s.builds[b.ID] && !s.preparing[b.ID] {
			s.prepareBuild(b.ID)
		}
	}
	s.beat()
}

// prepareBuild makes the files of a build, or fails and tries again.
func (s *slot) prepareBuild(id string) {
	w := s.box.w
	s.preparing[id] = true
	w.in(w.between(100*time.Millisecond, 10*time.Second), func(*world) {
		delete(s.preparing, id)
		switch {
		case !s.live() || s.dropped || !s.wantsBuild(id):
		case !w.calm && w.chance(10):
			w.in(time.Minute, func(*world) { s.keepBuilds() })
		default:
			s.builds[id] = true
			s.beat()
		}
	})
}

// readyBuilds are the builds of which processes can be requested.
func (s *slot) readyBuilds() (builds []string) {
	for _, id := range slices.Sorted(maps.Keys(s.builds)) {
		if s.wantsBuild(id) {
			builds = append(builds, id)
		}
	}
	return builds
}

// beat is a heartbeat: it reports the builds of which processes can be requested and the requested processes that the
// agent has, unless the room knows both.
func (s *slot) beat() {
	w := s.box.w
	r, ok := w.shards[w.shardOf(s.room)].mirror.machine.Room(s.room)
	if !ok || !s.live() {
		return
	}
	c, known := r.Compute(s.id)
	if builds := s.readyBuilds(); known && !slices.Equal(c.Builds, builds) {
		w.askRoom(s.room, fleet.ReportBuilds{Compute: s.id, Builds: builds}, true, nil)
	}
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(s.servers)) {
		if g := s.servers[id]; g.build != "" && !w.process(s.room, g.key).Supervised {
			ids = append(ids, id)
		}
	}
	if len(ids) > 0 {
		w.askRoom(s.room, fleet.SuperviseProcesses{Compute: s.id, IDs: ids}, true, nil)
	}
}

// beats sends heartbeats at intervals.
func (s *slot) beats() {
	if s.live() && !s.box.w.over {
		s.beat()
		s.box.w.in(time.Minute, func(*world) { s.beats() })
	}
}

// needed reports whether a process that runs is wanted beside those of its fleet's own build: for one game session.
func (w *world) needed(g *server) bool {
	p := w.process(g.room, g.key)
	if !p.Hosts() {
		return false
	}
	r, _ := w.shards[w.shardOf(g.room)].mirror.machine.Room(g.room)
	session, ok := r.GameSessionAt(p.Session)
	return ok && !session.HasEnded()
}

// versionLaw: a game session has a process of the build that the fleet has had under the version that it names, and of
// the fleet's own build if it names none.
func (w *world) versionLaw(room fleet.RoomID, host fleet.Process, version string) string {
	if version == "" {
		return unless(host.Build == "", "it names no version and gets a process of build %s", host.Build)
	}
	return unless(w.attached[versionKey{string(room.Fleet), version, host.Build}],
		"it names version %s and gets a process of build %q", version, host.Build)
}

// requestLaw: a process is requested once, of a build that its compute has, in place of an idle one.
func requestLaw(r *fleet.Room, e *fleet.ProcessRequested) string {
	_, known := r.Process(e.ProcessKey)
	c, ok := r.Compute(e.Compute)
	yields, idle := r.Process(fleet.ProcessKey{Compute: e.Compute, ID: e.Yields})
	idle = idle && yields.Status == fleet.ProcessIdle && yields.TerminateBy == 0
	return unless(!known, "the process exists") +
		unless(ok && slices.Contains(c.Builds, e.Build), "the compute does not have the build") +
		unless(idle, "process %s is not idle", e.Yields)
}

// checkBuilds: of builds besides those of its fleet an instance has the files of those that are attached, no processes
// are left, and the room knows that.
func (w *world) checkBuilds(s *slot) {
	var wanted []string
	for _, b := range s.wants.Versions {
		wanted = append(wanted, b.ID)
	}
	slices.Sort(wanted)
	if has := slices.Sorted(maps.Keys(s.builds)); !slices.Equal(has, wanted) {
		w.fail("instance %s has the files of %v instead of %v", s.id, has, wanted)
	}
	for _, id := range slices.Sorted(maps.Keys(s.servers)) {
		if g := s.servers[id]; g.build != "" {
			w.fail("process %s of build %s is left", id, g.build)
		}
	}
	r, ok := w.shards[w.shardOf(s.room)].mirror.machine.Room(s.room)
	if !ok {
		return
	}
	if c, known := r.Compute(s.id); known && !slices.Equal(c.Builds, wanted) {
		w.fail("the room knows the builds %v of instance %s, which has %v", c.Builds, s.id, wanted)
	}
	w.seen["build checked"] += len(wanted)
}
