package catalog

import (
	"strconv"
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestCreateLocation(t *testing.T) {
	play(t, []scene{
		{name: "a location", when: CreateLocation{Name: "custom-a"}, then: []Event{locationMade("custom-a")}},
		{name: "with tags", when: CreateLocation{Name: "custom-a", Tags: []Tag{{"k", "v"}}},
			then: []Event{locationMade("custom-a"),
				&ResourceTagged{Resource: "location/custom-a", Tags: []Tag{{"k", "v"}}}}},
		{name: "exists", given: []Event{locationMade("custom-a")}, when: CreateLocation{Name: "custom-a"},
			fault: fault.Conflict, text: "Location custom-a already exists"},
		{name: "again after deletion", given: []Event{locationMade("custom-a"), &LocationDeleted{Name: "custom-a"}},
			when: CreateLocation{Name: "custom-a"}, then: []Event{locationMade("custom-a")}},
		{name: "over the limit", given: []Event{locationMade("custom-a"), locationMade("custom-b"),
			locationMade("custom-c")},
			when: CreateLocation{Name: "custom-d"}, fault: fault.LimitExceeded,
			text: "The limit of 3 custom locations is reached"},
		{name: "bad tags", when: CreateLocation{Name: "custom-a", Tags: []Tag{{"aws:x", ""}}},
			fault: fault.TaggingFailed},
	})
}

func TestDeleteLocation(t *testing.T) {
	play(t, []scene{
		{name: "a location", given: []Event{locationMade("custom-a")}, when: DeleteLocation{Name: "custom-a"},
			then: []Event{&LocationDeleted{Name: "custom-a"}}},
		{name: "used by a fleet", given: []Event{locationMade("custom-a"), fleetMade("fleet-1", "custom-a")},
			when: DeleteLocation{Name: "custom-a"}, then: []Event{&LocationDeleted{Name: "custom-a"}}},
		{name: "unknown", when: DeleteLocation{Name: "custom-a"}, fault: fault.NotFound,
			text: "Location custom-a not found"},
	})
}

func TestDeletedLocationTakesItsTags(t *testing.T) {
	s := New(DefaultLimits())
	do(t, s, t0, CreateLocation{Name: "custom-a", Tags: []Tag{{"k", "v"}}})
	do(t, s, t0, DeleteLocation{Name: "custom-a"})
	do(t, s, t0, CreateLocation{Name: "custom-a"})
	if tags := s.Tags("location/custom-a"); tags != nil {
		t.Errorf("a new location has the tags %v of the old one", tags)
	}
}

func TestLocationsPages(t *testing.T) {
	s := New(DefaultLimits())
	for i := range 7 {
		s.Apply(locationMade("custom-" + strconv.Itoa(i)))
	}
	var names, after string
	for pages := 1; ; pages++ {
		page, more := s.Locations(after, 3)
		for _, l := range page {
			names += l.Name[len("custom-"):]
			after = l.Name
		}
		if !more {
			if pages != 3 || names != "0123456" {
				t.Errorf("%d pages with %s", pages, names)
			}
			break
		}
	}
	if all, more := s.Locations("", 0); len(all) != 7 || more {
		t.Errorf("without a limit: %d, more %v", len(all), more)
	}
	if page, more := s.Locations("custom-3", 3); len(page) != 3 || more {
		t.Errorf("a page that ends with the last: %d, more %v", len(page), more)
	}
}
