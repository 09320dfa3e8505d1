package fleet

import (
	"slices"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A game session may need a process of another build than the fleet's own. Such a process is requested together with
// its game session, which stays ACTIVATING until the process is ready: the process never hosts another one, and is
// never chosen for one of the fleet's own build. It takes the slot of an idle process of the own build, which is asked
// to end in the same commit. The agent of the compute starts the requested process; when it ends, the agent starts one
// of the own build in its slot.

// VersionProperty is the game property that names the version of the build whose process a game session needs. Source:
// AWS sample multi-build-solution.
const VersionProperty = "BuildVersion"

// VersionOf returns the value of the VersionProperty; "" if it is missing.
func VersionOf(properties []Property) string {
	for _, p := range properties {
		if p.Key == VersionProperty {
			return p.Value
		}
	}
	return ""
}

// RequestLevel is the feature level from which processes of other builds can be requested.
const RequestLevel = 9

// MaxBuilds is the maximum number of builds of a compute besides the fleet's own.
const MaxBuilds = 20

// request returns the process of another build that is to host a new game session, with the events that request it, on
// the least loaded compute that has the build and an idle process. Of these the one yields that has been ready for the
// shortest time.
func (c CreateGameSession) request(r *Room, now event.Time) (*Process, []any, error) {
	if !r.Allows(RequestLevel) {
		return nil, nil, fault.New(fault.ServiceUnavailable,
			"Builds besides the fleet's own need the present release on all nodes. Upgrade them.")
	}
	var host *Compute
	r.eachRequestable(c.Build, c.MaxActivations, func(compute *Compute, _ rank) bool {
		host = compute
		return false
	})
	if host == nil {
		return nil, nil, r.noSlot(c.Build)
	}
	last, _ := r.hosts[host.Name].idle.Max()
	yields := ProcessKey{host.Name, last.id}
	e := &ProcessRequested{ProcessKey: ProcessKey{host.Name, c.Process}, Build: c.Build, Yields: yields.ID, At: now,
		ReadyBy: now.Add(r.settings.ReadyTimeout)}
	if _, used := r.process(e.ProcessKey); used || c.Process == "" {
		return nil, nil, fault.New(fault.Conflict, "Server process %s on compute %s exists already", c.Process,
			host.Name)
	}
	return &Process{ProcessKey: e.ProcessKey}, []any{e, r.askToEnd(yields, now)}, nil
}

// eachRequestable calls visit with the computes on which a process of a build can be requested, the least loaded one
// first, until it returns false.
func (r *Room) eachRequestable(build string, maxActivations int, visit func(*Compute, rank) bool) {
	r.available.Scan(func(at rank) bool {
		compute, ok := r.computes.Get(at.compute)
		if !ok || at.activating >= maxActivations || !slices.Contains(compute.Builds, build) {
			return true
		}
		return visit(compute, at)
	})
}

// noSlot is why no process of a build can be requested.
func (r *Room) noSlot(build string) error {
	has := false
	r.computes.Scan(func(_ string, c *Compute) bool {
		has = slices.Contains(c.Builds, build)
		return !has
	})
	if !has {
		return fault.New(fault.FleetCapacityExceeded, "Unable to reserve a process on fleet %s: no instance at %s has "+
			"the files of build %s", r.id.Fleet, r.id.Location, build)
	}
	return fault.New(fault.FleetCapacityExceeded, "Unable to reserve a process on fleet %s: no instance at %s with "+
		"the files of build %s has an idle process, whose slot it could take", r.id.Fleet, r.id.Location, build)
}

// RequestableFor returns how many processes of a build can be requested now, with at most maxActivations activations on
// each compute. Only the writer may call it.
func (r *Room) RequestableFor(build string, maxActivations int) (n int) {
	r.eachRequestable(build, maxActivations, func(_ *Compute, at rank) bool {
		n += min(r.hosts[at.compute].idle.Len(), maxActivations-at.activating)
		return true
	})
	return n
}

func (e *ProcessRequested) apply(r *Room) {
	p := &Process{ProcessKey: e.ProcessKey, Status: ProcessInitializing, Requested: true, Build: e.Build,
		Yields: e.Yields, Created: e.At, ReadyBy: e.ReadyBy}
	r.storeProcess(p)
	r.keepUpWith(nil, p)
}

func (e *GameSessionHosted) apply(r *Room) {
	r.changeSession(e.Ordinal, func(g *GameSession) { g.Port = e.Port })
	r.changeProcess(e.Host, func(p *Process) { p.Status, p.Session = ProcessHosting, e.Ordinal })
}

// Hosts reports whether the process has a game session, also one that waits until the process is ready.
func (p *Process) Hosts() bool {
	return p.Status == ProcessHosting || p.Status == ProcessInitializing && p.Session != 0
}

// awaited returns the game session that waits until a requested process is ready; nil: none does.
func (r *Room) awaited(p *Process) *GameSession {
	if p.Status != ProcessInitializing {
		return nil
	}
	if g, ok := r.sessions.Get(p.Session); ok && !g.HasEnded() {
		return g
	}
	return nil
}

// requested returns the process of a game session if it has not connected yet; nil if it has.
func (r *Room) requested(g *GameSession) *Process {
	if p, ok := r.process(g.Host); ok && p.Requested && p.Status != ProcessEnded {
		return p
	}
	return nil
}

// tookSlot reports whether a process of the own build has taken the slot of a requested one: the agent has started it
// when a process had yielded, before the request arrived.
func (r *Room) tookSlot(p *Process) (took bool) {
	if c, ok := r.computes.Get(p.Compute); !ok || len(c.Builds) == 0 {
		return false
	}
	r.processesOf(p.Compute, func(other *Process) bool {
		if other.Requested && !other.Supervised && other.Status != ProcessEnded {
			yielded, ok := r.process(ProcessKey{p.Compute, other.Yields})
			took = took || !ok || yielded.Status == ProcessEnded
		}
		return !took
	})
	return took
}

// ReportBuilds reports the builds besides the fleet's own from which the agent of a compute can start processes: all of
// them. It can be repeated.
type ReportBuilds struct {
	Compute string   `cbor:"1,keyasint,omitzero"`
	Builds  []string `cbor:"2,keyasint,omitzero"` // ids, at most MaxBuilds
}

func (c ReportBuilds) decide(r *Room, _ event.Time) ([]any, error) {
	compute, ok := r.computes.Get(c.Compute)
	switch {
	case !ok:
		return nil, r.noCompute(c.Compute)
	case len(c.Builds) > MaxBuilds:
		return nil, fault.New(fault.InvalidRequest, "There are %d builds; at most %d are allowed", len(c.Builds),
			MaxBuilds)
	case slices.Equal(compute.Builds, c.Builds):
		return nil, nil
	}
	return []any{&BuildsChanged{Compute: c.Compute, Builds: c.Builds}}, nil
}

func (ReportBuilds) answer(*Room) any { return nil }

func (e *BuildsChanged) apply(r *Room) {
	if old, ok := r.computes.Get(e.Compute); ok {
		next := *old
		next.Builds = e.Builds
		r.computes.Set(e.Compute, &next)
	}
}
