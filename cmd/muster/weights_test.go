package main

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/mustertest"
)

func TestWeights(t *testing.T) {
	s := mustertest.Start(t)
	environ := rootEnviron(s)
	mustertest.Call(t, s.Client.CreateLocation, &gamelift.CreateLocationInput{LocationName: aws.String("custom-a")})
	fleets := map[string]string{}
	for _, name := range []string{"arena-1", "arena-2"} {
		fleets[name] = *mustertest.Call(t, s.Client.CreateFleet, &gamelift.CreateFleetInput{Name: &name,
			ComputeType: types.ComputeTypeAnywhere,
			Locations:   []types.LocationConfiguration{{Location: aws.String("custom-a")}}}).FleetAttributes.FleetId
	}
	mustertest.Call(t, s.Client.CreateAlias, &gamelift.CreateAliasInput{Name: aws.String("live"),
		RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeSimple,
			FleetId: aws.String(fleets["arena-1"])}})
	expect(t, environ, exitOK, []string{"weights", "live", "arena-1=90", fleets["arena-2"] + "=10"},
		fleets["arena-1"]+"  90", fleets["arena-2"]+"  10")
	expect(t, environ, exitOK, []string{"weights", "live", "-o", "json"}, `"weight":90`)
	expect(t, environ, exitFailure, []string{"weights", "live", "arena-1=90", "arena-2=20"}, "100")
	expect(t, environ, exitFailure, []string{"weights", "live", "arena-3=100"}, "arena-3")
	expect(t, environ, exitFailure, []string{"weights", "test", "arena-1=100"}, "test")
	for _, share := range []string{"arena-1", "=5", "arena-1=half", "arena-1=99999999999"} {
		expect(t, environ, exitMisuse, []string{"weights", "live", share}, "is no share")
	}
	expect(t, environ, exitMisuse, []string{"weights", "live", "--end", "arena-1=100"}, "--end takes no shares")
	out := expect(t, environ, exitOK, []string{"weights", "live", "--end"})
	if strings.Contains(out.stdout, "fleet-") {
		t.Errorf("after the end: %s", out.stdout)
	}
}
