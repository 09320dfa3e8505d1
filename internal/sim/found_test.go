package sim

import (
	"fmt"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/wire/arn"
)

// queue is the game session queue of all placements.
const queue = "harbor"

// configurations are those of matchmaking tickets: of all but the last ones those but the last.
var configurations = []catalog.MatchmakingConfiguration{
	{
		Name: "ladder", ID: "ladder-1", RuleSet: "rules", Queues: queues, RequestTimeout: 60,
		AcceptanceRequired: true, AcceptanceTimeout: 30, AdditionalPlayers: 1,
	},
	{Name: "quick", ID: "quick-1", RuleSet: "rules", Queues: queues, RequestTimeout: 60, AutomaticBackfill: true},
	{Name: "last", ID: "last-1", RuleSet: "rules", Queues: queues, RequestTimeout: 120},
}

const account = "123456789012"

var queues = []string{arn.Queue("us-west-2", account, queue)}

// found makes the queue and its fleets, in the order in which one needs the other.
func (w *world) found() {
	var all []catalog.Command
	byFleet := map[fleet.ID][]string{}
	q := catalog.CreateQueue{Queue: catalog.Queue{
		ID: "queue-1", Name: queue, Timeout: 60, LatencyPolicies: []catalog.LatencyPolicy{{Cap: 50, Seconds: 5},
			{Cap: 150}},
	}}
	for _, r := range w.rooms {
		all = append(all, catalog.CreateLocation{Name: r.Location})
		byFleet[r.Fleet] = append(byFleet[r.Fleet], r.Location)
	}
	for _, id := range []fleet.ID{"fleet-0", "fleet-1"} {
		c := catalog.CreateFleet{
			ID: string(id), ComputeType: "ANYWHERE", Locations: byFleet[id],
			Attributes: catalog.Attributes{Name: string(id)},
			Runtime: &catalog.RuntimeConfiguration{
				ActivationTimeoutSeconds: int32(10 + w.rng.IntN(50)), MaxConcurrentActivations: int32(w.rng.IntN(3)),
			},
		}
		for i := range c.EventCount() {
			c.EventIDs = append(c.EventIDs, fmt.Sprint(id, "-event-", i))
		}
		all = append(all, c)
		q.Destinations = append(q.Destinations, arn.Fleet("us-west-2", account, string(id)))
		q.Refers = append(q.Refers, "fleet/"+string(id))
	}
	all = append(all, q, catalog.CreateRuleSet{ID: "rules-1", Name: "rules", Body: rules})
	for _, c := range configurations {
		refers := []string{"gamesessionqueue/" + queue}
		all = append(all, catalog.CreateMatchmakingConfiguration{MatchmakingConfiguration: c, Refers: refers})
	}
	w.foundNext(all)
}

func (w *world) foundNext(all []catalog.Command) {
	if len(all) == 0 {
		return
	}
	cmd := region.CatalogCommand{Command: all[0]}
	w.ask(&question{shard: region.CatalogShard, cmd: cmd, answered: func(_ any, err error) {
		if !undecided(err) {
			all = all[1:]
		}
		w.foundNext(all)
	}})
}
