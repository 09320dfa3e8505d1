package placement

import (
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// TestVersions: a request that names a build version is for the fleets that have it, and for those that know no
// versions; one without is for all.
func TestVersions(t *testing.T) {
	q := Queue{Destinations: []Destination{
		{Fleet: "fleet-a", Locations: []string{"home"}, Builds: map[string]string{"v1": "build-1"}},
		{Fleet: "fleet-b", Locations: []string{"home"}, Builds: map[string]string{}},
		{Fleet: "fleet-c", Locations: []string{"custom-a"}},
		{Fleet: "fleet-d", Unusable: "Fleet fleet-d is NEW", Builds: map[string]string{"v3": "build-3"}},
	}}
	for version, want := range map[string]string{"": "fleet-a fleet-b fleet-c", "v1": "fleet-a fleet-c",
		"v2": "fleet-c"} {
		r := &Request{Properties: []fleet.Property{{Key: "BuildVersion", Value: version}}}
		c := Candidates(q, r, 0)
		var got []string
		for _, room := range c.Rooms {
			got = append(got, string(room.Fleet))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("version %q: %v, want %s", version, got, want)
		}
		for _, dropped := range c.Considered[len(c.Rooms):] {
			if dropped.Room.Fleet != "fleet-d" && !strings.HasSuffix(dropped.Dropped, "no build version "+version) {
				t.Errorf("version %q: %+v", version, dropped)
			}
		}
	}
	managed := Queue{Destinations: q.Destinations[:2]}
	for version, text := range map[string]string{"": "", "v1": "", "v2": "They have v1."} {
		r := &Request{Queue: "q", Properties: []fleet.Property{{Key: "BuildVersion", Value: version}}}
		err := CheckVersion(managed, r)
		if text == "" && err != nil || text != "" && (!fault.Is(err, fault.InvalidRequest) ||
			!strings.Contains(err.Error(), text)) {
			t.Errorf("version %q: %v", version, err)
		}
	}
	unusable := Queue{Destinations: q.Destinations[3:]}
	r := &Request{Properties: []fleet.Property{{Key: "BuildVersion", Value: "v9"}}}
	if err := CheckVersion(unusable, r); err != nil {
		t.Errorf("a queue without a usable fleet: %v", err)
	}
}
