package catalog

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

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
	Home         string      `cbor:"9,keyasint,omitempty"` // the location that is the region itself
	Step         FleetStep   `cbor:"10,keyasint,omitempty"`
	Changed      event.Time  `cbor:"11,keyasint,omitempty"` // when the status of the fleet last changed
	Now          bool        `cbor:"12,keyasint,omitempty"` // see SetFleetBuild

	// ServerLaunchPath and ServerLaunchParameters as given; the runtime configuration has them.
	LaunchPath       string `cbor:"20,keyasint,omitempty"`
	LaunchParameters string `cbor:"21,keyasint,omitempty"`

	// Versions are builds besides Build, ordered by the names of their versions.
	Versions []BuildVersion `cbor:"22,keyasint,omitempty"`
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

// Hashes returns the hashes of the files of builds that a fleet keeps; none for an Anywhere fleet.
func (f *Fleet) Hashes() (hashes []string) {
	if f.Managed != nil {
		hashes = append(hashes, f.Managed.Files.Hash)
		for i := range f.Managed.Versions {
			hashes = append(hashes, f.Managed.Versions[i].Files.Hash)
		}
	}
	return hashes
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

// CreateManagedFleet creates an EC2-type fleet, which is NEW until a machine takes its first instance. NotFound for the
// build or a custom location, NotReady for a build that is not READY, UnsupportedRegion for a location without
// machines, InvalidRequest, LimitExceeded, TaggingFailed.
type CreateManagedFleet struct {
	ID         string `cbor:"1,keyasint,omitzero"`
	Attributes        // protection policy and metric groups have defaults
	// Locations are those besides Managed.Home, which a fleet always has.
	Locations []string              `cbor:"2,keyasint,omitzero"`
	Runtime   *RuntimeConfiguration `cbor:"3,keyasint,omitzero"`
	Managed   Managed               `cbor:"4,keyasint"` // without Files, Step and Changed
	Tags      []Tag                 `cbor:"5,keyasint,omitzero"`
	EventID   string                `cbor:"6,keyasint,omitzero"` // for FLEET_CREATED
}

// ManagedFleetCreated follows CreateManagedFleet; tags and fleet events are separate events.
type ManagedFleetCreated struct {
	ID        string                `cbor:"1,keyasint,omitempty"`
	At        event.Time            `cbor:"2,keyasint,omitempty"`
	Locations []string              `cbor:"3,keyasint,omitempty"` // all of them
	Runtime   *RuntimeConfiguration `cbor:"4,keyasint,omitempty"`
	Managed   *Managed              `cbor:"5,keyasint,omitempty"`
	Attributes
}

// ManagedLocationsAdded follows AddFleetLocations for an EC2-type fleet.
type ManagedLocationsAdded struct {
	Fleet     string   `cbor:"1,keyasint,omitempty"`
	Locations []string `cbor:"2,keyasint,omitempty"`
}

func (c CreateManagedFleet) decide(s *State, now event.Time) ([]Event, error) {
	if _, ok := s.fleets.Get(c.ID); ok { // the id is random per request: this is a repetition
		return nil, nil
	}
	locations := slices.DeleteFunc(slices.Clone(c.Locations), func(l string) bool { return l == c.Managed.Home })
	managed, err := c.check(s, locations)
	if err != nil {
		return nil, err
	}
	if s.liveFleets >= s.limits.Fleets {
		return nil, fault.New(fault.LimitExceeded, "The limit of %d fleets is reached", s.limits.Fleets)
	}
	tagged, err := s.tagNew(fleetKind+c.ID, c.Tags)
	if err != nil {
		return nil, err
	}
	notes, err := s.note(now, c.ID, []string{c.EventID}, []note{{codeFleetCreated,
		"Fleet " + c.ID + " was created", ""}})
	if err != nil {
		return nil, err
	}
	managed.Changed = now
	created := &ManagedFleetCreated{ID: c.ID, At: now, Locations: append([]string{managed.Home}, locations...),
		Runtime: c.Runtime.clone(), Managed: managed, Attributes: c.Attributes.normal()}
	return append(append([]Event{created}, tagged...), notes...), nil
}

// check rejects invalid requests, and returns what is stored of the fleet. The locations are those besides its home.
func (c CreateManagedFleet) check(s *State, locations []string) (*Managed, error) {
	b, err := s.readyBuild(c.Managed.Build)
	if err != nil {
		return nil, err
	}
	if err := s.checkManagedLocations(locations, 1); err != nil {
		return nil, err
	}
	if err := c.Attributes.check(s.limits); err != nil {
		return nil, err
	}
	m := c.Managed
	m.Files, m.Step, m.Ports = FilesOf(b), 0, slices.Clone(m.Ports)
	if err := m.checkRuntime(c.Runtime); err != nil {
		return nil, err
	}
	return &m, m.checkPorts()
}

// readyBuild returns a build that is READY, or NotFound, InvalidRequest or NotReady.
func (s *State) readyBuild(id string) (*Build, error) {
	b, ok := s.builds.Get(id)
	switch {
	case !ok:
		return nil, buildNotFound(id)
	case b.Status == BuildFailed:
		return nil, fault.New(fault.InvalidRequest, "Build %s is FAILED: %s", b.ID, b.Reason)
	case b.Status != BuildReady:
		return nil, fault.New(fault.NotReady, "Build %s is %s and must be READY", b.ID, b.Status)
	}
	return b, nil
}

// checkManagedLocations rejects new locations of a fleet that has others: those that do not exist or have no machine.
func (s *State) checkManagedLocations(names []string, others int) error {
	if name, ok := repeated(names); ok {
		return fault.New(fault.InvalidRequest, "Locations names %s more than once", name)
	}
	var known []string // made when it is needed
	for _, name := range names {
		if strings.HasPrefix(name, customPrefix) {
			if _, ok := s.locations.Get(name); !ok {
				return locationNotFound(name)
			}
			continue
		}
		if known == nil {
			known = s.machineLocations()
		}
		if !slices.Contains(known, name) {
			return fault.New(fault.UnsupportedRegion, "Location %s is not supported: no machine has joined there. "+
				"Locations with machines are: %s. Custom locations can be used before a machine joins.",
				name, strings.Join(known, ", "))
		}
	}
	if others+len(names) > s.limits.LocationsPerFleet {
		return fault.New(fault.LimitExceeded, "A fleet can have at most %d locations", s.limits.LocationsPerFleet)
	}
	return nil
}

// SupportsInstances reports whether a location can have instances: it is a custom location, or has machines.
func (s *State) SupportsInstances(location string) bool {
	_, custom := s.locations.Get(location)
	return custom || slices.Contains(s.machineLocations(), location)
}

// machineLocations returns the names of the locations that have machines.
func (s *State) machineLocations() []string {
	names := []string{}
	for _, m := range s.Machines() {
		names = append(names, m.Location)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// windows reports whether the build is for Windows.
func (f *BuildFiles) windows() bool { return strings.HasPrefix(f.OperatingSystem, "WINDOWS") }

// checkRuntime rejects a runtime configuration that the instances of the fleet cannot run. Source for the paths: API
// reference, ServerProcess.
func (m *Managed) checkRuntime(r *RuntimeConfiguration) error {
	if r == nil || len(r.ServerProcesses) == 0 {
		return fault.New(fault.InvalidRequest, "RuntimeConfiguration needs at least one entry in ServerProcesses")
	}
	root := "/local/game/"
	if m.Files.windows() {
		root = `C:\game\`
	}
	for _, p := range r.ServerProcesses {
		if len(p.LaunchPath) <= len(root) || !hasRoot(p.LaunchPath, root) {
			return fault.New(fault.InvalidRequest, "LaunchPath %.200s must begin with %s, because the build is for %s",
				p.LaunchPath, root, m.Files.OperatingSystem)
		}
		if slices.Contains(strings.FieldsFunc(p.LaunchPath, isSeparator), "..") {
			return fault.New(fault.InvalidRequest, "LaunchPath %.200s must not contain ..", p.LaunchPath)
		}
	}
	return r.check()
}

func isSeparator(r rune) bool { return r == '/' || r == '\\' }

// hasRoot reports whether a path is below a root. Paths of Windows have no case, and either separator.
func hasRoot(path, root string) bool {
	if strings.HasPrefix(root, "/") {
		return strings.HasPrefix(path, root)
	}
	return strings.EqualFold(strings.ReplaceAll(path[:len(root)], "/", `\`), root)
}

// Bounds of inbound permissions. Source: API reference, IpPermission and UpdateFleetPortSettings.
const (
	maxPortRanges = 50
	sshPort       = 22
	minGamePort   = 1026
	maxGamePort   = 60000
)

// checkPorts rejects invalid inbound permissions.
func (m *Managed) checkPorts() error {
	if len(m.Ports) > maxPortRanges {
		return fault.New(fault.InvalidRequest, "A fleet can have at most %d inbound permissions", maxPortRanges)
	}
	for i, p := range m.Ports {
		if err := p.check(m.Files.windows()); err != nil {
			return err
		}
		if slices.Contains(m.Ports[:i], p) {
			return fault.New(fault.InvalidRequest, "The inbound permission %s %d-%d from %s is given twice",
				p.Protocol, p.From, p.To, p.IPRange)
		}
	}
	return nil
}

// check rejects an invalid inbound permission. Port 22 is allowed only without Windows.
func (p PortRange) check(windows bool) error {
	ssh := !windows && p.From == sshPort && p.To == sshPort
	switch {
	case p.Protocol != "TCP" && p.Protocol != "UDP":
		return fault.New(fault.InvalidRequest, "Protocol %.20s of an inbound permission must be TCP or UDP", p.Protocol)
	case p.From > p.To:
		return fault.New(fault.InvalidRequest, "FromPort %d of an inbound permission is above its ToPort %d", p.From,
			p.To)
	case !ssh && (p.From < minGamePort || p.To > maxGamePort):
		return fault.New(fault.InvalidRequest, "The ports %d-%d of an inbound permission must be within %d-%d; on "+
			"Linux %d alone is allowed, too", p.From, p.To, minGamePort, maxGamePort, sshPort)
	}
	if _, err := netip.ParsePrefix(p.IPRange); err != nil {
		return fault.New(fault.InvalidRequest, "IpRange %.100s of an inbound permission must be in CIDR notation, "+
			"such as 0.0.0.0/0", p.IPRange)
	}
	return nil
}

func (e *ManagedFleetCreated) apply(s *State) {
	s.putFleet(&Fleet{ID: e.ID, Status: StatusNew, Created: e.At, Runtime: e.Runtime, Managed: e.Managed,
		Attributes: e.Attributes})
	s.addManagedLocations(e.ID, e.Locations)
}

func (e *ManagedLocationsAdded) apply(s *State) { s.addManagedLocations(e.Fleet, e.Locations) }

func (s *State) addManagedLocations(fleet string, names []string) {
	for _, name := range names {
		s.fleetLocations.Set(join(fleet, name),
			&FleetLocation{Fleet: fleet, Location: name, Status: StatusNew, Capacity: newCapacity})
	}
}
