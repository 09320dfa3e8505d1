package control

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/internal/capacity"
	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/machines"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const (
	// reviewInterval is the longest time between two comparisons of the instances with what is desired.
	reviewInterval = 5 * time.Second
	// errorShown is how long a fleet that has failed keeps its instances, for someone to look at.
	errorShown = 10 * time.Minute
	// readyLimit is how long the processes of a new fleet may take until the first is ready: the limits of the server
	// SDK for InitSDK and for ProcessReady.
	readyLimit = 10 * time.Minute
	// shortInterval is the time after which a shortage that remains is reported again.
	shortInterval = time.Hour
	// The time between an instance that has failed in an ACTIVE fleet and its successor doubles from the first to the
	// second value.
	firstRetry, lastRetry = 10 * time.Second, 10 * time.Minute
)

// Defaults of Config.
const (
	DefaultActivationTimeout = 45 * time.Minute
	DefaultReplaceAfter      = 3 * time.Minute
)

// An instanceDriver runs capacity.Reconcile on the node that leads. What it remembers may be lost: it only delays.
type instanceDriver struct {
	*Plane
	failed   map[string]bool      // by machine and build: its last launch there failed
	retries  map[string]delay     // by fleet and location
	shortage map[string]time.Time // by the reason: when it was last reported
}

// A delay is the failures of instances in a row.
type delay struct {
	failures int
	next     time.Time // there is no new instance before
}

// wakeInstances has the instances compared with what is desired. It returns at once.
func (p *Plane) wakeInstances() { router.Wake(p.instancesNews) }

// observeInstances wakes the driver for facts from which something may follow for instances.
func (p *Plane) observeInstances(c *router.Commit) {
	for _, f := range c.Facts {
		switch e := f.Body.(type) {
		case *catalog.ManagedFleetCreated, *catalog.ManagedLocationsAdded, *catalog.FleetDeletionStarted,
			*catalog.FleetLocationRemovalStarted, *catalog.MachinePut, *catalog.MachineDrainSet,
			*catalog.MachineDeleted, *catalog.InstanceReported, *catalog.InstanceDropped, *catalog.FleetAdvanced,
			*catalog.CapacitySet, *catalog.FleetBuildSet:
			p.wakeInstances()
		case *fleet.ProcessBecameReady:
			if strings.HasPrefix(e.Compute, instancePrefix) {
				p.wakeInstances()
			}
		}
	}
}

const instancePrefix = "i-" // begins the ids of instances

// runInstances compares the instances with what is desired, until ctx is done.
func (p *Plane) runInstances(ctx context.Context) error {
	d := &instanceDriver{p, map[string]bool{}, map[string]delay{}, map[string]time.Time{}}
	timer := p.cfg.Clock.NewTimer(reviewInterval)
	defer timer.Stop()
	for ctx.Err() == nil {
		if d.needed() {
			d.review(ctx)
			timer.Reset(reviewInterval)
		}
		select {
		case <-ctx.Done():
		case <-p.instancesNews:
		case <-timer.Chan():
		}
	}
	return nil
}

// needed reports whether there is an EC2-type fleet.
func (d *instanceDriver) needed() bool {
	fleets, _ := d.Catalog().Fleets("", math.MaxInt)
	return slices.ContainsFunc(fleets, func(f *catalog.Fleet) bool { return f.Managed != nil })
}

// review does once what is needed. After an error the next review continues.
func (d *instanceDriver) review(ctx context.Context) {
	list := d.machines.List(ctx)
	view := d.Catalog()
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
			if err == nil {
				groups = append(groups, g)
			}
		}
	}
	plan := capacity.Reconcile(d.machinesOf(list), groups, func(machine, build string) bool {
		return d.failed[machine+"/"+build]
	})
	d.apply(ctx, &plan, view)
}

func (d *instanceDriver) check(err error, fleet string) {
	d.WarnUnless(err == nil, "instances not changed; trying again later", "fleet", fleet, "err", err)
}

// failOverdue makes a fleet fail that has not become ACTIVE in time.
func (d *instanceDriver) failOverdue(ctx context.Context, f *catalog.Fleet) error {
	now, m := d.cfg.Clock.Now(), f.Managed
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
	fail.EventIDs = newIDs(catalog.MaxLifecycleEvents)
	err := d.Change(ctx, fail)
	if fault.Is(err, fault.InvalidFleetStatus) || fault.Is(err, fault.NotFound) {
		return nil // it has changed meanwhile
	}
	return err
}

