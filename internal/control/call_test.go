package control

import (
	"slices"
	"testing"

	"github.com/muster-gg/muster/internal/wire"
)

// TestCreated: a call that creates something with an id of its own reports its ARN, for the audit trail.
func TestCreated(t *testing.T) {
	w := newWorld(t, withObjects(t))
	var named []string
	ctx := WithCall(w.ctx, Call{Created: func(arn string) { named = append(named, arn) }})
	w.must("CreateLocation", object{"LocationName": "custom-created"})
	fleet, err := w.CreateFleet(ctx, &wire.CreateFleetInput{Name: "f", ComputeType: wire.ComputeTypeAnywhere,
		Locations: []wire.LocationConfiguration{{Location: "custom-created"}}})
	if err != nil {
		t.Fatal(err)
	}
	alias, err := w.CreateAlias(ctx, &wire.CreateAliasInput{Name: "a", RoutingStrategy: &wire.RoutingStrategy{
		Type: wire.RoutingStrategyTypeTerminal, Message: "m"}})
	if err != nil {
		t.Fatal(err)
	}
	build, err := w.CreateBuild(ctx, &wire.CreateBuildInput{Name: "b", OperatingSystem: "AMAZON_LINUX_2023"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{fleet.FleetAttributes.FleetArn, w.build("alias", alias.Alias.AliasId), build.Build.BuildArn}
	if !slices.Equal(named, want) {
		t.Errorf("%q, want %q", named, want)
	}
}
