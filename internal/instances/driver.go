// Package instances drives the instances of EC2-type fleets: it compares them with what is desired, and changes what
// differs by commands to the shards. Package capacity decides; this package reads what there is to decide about, and
// carries the plan out.
//
// A driver runs on the node that leads. Its commands may be repeated, may be lost, and may meet those of another node
// that believes to lead. What it remembers only delays, so it may be lost.
package instances

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/capacity"
	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/machines"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const (
	// errorShown is how long a fleet that has failed keeps its instances, for someone to look at.
	errorShown = 10 * time.Minute
	// readyLimit is how long the processes of a new fleet may take until the first is ready: the limits of the server
	// SDK for InitSDK and for ProcessReady.
	readyLimit = 10 * time.Minute
	// The time between an instance that has failed in an ACTIVE fleet and its successor doubles from the first to the
	// second value.
	firstRetry, lastRetry = 10 * time.Second, 10 * time.Minute
)

// IDPrefix begins the ids of instances.
const IDPrefix = "i-"

// A Region is what a driver reads and changes. Each call may fail, and a command that has failed may still be carried
// out.
type Region interface {
	// Catalog returns the newest state that this node has.
	Catalog() *catalog.State
	// Change carries out a command in the catalog.
	Change(ctx context.Context, c catalog.Command) error
	// Machines returns the machines of the region by name.
	Machines(ctx context.Context) []capacity.Machine
	// Computes returns ComputesOf a room; nil if nothing was ever registered there.
	Computes(ctx context.Context, room fleet.RoomID) (map[string]Compute, error)
	// Registration returns the compute of an instance as it is registered; false if its machine is not known.
	Registration(i *catalog.Instance) (fleet.RegisterCompute, bool)
	// AskRoom carries out a command in a room, which may be a new one if open is true.
	AskRoom(ctx context.Context, room fleet.RoomID, c fleet.Command, open bool) error
	// Exists reports whether there is an instance now, in the state that the owner of the catalog has.
	Exists(ctx context.Context, instance string) (bool, error)
	// FinishDeletion finishes what waits for the end of instances: the deletion of a fleet, or of a location.
	FinishDeletion(ctx context.Context, f *catalog.Fleet) error
}

// Config configures a driver. All fields but Types are required.
type Config struct {
	Region Region
	Now    func() time.Time
	Log    *slog.Logger
	// NewID returns the id of a new instance, which begins with IDPrefix.
	NewID func() string
	// EventIDs returns ids of fleet events.
	EventIDs func(n int) []string
	// ActivationTimeout is how long a fleet may take to become ACTIVE.
	ActivationTimeout time.Duration
	// Types are what instances need, where it is not the usual.
	Types capacity.Types
}

// A Driver is not safe for concurrent use.
type Driver struct {
	cfg     Config
	region  Region
	failed  map[string]bool  // by machine and build: its last launch there failed
	retries map[string]delay // by fleet and location
	// raised is by how much this review has raised the generations of machines with new instances. A machine with
	// another generation has changed for another reason, so it gets no instance that was chosen before. ended are the
	// machines where this review has ended instances, perhaps without effect: they get new instances in the next one.
	raised map[string]uint64
	ended  map[string]bool
}

// A delay is the failures of instances in a row.
type delay struct {
	failures int
	next     time.Time // there is no new instance before
}

// New returns a driver that remembers nothing.
func New(cfg Config) *Driver {
	return &Driver{cfg, cfg.Region, map[string]bool{}, map[string]delay{}, map[string]uint64{}, map[string]bool{}}
}

// Concerns reports whether something may follow for instances from a fact.
func Concerns(body any) bool {
	switch e := body.(type) {
	case *catalog.ManagedFleetCreated, *catalog.ManagedLocationsAdded, *catalog.FleetDeletionStarted,
		*catalog.FleetLocationRemovalStarted, *catalog.MachinePut, *catalog.MachineDrainSet,
		*catalog.MachineDeleted, *catalog.InstanceReported, *catalog.InstanceDropped, *catalog.FleetAdvanced,
		*catalog.CapacitySet, *catalog.FleetBuildSet:
		return true
	case *fleet.ProcessBecameReady:
		return strings.HasPrefix(e.Compute, IDPrefix)
	}
	return false
}

// Needed reports whether there is an EC2-type fleet.
func (d *Driver) Needed() bool {
	fleets, _ := d.region.Catalog().Fleets("", math.MaxInt)
	return slices.ContainsFunc(fleets, func(f *catalog.Fleet) bool { return f.Managed != nil })
}