// group returns a location of a fleet for the comparison. It activates instances that have become ready.
func (d *instanceDriver) group(ctx context.Context, view *catalog.State, f *catalog.Fleet, l *catalog.FleetLocation,
	list []machines.Machine) (capacity.Group, error) {
	now := d.cfg.Clock.Now()
	need, _ := capacity.NeedOf(f.Managed.InstanceType)
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
	uses := map[string]capacity.Use{}
	if d.mustRead(&g, instances, list) {
		var err error
		if uses, err = d.uses(ctx, fleet.RoomID{Fleet: fleet.ID(f.ID), Location: l.Location}); err != nil {
			return g, err
		}
	}
	for _, i := range instances {
		use, read := uses[i.ID]
		if read && use != capacity.Starting && i.Status == catalog.InstancePending {
			if err := d.activate(ctx, i); err != nil {
				return g, err
			}
		}
		if !read {
			use = capacity.Protected
		}
		g.Instances = append(g.Instances, capacity.Instance{
			ID: i.ID, Machine: i.Machine, Need: need, Build: g.Build, Use: use, Ports: g.Ports,
			Ends: i.Status == catalog.InstanceTerminating, Ended: i.Stage == catalog.StageEnded,
			Failed: i.Stage == catalog.StageFailed,
		})
	}
	return g, nil
}

// mustRead reports whether the room of a group has to be read: for instances that may have become ready or may end.
func (d *instanceDriver) mustRead(g *capacity.Group, instances []*catalog.Instance, list []machines.Machine) bool {
	live := 0
	for _, i := range instances {
		if i.Status == catalog.InstanceTerminating {
			continue
		}
		live++
		if i.Status == catalog.InstancePending && i.Stage == catalog.StageRunning || isDrained(list, i.Machine) {
			return true
		}
	}
	return live > g.Desired
}

func isDrained(list []machines.Machine, name string) bool {
	n, ok := slices.BinarySearchFunc(list, name, func(m machines.Machine, name string) int {
		return strings.Compare(m.Name, name)
	})
	return ok && list[n].Drained
}

// uses reads what the computes of a room do.
func (d *instanceDriver) uses(ctx context.Context, room fleet.RoomID) (map[string]capacity.Use, error) {
	return router.InRoom(ctx, d.Router, room, func(r *fleet.Room) map[string]capacity.Use {
		uses := map[string]capacity.Use{}
		r.Computes("", func(c *fleet.Compute) bool {
			uses[c.Name] = useOf(r, c.Name)
			return true
		})
		return uses
	})
}

func useOf(r *fleet.Room, compute string) capacity.Use {
	use := capacity.Starting
	r.ProcessesOf(compute, func(p *fleet.Process) bool {
		switch p.Status {
		case fleet.ProcessIdle:
			use = max(use, capacity.Idle)
		case fleet.ProcessHosting:
			use = max(use, capacity.Unprotected)
			if g, ok := r.GameSessionAt(p.Session); ok && g.Protection == string(catalog.FullProtection) {
				use = capacity.Protected
			}
		}
		return true
	})
	return use
}

