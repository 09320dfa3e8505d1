package direct

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/session"
)

// CreateSessionOnQueue implements session.Provider with StartGameSessionPlacement.
func (p *provider) CreateSessionOnQueue(ctx context.Context, r session.CreateSessionOnQueueRequest) (string, error) {
	const op = "CreateSessionOnQueue"
	api, err := p.configured(op)
	if err != nil {
		return "", err
	}
	if r.QueueName == "" {
		return "", session.Errorf(op, session.ErrInvalid, "no queue: give QueueName")
	}
	return p.place(ctx, api, op, &gamelift.StartGameSessionPlacementInput{
		GameSessionQueueName: &r.QueueName, PlacementId: &r.PlacementID, GameSessionName: text(r.SessionName),
		MaximumPlayerSessionCount: aws.Int32(int32(r.MaxPlayer)), GameProperties: properties(r.SessionProperties),
	})
}

// place starts a placement. It cancels the placement if the call may have taken effect despite its error, or if ctx is
// done meanwhile.
func (p *provider) place(ctx context.Context, api *api, op string,
	in *gamelift.StartGameSessionPlacementInput) (id string, err error) {
	if ctx.Err() != nil {
		return "", failure(ctx, op, ctx.Err())
	}
	longer, cancel := p.outlast(ctx)
	defer cancel()
	out, err := api.StartGameSessionPlacement(longer, in, api.once)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		if err = failure(ctx, op, err); unknown(err) {
			p.abandon(ctx, api, *in.PlacementId)
		}
		return "", err
	}
	if out.GameSessionPlacement == nil || aws.ToString(out.GameSessionPlacement.PlacementId) == "" {
		return "", incomplete(op, "a placement id")
	}
	return *out.GameSessionPlacement.PlacementId, nil
}

// Placement implements session.Provider with DescribeGameSessionPlacement.
func (p *provider) Placement(ctx context.Context, placementID string) (session.Placement, error) {
	const op = "Placement"
	api, err := p.configured(op)
	if err != nil {
		return session.Placement{}, err
	}
	placed, err := describePlacement(ctx, api, op, placementID)
	if err != nil {
		return session.Placement{}, failure(ctx, op, err)
	}
	return session.Placement{
		PlacementID: aws.ToString(placed.PlacementId), Status: string(placed.Status),
		SessionID: aws.ToString(placed.GameSessionArn),
		IPAddress: aws.ToString(placed.IpAddress), DNSName: aws.ToString(placed.DnsName),
		Port: int(aws.ToInt32(placed.Port)),
	}, nil
}

// describePlacement returns a placement, or the SDK's error.
func describePlacement(ctx context.Context, api *api, op, id string) (*types.GameSessionPlacement, error) {
	out, err := api.DescribeGameSessionPlacement(ctx, &gamelift.DescribeGameSessionPlacementInput{PlacementId: &id})
	if err != nil {
		return nil, err
	}
	if out.GameSessionPlacement == nil {
		return nil, incomplete(op, "the placement")
	}
	return out.GameSessionPlacement, nil
}

// awaitPlacement waits until a placement has a session and returns its id.
func (p *provider) awaitPlacement(ctx context.Context, api *api, op, placementID string) (sessionID string, err error) {
	err = p.poll(ctx, op, func() (bool, error) {
		placed, err := describePlacement(ctx, api, op, placementID)
		if err != nil {
			return false, err
		}
		switch placed.Status {
		case types.GameSessionPlacementStatePending:
			return false, nil
		case types.GameSessionPlacementStateFulfilled:
			sessionID = aws.ToString(placed.GameSessionArn)
			return true, nil
		}
		return false, session.Errorf(op, session.ErrUnavailable,
			"the queue found no capacity: the placement is %s", placed.Status)
	})
	if err == nil && sessionID == "" {
		err = incomplete(op, "the placed session's id")
	}
	return sessionID, failure(ctx, op, err)
}

// abandon cancels a placement or, if it is too late for that, ends its session. It logs failures.
func (p *provider) abandon(ctx context.Context, api *api, placementID string) {
	ctx, cancel := p.cleanup(ctx)
	defer cancel()
	_, err := api.StopGameSessionPlacement(ctx, &gamelift.StopGameSessionPlacementInput{PlacementId: &placementID})
	if err == nil {
		return
	}
	placed, described := describePlacement(ctx, api, "abandon", placementID)
	switch {
	case described != nil:
		p.log.Warn("canceling the placement failed", "placement", placementID, "error", err)
	case placed.Status == types.GameSessionPlacementStateFulfilled:
		p.discard(ctx, api, aws.ToString(placed.GameSessionArn), "")
	}
}
