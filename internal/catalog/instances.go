package catalog

import (
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// InstanceStatus is the status of an instance. Source: API reference, Instance.
type InstanceStatus string

// The statuses of instances.
const (
	InstancePending     InstanceStatus = "PENDING"
	InstanceActive      InstanceStatus = "ACTIVE" // a server process has reported that it is ready
	InstanceTerminating InstanceStatus = "TERMINATING"
)

// An InstanceStage is how far a machine has come with an instance. Source: package protocol of machines.
type InstanceStage string

// The stages, in this order.
const (
	StageNone        InstanceStage = "" // the machine has not reported it
	StageWaiting     InstanceStage = "WAITING"
	StageDownloading InstanceStage = "DOWNLOADING"
	StageExtracting  InstanceStage = "EXTRACTING"
	StageInstalling  InstanceStage = "INSTALLING"
	StageValidating  InstanceStage = "VALIDATING"
	StageBuilding    InstanceStage = "BUILDING"
	StageRunning     InstanceStage = "RUNNING"
	StageFailed      InstanceStage = "FAILED"
	StageEnded       InstanceStage = "ENDED"
)

// An Instance is a part of a machine that runs the server processes of an EC2-type fleet. It is the compute of the
// fleet with the same name.
type Instance struct {
	ID       string         `cbor:"1,keyasint,omitempty"` // i-<17 hexadecimal digits>
	Fleet    string         `cbor:"2,keyasint,omitempty"`
	Location string         `cbor:"3,keyasint,omitempty"`
	Machine  string         `cbor:"4,keyasint,omitempty"` // its name, for good; it may have been deleted
	Build    string         `cbor:"5,keyasint,omitempty"` // the id of the build that it is to run
	Status   InstanceStatus `cbor:"6,keyasint,omitempty"`
	Created  event.Time     `cbor:"7,keyasint,omitempty"`
	Changed  event.Time     `cbor:"8,keyasint,omitempty"` // when the status last changed
	Log      string         `cbor:"9,keyasint,omitempty"` // hash of the output of its installation; "": none
	InstanceReport
}

// An InstanceReport is the part of a machine's report that is kept of an instance. The numbers of the fields are part
// of every type that embeds it.
type InstanceReport struct {
	Stage     InstanceStage `cbor:"20,keyasint,omitempty"`
	Installed bool          `cbor:"21,keyasint,omitempty"` // the build has an installer, which has ended well
	Code      string        `cbor:"22,keyasint,omitempty"` // of a failure: the code of a fleet event; "": none
	Message   string        `cbor:"23,keyasint,omitempty"` // of a failure
	Runs      string        `cbor:"24,keyasint,omitempty"` // id of the build that new processes start from; "": none
}

// CreateInstance gives a machine an instance of a fleet, and reserves its name among the computes of the fleet.
// NotFound for fleet, location or machine; InvalidFleetStatus for a fleet that has failed or is being deleted,
// InvalidRequest for an Anywhere fleet; Conflict for a location that is being removed, and for a machine that is
// drained, elsewhere or has changed; LimitExceeded.
type CreateInstance struct {
	ID       string   `cbor:"1,keyasint,omitzero"`
	Fleet    string   `cbor:"2,keyasint,omitzero"`
	Location string   `cbor:"3,keyasint,omitzero"`
	Machine  string   `cbor:"4,keyasint,omitzero"`
	EventIDs []string `cbor:"5,keyasint,omitzero"` // MaxLifecycleEvents ids, unless the fleet is ACTIVE
	// Generation is that of the machine when it was chosen: nothing else may have been decided for it since. 0: any.
	Generation uint64 `cbor:"6,keyasint,omitzero"`
}

// ReportInstance records what a machine has reported of an instance. It has no effect on an instance that does not
// exist, is on another machine, or is as reported.
type ReportInstance struct {
	ID       string   `cbor:"1,keyasint,omitzero"`
	Machine  string   `cbor:"2,keyasint,omitzero"`
	EventIDs []string `cbor:"3,keyasint,omitzero"` // MaxLifecycleEvents ids
	InstanceReport
}

// ActivateInstance records that a server process of an instance is ready. It has no effect on an instance that does not
// exist or is not PENDING.
type ActivateInstance struct {
	ID       string   `cbor:"1,keyasint,omitzero"`
	EventIDs []string `cbor:"2,keyasint,omitzero"` // MaxLifecycleEvents ids
}

// TerminateInstance begins to end an instance. It has no effect on one that does not exist or is TERMINATING.
type TerminateInstance struct {
	ID string `cbor:"1,keyasint,omitzero"`
}

// DropInstance deletes an instance that has ended, or whose machine is lost, with the name of its compute. It has no
// effect on one that does not exist.
type DropInstance struct {
	ID string `cbor:"1,keyasint,omitzero"`
}

// PutInstanceLog records the output of an instance's installation, whose bytes are durable. NotFound for an instance
// that does not exist or is on another machine.
type PutInstanceLog struct {
	ID      string `cbor:"1,keyasint,omitzero"`
	Machine string `cbor:"2,keyasint,omitzero"`
	Hash    string `cbor:"3,keyasint,omitzero"`
}

// InstanceCreated follows CreateInstance.
type InstanceCreated struct{ Instance }

// InstanceReported follows ReportInstance.
type InstanceReported struct {
	ID string `cbor:"1,keyasint,omitempty"`
	InstanceReport
}

// InstanceStatusSet follows ActivateInstance and TerminateInstance.
type InstanceStatusSet struct {
	ID     string         `cbor:"1,keyasint,omitempty"`
	Status InstanceStatus `cbor:"2,keyasint,omitempty"`
	At     event.Time     `cbor:"3,keyasint,omitempty"`
}

// InstanceDropped follows DropInstance.
type InstanceDropped struct {
	ID string `cbor:"1,keyasint,omitempty"`
}

// InstanceLogPut follows PutInstanceLog.
type InstanceLogPut struct {
	ID   string `cbor:"1,keyasint,omitempty"`
	Hash string `cbor:"2,keyasint,omitempty"`
}

func (c CreateInstance) decide(s *State, now event.Time) ([]Event, error) {
	if _, ok := s.instances.Get(c.ID); ok {
		return nil, nil
	}
	f, err := s.LiveFleet(c.Fleet)
	switch {
	case err != nil:
		return nil, err
	case f.Managed == nil:
		return nil, fault.New(fault.InvalidRequest, "Fleet %s is not of compute type EC2", c.Fleet)
	case f.Status == StatusError || f.Status == StatusDeleting:
		return nil, fault.New(fault.InvalidFleetStatus, "Fleet %s is %s", c.Fleet, f.Status)
	}
	if err := c.checkPlace(s); err != nil {
		return nil, err
	}
	if t, _ := s.tallies.Get(c.Fleet); t.computes >= s.limits.ComputesPerFleet {
		return nil, fault.New(fault.LimitExceeded, "The limit of %d instances in fleet %s is reached",
			s.limits.ComputesPerFleet, c.Fleet)
	}
	i := Instance{ID: c.ID, Fleet: c.Fleet, Location: c.Location, Machine: c.Machine, Build: f.Managed.Build,
		Status: InstancePending, Created: now, Changed: now}
	life, err := s.lifecycle(now, &i, c.EventIDs)
	if err != nil {
		return nil, err
	}
	return append([]Event{&InstanceCreated{i}}, life...), nil
}

// checkPlace rejects a location and a machine that cannot have a new instance.
func (c CreateInstance) checkPlace(s *State) error {
	l, ok := s.fleetLocations.Get(join(c.Fleet, c.Location))
	m, known := s.machines.Get(c.Machine)
	switch {
	case !ok:
		return fault.New(fault.NotFound, "Fleet %s has no location %s", c.Fleet, c.Location)
	case !known:
		return machineNotFound(c.Machine)
	case l.Status == StatusDeleting:
		return fault.New(fault.Conflict, "Location %s of fleet %s is being removed", c.Location, c.Fleet)
	case m.Drained || m.Location != c.Location:
		return fault.New(fault.Conflict, "Machine %s is drained or not at location %s", c.Machine, c.Location)
	case c.Generation != 0 && c.Generation != m.Generation:
		return fault.New(fault.Conflict, "Machine %s has changed since it was chosen", c.Machine)
	}
	return nil
}

func (c ReportInstance) decide(s *State, now event.Time) ([]Event, error) {
	old, ok := s.instances.Get(c.ID)
	if !ok || old.Machine != c.Machine || old.InstanceReport == c.InstanceReport {
		return nil, nil
	}
	i := *old
	i.InstanceReport = c.InstanceReport
	life, err := s.lifecycle(now, &i, c.EventIDs)
	if err != nil {
		return nil, err
	}
	return append([]Event{&InstanceReported{c.ID, c.InstanceReport}}, life...), nil
}

func (c ActivateInstance) decide(s *State, now event.Time) ([]Event, error) {
	old, ok := s.instances.Get(c.ID)
	if !ok || old.Status != InstancePending {
		return nil, nil
	}
	i := *old
	i.Status = InstanceActive
	life, err := s.lifecycle(now, &i, c.EventIDs)
	if err != nil {
		return nil, err
	}
	return append([]Event{&InstanceStatusSet{c.ID, InstanceActive, now}}, life...), nil
}

func (c TerminateInstance) decide(s *State, now event.Time) ([]Event, error) {
	i, ok := s.instances.Get(c.ID)
	if !ok || i.Status == InstanceTerminating {
		return nil, nil
	}
	return []Event{&InstanceStatusSet{c.ID, InstanceTerminating, now}}, nil
}

func (c DropInstance) decide(s *State, _ event.Time) ([]Event, error) {
	if _, ok := s.instances.Get(c.ID); !ok {
		return nil, nil
	}
	return []Event{&InstanceDropped{c.ID}}, nil
}

func (c PutInstanceLog) decide(s *State, _ event.Time) ([]Event, error) {
	i, ok := s.instances.Get(c.ID)
	switch {
	case !ok || i.Machine != c.Machine:
		return nil, fault.New(fault.NotFound, "Machine %s has no instance %s", c.Machine, c.ID)
	case i.Log == c.Hash:
		return nil, nil
	}
	return []Event{&InstanceLogPut{c.ID, c.Hash}}, nil
}

func (e *InstanceCreated) apply(s *State) {
	if _, ok := s.fleetLocations.Get(join(e.Fleet, e.Location)); !ok {
		return
	}
	s.putInstance(&e.Instance)
	s.putCompute(&ComputeClaim{Fleet: e.Fleet, Name: e.ID, Location: e.Location})
	s.raiseGeneration(e.Machine)
}

func (e *InstanceReported) apply(s *State) {
	s.changeInstance(e.ID, func(i *Instance) { i.InstanceReport = e.InstanceReport })
}

func (e *InstanceStatusSet) apply(s *State) {
	s.changeInstance(e.ID, func(i *Instance) {
		i.Status, i.Changed = e.Status, e.At
		if e.Status == InstanceTerminating {
			s.raiseGeneration(i.Machine)
		}
	})
}

func (e *InstanceDropped) apply(s *State) {
	if i, ok := s.instances.Get(e.ID); ok {
		s.endInstance(i)
	}
}

func (e *InstanceLogPut) apply(s *State) {
	s.changeInstance(e.ID, func(i *Instance) { i.Log = e.Hash })
}

// changeInstance replaces an instance by a changed copy.
func (s *State) changeInstance(id string, change func(i *Instance)) {
	if old, ok := s.instances.Get(id); ok {
		i := *old
		change(&i)
		s.putInstance(&i)
	}
}

// endInstance deletes an instance with the name of its compute.
func (s *State) endInstance(i *Instance) {
	s.dropInstance(i.ID)
	s.removeCompute(i.Fleet, i.ID)
	s.raiseGeneration(i.Machine)
}

// endInstances deletes the instances of a fleet at a location, or for "" at all.
func (s *State) endInstances(fleet, location string) {
	for _, i := range s.Instances(fleet, location) {
		s.endInstance(i)
	}
}

// raiseGeneration records that another state is wanted of a machine.
func (s *State) raiseGeneration(machine string) {
	if old, ok := s.machines.Get(machine); ok {
		m := *old
		m.Generation++
		s.machines.Set(machine, &m)
	}
}

// raiseGenerations records that another state is wanted of all machines with instances of a fleet.
func (s *State) raiseGenerations(fleet string) {
	raised := map[string]bool{}
	for _, i := range s.Instances(fleet, "") {
		if !raised[i.Machine] {
			raised[i.Machine] = true
			s.raiseGeneration(i.Machine)
		}
	}
}

// putInstance stores an instance with what is derived from it.
func (s *State) putInstance(i *Instance) {
	s.dropInstance(i.ID)
	s.instances.Set(i.ID, i)
	s.instancesAt.Set(join(i.Fleet, join(i.Location, i.ID)), i)
	s.instancesOn.Set(join(i.Machine, i.ID), i)
	s.refer(i.Log, +1)
}

// dropInstance reverts putInstance.
func (s *State) dropInstance(id string) {
	if i, ok := s.instances.Delete(id); ok {
		s.instancesAt.Delete(join(i.Fleet, join(i.Location, i.ID)))
		s.instancesOn.Delete(join(i.Machine, i.ID))
		s.refer(i.Log, -1)
	}
}

// Instance finds an instance.
func (s *State) Instance(id string) (*Instance, bool) { return s.instances.Get(id) }

// AllInstances returns the instances of all fleets by id.
func (s *State) AllInstances() []*Instance { return s.instances.Values() }

// An InstanceFilter selects instances.
type InstanceFilter struct {
	Fleet, Location, Machine string         // "": any
	Status                   InstanceStatus // "": any
}

// InstancePage returns instances with ids after the given one, in order. A limit below 1 is none; more reports that
// there are further ones.
func (s *State) InstancePage(f InstanceFilter, after string, limit int) (instances []*Instance, more bool) {
	return page(&s.instances, "", after, limit, func(i *Instance) bool {
		return (f.Fleet == "" || f.Fleet == i.Fleet) && (f.Location == "" || f.Location == i.Location) &&
			(f.Machine == "" || f.Machine == i.Machine) && (f.Status == "" || f.Status == i.Status)
	})
}

// Instances returns the instances of a fleet by location and id, at one location or ("") all.
func (s *State) Instances(fleet, location string) []*Instance {
	prefix := join(fleet, "")
	if location != "" {
		prefix = join(fleet, join(location, ""))
	}
	instances, _ := page(&s.instancesAt, prefix, "", 0, every)
	return instances
}

// InstancesOf returns the instances that a machine has, by id, even if it was deleted.
func (s *State) InstancesOf(machine string) []*Instance { return entries(&s.instancesOn, machine) }
