package capacity

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// MaxInstances is the maximum number of instances on a machine, however many CPUs it offers: as in the protocol of
// machines.
const MaxInstances = 400

// A Machine is a machine as far as it matters for instances.
type Machine struct {
	Name      string
	Location  string
	Windows   bool
	MilliCPUs int32
	MemoryMiB int64
	Available bool // takes new instances
	Drained   bool // must be without instances
	Lost      bool // for good
}

// A Use is what an instance does.
type Use int

// The uses, in the order in which instances end.
const (
	Starting    Use = iota // no server process was ready yet
	Idle                   // it has no game session
	Unprotected            // it has game sessions, none of them protected
	Protected              // it has a protected game session, or what it has is not known
)

// An Instance is an instance of a Group.
type Instance struct {
	ID      string
	Machine string
	Need    Need
	Build   string // see Group.Build
	Use     Use
	Ports   []string // see Group.Ports
	Ends    bool     // it is TERMINATING
	Ended   bool     // nothing is left of it
	Failed  bool     // the machine cannot run it
}

// A Group is the instances of a fleet at a location.
type Group struct {
	Fleet     string
	Location  string
	Desired   int
	Need      Need   // of a new instance
	Build     string // the content of its directory: equal builds have the same
	Windows   bool   // the build is for Windows
	Ports     []string
	Closed    bool // all instances must end
	Held      bool // it gets no new instances now, and none is ended because it has failed
	Unknown   bool // what it does could not be read: its instances need room, and nothing is done for it
	Instances []Instance
}

// A Creation is a new instance.
type Creation struct {
	Fleet, Location, Machine string
	TooSmall                 bool // the machine has fewer CPUs or less memory than the type
}

// A Plan is what has to be done.
type Plan struct {
	Drop      []string // instances that have ended, or whose machine is lost
	Lost      []string // those of Drop whose machine is lost
	Terminate []string // instances that end, whatever they do
	Retire    []string // instances that end when they have no game session: they get no further one
	Evict     []string // instances that end when they have no protected game session: they get no further one
	Create    []Creation
	Short     []Shortage
}

// A Shortage is why a group has fewer instances than desired.
type Shortage struct {
	Fleet, Location, Reason string
	Missing                 int
}

// Failed reports whether the last launch of a build on a machine failed.
type Failed func(machine, build string) bool

// A planner makes a Plan.
type planner struct {
	machines map[string]*Machine
	names    []string // of the machines, in order
	has      map[string][]*Instance
	failed   Failed
	plan     Plan
}

// Reconcile returns what has to be done for groups, in their order, on the machines of a region.
func Reconcile(machines []Machine, groups []Group, failed Failed) Plan {
	p := newPlanner(machines, groups, failed)
	for i := range groups {
		p.group(&groups[i])
	}
	return p.plan
}

func newPlanner(machines []Machine, groups []Group, failed Failed) *planner {
	p := &planner{machines: map[string]*Machine{}, has: map[string][]*Instance{}, failed: failed}
	for i := range machines {
		p.machines[machines[i].Name] = &machines[i]
	}
	p.names = slices.Sorted(maps.Keys(p.machines))
	for i := range groups {
		for j := range groups[i].Instances {
			if in := &groups[i].Instances[j]; !in.Ended {
				p.has[in.Machine] = append(p.has[in.Machine], in)
			}
		}
	}
	return p
}

// Spare returns how many instances more the machines of a location can have now, of a type that needs so much. Ports
// and operating systems are of builds, and not considered.
func Spare(machines []Machine, instances []Instance, location string, need Need) (n int) {
	p := newPlanner(machines, []Group{{Instances: instances}}, nil)
	for _, name := range p.names {
		if m := p.machines[name]; m.Location == location && m.Available {
			n += p.spare(m, need)
		}
	}
	return n
}

// spare returns how many instances more a machine can have.
func (p *planner) spare(m *Machine, need Need) int {
	cpus, memory := p.free(m)
	n := min(MaxInstances-len(p.has[m.Name]), int(cpus/max(need.MilliCPUs, 1)), int(memory/max(need.MemoryMiB, 1)))
	if len(p.has[m.Name]) == 0 {
		return max(n, 1)
	}
	return max(n, 0)
}

func (p *planner) group(g *Group) {
	if g.Unknown {
		return
	}
	var live []*Instance
	for i := range g.Instances {
		if in := &g.Instances[i]; p.keeps(g, in) {
			live = append(live, in)
		}
	}
	switch {
	case g.Closed:
	case len(live) > g.Desired:
		p.reduce(live, len(live)-g.Desired)
	case !g.Held:
		p.raise(g, g.Desired-len(live))
	}
}

// raise adds n instances to a group, as far as machines can have them.
func (p *planner) raise(g *Group, n int) {
	for ; n > 0; n-- {
		if why, ok := p.create(g); !ok {
			p.plan.Short = append(p.plan.Short, Shortage{g.Fleet, g.Location, why.reason(g), n})
			return
		}
	}
}

