package operator

import (
	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/wire/arn"
)

// maxTimeline is the maximum number of player sessions in a timeline.
const maxTimeline = 1000

// anyFleet is the name of the fleet in the resource of a request for a game session whose id does not name it: only who
// may read all fleets may search them.
const anyFleet = "*"

// fleetIn returns the name of the fleet in the resource of a request for a game session.
func fleetIn(gameSession string) string {
	if _, fleet, _, _, ok := arn.ParseGameSession(gameSession); ok {
		return fleet
	}
	return anyFleet
}

// timeline returns the timeline of a game session. A caller that may search all fleets, but is denied one, is denied
// its game sessions too.
func (d *Handler) timeline(c *call) (*control.Timeline, error) {
	id := c.PathValue("id")
	t, err := d.Region.Timeline(c.Context(), id, maxTimeline)
	if err != nil {
		return nil, err
	}
	if c.id != nil && fleetIn(id) == anyFleet {
		err = d.Access.Allow(c.id, c.from, action("GameSessionRead"), d.resource("fleet/"+t.FleetID))
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}