// Review does once what is needed. After an error the next review continues.
func (d *Driver) Review(ctx context.Context) {
	list := d.region.Machines(ctx)
	view := d.region.Catalog()
	var groups []capacity.Group
	fleets, _ := view.Fleets("", math.MaxInt)
	for _, f := range fleets {
		if f.Managed == nil {
			continue
		}
		d.check(d.failOverdue(ctx, f), f.ID)
		for _, l := range view.FleetLocations(f.ID) {
			g, err := d.group(ctx, view, f, &l, list)
			d.check(err, f.ID)
			g.Unknown = err != nil
			groups = append(groups, g)
		}
	}
	plan := capacity.Reconcile(list, groups, func(machine, build string) bool {
		return d.failed[machine+"/"+build]
	})
	d.apply(ctx, &plan, view)
	d.reportShort(ctx, groups, plan.Short)
}

func (d *Driver) check(err error, fleet string) {
	if err != nil {
		d.cfg.Log.Warn("instances not changed; trying again later", "fleet", fleet, "err", err)
	}
}

// failOverdue makes a fleet fail that has not become ACTIVE in time.
func (d *Driver) failOverdue(ctx context.Context, f *catalog.Fleet) error {
	now, m := d.cfg.Now(), f.Managed
	fail := catalog.FailFleet{Fleet: f.ID, Code: "FLEET_ACTIVATION_FAILED"}
	switch f.Status {
	case catalog.StatusNew, catalog.StatusDownloading, catalog.StatusValidating, catalog.StatusBuilding,
		catalog.StatusActivating:
	default:
		return nil
	}
	switch {
	case f.Status == catalog.StatusActivating && now.Sub(m.Changed.Time()) >= readyLimit:
		fail.Message = fmt.Sprintf("No server process of fleet %s has called ProcessReady within %s", f.ID, readyLimit)
	case now.Sub(f.Created.Time()) < d.cfg.ActivationTimeout:
		return nil
	case f.Status == catalog.StatusNew:
		fail.Code = "FLEET_ACTIVATION_FAILED_NO_INSTANCES"
		fail.Message = fmt.Sprintf("No machine has had room for an instance of fleet %s within %s", f.ID,
			d.cfg.ActivationTimeout)
	case f.Status == catalog.StatusValidating:
		fail.Code = "FLEET_VALIDATION_TIMED_OUT"
		fallthrough
	default:
		fail.Message = fmt.Sprintf("Fleet %s has not become ACTIVE within %s", f.ID, d.cfg.ActivationTimeout)
	}
	fail.EventIDs = d.cfg.EventIDs(catalog.MaxLifecycleEvents)
	err := d.region.Change(ctx, fail)
	if fault.Is(err, fault.InvalidFleetStatus) || fault.Is(err, fault.NotFound) {
		return nil // it has changed meanwhile
	}
	return err
}

// group returns a location of a fleet for the comparison. It activates instances that have become ready.
func (d *Driver) group(ctx context.Context, view *catalog.State, f *catalog.Fleet, l *catalog.FleetLocation,
	list []capacity.Machine) (capacity.Group, error) {
	now := d.cfg.Now()
	need, _ := d.cfg.Types.NeedOf(f.Managed.InstanceType)
	g := capacity.Group{
		Fleet: f.ID, Location: l.Location, Desired: int(l.Capacity.Desired), Need: need, Build: buildKey(f.Managed),
		Windows: isWindows(f.Managed), Ports: fixedPorts(f.Runtime),
	}
	switch {
	case f.Status == catalog.StatusDeleting || l.Status == catalog.StatusDeleting:
		g.Closed = true
	case f.Status == catalog.StatusError:
		g.Held, g.Closed = true, now.Sub(f.Managed.Changed.Time()) >= errorShown
	case now.Before(d.retries[f.ID+"/"+l.Location].next):
		g.Held = true
	}
	instances := view.Instances(f.ID, l.Location)
	for _, i := range instances {
		g.Instances = append(g.Instances, capacity.Instance{
			ID: i.ID, Machine: i.Machine, Need: need, Build: g.Build, Use: capacity.Protected, Ports: g.Ports,
			Ends: i.Status == catalog.InstanceTerminating, Ended: i.Stage == catalog.StageEnded,
			Failed: i.Stage == catalog.StageFailed,
		})
	}
	if !d.mustRead(&g, instances, list) {
		return g, nil
	}
	computes, err := d.region.Computes(ctx, fleet.RoomID{Fleet: fleet.ID(f.ID), Location: l.Location})
	if err != nil {
		return g, err
	}
	for n, i := range instances {
		c, registered := computes[i.ID]
		g.Instances[n].Use = c.Use
		switch {
		case i.Status == catalog.InstancePending && c.Use != capacity.Starting:
			err = errors.Join(err, d.activate(ctx, i))
		case i.Status == catalog.InstanceTerminating && registered && c.ClosedUntil.Time().Sub(now) < closedForGood/2:
			err = errors.Join(err, d.close(ctx, i, closedForGood))
		}
	}
	return g, err
}

