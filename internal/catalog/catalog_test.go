package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"testing"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// set of all types, as the service reads and writes them.
var types = event.NewSet(Events)

const (
	t0     = event.Time(1_750_000_000_000)
	second = event.Time(1000)
	minute = 60 * second
	day    = 24 * 60 * minute
)

// A scene is one row of a given-when-then table.
type scene struct {
	name  string
	given []Event
	when  Command
	then  []Event
	fault fault.Kind // "": none
	text  string     // of the fault; "" is any
}

// play runs scenes at t0 under small limits.
func play(t *testing.T, scenes []scene) {
	t.Helper()
	for _, sc := range scenes {
		t.Run(sc.name, func(t *testing.T) {
			s := given(t, smallLimits(), sc.given...)
			before := encode(t, s)
			events, err := s.Decide(t0, sc.when)
			if !bytes.Equal(before, encode(t, s)) {
				t.Error("Decide changed the state")
			}
			wantFault(t, err, sc.fault, sc.text)
			if !reflect.DeepEqual(events, sc.then) {
				t.Errorf("events\n%s\nwant\n%s", dump(events), dump(sc.then))
			}
			for _, e := range events {
				s.Apply(e)
			}
			checkDerived(t, s)
		})
	}
}

func wantFault(t *testing.T, err error, kind fault.Kind, text string) {
	t.Helper()
	f, _ := errors.AsType[*fault.Error](err)
	switch {
	case kind == "" && err == nil:
	case kind == "" || f == nil || f.Kind != kind:
		t.Errorf("got error %v, want kind %q", err, kind)
	case text != "" && f.Message != text:
		t.Errorf("got message %q, want %q", f.Message, text)
	}
}

// smallLimits are easily reached.
func smallLimits() Limits {
	return Limits{
		Locations: 3, Fleets: 2, LocationsPerFleet: 2, ComputesPerFleet: 2, Aliases: 2, TagsPerResource: 3,
		Queues: 2, MatchmakingConfigurations: 2, RuleSets: 2,
		SessionsPerCreator: 10, CreatorPeriodMinutes: 60,
		Users: 3, Groups: 2, Roles: 2, Assignments: 4, Policies: 2, PolicyCharacters: 20, Providers: 2, KeysPerUser: 2,
		SignIns: 3, SignInsPerUser: 2, ViewsPerUser: 2,
		Builds: 3, Buckets: 2, Objects: 4, Machines: 2, MachineTokens: 2, Instances: 9,
		ScalingPoliciesPerFleet: 2,
	}
}

// given makes a catalog in which events have happened.
func given(t *testing.T, limits Limits, events ...Event) *State {
	t.Helper()
	s := New(limits)
	for _, e := range events {
		s.Apply(e)
	}
	checkDerived(t, s)
	return s
}

// do decides a command that must be accepted and applies its events.
func do(t *testing.T, s *State, now event.Time, c Command) []Event {
	t.Helper()
	events, err := s.Decide(now, c)
	if err != nil {
		t.Fatalf("%T: %v", c, err)
	}
	for _, e := range events {
		s.Apply(e)
	}
	return events
}