func (d *instanceDriver) activate(ctx context.Context, i *catalog.Instance) error {
	delete(d.retries, i.Fleet+"/"+i.Location)
	if f, ok := d.Catalog().Fleet(i.Fleet); ok && f.Managed != nil {
		delete(d.failed, i.Machine+"/"+buildKey(f.Managed))
	}
	return d.Change(ctx, catalog.ActivateInstance{ID: i.ID, EventIDs: newIDs(catalog.MaxLifecycleEvents)})
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

// machinesOf returns machines for the comparison.
func (d *instanceDriver) machinesOf(list []machines.Machine) []capacity.Machine {
	all := make([]capacity.Machine, len(list))
	for i, m := range list {
		all[i] = capacity.Machine{
			Name: m.Name, Location: m.Location, Windows: m.Offer.OS == "windows", MilliCPUs: m.Offer.MilliCPUs,
			MemoryMiB: m.Offer.MemoryMiB, Drained: m.Drained,
			Available: m.Status == machines.Online && !m.Drained && m.Offer.IP+m.Offer.DNS != "",
			Lost:      m.Status == machines.Lost && m.Missed >= d.cfg.ReplaceAfter,
		}
	}
	return all
}

// apply does what a plan says.
func (d *instanceDriver) apply(ctx context.Context, plan *capacity.Plan, view *catalog.State) {
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
	each(plan.Retire, d.retire)
	for _, c := range plan.Create {
		if ctx.Err() == nil {
			d.check(d.create(ctx, &c), c.Fleet)
		}
	}
	for _, s := range plan.Short {
		d.check(d.reportShort(ctx, &s), s.Fleet)
	}
}

// create adds an instance, with its compute.
func (d *instanceDriver) create(ctx context.Context, c *capacity.Creation) error {
	id := newInstanceID()
	err := d.Change(ctx, catalog.CreateInstance{ID: id, Fleet: c.Fleet, Location: c.Location, Machine: c.Machine,
		EventIDs: newIDs(catalog.MaxLifecycleEvents)})
	if err != nil {
		return err
	}
	d.cfg.Log.Info("instance created", "instance", id, "fleet", c.Fleet, "location", c.Location, "machine", c.Machine)
	if c.TooSmall {
		message := fmt.Sprintf("Machine %s has fewer CPUs or less memory than the instance type of the fleet. "+
			"Instance %s runs there all the same, because the machine was empty.", c.Machine, id)
		err = d.Change(ctx, catalog.RecordFleetEvent{Fleet: c.Fleet, ID: uuid.NewString(), Code: "GENERIC_EVENT",
			Message: message})
	}
	if i, ok := d.Catalog().Instance(id); ok {
		err = joinFaults(err, d.register(ctx, i))
	}
	return err
}

// newInstanceID returns an id of the form that instances of EC2 have.
func newInstanceID() string {
	random := make([]byte, 9)
	_, _ = rand.Read(random) // never fails
	return instancePrefix + hex.EncodeToString(random)[:17]
}

func roomOfInstance(i *catalog.Instance) fleet.RoomID {
	return fleet.RoomID{Fleet: fleet.ID(i.Fleet), Location: i.Location}
}

// register adds the compute of an instance, with the address of its machine. It may be repeated.
func (p *Plane) register(ctx context.Context, i *catalog.Instance) error {
	m, ok := p.Catalog().Machine(i.Machine)
	if !ok {
		return nil
	}
	_, err := router.Ask[*fleet.Compute](ctx, p.RoomShard(roomOfInstance(i)), region.RoomCommand{
		Room: roomOfInstance(i), Open: true,
		Command: fleet.RegisterCompute{Name: i.ID, IPAddress: m.Offer.IP, DNSName: m.Offer.DNS},
	})
	if fault.Is(err, fault.Conflict) { // the machine has another address since
		return nil
	}
	return err
}

// terminate ends an instance, whatever it does: its processes are asked to end.
func (d *instanceDriver) terminate(ctx context.Context, i *catalog.Instance) error {
	if i.Stage == catalog.StageFailed {
		d.noteFailure(i)
	}
	if err := d.Change(ctx, catalog.TerminateInstance{ID: i.ID}); err != nil {
		return err
	}
	d.cfg.Log.Info("instance terminating", "instance", i.ID, "fleet", i.Fleet, "machine", i.Machine)
	return d.stop(ctx, i, false)
}

// noteFailure delays the next instance at the location, and prefers other machines for the build.
func (d *instanceDriver) noteFailure(i *catalog.Instance) {
	if f, ok := d.Catalog().Fleet(i.Fleet); ok && f.Managed != nil {
		d.failed[i.Machine+"/"+buildKey(f.Managed)] = true
	}
	key := i.Fleet + "/" + i.Location
	r := d.retries[key]
	wait := min(firstRetry<<min(r.failures, 10), lastRetry)
	d.retries[key] = delay{r.failures + 1, d.cfg.Clock.Now().Add(wait)}
}

// stop asks the processes of an instance to end, or only those without a game session.
func (d *instanceDriver) stop(ctx context.Context, i *catalog.Instance, idle bool) error {
	_, err := router.AskRoom[any](ctx, d.Router, roomOfInstance(i), fleet.StopCompute{Name: i.ID, Idle: idle})
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// retire ends an instance if it has no game session. Its processes without one are asked to end first, so that none
// gets one meanwhile.
func (d *instanceDriver) retire(ctx context.Context, i *catalog.Instance) error {
	if err := d.stop(ctx, i, true); err != nil {
		return err
	}
	uses, err := d.uses(ctx, roomOfInstance(i))
	if err != nil || uses[i.ID] > capacity.Idle {
		return err
	}
	return d.terminate(ctx, i)
}

// drop deletes an instance with its compute. What its fleet or location waits for is finished.
func (d *instanceDriver) drop(ctx context.Context, i *catalog.Instance) error {
	_, err := router.AskRoom[any](ctx, d.Router, roomOfInstance(i), fleet.DeregisterCompute{Name: i.ID})
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	if err := d.Change(ctx, catalog.DropInstance{ID: i.ID}); err != nil {
		return err
	}
	d.cfg.Log.Info("instance ended", "instance", i.ID, "fleet", i.Fleet, "machine", i.Machine)
	if f, ok := d.Catalog().Fleet(i.Fleet); ok {
		return d.finishDeletion(ctx, f)
	}
	return nil
}

// reportLost records why an instance is replaced.
func (d *instanceDriver) reportLost(ctx context.Context, i *catalog.Instance) error {
	if i.Status == catalog.InstanceTerminating {
		return nil
	}
	d.cfg.Log.Warn("instance lost with its machine", "instance", i.ID, "fleet", i.Fleet, "machine", i.Machine)
	return d.Change(ctx, catalog.RecordFleetEvent{Fleet: i.Fleet, ID: uuid.NewString(),
		Code: "INSTANCE_REPLACED_UNHEALTHY", Message: fmt.Sprintf(
			"Machine %s is lost. Instance %s is replaced on another machine.", i.Machine, i.ID)})
}

// reportShort records why a fleet has fewer instances than desired, from time to time.
func (d *instanceDriver) reportShort(ctx context.Context, s *capacity.Shortage) error {
	now, key := d.cfg.Clock.Now(), s.Fleet+"/"+s.Location+"/"+s.Reason
	if last, ok := d.shortage[key]; ok && now.Sub(last) < shortInterval {
		return nil
	}
	d.shortage[key] = now
	return d.Change(ctx, catalog.RecordFleetEvent{Fleet: s.Fleet, ID: uuid.NewString(), Code: "GENERIC_EVENT",
		Message: "The fleet has fewer instances than desired. " + s.Reason})
}

// wantedInstances returns what a machine has to run.
func (p *Plane) wantedInstances(view *catalog.State, machine string) (wanted []protocol.Instance) {
	for _, i := range view.InstancesOf(machine) {
		f, ok := view.Fleet(i.Fleet)
		if !ok || f.Managed == nil {
			continue
		}
		need, _ := capacity.NeedOf(f.Managed.InstanceType)
		files := f.Managed.Files
		w := protocol.Instance{
			ID: i.ID, Fleet: i.Fleet, MilliCPUs: need.MilliCPUs, MemoryMiB: need.MemoryMiB,
			Ends: i.Status == catalog.InstanceTerminating, LogPath: p.logPath(i.ID), Runtime: []protocol.Process{},
			Build: protocol.Build{ID: i.Build, SHA256: files.Hash, Tree: files.Tree, Size: files.Size,
				Path: p.buildPath(i.ID, files.Hash)},
		}
		if f.Runtime != nil {
			for _, s := range f.Runtime.ServerProcesses {
				w.Runtime = append(w.Runtime, protocol.Process{LaunchPath: s.LaunchPath, Parameters: s.Parameters,
					Count: s.ConcurrentExecutions})
			}
		}
		wanted = append(wanted, w)
	}
	return wanted
}

// instanceToken returns the token of the compute of an instance, which it registers if that was not completed.
func (p *Plane) instanceToken(ctx context.Context, i *catalog.Instance) (*protocol.Token, error) {
	if err := p.register(ctx, i); err != nil {
		return nil, err
	}
	token, expires, err := p.authToken(ctx, roomOfInstance(i), i.ID)
	if err != nil {
		return nil, err
	}
	return &protocol.Token{Instance: i.ID, Token: token, Expires: int64(expires), SDK: p.sdkEndpoint,
		Agent: p.agentEndpoint}, nil
}
