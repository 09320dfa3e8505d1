package gateway

import (
	"regexp"

	"github.com/muster-gg/muster/internal/wire"
)

// placementID is the form of a placement's id. Source: API reference.
var placementID = regexp.MustCompile(`^[a-zA-Z0-9-]{1,48}$`)

// getPlacement answers GET /v1/placements/{id}.
func getPlacement(c *call) (answer, error) {
	if c.g.queues == nil {
		return answer{}, fail(NotSupported, "There are no queues behind this gateway.")
	}
	if !placementID.MatchString(c.id) {
		return answer{}, invalid("The id of a placement has 1 to 48 letters, digits and - only.")
	}
	out, err := c.g.queues.DescribeGameSessionPlacement(c.ctx,
		&wire.DescribeGameSessionPlacementInput{PlacementId: c.id})
	if err != nil {
		return answer{}, failed(c.ctx, err, PlacementNotFound, Internal)
	}
	return answer{body: viewPlacement(out.GameSessionPlacement, c.g.subject(c.r))}, nil
}