// mustRead reports whether the room of a group has to be read: for instances that may have become ready, may have to
// end, or end.
func (d *Driver) mustRead(g *capacity.Group, instances []*catalog.Instance, list []capacity.Machine) bool {
	live := 0
	for _, i := range instances {
		if i.Status == catalog.InstanceTerminating {
			return true
		}
		live++
		if i.Status == catalog.InstancePending && i.Stage == catalog.StageRunning || isDrained(list, i.Machine) {
			return true
		}
	}
	return live > g.Desired
}

func isDrained(list []capacity.Machine, name string) bool {
	n, ok := slices.BinarySearchFunc(list, name, func(m capacity.Machine, name string) int {
		return strings.Compare(m.Name, name)
	})
	return ok && list[n].Drained
}

// A Compute is the compute of an instance.
type Compute struct {
	Use         capacity.Use
	ClosedUntil event.Time // see fleet.CloseCompute
}

// ComputesOf returns the computes of a room by name. Only the writer may call it.
func ComputesOf(r *fleet.Room) map[string]Compute {
	computes := map[string]Compute{}
	r.Computes("", func(c *fleet.Compute) bool {
		computes[c.Name] = Compute{useOf(r, c.Name), c.ClosedUntil}
		return true
	})
	return computes
}

func useOf(r *fleet.Room, compute string) capacity.Use {
	use := capacity.Starting
	r.ProcessesOf(compute, func(p *fleet.Process) bool {
		switch {
		case p.Status == fleet.ProcessIdle:
			use = max(use, capacity.Idle)
		case p.Hosts():
			use = max(use, capacity.Unprotected)
			if g, ok := r.GameSessionAt(p.Session); ok && g.Protection == string(catalog.FullProtection) {
				use = capacity.Protected
			}
		}
		return true
	})
	return use
}

func (d *Driver) activate(ctx context.Context, i *catalog.Instance) error {
	delete(d.retries, i.Fleet+"/"+i.Location)
	if f, ok := d.region.Catalog().Fleet(i.Fleet); ok && f.Managed != nil {
		delete(d.failed, i.Machine+"/"+buildKey(f.Managed))
	}
	return d.region.Change(ctx, catalog.ActivateInstance{ID: i.ID, EventIDs: d.lifecycleIDs()})
}

// buildKey is equal for builds of the same content.
func buildKey(m *catalog.Managed) string {
	if m.Files.Tree != "" {
		return m.Files.Tree
	}
	return m.Files.Hash
}

func isWindows(m *catalog.Managed) bool { return strings.HasPrefix(m.Files.OperatingSystem, "WINDOWS") }

// portNumber matches a number of four or five digits in launch parameters.
var portNumber = regexp.MustCompile(`\b[1-9][0-9]{3,4}\b`)

// fixedPorts returns the ports that the launch parameters name, so that two instances on one machine would collide.
// Entries with {port} get a port of their own.
func fixedPorts(r *catalog.RuntimeConfiguration) (ports []string) {
	if r == nil {
		return nil
	}
	for _, s := range r.ServerProcesses {
		if !strings.Contains(s.Parameters, "{port}") {
			ports = append(ports, portNumber.FindAllString(s.Parameters, -1)...)
		}
	}
	return ports
}

// apply carries out a plan.
func (d *Driver) apply(ctx context.Context, plan *capacity.Plan, view *catalog.State) {
	clear(d.raised)
	clear(d.ended)
	each := func(ids []string, do func(context.Context, *catalog.Instance) error) {
		for _, id := range ids {
			if i, ok := view.Instance(id); ok && ctx.Err() == nil {
				d.check(do(ctx, i), i.Fleet)
			}
		}
	}
	each(plan.Lost, d.reportLost)
	each(plan.Drop, d.drop)
	each(plan.Terminate, d.terminate)
	each(plan.Retire, func(ctx context.Context, i *catalog.Instance) error {
		return d.retire(ctx, i, capacity.Idle)
	})
	each(plan.Evict, func(ctx context.Context, i *catalog.Instance) error {
		return d.retire(ctx, i, capacity.Unprotected)
	})
	for _, c := range plan.Create {
		if m, ok := view.Machine(c.Machine); ok && !d.ended[c.Machine] && ctx.Err() == nil {
			d.check(d.create(ctx, &c, m.Generation+d.raised[c.Machine]), c.Fleet)
		}
	}
}

