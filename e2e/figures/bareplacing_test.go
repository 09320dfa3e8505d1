package figures

import (
	"time"

	"github.com/muster-gg/muster/internal/wire"
)

// startPlacement gives the game session of a placement to the process that has waited
// longest.
func (p *bare) startPlacement(body []byte) ([]byte, error) {
	in, err := wire.OpStartGameSessionPlacement.Decode(wire.JSON, body)
	if err != nil {
		return nil, err
	}
	select {
	case s := <-p.idle:
		err = s.push(barePlacement(in.PlacementId), &wire.CreateGameSessionInput{Name: in.GameSessionName})
	default:
		err = errNoneIdle
	}
	if err != nil {
		return nil, err
	}
	return wire.OpStartGameSessionPlacement.Append(nil, wire.JSON,
		&wire.StartGameSessionPlacementOutput{GameSessionPlacement: &wire.GameSessionPlacement{
			PlacementId: in.PlacementId, GameSessionQueueName: in.GameSessionQueueName,
			Status:         wire.GameSessionPlacementStatePending,
			GameProperties: in.GameProperties, MaximumPlayerSessionCount: in.MaximumPlayerSessionCount,
			StartTime: time.Now(),
		}}), nil
}

// describePlacement says that a placement is FULFILLED, whichever it is: it is asked
// about those alone whose game session has been activated.
func (p *bare) describePlacement(body []byte) ([]byte, error) {
	in, err := wire.OpDescribeGameSessionPlacement.Decode(wire.JSON, body)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return wire.OpDescribeGameSessionPlacement.Append(nil, wire.JSON,
		&wire.DescribeGameSessionPlacementOutput{GameSessionPlacement: &wire.GameSessionPlacement{
			PlacementId: in.PlacementId, GameSessionQueueName: "bench", Status: wire.GameSessionPlacementStateFulfilled,
			GameSessionId: barePlacement(in.PlacementId), GameSessionArn: barePlacement(in.PlacementId),
			GameSessionRegion:         "custom-bench",
			GameProperties:            []wire.GameProperty{{Key: "map", Value: "harbour"}},
			MaximumPlayerSessionCount: wire.Some[int32](seats), StartTime: now, EndTime: now, IpAddress: "127.0.0.1",
			Port: wire.Some[int32](7777),
		}}), nil
}

func barePlacement(id string) string {
	return "arn:aws:gamelift:" + testRegion + "::gamesession/" + stepFleet + "/custom-bench-abcdefgh-0/" + id
}
