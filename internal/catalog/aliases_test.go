package catalog

import (
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestCreateAlias(t *testing.T) {
	fleet := []Event{fleetMade("fleet-1")}
	simple := Routing{Type: RoutingSimple, Fleet: "fleet-1"}
	terminal := Routing{Type: RoutingTerminal, Message: "closed"}
	alias := func(r Routing) CreateAlias {
		return CreateAlias{ID: "alias-1", Name: "live", Description: "d", Routing: r}
	}
	made := func(r Routing) Event {
		return &AliasCreated{ID: "alias-1", Name: "live", Description: "d", Routing: r, At: t0}
	}
	play(t, []scene{
		{name: "to a fleet", given: fleet, when: alias(simple), then: []Event{made(simple)}},
		{name: "to a message", when: alias(terminal), then: []Event{made(terminal)}},
		{name: "with tags", when: CreateAlias{ID: "alias-1", Routing: terminal, Tags: []Tag{{"k", "v"}}},
			then: []Event{&AliasCreated{ID: "alias-1", Routing: terminal, At: t0},
				&ResourceTagged{Resource: "alias/alias-1", Tags: []Tag{{"k", "v"}}}}},
		{name: "to an unknown fleet", when: alias(simple), fault: fault.InvalidRequest,
			text: "Fleet fleet-1 not found"},
		{name: "to a terminated fleet", given: append(fleet, &FleetTerminated{Fleet: "fleet-1", At: t0}),
			when:  alias(simple),
			fault: fault.InvalidRequest},
		{name: "simple without fleet", when: alias(Routing{Type: RoutingSimple}), fault: fault.InvalidRequest},
		{name: "simple with message", given: fleet, when: alias(Routing{RoutingSimple, "fleet-1", "closed"}),
			then: []Event{made(Routing{RoutingSimple, "fleet-1", "closed"})}},
		{name: "terminal without message", when: alias(Routing{Type: RoutingTerminal}), fault: fault.InvalidRequest},
		{name: "terminal with fleet", given: fleet, when: alias(Routing{RoutingTerminal, "fleet-1", "closed"}),
			fault: fault.InvalidRequest},
		{name: "no type", given: fleet, when: alias(Routing{Fleet: "fleet-1"}), fault: fault.InvalidRequest},
		{name: "the same once more", given: []Event{made(terminal)}, when: alias(terminal)},
		{name: "over the limit", given: []Event{&AliasCreated{ID: "alias-2"}, &AliasCreated{ID: "alias-3"}},
			when:  alias(terminal),
			fault: fault.LimitExceeded, text: "The limit of 2 aliases is reached"},
		{name: "bad tags", when: CreateAlias{ID: "alias-1", Routing: terminal, Tags: []Tag{{"", ""}}},
			fault: fault.TaggingFailed},
	})
}

func TestUpdateAlias(t *testing.T) {
	terminal := Routing{Type: RoutingTerminal, Message: "closed"}
	base := []Event{fleetMade("fleet-1"), &AliasCreated{ID: "alias-1", Name: "live", Description: "d",
		Routing: terminal,
		At:      t0 - day}}
	play(t, []scene{
		{name: "nothing", given: base, when: UpdateAlias{ID: "alias-1"},
			then: []Event{&AliasUpdated{ID: "alias-1", Name: "live", Description: "d", Routing: terminal, At: t0}}},
		{name: "name and description", given: base,
			when: UpdateAlias{ID: "alias-1", Name: ptr("beta"), Description: ptr("")},
			then: []Event{&AliasUpdated{ID: "alias-1", Name: "beta", Routing: terminal, At: t0}}},
		{name: "target", given: base, when: UpdateAlias{ID: "alias-1",
			Routing: &Routing{Type: RoutingSimple, Fleet: "fleet-1"}},
			then: []Event{&AliasUpdated{ID: "alias-1", Name: "live", Description: "d",
				Routing: Routing{Type: RoutingSimple, Fleet: "fleet-1"}, At: t0}}},
		{name: "unknown fleet", given: base, when: UpdateAlias{ID: "alias-1",
			Routing: &Routing{Type: RoutingSimple, Fleet: "fleet-2"}},
			fault: fault.NotFound, text: "Fleet fleet-2 not found"},
		{name: "half a target", given: base, when: UpdateAlias{ID: "alias-1", Routing: &Routing{Type: RoutingSimple}},
			fault: fault.InvalidRequest},
		{name: "unknown", when: UpdateAlias{ID: "alias-1"}, fault: fault.NotFound, text: "Alias alias-1 not found"},
	})
}

func TestDeleteAlias(t *testing.T) {
	play(t, []scene{
		{name: "an alias", given: []Event{&AliasCreated{ID: "alias-1"}}, when: DeleteAlias{"alias-1"},
			then: []Event{&AliasDeleted{"alias-1"}}},
		{name: "unknown", when: DeleteAlias{"alias-1"}, fault: fault.NotFound, text: "Alias alias-1 not found"},
	})
}

func TestAliasLife(t *testing.T) {
	s := given(t, DefaultLimits(), fleetMade("fleet-1"))
	do(t, s, t0, CreateAlias{ID: "alias-1", Name: "live",
		Routing: Routing{Type: RoutingTerminal, Message: "100% closed"},
		Tags:    []Tag{{"k", "v"}}})
	_, err := s.ResolveAlias("alias-1")
	wantFault(t, err, fault.TerminalRoutingStrategy, "100% closed")
	do(t, s, t0+second, UpdateAlias{ID: "alias-1", Routing: &Routing{Type: RoutingSimple, Fleet: "fleet-1"}})
	if a, ok := s.Alias("alias-1"); !ok || a.Created != t0 || a.Updated != t0+second || a.Name != "live" {
		t.Errorf("alias %+v", a)
	}
	if fleet, err := s.ResolveAlias("alias-1"); fleet != "fleet-1" || err != nil {
		t.Errorf("leads to %q, %v", fleet, err)
	}
	do(t, s, t0, DeleteAlias{"alias-1"})
	_, err = s.ResolveAlias("alias-1")
	wantFault(t, err, fault.NotFound, "Alias alias-1 not found")
	if s.Tags("alias/alias-1") != nil {
		t.Error("the tags outlive the alias")
	}
}

func TestAliasesFilter(t *testing.T) {
	simple, terminal := Routing{Type: RoutingSimple, Fleet: "fleet-1"},
		Routing{Type: RoutingTerminal, Message: "closed"}
	s := given(t, DefaultLimits(), &AliasCreated{ID: "alias-1", Name: "a", Routing: simple},
		&AliasCreated{ID: "alias-2", Name: "b", Routing: terminal},
		&AliasCreated{ID: "alias-3", Name: "a", Routing: terminal})
	for _, q := range []struct {
		filter AliasFilter
		want   string
	}{
		{AliasFilter{}, "123"}, {AliasFilter{Type: RoutingTerminal}, "23"}, {AliasFilter{Name: "a"}, "13"},
		{AliasFilter{RoutingTerminal, "a"}, "3"}, {AliasFilter{RoutingSimple, "b"}, ""},
	} {
		got := ""
		aliases, _ := s.Aliases(q.filter, "", 0)
		for _, a := range aliases {
			got += a.ID[len("alias-"):]
		}
		if got != q.want {
			t.Errorf("%+v: got %s, want %s", q.filter, got, q.want)
		}
	}
}