func roomOf(i *catalog.Instance) fleet.RoomID {
	return fleet.RoomID{Fleet: fleet.ID(i.Fleet), Location: i.Location}
}

// create adds an instance, with its compute.
func (d *Driver) create(ctx context.Context, c *capacity.Creation, generation uint64) error {
	id := d.cfg.NewID()
	err := d.region.Change(ctx, catalog.CreateInstance{ID: id, Fleet: c.Fleet, Location: c.Location, Machine: c.Machine,
		Generation: generation, EventIDs: d.lifecycleIDs()})
	if err != nil {
		return err
	}
	d.raised[c.Machine]++
	d.cfg.Log.Info("instance created", "instance", id, "fleet", c.Fleet, "location", c.Location, "machine", c.Machine)
	if c.TooSmall {
		message := fmt.Sprintf("Machine %s has fewer CPUs or less memory than the instance type of the fleet. "+
			"Instance %s runs there all the same, because the machine was empty.", c.Machine, id)
		err = d.record(ctx, c.Fleet, "GENERIC_EVENT", message)
	}
	if i, ok := d.region.Catalog().Instance(id); ok {
		err = errors.Join(err, Register(ctx, d.region, i))
	}
	return err
}

// Register registers the compute of an instance, with the address of its machine, unless it is registered. It may be
// repeated. If the instance was dropped meanwhile, the compute is deregistered: a late registration leaves nothing.
func Register(ctx context.Context, r Region, i *catalog.Instance) error {
	c, ok := r.Registration(i)
	if !ok {
		return nil
	}
	err := r.AskRoom(ctx, roomOf(i), c, true)
	if err != nil && !fault.Is(err, fault.Conflict) { // which is the case if the machine has another address since
		return err
	}
	exists, err := r.Exists(ctx, i.ID)
	if err != nil || exists {
		return err
	}
	return deregister(ctx, r, i)
}

