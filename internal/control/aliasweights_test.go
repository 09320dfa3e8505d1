package control

import (
	"fmt"
	"testing"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/wire/arn"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// weighted makes an alias of two fleets with 90 and 10 percent, which have as many processes for n game sessions.
func (w *world) weighted(n int) (alias, heavy, light string) {
	w.t.Helper()
	fleets := []string{w.fleetAt("custom-a"), ""}
	fleets[1] = text(w.must("CreateFleet", object{"Name": "other", "ComputeType": "ANYWHERE",
		"Locations": []object{{"Location": "custom-a"}}}), "FleetAttributes", "FleetId")
	for i, share := range []int{90, 10} {
		token := w.compute(fleets[i], "custom-a", "c1")
		for k := range n * share / 100 {
			w.process(fleets[i], "c1", token, fmt.Sprintf("p%d", k))
		}
	}
	alias = text(w.must("CreateAlias", object{"Name": "live", "RoutingStrategy": object{"Type": "SIMPLE",
		"FleetId": fleets[1]}}), "Alias", "AliasId")
	_, err := w.SetAliasWeights(w.ctx, alias, []AliasWeight{{w.FleetARN(fleets[0]), 90}, {fleets[1], 10}})
	if err != nil {
		w.t.Fatal(err)
	}
	return alias, fleets[0], fleets[1]
}

func manyProcesses(s *fleet.Settings) { s.Processes = 1000 }

// TestCreationsByWeight: each of 1,000 game sessions finds a process, so 900 and 100 were created in the fleets. A
// repeated request finds its game session.
func TestCreationsByWeight(t *testing.T) {
	w := newWorld(t, withFleet(manyProcesses))
	alias, heavy, light := w.weighted(1000)
	same(t, at(w.must("ResolveAlias", object{"AliasId": alias}), "FleetId"), `"%s"`, heavy)
	create := object{"AliasId": alias, "MaximumPlayerSessionCount": 2}
	for n := range 1000 {
		create["IdempotencyToken"] = fmt.Sprint("token-", n)
		first := w.must("CreateGameSession", create)
		if n%100 == 0 {
			again := w.must("CreateGameSession", create)
			same(t, at(again, "GameSession", "GameSessionId"), `"%s"`, text(first, "GameSession", "GameSessionId"))
		}
	}
	create["IdempotencyToken"] = "token-1000"
	w.refused(fault.FleetCapacityExceeded, "CreateGameSession", create)
	w.must("UpdateAlias", object{"AliasId": alias, "RoutingStrategy": object{"Type": "SIMPLE", "FleetId": light}})
	if got, err := w.AliasWeights(alias); err != nil || len(got.Weights) != 0 {
		t.Errorf("after an update the weights are %+v, %v", got, err)
	}
}

// TestPlacementsByWeight: of 100 placements 90 and 10 are in the fleets. When the fleet whose turn it is has no
// process, the other one has.
func TestPlacementsByWeight(t *testing.T) {
	w := newWorld(t, withFleet(manyProcesses))
	alias, heavy, light := w.weighted(100)
	w.must("CreateGameSessionQueue", object{"Name": "q", "TimeoutInSeconds": 60,
		"Destinations": []object{{"DestinationArn": "arn:aws:gamelift:" + testRegion + "::alias/" + alias}}})
	place := func(n int) string {
		id := fmt.Sprint("placement-", n)
		w.must("StartGameSessionPlacement", object{"PlacementId": id, "GameSessionQueueName": "q",
			"MaximumPlayerSessionCount": 2})
		fleetARN := ""
		w.await("a game session", func() bool {
			found := w.must("DescribeGameSessionPlacement", object{"PlacementId": id})
			fleetARN, _ = at(found, "GameSessionPlacement", "GameSessionArn").(string)
			return fleetARN != ""
		})
		return fleetARN
	}
	count := map[bool]int{}
	for n := range 100 {
		id, ok := arn.FleetOfGameSession(place(n))
		if !ok {
			t.Fatal("no game session")
		}
		count[id == heavy]++
	}
	if count[true] != 90 || count[false] != 10 {
		t.Errorf("placed %v", count)
	}
	w.process(light, "c1", w.token(light, "c1"), "more")
	if id, _ := arn.FleetOfGameSession(place(100)); id != light {
		t.Errorf("placed in fleet %s, which has no process", id)
	}
}
