package remote

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// StartGameSessionPlacement implements gateway.Queues.
func (s *Service) StartGameSessionPlacement(ctx context.Context,
	in *wire.StartGameSessionPlacementInput) (*wire.StartGameSessionPlacementOutput, error) {
	return forward[wire.StartGameSessionPlacementOutput](ctx, "StartGameSessionPlacement",
		s.api.StartGameSessionPlacement, in)
}

// StopGameSessionPlacement implements gateway.Queues.
func (s *Service) StopGameSessionPlacement(ctx context.Context,
	in *wire.StopGameSessionPlacementInput) (*wire.StopGameSessionPlacementOutput, error) {
	out, err := forward[wire.StopGameSessionPlacementOutput](ctx, "StopGameSessionPlacement",
		s.api.StopGameSessionPlacement, in)
	if err == nil {
		s.placements.nudge(in.PlacementId)
	}
	return out, err
}

// DescribeGameSessionPlacement implements gateway.Queues.
func (s *Service) DescribeGameSessionPlacement(ctx context.Context,
	in *wire.DescribeGameSessionPlacementInput) (*wire.DescribeGameSessionPlacementOutput, error) {
	p, err := s.describePlacement(ctx, in.PlacementId)
	if err != nil {
		return nil, err
	}
	return &wire.DescribeGameSessionPlacementOutput{GameSessionPlacement: p}, nil
}

// AwaitPlacement implements gateway.Queues.
func (s *Service) AwaitPlacement(ctx context.Context,
	placementID string) (settled *wire.GameSessionPlacement, err error) {
	err = s.placements.follow(ctx, placementID, func(p *wire.GameSessionPlacement) (bool, error) {
		settled = copied(p)
		return p.Status != wire.GameSessionPlacementStatePending, nil
	})
	if err != nil {
		return nil, err
	}
	return settled, nil
}

// fetchPlacement describes the one placement of ids for the poller.
func (s *Service) fetchPlacement(ctx context.Context,
	ids []string) (map[string]result[*wire.GameSessionPlacement], error) {
	p, err := s.describePlacement(ctx, ids[0], once)
	if err != nil {
		return nil, err
	}
	return map[string]result[*wire.GameSessionPlacement]{ids[0]: {value: p}}, nil
}

func (s *Service) describePlacement(ctx context.Context, id string,
	options ...option) (*wire.GameSessionPlacement, error) {
	out, err := call(ctx, "DescribeGameSessionPlacement", s.api.DescribeGameSessionPlacement,
		&gamelift.DescribeGameSessionPlacementInput{PlacementId: &id}, options...)
	if err != nil {
		return nil, err
	}
	if out.GameSessionPlacement == nil {
		return nil, fault.Internal(errNoAnswer)
	}
	return convert[wire.GameSessionPlacement](out.GameSessionPlacement), nil
}
