package catalog

import "github.com/muster-gg/muster/internal/event"

// InstanceLevel is the feature level from which the catalog holds EC2-type fleets and their instances.
const InstanceLevel = 9

// A Managed is what only an EC2-type fleet has: the service runs its server processes on machines.
type Managed struct {
	Build        string      `cbor:"1,keyasint,omitempty"` // its id; the build may have been deleted
	Files        BuildFiles  `cbor:"2,keyasint"`           // of the build
	InstanceType string      `cbor:"3,keyasint,omitempty"`
	FleetType    string      `cbor:"4,keyasint,omitempty"` // ON_DEMAND or SPOT, without effect
	Ports        []PortRange `cbor:"5,keyasint,omitempty"` // inbound permissions, without duplicates
	Certificate  string      `cbor:"6,keyasint,omitempty"` // GENERATED or DISABLED
	RoleARN      string      `cbor:"7,keyasint,omitempty"` // of the instances, as given
	Credentials  string      `cbor:"8,keyasint,omitempty"` // the credentials provider of the role, as given
}

// BuildFiles are the files of a build as a fleet keeps them, so that it can start instances after the build was
// deleted.
type BuildFiles struct {
	Hash            string `cbor:"1,keyasint,omitempty"` // SHA-256 of the zip in hex
	Tree            string `cbor:"2,keyasint,omitempty"` // see BuildContent
	Size            int64  `cbor:"3,keyasint,omitempty"` // of the zip in bytes
	OperatingSystem string `cbor:"4,keyasint,omitempty"`
	SDKVersion      string `cbor:"5,keyasint,omitempty"` // of the server SDK
}

// FilesOf returns the files of a build.
func FilesOf(b *Build) BuildFiles {
	return BuildFiles{b.Hash, b.Tree, b.Size, b.OperatingSystem, b.SDKVersion}
}

// files returns the files of the fleet's build; the zero value for an Anywhere fleet.
func (f *Fleet) files() (files BuildFiles) {
	if f.Managed != nil {
		files = f.Managed.Files
	}
	return files
}

// A PortRange is an inbound permission.
type PortRange struct {
	From     int32  `cbor:"1,keyasint,omitempty"`
	To       int32  `cbor:"2,keyasint,omitempty"`
	IPRange  string `cbor:"3,keyasint,omitempty"` // in CIDR notation
	Protocol string `cbor:"4,keyasint,omitempty"` // TCP or UDP
}

// Capacity is the number of instances of an EC2-type fleet at a location.
type Capacity struct {
	Min     int32 `cbor:"1,keyasint,omitempty"`
	Max     int32 `cbor:"2,keyasint,omitempty"`
	Desired int32 `cbor:"3,keyasint,omitempty"`
}

// newCapacity is the capacity of a new location. Source: API reference, CreateFleet; developer guide, "Scale capacity".
var newCapacity = Capacity{Min: 0, Max: 1, Desired: 1}

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
	ID        string         `cbor:"1,keyasint,omitempty"` // i-<17 hexadecimal digits>
	Fleet     string         `cbor:"2,keyasint,omitempty"`
	Location  string         `cbor:"3,keyasint,omitempty"`
	Machine   string         `cbor:"4,keyasint,omitempty"` // its name, for good; it may have been deleted
	Build     string         `cbor:"5,keyasint,omitempty"` // the id of the build that it is to run
	Status    InstanceStatus `cbor:"6,keyasint,omitempty"`
	Created   event.Time     `cbor:"7,keyasint,omitempty"`
	Changed   event.Time     `cbor:"8,keyasint,omitempty"` // when the status last changed
	Log       string         `cbor:"9,keyasint,omitempty"` // hash of the output of its installation; "": none
	Processes int32          `cbor:"10,keyasint,omitempty"`
	InstanceReport
}

// An InstanceReport is the part of a machine's report that is kept of an instance. The numbers of the fields are part
// of every type that embeds it.
type InstanceReport struct {
	Stage     InstanceStage `cbor:"20,keyasint,omitempty"`
	Installed bool          `cbor:"21,keyasint,omitempty"` // the build has an installer, which has ended well
	Code      string        `cbor:"22,keyasint,omitempty"` // of a failure: the code of a fleet event; "": none
	Message   string        `cbor:"23,keyasint,omitempty"` // of a failure
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
