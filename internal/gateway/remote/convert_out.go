package remote

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/internal/wire"
)

// This file holds the conversions of answers: from the SDK's shapes to ours.

func fromGameSession(g *types.GameSession) wire.GameSession {
	return wire.GameSession{
		GameSessionId: aws.ToString(g.GameSessionId), Name: aws.ToString(g.Name),
		FleetId: aws.ToString(g.FleetId), FleetArn: aws.ToString(g.FleetArn), Location: aws.ToString(g.Location),
		CreationTime: moment(g.CreationTime), TerminationTime: moment(g.TerminationTime),
		CurrentPlayerSessionCount: optional(g.CurrentPlayerSessionCount), MaximumPlayerSessionCount: optional(g.MaximumPlayerSessionCount),
		Status: wire.GameSessionStatus(g.Status), StatusReason: wire.GameSessionStatusReason(g.StatusReason),
		GameProperties: each(g.GameProperties, fromGameProperty),
		IpAddress:      aws.ToString(g.IpAddress), DnsName: aws.ToString(g.DnsName), Port: optional(g.Port),
		PlayerSessionCreationPolicy: wire.PlayerSessionCreationPolicy(g.PlayerSessionCreationPolicy),
		CreatorId:                   aws.ToString(g.CreatorId), ComputeName: aws.ToString(g.ComputeName),
		GameSessionData: aws.ToString(g.GameSessionData), MatchmakerData: aws.ToString(g.MatchmakerData),
		PlayerGatewayStatus: wire.PlayerGatewayStatus(g.PlayerGatewayStatus),
	}
}

func fromPlayerSession(p *types.PlayerSession) wire.PlayerSession {
	return wire.PlayerSession{
		PlayerSessionId: aws.ToString(p.PlayerSessionId), PlayerId: aws.ToString(p.PlayerId), GameSessionId: aws.ToString(p.GameSessionId),
		FleetId: aws.ToString(p.FleetId), FleetArn: aws.ToString(p.FleetArn),
		CreationTime: moment(p.CreationTime), TerminationTime: moment(p.TerminationTime),
		Status:    wire.PlayerSessionStatus(p.Status),
		IpAddress: aws.ToString(p.IpAddress), DnsName: aws.ToString(p.DnsName), Port: optional(p.Port),
		PlayerData: aws.ToString(p.PlayerData),
	}
}

func fromPlacement(p *types.GameSessionPlacement) wire.GameSessionPlacement {
	return wire.GameSessionPlacement{
		PlacementId: aws.ToString(p.PlacementId), GameSessionQueueName: aws.ToString(p.GameSessionQueueName),
		Status:         wire.GameSessionPlacementState(p.Status),
		GameProperties: each(p.GameProperties, fromGameProperty), MaximumPlayerSessionCount: optional(p.MaximumPlayerSessionCount),
		GameSessionName: aws.ToString(p.GameSessionName), GameSessionId: aws.ToString(p.GameSessionId),
		GameSessionArn: aws.ToString(p.GameSessionArn), GameSessionRegion: aws.ToString(p.GameSessionRegion),
		PlayerLatencies: each(p.PlayerLatencies, fromPlayerLatency),
		StartTime:       moment(p.StartTime), EndTime: moment(p.EndTime),
		IpAddress: aws.ToString(p.IpAddress), DnsName: aws.ToString(p.DnsName), Port: optional(p.Port),
		PlacedPlayerSessions: each(p.PlacedPlayerSessions, fromPlacedPlayerSession),
		GameSessionData:      aws.ToString(p.GameSessionData), MatchmakerData: aws.ToString(p.MatchmakerData),
		PriorityConfigurationOverride: maybe(p.PriorityConfigurationOverride, fromPriorityOverride),
		PlayerGatewayStatus:           wire.PlayerGatewayStatus(p.PlayerGatewayStatus),
	}
}

func fromTicket(t *types.MatchmakingTicket) wire.MatchmakingTicket {
	return wire.MatchmakingTicket{
		TicketId: aws.ToString(t.TicketId), ConfigurationName: aws.ToString(t.ConfigurationName), ConfigurationArn: aws.ToString(t.ConfigurationArn),
		Status: wire.MatchmakingConfigurationStatus(t.Status), StatusReason: aws.ToString(t.StatusReason), StatusMessage: aws.ToString(t.StatusMessage),
		StartTime: moment(t.StartTime), EndTime: moment(t.EndTime),
		Players:                   each(t.Players, fromPlayer),
		GameSessionConnectionInfo: maybe(t.GameSessionConnectionInfo, fromConnectionInfo),
		EstimatedWaitTime:         optional(t.EstimatedWaitTime),
	}
}

func fromConnectionInfo(c *types.GameSessionConnectionInfo) wire.GameSessionConnectionInfo {
	return wire.GameSessionConnectionInfo{
		GameSessionArn: aws.ToString(c.GameSessionArn),
		IpAddress:      aws.ToString(c.IpAddress), DnsName: aws.ToString(c.DnsName), Port: optional(c.Port),
		MatchedPlayerSessions: each(c.MatchedPlayerSessions, fromMatchedPlayerSession),
		PlayerGatewayStatus:   wire.PlayerGatewayStatus(c.PlayerGatewayStatus),
	}
}

func fromGameProperty(p *types.GameProperty) wire.GameProperty {
	return wire.GameProperty{Key: aws.ToString(p.Key), Value: aws.ToString(p.Value)}
}

func fromPlayerLatency(l *types.PlayerLatency) wire.PlayerLatency {
	return wire.PlayerLatency{
		PlayerId: aws.ToString(l.PlayerId), RegionIdentifier: aws.ToString(l.RegionIdentifier), LatencyInMilliseconds: optional(l.LatencyInMilliseconds),
	}
}

func fromPlacedPlayerSession(p *types.PlacedPlayerSession) wire.PlacedPlayerSession {
	return wire.PlacedPlayerSession{PlayerId: aws.ToString(p.PlayerId), PlayerSessionId: aws.ToString(p.PlayerSessionId)}
}

func fromMatchedPlayerSession(p *types.MatchedPlayerSession) wire.MatchedPlayerSession {
	return wire.MatchedPlayerSession{PlayerId: aws.ToString(p.PlayerId), PlayerSessionId: aws.ToString(p.PlayerSessionId)}
}

func fromPriorityOverride(p *types.PriorityConfigurationOverride) wire.PriorityConfigurationOverride {
	return wire.PriorityConfigurationOverride{
		PlacementFallbackStrategy: wire.PlacementFallbackStrategy(p.PlacementFallbackStrategy), LocationOrder: p.LocationOrder,
	}
}

func fromPlayer(p *types.Player) wire.Player {
	return wire.Player{
		PlayerId: aws.ToString(p.PlayerId), Team: aws.ToString(p.Team), LatencyInMs: p.LatencyInMs,
		PlayerAttributes: eachValue(p.PlayerAttributes, fromAttribute),
	}
}

func fromAttribute(a *types.AttributeValue) wire.AttributeValue {
	return wire.AttributeValue{S: aws.ToString(a.S), N: optional(a.N), SL: a.SL, SDM: a.SDM}
}
