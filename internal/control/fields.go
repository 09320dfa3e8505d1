package control

import (
	"reflect"

	"github.com/muster-gg/muster/internal/wire"
)

// A Shape is a structure of the API with what this service makes of its members.
type Shape struct {
	Type   reflect.Type // a structure of package wire
	Fields []Field
}

// A Field is a member of a structure.
type Field struct {
	Name    string
	Support Support
	Note    string // what is missing, or how this service answers what the API reference leaves open
}

func shape[T any](fields ...Field) Shape {
	return Shape{Type: reflect.TypeFor[T](), Fields: fields}
}

func has(name string) Field { return Field{Name: name, Support: Full} }

func noted(name, note string) Field { return Field{Name: name, Support: Full, Note: note} }

func limited(name, note string) Field { return Field{Name: name, Support: Partly, Note: note} }

// Notes that stand at several members.
const (
	nameOrArn   = "A name or an ARN."
	toNobody    = "Kept and shown. Events go to the feed and to the webhooks that the settings name for it; nothing is sent to SNS."
	notGiven    = "Absent leaves it as it is."
	emptyClears = "Absent leaves it as it is; the empty text clears it."
	listClears  = "Absent leaves it as it is; a list replaces it whole, the empty one clears it."
	noGateway   = "Always `DISABLED`: there is no player gateway."
	elsewhere   = "Those of this Region must exist, else `NotFoundException`; those of other Regions are kept and shown, and not used."
	placedOnly  = "Absent until a game session is being started, and again after CANCELLED and TIMED_OUT."
)

