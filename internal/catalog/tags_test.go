package catalog

import (
	"reflect"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestTagResource(t *testing.T) {
	all := []Event{locationMade("custom-a"), fleetMade("fleet-1"), &AliasCreated{ID: "alias-1"}}
	full := append(all[:3:3], &ResourceTagged{Resource: "fleet/fleet-1",
		Tags: []Tag{{"a", "1"}, {"b", "2"}, {"c", "3"}}})
	tag := func(resource string, tags ...Tag) Command { return TagResource{resource, tags} }
	tagged := func(resource string, tags ...Tag) []Event { return []Event{&ResourceTagged{resource, tags}} }
	play(t, []scene{
		{name: "a location", given: all, when: tag("location/custom-a", Tag{"k", "v"}),
			then: tagged("location/custom-a", Tag{"k", "v"})},
		{name: "a fleet", given: all, when: tag("fleet/fleet-1", Tag{"k", "v"}),
			then: tagged("fleet/fleet-1", Tag{"k", "v"})},
		{name: "an alias", given: all, when: tag("alias/alias-1", Tag{"k", ""}),
			then: tagged("alias/alias-1", Tag{"k", ""})},
		{name: "no tags", given: all, when: tag("fleet/fleet-1")},
		{name: "replace at the limit", given: full, when: tag("fleet/fleet-1", Tag{"b", "new"}),
			then: tagged("fleet/fleet-1", Tag{"b", "new"})},
		{name: "over the limit", given: full, when: tag("fleet/fleet-1", Tag{"d", "4"}), fault: fault.TaggingFailed,
			text: "A resource can have at most 3 tags"},
		{name: "reserved", given: all, when: tag("fleet/fleet-1", Tag{"AWS:x", ""}), fault: fault.TaggingFailed,
			text: "Tag key AWS:x begins with aws:, which is reserved"},
		{name: "twice", given: all, when: tag("fleet/fleet-1", Tag{"k", "1"}, Tag{"k", "2"}),
			fault: fault.TaggingFailed,
			text:  "Tag key k is given twice"},
		{name: "no key", given: all, when: tag("fleet/fleet-1", Tag{"", "v"}), fault: fault.TaggingFailed},
		{name: "longest", given: all, when: tag("fleet/fleet-1",
			Tag{strings.Repeat("é", 128), strings.Repeat("é", 256)}),
			then: tagged("fleet/fleet-1", Tag{strings.Repeat("é", 128), strings.Repeat("é", 256)})},
		{name: "long key", given: all, when: tag("fleet/fleet-1", Tag{strings.Repeat("k", 129), ""}),
			fault: fault.TaggingFailed},
		{name: "long value", given: all, when: tag("fleet/fleet-1", Tag{"k", strings.Repeat("v", 257)}),
			fault: fault.TaggingFailed},
		{name: "unknown fleet", given: all, when: tag("fleet/fleet-2", Tag{"k", "v"}), fault: fault.NotFound,
			text: "Resource fleet/fleet-2 not found"},
		{name: "unknown location", given: all, when: tag("location/custom-b", Tag{"k", "v"}), fault: fault.NotFound},
		{name: "unknown alias", given: all, when: tag("alias/alias-2", Tag{"k", "v"}), fault: fault.NotFound},
		{name: "unknown kind", given: all, when: tag("build/build-1", Tag{"k", "v"}), fault: fault.NotFound},
		{name: "terminated fleet", given: append(all, &FleetTerminated{Fleet: "fleet-1", At: t0}),
			when: tag("fleet/fleet-1", Tag{"k", "v"}), fault: fault.NotFound},
	})
}

func TestUntagResource(t *testing.T) {
	base := []Event{fleetMade("fleet-1"), &ResourceTagged{Resource: "fleet/fleet-1",
		Tags: []Tag{{"b", "2"}, {"a", "1"}}}}
	play(t, []scene{
		{name: "present and absent", given: base, when: UntagResource{"fleet/fleet-1", []string{"x", "b", "b"}},
			then: []Event{&ResourceUntagged{"fleet/fleet-1", []string{"b"}}}},
		{name: "absent", given: base, when: UntagResource{"fleet/fleet-1", []string{"x"}}},
		{name: "unknown", given: base, when: UntagResource{"fleet/fleet-2", []string{"a"}}, fault: fault.NotFound,
			text: "Resource fleet/fleet-2 not found"},
	})
}

func TestTags(t *testing.T) {
	s := given(t, DefaultLimits(), fleetMade("fleet-1"))
	do(t, s, t0, TagResource{"fleet/fleet-1", []Tag{{"b", "1"}, {"c", "1"}}})
	do(t, s, t0, TagResource{"fleet/fleet-1", []Tag{{"c", "2"}, {"a", "2"}}})
	if got, want := s.Tags("fleet/fleet-1"), []Tag{{"a", "2"}, {"b", "1"}, {"c", "2"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	do(t, s, t0, UntagResource{"fleet/fleet-1", []string{"c", "a"}})
	if got, want := s.Tags("fleet/fleet-1"), []Tag{{"b", "1"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	do(t, s, t0, UntagResource{"fleet/fleet-1", []string{"b"}})
	if s.Tags("fleet/fleet-1") != nil || s.tags.Len() != 0 {
		t.Error("a record without tags remains")
	}
}
