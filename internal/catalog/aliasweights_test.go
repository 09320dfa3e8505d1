package catalog

import (
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// TestTurn: any 100 turns in a row have each fleet as often as its weight, and any 10 about as often.
func TestTurn(t *testing.T) {
	for _, weights := range [][]AliasWeight{{{"a", 90}, {"b", 10}}, {{"a", 33}, {"b", 33}, {"c", 34}}, {{"a", 100}},
		{{"a", 1}, {"b", 99}}} {
		a := &Alias{Weights: weights}
		for from := range WeightSum {
			count, early := map[string]int32{}, map[string]int32{}
			for n := range WeightSum {
				fleet := a.Turn((from + n) % WeightSum)
				if count[fleet]++; n < 10 {
					early[fleet]++
				}
			}
			for _, w := range weights {
				if d := 10*early[w.Fleet] - w.Weight; count[w.Fleet] != w.Weight || d > 10 || d < -10 {
					t.Fatalf("%v: from turn %d on fleet %s has %d turns, and %d of the first 10", weights, from,
						w.Fleet, count[w.Fleet], early[w.Fleet])
				}
			}
		}
	}
}

// TestAliasWeights: the alias leads to the heaviest fleet, until it is updated.
func TestAliasWeights(t *testing.T) {
	s := New(DefaultLimits())
	do(t, s, t0, CreateLocation{Name: "custom-a"})
	for _, id := range []string{"fleet-1", "fleet-2"} {
		do(t, s, t0, CreateFleet{ID: id, ComputeType: "ANYWHERE", Attributes: Attributes{Name: "a"},
			Locations: []string{"custom-a"}, EventIDs: lifecycleIDs()})
	}
	do(t, s, t0, CreateAlias{ID: "alias-1", Name: "live", Routing: Routing{Type: RoutingTerminal, Message: "closed"}})
	do(t, s, t0+1, SetAliasWeights{"alias-1", []AliasWeight{{"fleet-1", 10}, {"fleet-2", 90}}})
	a, _ := s.Alias("alias-1")
	if fleet, err := s.ResolveAlias("alias-1"); fleet != "fleet-2" || err != nil || a.Routing.Message != "" ||
		a.Updated != t0+1 {
		t.Errorf("%s, %v, %+v", fleet, err, a)
	}
	do(t, s, t0, UpdateAlias{ID: "alias-1", Name: ptr("other")})
	if a, _ = s.Alias("alias-1"); len(a.Weights) != 2 {
		t.Errorf("a name changes the weights to %v", a.Weights)
	}
	for name, c := range map[string]struct {
		id      string
		weights []AliasWeight
		want    fault.Kind
		text    string
	}{
		"no alias":      {"alias-9", nil, fault.NotFound, "alias-9"},
		"no fleet":      {"alias-1", []AliasWeight{{"fleet-9", 100}}, fault.NotFound, "fleet-9"},
		"another sum":   {"alias-1", []AliasWeight{{"fleet-1", 10}, {"fleet-2", 91}}, fault.InvalidRequest, "101"},
		"no weight":     {"alias-1", []AliasWeight{{"fleet-1", 0}, {"fleet-2", 100}}, fault.InvalidRequest, "is 0"},
		"a fleet twice": {"alias-1", []AliasWeight{{"fleet-1", 50}, {"fleet-1", 50}}, fault.InvalidRequest, "two"},
	} {
		if _, err := s.Decide(t0, SetAliasWeights{c.id, c.weights}); !fault.Is(err, c.want) ||
			!strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	do(t, s, t0, UpdateAlias{ID: "alias-1", Routing: &Routing{Type: RoutingSimple, Fleet: "fleet-1"}})
	if a, _ = s.Alias("alias-1"); len(a.Weights) != 0 || a.Routing.Fleet != "fleet-1" {
		t.Errorf("updated to %+v", a)
	}
	do(t, s, t0, SetAliasWeights{"alias-1", []AliasWeight{{"fleet-2", 100}}})
	do(t, s, t0, SetAliasWeights{"alias-1", nil})
	if a, _ = s.Alias("alias-1"); len(a.Weights) != 0 || a.Routing.Fleet != "fleet-2" {
		t.Errorf("without weights %+v", a)
	}
}