// queueShapes are the structures of the operations on queues and placements, each
// after the first that holds it.
func queueShapes() []Shape {
	return []Shape{
		shape[wire.CreateGameSessionQueueInput](
			noted("Name", "Unique in the Region: one that is taken is `InvalidRequestException`."),
			noted("TimeoutInSeconds", "10 to 600; 600 when absent."),
			noted("PlayerLatencyPolicies", "At most 100."),
			limited("Destinations", "At most 100. "+elsewhere),
			has("FilterConfiguration"),
			noted("PriorityConfiguration", "LOCATION without a LocationOrder is accepted: the order is alphabetical."),
			has("CustomEventData"),
			limited("NotificationTarget", toNobody),
			has("Tags"),
		),
		shape[wire.PlayerLatencyPolicy](
			noted("MaximumIndividualPlayerLatencyMilliseconds", "Required. Policies are shown, and hold, ascending by it."),
			noted("PolicyDurationSeconds", "Absent or 0: to the queue's timeout."),
		),
		shape[wire.GameSessionQueueDestination](
			noted("DestinationArn", "Required: of a fleet or of an alias. One of a TERMINAL alias takes nothing."),
		),
		shape[wire.FilterConfiguration](
			noted("AllowedLocations", "None: every location."),
		),
		shape[wire.PriorityConfiguration](
			noted("PriorityOrder", "Each criterion once; those left out follow in the order LATENCY, COST, DESTINATION, LOCATION."),
			noted("LocationOrder", "Each location once; those left out follow alphabetically."),
		),
		shape[wire.Tag](has("Key"), has("Value")),
		shape[wire.CreateGameSessionQueueOutput](has("GameSessionQueue")),
		shape[wire.GameSessionQueue](
			has("Name"),
			noted("GameSessionQueueArn", "With the account."),
			has("TimeoutInSeconds"),
			noted("PlayerLatencyPolicies", "Never absent: may be the empty list."),
			noted("Destinations", "Never absent: may be the empty list."),
			noted("FilterConfiguration", "Absent without one."),
			noted("PriorityConfiguration", "Absent without one."),
			has("CustomEventData"),
			has("NotificationTarget"),
		),
		shape[wire.DescribeGameSessionQueuesInput](
			noted("Names", "Names or ARNs, at most 100, in one page. What does not exist is left out."),
			noted("Limit", "50 when absent or larger."),
			has("NextToken"),
		),
		shape[wire.DescribeGameSessionQueuesOutput](noted("GameSessionQueues", "By name."), has("NextToken")),
		shape[wire.UpdateGameSessionQueueInput](
			noted("Name", nameOrArn),
			noted("TimeoutInSeconds", notGiven),
			noted("PlayerLatencyPolicies", listClears),
			limited("Destinations", listClears+" "+elsewhere),
			noted("FilterConfiguration", "Absent leaves it as it is; an empty one clears it."),
			noted("PriorityConfiguration", "Absent leaves it as it is; one replaces it whole, an empty one clears it."),
			noted("CustomEventData", emptyClears),
			limited("NotificationTarget", emptyClears+" "+toNobody),
		),
		shape[wire.UpdateGameSessionQueueOutput](has("GameSessionQueue")),
		shape[wire.DeleteGameSessionQueueInput](noted("Name", nameOrArn+" What waits to be placed in the queue becomes FAILED.")),
		shape[wire.StartGameSessionPlacementInput](
			noted("PlacementId", "One that was used in the last 30 days is `InvalidRequestException`."),
			noted("GameSessionQueueName", nameOrArn),
			has("GameProperties"),
			has("MaximumPlayerSessionCount"),
			has("GameSessionName"),
			noted("PlayerLatencies", "Together with a PriorityConfigurationOverride: `InvalidRequestException`."),
			noted("DesiredPlayerSessions", "More than the maximum: `InvalidRequestException`."),
			has("GameSessionData"),
			noted("PriorityConfigurationOverride", "Only for a queue whose PriorityOrder begins with LOCATION, else `InvalidRequestException`."),
		),
		shape[wire.GameProperty](has("Key"), has("Value")),
		shape[wire.PlayerLatency](
			has("PlayerId"),
			noted("RegionIdentifier", "A custom location."),
			noted("LatencyInMilliseconds", "A player without one for a location cannot play there while a policy holds."),
		),
		shape[wire.DesiredPlayerSession](has("PlayerId"), has("PlayerData")),
		shape[wire.PriorityConfigurationOverride](
			noted("PlacementFallbackStrategy", "DEFAULT_AFTER_SINGLE_PASS when absent. Later passes try the list first, then the queue's other locations."),
			noted("LocationOrder", "Locations that the queue does not allow are skipped."),
		),
		shape[wire.StartGameSessionPlacementOutput](has("GameSessionPlacement")),
		shape[wire.GameSessionPlacement](
			has("PlacementId"),
			noted("GameSessionQueueName", "The name, also when the request had the ARN."),
			has("Status"),
			noted("GameProperties", "Never absent: may be the empty list."),
			has("MaximumPlayerSessionCount"),
			has("GameSessionName"),
			noted("GameSessionId", "An ARN. "+placedOnly+" A FAILED placement keeps that of its last attempt."),
			noted("GameSessionArn", "The same as GameSessionId."),
			noted("GameSessionRegion", "The custom location."),
			has("PlayerLatencies"),
			has("StartTime"),
			noted("EndTime", "Absent while PENDING."),
			noted("IpAddress", placedOnly),
			noted("DnsName", placedOnly),
			noted("Port", placedOnly),
			noted("PlacedPlayerSessions", "Of a FULFILLED placement for which players were desired."),
			has("GameSessionData"),
			noted("MatchmakerData", "Of the placement of a match, whose id is the match's."),
			has("PriorityConfigurationOverride"),
			noted("PlayerGatewayStatus", noGateway),
		),
		shape[wire.PlacedPlayerSession](has("PlayerId"), has("PlayerSessionId")),
		shape[wire.DescribeGameSessionPlacementInput](noted("PlacementId", "Placements that are over are found for 30 days.")),
		shape[wire.DescribeGameSessionPlacementOutput](has("GameSessionPlacement")),
		shape[wire.StopGameSessionPlacementInput](noted("PlacementId", "`InvalidRequestException` while a game session is being started for it, and once it is over.")),
		shape[wire.StopGameSessionPlacementOutput](has("GameSessionPlacement")),
	}
}