// encode writes the snapshot of s.
func encode(t testing.TB, s *State) []byte {
	t.Helper()
	var buf bytes.Buffer
	err := s.Snapshot(func(body any) error { return types.Append(&buf, event.Fact{Body: body}) })
	if err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// decode restores a snapshot.
func decode(t testing.TB, limits Limits, data []byte) *State {
	t.Helper()
	s := New(limits)
	for len(data) > 0 {
		f, rest, err := types.Next(data)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Restore(f.Body); err != nil {
			t.Fatal(err)
		}
		data = rest
	}
	return s
}

// derived is what a State counts beside its records.
type derived struct {
	live    int
	tallies map[string]tally
	dues    map[string]bool
	indexes map[string]any // the records, by the index and the key in it
}

func derivedOf(s *State) derived {
	d := derived{s.liveFleets, map[string]tally{}, map[string]bool{}, indexesOf(s)}
	collect(d.indexes, "unchecked ", &s.unchecked)
	collect(d.indexes, "referred ", &s.referred)
	s.tallies.Scan(func(fleet string, t tally) bool { d.tallies[fleet] = t; return true })
	s.dues.Scan(func(key string, _ struct{}) bool { d.dues[key] = true; return true })
	return d
}

// derive counts anew, from the records alone.
func derive(s *State) derived {
	d := derived{0, map[string]tally{}, map[string]bool{}, index(s)}
	indexBuilds(d.indexes, s)
	s.fleets.Scan(func(id string, f *Fleet) bool {
		if f.Status == StatusTerminated {
			d.dues[due(f.Terminated.Add(Retention), dueFleet, id)] = true
		} else {
			d.live++
		}
		return true
	})
	s.computes.Scan(func(_ string, c *ComputeClaim) bool {
		n := d.tallies[c.Fleet]
		n.computes++
		d.tallies[c.Fleet] = n
		return true
	})
	s.fleetEvents.Scan(func(_ string, e *FleetEvent) bool {
		n := d.tallies[e.Fleet]
		if n.events++; n.events == 1 {
			d.dues[due(e.At.Add(Retention), dueFleetEvents, e.Fleet)] = true
		}
		d.tallies[e.Fleet] = n
		return true
	})
	s.creators.Scan(func(key string, w *CreatorWindow) bool {
		f, _ := s.fleets.Get(w.Fleet)
		d.dues[due(f.CreationLimit.end(w.At[0]), dueCreator, key)] = true
		return true
	})
	s.signIns.Scan(func(id string, si *SignIn) bool {
		d.dues[due(si.deadline(), dueSignIn, id)] = true
		return true
	})
	s.machineTokens.Scan(func(id string, token *MachineToken) bool {
		d.dues[due(token.Expires, dueMachineToken, id)] = true
		return true
	})
	return d
}

func checkDerived(t testing.TB, s *State) {
	t.Helper()
	got, want := derivedOf(s), derive(s)
	if got.live != want.live {
		t.Errorf("live fleets: counted %d, there are %d", got.live, want.live)
	}
	if !maps.Equal(got.tallies, want.tallies) {
		t.Errorf("tallies: counted %v, there are %v", got.tallies, want.tallies)
	}
	if !maps.Equal(got.dues, want.dues) {
		t.Errorf("deadlines: kept %v, want %v", got.dues, want.dues)
	}
	if !maps.Equal(got.indexes, want.indexes) {
		t.Errorf("indexes: kept %v, want %v", got.indexes, want.indexes)
	}
}

// dump shows events with their type names.
func dump(events []Event) string {
	var b bytes.Buffer
	for _, e := range events {
		text, err := json.Marshal(e)
		if err != nil {
			return err.Error()
		}
		b.WriteString("  " + types.Name(e) + " " + string(text) + "\n")
	}
	return b.String()
}

func ptr[T any](v T) *T { return &v }

// Events that many scenes begin with.

func locationMade(name string) Event { return &LocationCreated{Name: name, At: t0} }

func plain(name string) Attributes {
	return Attributes{Name: name, ProtectionPolicy: NoProtection, MetricGroups: []string{"default"}}
}

func fleetMade(id string, locations ...string) Event {
	return &FleetCreated{ID: id, At: t0, Locations: locations, Attributes: plain("arena")}
}

func line(fleet string, number uint64, id, code, message string) Event {
	return &FleetEventRecorded{FleetEvent{Fleet: fleet, Number: number, ID: id, Code: code, Message: message, At: t0}}
}

func TestRestoreRefusesWhatIsNoRecord(t *testing.T) {
	for _, body := range []any{&LocationCreated{Name: "custom-a"}, Location{Name: "custom-a"}, nil} {
		if err := New(DefaultLimits()).Restore(body); err == nil {
			t.Errorf("Restore(%T) gave no error", body)
		}
	}
}

func TestSnapshotStopsAtAnError(t *testing.T) {
	s := given(t, DefaultLimits(), locationMade("custom-a"), locationMade("custom-b"), fleetMade("fleet-1", "custom-a"))
	full, calls := errors.New("disk full"), 0
	err := s.Snapshot(func(any) error { calls++; return full })
	if !errors.Is(err, full) || calls != 1 {
		t.Errorf("got %v after %d calls, want %v after 1", err, calls, full)
	}
}

func TestCopyIsApart(t *testing.T) {
	s := given(t, DefaultLimits(), locationMade("custom-a"), fleetMade("fleet-1", "custom-a"),
		&ResourceTagged{Resource: "fleet/fleet-1", Tags: []Tag{{"team", "red"}, {"zone", "a"}}})
	frozen := s.Copy()
	before := encode(t, frozen)
	do(t, s, t0, CreateLocation{Name: "custom-b"})
	do(t, s, t0, UpdateFleetAttributes{Fleet: "fleet-1", Name: ptr("other"), CreationLimit: &CreationLimit{1, 1}})
	do(t, s, t0, ClaimCreation{Fleet: "fleet-1", Creator: "ada", At: t0})
	do(t, s, t0, ClaimCompute{Fleet: "fleet-1", Name: "host", Location: "custom-a"})
	do(t, s, t0, TagResource{Resource: "fleet/fleet-1", Tags: []Tag{{"team", "blue"}}})
	do(t, s, t0, UntagResource{Resource: "fleet/fleet-1", Keys: []string{"zone"}})
	do(t, s, t0, DeleteFleet{Fleet: "fleet-1"})
	do(t, s, t0, FinishFleetDeletion{Fleet: "fleet-1", EventID: "e"})
	if !bytes.Equal(before, encode(t, frozen)) {
		t.Error("the copy changed with the original")
	}
	checkDerived(t, frozen)
	do(t, s, t0, CreateQueue{Queue: Queue{Name: "harbor", Timeout: 60}})
	do(t, s, t0, CreateRuleSet{Name: "duel"})
	do(t, s, t0, CreateMatchmakingConfiguration{MatchmakingConfiguration: MatchmakingConfiguration{Name: "ladder",
		RuleSet: "duel", Standalone: true}})
	if !bytes.Equal(before, encode(t, frozen)) {
		t.Error("the copy grew with the original")
	}
	do(t, frozen, t0, DeleteLocation{Name: "custom-a"})
	if _, ok := s.Location("custom-a"); !ok {
		t.Error("the original changed with the copy")
	}
}
