package catalog

import (
	"fmt"

	"github.com/tidwall/btree"

	"github.com/muster-gg/muster/internal/event"
)

// A Command changes the catalog. Its ids and times come from the caller.
type Command interface {
	// decide returns the events and changes nothing; the error is a *fault.Error.
	decide(s *State, now event.Time) ([]Event, error)
}

// An Event is a change that has happened: one of the types of Events. It is immutable.
type Event interface {
	// apply changes s and cannot fail. It ignores references to unknown records.
	apply(s *State)
}

// State is the catalog. It has one writer; any number of goroutines may read a Copy concurrently.
type State struct {
	event.Gate // which events may be written; the shard raises it

	limits Limits

	locations      btree.Map[string, *Location]
	fleets         btree.Map[string, *Fleet]         // TERMINATED ones too
	fleetLocations btree.Map[string, *FleetLocation] // by fleet, location
	fleetEvents    btree.Map[string, *FleetEvent]    // by fleet, number
	computes       btree.Map[string, *ComputeClaim]  // by fleet, compute name
	aliases        btree.Map[string, *Alias]
	tags           btree.Map[string, *ResourceTags] // by resource key
	accessKeys     btree.Map[string, *AccessKey]
	creators       btree.Map[string, *CreatorWindow] // by fleet, creator
	queues         btree.Map[string, *Queue]
	configurations btree.Map[string, *MatchmakingConfiguration]
	ruleSets       btree.Map[string, *RuleSet]
	views          btree.Map[string, *View] // by user, title
	builds         btree.Map[string, *Build]
	buckets        btree.Map[string, *Bucket]
	objects        btree.Map[string, *Object] // by bucket, key; those of builds by "", id
	machines       btree.Map[string, *Machine]
	machineTokens  btree.Map[string, *MachineToken] // by id
	instances      btree.Map[string, *Instance]

	scalingPolicies btree.Map[string, *ScalingPolicy] // by fleet, name

	announcements btree.Map[uint64, *Announcement] // that are not in the event feed
	announced     uint64                           // the number of the newest announcement
	accessState

	// Derived from the records above, not stored.
	liveFleets int                         // fleets that are not TERMINATED
	tallies    btree.Map[string, tally]    // by fleet
	dues       btree.Map[string, struct{}] // see deadlines.go
	unchecked  btree.Map[string, struct{}] // builds with bytes that are not checked yet
	referred   btree.Map[string, int]      // how many records refer to bytes, by their hash

	instancesAt btree.Map[string, *Instance] // by fleet, location, id
	instancesOn btree.Map[string, *Instance] // by machine, id
}

// New returns an empty catalog.
func New(limits Limits) *State {
	return &State{limits: limits}
}

// Copy returns an independent catalog that shares its records with s, in constant time. Only the writer of s may call
// it.
func (s *State) Copy() *State {
	c := *s
	c.locations = *s.locations.Copy()
	c.fleets = *s.fleets.Copy()
	c.fleetLocations = *s.fleetLocations.Copy()
	c.fleetEvents = *s.fleetEvents.Copy()
	c.computes = *s.computes.Copy()
	c.aliases = *s.aliases.Copy()
	c.tags = *s.tags.Copy()
	c.accessKeys = *s.accessKeys.Copy()
	c.creators = *s.creators.Copy()
	c.queues = *s.queues.Copy()
	c.configurations = *s.configurations.Copy()
	c.ruleSets = *s.ruleSets.Copy()
	c.views = *s.views.Copy()
	c.builds = *s.builds.Copy()
	c.buckets = *s.buckets.Copy()
	c.objects = *s.objects.Copy()
	c.machines = *s.machines.Copy()
	c.machineTokens = *s.machineTokens.Copy()
	c.accessState = s.accessState.copy()
	c.tallies = *s.tallies.Copy()
	c.dues = *s.dues.Copy()
	c.unchecked = *s.unchecked.Copy()
	c.referred = *s.referred.Copy()
	c.instances = *s.instances.Copy()
	c.scalingPolicies = *s.scalingPolicies.Copy()
	c.announcements = *s.announcements.Copy()
	c.instancesAt = *s.instancesAt.Copy()
	c.instancesOn = *s.instancesOn.Copy()
	return &c
}

// Decide returns the events for c, without changing s: none if the catalog is already as c requests. The error is a
// *fault.Error. The caller applies the events in order.
func (s *State) Decide(now event.Time, c Command) ([]Event, error) {
	if !s.Allows(commands.Level(c)) {
		return nil, errUpgradeFirst
	}
	return c.decide(s, now)
}

// Apply applies an event. The catalog keeps parts of it: it must not be modified afterwards.
func (s *State) Apply(e Event) { e.apply(s) }

// Snapshot calls write with all records, always in the same order, until it fails. Restore of these records into an
// empty catalog creates an equal one.
func (s *State) Snapshot(write func(body any) error) error {
	for _, family := range []func(func(any) error) error{
		records(&s.locations), records(&s.fleets), records(&s.fleetLocations), records(&s.fleetEvents),
		records(&s.computes), records(&s.aliases), records(&s.tags), records(&s.accessKeys), records(&s.creators),
		s.recordSettings, records(&s.queues), records(&s.configurations), records(&s.ruleSets),
		records(&s.users), records(&s.groups), records(&s.roles), records(&s.assignments), records(&s.policies),
		records(&s.providers), records(&s.signIns), records(&s.views),
		records(&s.builds), records(&s.buckets), records(&s.objects),
		records(&s.machines), records(&s.machineTokens), records(&s.instances),
		records(&s.scalingPolicies), s.recordAnnouncements,
	} {
		if err := family(write); err != nil {
			return err
		}
	}
	return nil
}

// records returns a function that writes all values of m in order.
func records[V any](m *btree.Map[string, V]) func(write func(any) error) error {
	return func(write func(any) error) (err error) {
		m.Scan(func(_ string, v V) bool {
			err = write(v)
			return err == nil
		})
		return err
	}
}

// Restore adds one record of a snapshot, in the order of Snapshot. It fails for other types.
func (s *State) Restore(body any) error {
	switch r := body.(type) {
	case *Location:
		s.locations.Set(r.Name, r)
	case *Fleet:
		s.putFleet(r)
	case *FleetLocation:
		s.fleetLocations.Set(join(r.Fleet, r.Location), r)
	case *FleetEvent:
		s.putFleetEvent(r)
	case *Announced:
		s.announced = r.Seq
	case *Announcement:
		s.announcements.Set(r.Seq, r)
	case *ComputeClaim:
		s.putCompute(r)
	case *Alias:
		s.aliases.Set(r.ID, r)
	case *ResourceTags:
		s.putTags(r.Resource, r.Tags)
	case *CreatorWindow:
		s.putCreator(r)
	case *Queue:
		s.queues.Set(r.Name, r)
	case *MatchmakingConfiguration:
		s.configurations.Set(r.Name, r)
	case *RuleSet:
		s.ruleSets.Set(r.Name, r)
	case *View:
		s.putView(r)
	case *Build:
		s.putBuild(r)
	case *Bucket:
		s.buckets.Set(r.Name, r)
	case *Object:
		s.putObject(r)
	case *Machine:
		s.machines.Set(r.Name, r)
	case *MachineToken:
		s.putMachineToken(r)
	case *Instance:
		s.putInstance(r)
	case *ScalingPolicy:
		s.scalingPolicies.Set(join(r.Fleet, r.Name), r)
	default:
		if !s.restoreAccess(body) {
			return fmt.Errorf("%T is not a record of the catalog", body)
		}
	}
	return nil
}