// matchmakingShapes are the structures of the operations on matchmaking, each
// after the first that holds it; those that queueShapes has are not repeated.
func matchmakingShapes() []Shape {
	return []Shape{
		shape[wire.CreateMatchmakingConfigurationInput](
			noted("Name", "Unique in the Region: one that is taken is `InvalidRequestException`."),
			has("Description"),
			limited("GameSessionQueueArns", "At most 100; needed WITH_QUEUE, refused when STANDALONE. Matches are placed in the first that exists. "+elsewhere),
			has("RequestTimeoutSeconds"),
			noted("AcceptanceTimeoutSeconds", "300 in effect when absent."),
			has("AcceptanceRequired"),
			noted("RuleSetName", nameOrArn),
			limited("NotificationTarget", toNobody),
			noted("AdditionalPlayerCount", "Kept and not used when STANDALONE."),
			has("CustomEventData"),
			noted("GameProperties", "Each key once. Kept and not used when STANDALONE."),
			noted("GameSessionData", "Kept and not used when STANDALONE."),
			noted("BackfillMode", "MANUAL when absent; AUTOMATIC is refused when STANDALONE."),
			noted("FlexMatchMode", "WITH_QUEUE when absent."),
			has("Tags"),
		),
		shape[wire.CreateMatchmakingConfigurationOutput](has("Configuration")),
		shape[wire.MatchmakingConfiguration](
			has("Name"),
			noted("ConfigurationArn", "With the account."),
			has("Description"),
			noted("GameSessionQueueArns", "Never absent: may be the empty list."),
			has("RequestTimeoutSeconds"),
			noted("AcceptanceTimeoutSeconds", "Absent when it was not given."),
			has("AcceptanceRequired"),
			noted("RuleSetName", "The name, also when the request had the ARN."),
			has("RuleSetArn"),
			has("NotificationTarget"),
			noted("AdditionalPlayerCount", "0 when it was not given."),
			has("CustomEventData"),
			has("CreationTime"),
			noted("GameProperties", "Never absent: may be the empty list."),
			has("GameSessionData"),
			has("BackfillMode"),
			has("FlexMatchMode"),
		),
		shape[wire.DescribeMatchmakingConfigurationsInput](
			noted("Names", "Names or ARNs, at most 100, in one page. What does not exist is left out."),
			noted("RuleSetName", nameOrArn+" Also filters what Names selects; one that does not exist is used by nothing."),
			noted("Limit", "10 when absent or larger."),
			has("NextToken"),
		),
		shape[wire.DescribeMatchmakingConfigurationsOutput](noted("Configurations", "By name."), has("NextToken")),
		shape[wire.UpdateMatchmakingConfigurationInput](
			noted("Name", nameOrArn),
			noted("Description", notGiven),
			limited("GameSessionQueueArns", listClears+" "+elsewhere),
			noted("RequestTimeoutSeconds", notGiven+" Tickets keep the time that they began with."),
			noted("AcceptanceTimeoutSeconds", notGiven),
			noted("AcceptanceRequired", notGiven),
			noted("RuleSetName", notGiven),
			limited("NotificationTarget", emptyClears+" "+toNobody),
			noted("AdditionalPlayerCount", notGiven),
			noted("CustomEventData", emptyClears),
			noted("GameProperties", listClears),
			noted("GameSessionData", notGiven),
			noted("BackfillMode", notGiven),
			noted("FlexMatchMode", notGiven+" STANDALONE needs an empty GameSessionQueueArns beside it."),
		),
		shape[wire.UpdateMatchmakingConfigurationOutput](has("Configuration")),
		shape[wire.DeleteMatchmakingConfigurationInput](noted("Name", nameOrArn+" `InvalidRequestException` while active tickets use it.")),
		shape[wire.CreateMatchmakingRuleSetInput](
			noted("Name", "Unique in the Region: one that is taken is `InvalidRequestException`."),
			noted("RuleSetBody", "What is wrong with it is said with its place in the document."),
			has("Tags"),
		),
		shape[wire.CreateMatchmakingRuleSetOutput](has("RuleSet")),
		shape[wire.MatchmakingRuleSet](has("RuleSetName"), noted("RuleSetArn", "With the account."), noted("RuleSetBody", "To the byte as it was given."), has("CreationTime")),
		shape[wire.DescribeMatchmakingRuleSetsInput](
			noted("Names", "Names or ARNs. One that does not exist is `NotFoundException`."),
			noted("Limit", "10 when absent."),
			has("NextToken"),
		),
		shape[wire.DescribeMatchmakingRuleSetsOutput](noted("RuleSets", "By name."), has("NextToken")),
		shape[wire.DeleteMatchmakingRuleSetInput](noted("Name", nameOrArn+" `InvalidRequestException` while a matchmaking configuration uses it.")),
		shape[wire.ValidateMatchmakingRuleSetInput](has("RuleSetBody")),
		shape[wire.ValidateMatchmakingRuleSetOutput](noted("Valid", "Always true: a body that is not valid is `InvalidRequestException`, which says what is wrong and where.")),
		shape[wire.StartMatchmakingInput](
			noted("TicketId", "A UUID when absent. One that was used in the last 30 days is `InvalidRequestException`."),
			noted("ConfigurationName", nameOrArn),
			noted("Players", "1 to 10. Other active tickets of a player are CANCELLED; one in PLACING cannot be, and is `InvalidRequestException`."),
		),
		shape[wire.Player](
			has("PlayerId"),
			noted("PlayerAttributes", "At most 10. The wrong type for the rule set is `InvalidRequestException`; one that the rule set does not declare is kept and does not count."),
			noted("Team", "Needed for backfill, where a copy of a team is named with its number (crew_2); does not count in StartMatchmaking."),
			noted("LatencyInMs", "Never absent in answers: may be the empty map."),
		),
		shape[wire.AttributeValue](has("S"), has("N"), noted("SL", "At most 100; duplicates are dropped."), noted("SDM", "At most 10.")),
		shape[wire.StartMatchmakingOutput](noted("MatchmakingTicket", "QUEUED.")),
		shape[wire.MatchmakingTicket](
			has("TicketId"),
			noted("ConfigurationName", "The name, also when the request had the ARN."),
			has("ConfigurationArn"),
			noted("Status", "QUEUED in the answer of StartMatchmaking alone."),
			noted("StatusReason", "`TimedOut`, `Cancelled` and `UNEXPECTED_ERROR`; of a ticket that searches again `AcceptanceFailed`, `PlacementTimedOut` or `BackfillFailed`."),
			has("StatusMessage"),
			has("StartTime"),
			has("EndTime"),
			has("Players"),
			noted("GameSessionConnectionInfo", "Of a backfill ticket GameSessionArn alone until it is COMPLETED. Absent when STANDALONE."),
			noted("EstimatedWaitTime", "Absent until the matchmaker has made matches."),
		),
		shape[wire.GameSessionConnectionInfo](
			has("GameSessionArn"), has("IpAddress"), has("DnsName"), has("Port"),
			noted("MatchedPlayerSessions", "Of the ticket's own players."),
			noted("PlayerGatewayStatus", noGateway),
		),
		shape[wire.MatchedPlayerSession](has("PlayerId"), has("PlayerSessionId")),
		shape[wire.DescribeMatchmakingInput](noted("TicketIds", "At most 10. Unknown ones are left out; tickets that are over are found for 30 days.")),
		shape[wire.DescribeMatchmakingOutput](has("TicketList")),
		shape[wire.StopMatchmakingInput](noted("TicketId", "Also in REQUIRES_ACCEPTANCE: the other tickets of the match search again.")),
		shape[wire.AcceptMatchInput](
			noted("TicketId", "`InvalidRequestException` unless it is in REQUIRES_ACCEPTANCE."),
			noted("PlayerIds", "One that is not of the ticket is `InvalidRequestException`."),
			noted("AcceptanceType", "A rejection ends the match at once: tickets with a player who has not accepted are CANCELLED."),
		),
		shape[wire.StartMatchBackfillInput](
			noted("TicketId", "A UUID when absent. One that was used in the last 30 days is `InvalidRequestException`."),
			noted("ConfigurationName", nameOrArn),
			noted("GameSessionArn", "Of a game session that FlexMatch made; absent when STANDALONE. Another request for it replaces the one that is active."),
			noted("Players", "1 to 199."),
		),
		shape[wire.StartMatchBackfillOutput](has("MatchmakingTicket")),
	}
}