// keeps reports whether an instance counts for the desired number. It ends or drops those that do not.
func (p *planner) keeps(g *Group, in *Instance) bool {
	m := p.machines[in.Machine]
	switch {
	case in.Ended:
		p.plan.Drop = append(p.plan.Drop, in.ID)
	case m == nil || m.Lost:
		p.plan.Drop, p.plan.Lost = append(p.plan.Drop, in.ID), append(p.plan.Lost, in.ID)
	case in.Ends:
	case g.Closed, in.Failed && !g.Held:
		p.plan.Terminate = append(p.plan.Terminate, in.ID)
	case m.Drained:
		p.plan.Retire = append(p.plan.Retire, in.ID)
	default:
		return true
	}
	return false
}

// reduce ends n of the instances, as far as they may end.
func (p *planner) reduce(live []*Instance, n int) {
	live = slices.Clone(live)
	slices.SortStableFunc(live, func(a, b *Instance) int { return cmp.Compare(a.Use, b.Use) })
	idle := live[0].Use <= Idle
	for _, in := range live[:n] {
		switch {
		case in.Use <= Idle:
			p.plan.Retire = append(p.plan.Retire, in.ID)
		case in.Use == Unprotected && !idle:
			p.plan.Evict = append(p.plan.Evict, in.ID)
		}
	}
}

// create adds an instance to a group; false, and why, if no machine can have it.
func (p *planner) create(g *Group) (why obstacles, ok bool) {
	var best *Machine
	for _, name := range p.names {
		m := p.machines[name]
		if p.admits(m, g, &why) && (best == nil || p.compare(m, best, g) < 0) {
			best = m
		}
	}
	if best == nil {
		return why, false
	}
	fits := p.fits(best, g.Need)
	p.plan.Create = append(p.plan.Create, Creation{g.Fleet, g.Location, best.Name, !fits})
	p.has[best.Name] = append(p.has[best.Name], &Instance{Machine: best.Name, Need: g.Need, Build: g.Build,
		Ports: g.Ports})
	return why, true
}

// obstacles count the machines of a location that cannot have an instance, by the reason.
type obstacles struct{ closed, system, ports, full int }

// admits reports whether a machine can have an instance of a group.
func (p *planner) admits(m *Machine, g *Group, why *obstacles) bool {
	switch {
	case m.Location != g.Location:
	case !m.Available:
		why.closed++
	case m.Windows != g.Windows:
		why.system++
	case p.collides(m, g.Ports):
		why.ports++
	case len(p.has[m.Name]) >= MaxInstances, len(p.has[m.Name]) > 0 && !p.fits(m, g.Need):
		why.full++
	default:
		return true
	}
	return false
}

// collides reports whether an instance of the machine has one of the fixed ports.
func (p *planner) collides(m *Machine, ports []string) bool {
	return slices.ContainsFunc(p.has[m.Name], func(in *Instance) bool {
		return slices.ContainsFunc(in.Ports, func(port string) bool { return slices.Contains(ports, port) })
	})
}

func (p *planner) fits(m *Machine, need Need) bool {
	cpus, memory := p.free(m)
	return cpus >= need.MilliCPUs && memory >= need.MemoryMiB
}

// free returns what no instance of the machine needs; below 0 if it is too small for its instance.
func (p *planner) free(m *Machine) (milliCPUs int32, memoryMiB int64) {
	milliCPUs, memoryMiB = m.MilliCPUs, m.MemoryMiB
	for _, in := range p.has[m.Name] {
		milliCPUs, memoryMiB = milliCPUs-in.Need.MilliCPUs, memoryMiB-in.Need.MemoryMiB
	}
	return milliCPUs, memoryMiB
}

// compare orders machines that can have an instance of a group, the better one first.
func (p *planner) compare(a, b *Machine, g *Group) int {
	fitsA, fitsB := p.fits(a, g.Need), p.fits(b, g.Need)
	freeA, _ := p.free(a)
	freeB, _ := p.free(b)
	packing := cmp.Compare(freeA, freeB)
	if !fitsA && !fitsB { // both are without instances
		packing = -packing
	}
	return cmp.Or(first(fitsA, fitsB), first(!p.failed(a.Name, g.Build), !p.failed(b.Name, g.Build)), packing,
		first(p.hasBuild(a, g.Build), p.hasBuild(b, g.Build)), strings.Compare(a.Name, b.Name))
}

// first orders true before false.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func (p *planner) hasBuild(m *Machine, build string) bool {
	return slices.ContainsFunc(p.has[m.Name], func(in *Instance) bool { return in.Build == build })
}

// reason says why no machine can have an instance of a group.
func (o obstacles) reason(g *Group) string {
	if o == (obstacles{}) {
		return fmt.Sprintf("No machine has joined location %s. Start one there with 'muster agent --machine'.",
			g.Location)
	}
	var parts []string
	for _, part := range []struct {
		n    int
		text string
	}{
		{o.closed, "not connected, drained or without an address"},
		{o.system, "of another operating system than the build"},
		{o.ports, "using the ports of the runtime configuration already (write {port} in Parameters, and each " +
			"instance gets ports of its own)"},
		{o.full, fmt.Sprintf("without %g free CPUs and %d MiB free memory", float64(g.Need.MilliCPUs)/1000,
			g.Need.MemoryMiB)},
	} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.text))
		}
	}
	return fmt.Sprintf("No machine at location %s can have another instance: %s.", g.Location,
		strings.Join(parts, ", "))
}
