package remote

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/internal/wire"
)

// This file holds the conversions of requests: from our shapes to the SDK's.

func createGameSessionInput(in *wire.CreateGameSessionInput) *gamelift.CreateGameSessionInput {
	return &gamelift.CreateGameSessionInput{
		FleetId: text(in.FleetId), AliasId: text(in.AliasId), Location: text(in.Location),
		MaximumPlayerSessionCount: number(in.MaximumPlayerSessionCount), Name: text(in.Name),
		GameProperties: each(in.GameProperties, toGameProperty), GameSessionData: text(in.GameSessionData),
		CreatorId: text(in.CreatorId), GameSessionId: text(in.GameSessionId), IdempotencyToken: text(in.IdempotencyToken),
	}
}

func searchGameSessionsInput(in *wire.SearchGameSessionsInput) *gamelift.SearchGameSessionsInput {
	return &gamelift.SearchGameSessionsInput{
		FleetId: text(in.FleetId), AliasId: text(in.AliasId), Location: text(in.Location),
		FilterExpression: text(in.FilterExpression), SortExpression: text(in.SortExpression),
		Limit: number(in.Limit), NextToken: text(in.NextToken),
	}
}

func terminateGameSessionInput(in *wire.TerminateGameSessionInput) *gamelift.TerminateGameSessionInput {
	return &gamelift.TerminateGameSessionInput{
		GameSessionId: text(in.GameSessionId), TerminationMode: types.TerminationMode(in.TerminationMode),
	}
}

func createPlayerSessionsInput(in *wire.CreatePlayerSessionsInput) *gamelift.CreatePlayerSessionsInput {
	return &gamelift.CreatePlayerSessionsInput{
		GameSessionId: text(in.GameSessionId), PlayerIds: in.PlayerIds, PlayerDataMap: in.PlayerDataMap,
	}
}

func describePlayerSessionsInput(in *wire.DescribePlayerSessionsInput) *gamelift.DescribePlayerSessionsInput {
	return &gamelift.DescribePlayerSessionsInput{
		GameSessionId: text(in.GameSessionId), PlayerId: text(in.PlayerId), PlayerSessionId: text(in.PlayerSessionId),
		PlayerSessionStatusFilter: text(in.PlayerSessionStatusFilter), Limit: number(in.Limit), NextToken: text(in.NextToken),
	}
}

func startPlacementInput(in *wire.StartGameSessionPlacementInput) *gamelift.StartGameSessionPlacementInput {
	return &gamelift.StartGameSessionPlacementInput{
		PlacementId: text(in.PlacementId), GameSessionQueueName: text(in.GameSessionQueueName),
		MaximumPlayerSessionCount: number(in.MaximumPlayerSessionCount), GameSessionName: text(in.GameSessionName),
		GameProperties: each(in.GameProperties, toGameProperty), GameSessionData: text(in.GameSessionData),
		PlayerLatencies:               each(in.PlayerLatencies, toPlayerLatency),
		DesiredPlayerSessions:         each(in.DesiredPlayerSessions, toDesiredPlayerSession),
		PriorityConfigurationOverride: maybe(in.PriorityConfigurationOverride, toPriorityOverride),
	}
}

func startMatchmakingInput(in *wire.StartMatchmakingInput) *gamelift.StartMatchmakingInput {
	return &gamelift.StartMatchmakingInput{
		TicketId: text(in.TicketId), ConfigurationName: text(in.ConfigurationName), Players: each(in.Players, toPlayer),
	}
}

func acceptMatchInput(in *wire.AcceptMatchInput) *gamelift.AcceptMatchInput {
	return &gamelift.AcceptMatchInput{
		TicketId: text(in.TicketId), PlayerIds: in.PlayerIds, AcceptanceType: types.AcceptanceType(in.AcceptanceType),
	}
}

// toGameProperty keeps an empty key or value: both are required members.
func toGameProperty(p *wire.GameProperty) types.GameProperty {
	return types.GameProperty{Key: aws.String(p.Key), Value: aws.String(p.Value)}
}

func toPlayerLatency(l *wire.PlayerLatency) types.PlayerLatency {
	return types.PlayerLatency{
		PlayerId: text(l.PlayerId), RegionIdentifier: text(l.RegionIdentifier), LatencyInMilliseconds: number(l.LatencyInMilliseconds),
	}
}

func toDesiredPlayerSession(p *wire.DesiredPlayerSession) types.DesiredPlayerSession {
	return types.DesiredPlayerSession{PlayerId: text(p.PlayerId), PlayerData: text(p.PlayerData)}
}

func toPriorityOverride(p *wire.PriorityConfigurationOverride) types.PriorityConfigurationOverride {
	return types.PriorityConfigurationOverride{
		PlacementFallbackStrategy: types.PlacementFallbackStrategy(p.PlacementFallbackStrategy), LocationOrder: p.LocationOrder,
	}
}

func toPlayer(p *wire.Player) types.Player {
	return types.Player{
		PlayerId: text(p.PlayerId), Team: text(p.Team), LatencyInMs: p.LatencyInMs,
		PlayerAttributes: eachValue(p.PlayerAttributes, toAttribute),
	}
}

func toAttribute(a *wire.AttributeValue) types.AttributeValue {
	return types.AttributeValue{S: text(a.S), N: number(a.N), SL: a.SL, SDM: a.SDM}
}