// deregister removes the compute of an instance.
func deregister(ctx context.Context, r Region, i *catalog.Instance) error {
	err := r.AskRoom(ctx, roomOf(i), fleet.DeregisterCompute{Name: i.ID}, false)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// terminate ends an instance, whatever it does: its processes are asked to end.
func (d *Driver) terminate(ctx context.Context, i *catalog.Instance) error {
	if i.Stage == catalog.StageFailed {
		d.noteFailure(i)
	}
	if err := d.region.Change(ctx, catalog.TerminateInstance{ID: i.ID}); err != nil {
		return err
	}
	d.cfg.Log.Info("instance terminating", "instance", i.ID, "fleet", i.Fleet, "machine", i.Machine)
	d.ended[i.Machine] = true
	return errors.Join(d.close(ctx, i, closedForGood), d.stop(ctx, i))
}

// stop asks the processes of an instance to end.
func (d *Driver) stop(ctx context.Context, i *catalog.Instance) error {
	err := d.region.AskRoom(ctx, roomOf(i), fleet.StopCompute{Name: i.ID}, false)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// noteFailure delays the next instance at the location, and prefers other machines for the build.
func (d *Driver) noteFailure(i *catalog.Instance) {
	if f, ok := d.region.Catalog().Fleet(i.Fleet); ok && f.Managed != nil {
		d.failed[i.Machine+"/"+buildKey(f.Managed)] = true
	}
	key := i.Fleet + "/" + i.Location
	r := d.retries[key]
	wait := min(firstRetry<<min(r.failures, 10), lastRetry)
	d.retries[key] = delay{r.failures + 1, d.cfg.Now().Add(wait)}
}

const (
	// closedFor is how long a compute gets no game session that may be terminated next. A driver that fails meanwhile
	// leaves a compute behind that is useful again after this time.
	closedFor = 2 * time.Minute
	// closedForGood is longer than an instance takes to end.
	closedForGood = 365 * 24 * time.Hour
	// terminateLimit bounds the wait for the termination of an instance whose compute is closed.
	terminateLimit = closedFor / 4
)

// close prevents that an instance gets another game session.
func (d *Driver) close(ctx context.Context, i *catalog.Instance, period time.Duration) error {
	c := fleet.CloseCompute{Name: i.ID, For: period}
	err := d.region.AskRoom(ctx, roomOf(i), c, false)
	if fault.Is(err, fault.NotFound) { // its registration was not completed, and might be later
		err = errors.Join(Register(ctx, d.region, i), d.region.AskRoom(ctx, roomOf(i), c, false))
	}
	return err
}

// retire ends an instance if what it does is at most the given use. It gets no game session from then on, so that
// none begins meanwhile.
func (d *Driver) retire(ctx context.Context, i *catalog.Instance, most capacity.Use) error {
	if err := d.close(ctx, i, closedFor); err != nil {
		return err
	}
	computes, err := d.region.Computes(ctx, roomOf(i))
	if err != nil || computes[i.ID].Use > most {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, terminateLimit)
	defer cancel()
	return d.terminate(ctx, i)
}

// drop deletes an instance with its compute. What its fleet or location waits for is finished.
func (d *Driver) drop(ctx context.Context, i *catalog.Instance) error {
	if err := deregister(ctx, d.region, i); err != nil {
		return err
	}
	if err := d.region.Change(ctx, catalog.DropInstance{ID: i.ID}); err != nil {
		return err
	}
	if err := deregister(ctx, d.region, i); err != nil { // it may have been registered between the two; see Register
		return err
	}
	d.ended[i.Machine] = true
	d.cfg.Log.Info("instance ended", "instance", i.ID, "fleet", i.Fleet, "machine", i.Machine)
	if f, ok := d.region.Catalog().Fleet(i.Fleet); ok {
		return d.region.FinishDeletion(ctx, f)
	}
	return nil
}

// reportLost records why an instance is replaced.
func (d *Driver) reportLost(ctx context.Context, i *catalog.Instance) error {
	if i.Status == catalog.InstanceTerminating {
		return nil
	}
	d.cfg.Log.Warn("instance lost with its machine", "instance", i.ID, "fleet", i.Fleet, "machine", i.Machine)
	return d.record(ctx, i.Fleet, "INSTANCE_REPLACED_UNHEALTHY", fmt.Sprintf(
		"Machine %s is lost. Instance %s is replaced on another machine.", i.Machine, i.ID))
}

// reportShort stores the shortages that begin, change or end. Those of groups that get no instances now, or could not
// be read, are not known.
func (d *Driver) reportShort(ctx context.Context, groups []capacity.Group, found []capacity.Shortage) {
	for i := range groups {
		g := &groups[i]
		l, ok := d.region.Catalog().FleetLocation(g.Fleet, g.Location)
		if !ok || g.Unknown || g.Held && !g.Closed || ctx.Err() != nil {
			continue
		}
		c := catalog.SetShortage{Fleet: g.Fleet, Location: g.Location}
		for _, s := range found {
			if s.Fleet == g.Fleet && s.Location == g.Location {
				c.Missing, c.Reason = int32(s.Missing), s.Reason
			}
		}
		if c.Missing != l.Shortage.Missing || c.Reason != l.Shortage.Reason {
			c.EventID = d.cfg.EventIDs(1)[0]
			d.check(d.region.Change(ctx, c), g.Fleet)
		}
	}
}

// record adds a fleet event.
func (d *Driver) record(ctx context.Context, fleet, code, message string) error {
	return d.region.Change(ctx, catalog.RecordFleetEvent{Fleet: fleet, ID: d.cfg.EventIDs(1)[0], Code: code,
		Message: message})
}

func (d *Driver) lifecycleIDs() []string { return d.cfg.EventIDs(catalog.MaxLifecycleEvents) }

// MachinesOf returns machines for capacity.Reconcile. A machine is lost for good after replaceAfter without a report.
func MachinesOf(list []machines.Machine, replaceAfter time.Duration) []capacity.Machine {
	all := make([]capacity.Machine, len(list))
	for i, m := range list {
		all[i] = capacity.Machine{
			Name: m.Name, Location: m.Location, Windows: m.Offer.OS == "windows", MilliCPUs: m.Offer.MilliCPUs,
			MemoryMiB: m.Offer.MemoryMiB, Drained: m.Drained,
			Available: m.Status == machines.Online && !m.Drained && m.Offer.IP+m.Offer.DNS != "",
			Lost:      m.Status == machines.Lost && m.Missed >= replaceAfter,
		}
	}
	return all
}
