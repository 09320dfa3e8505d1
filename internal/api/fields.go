package api

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

// shape is a structure of which all members are supported, in the way that the notes say.
func shape[T any](notes ...Field) Shape {
	s := Shape{Type: reflect.TypeFor[T]()}
	for i := range s.Type.NumField() {
		f := Field{Name: s.Type.Field(i).Name, Support: Full}
		if len(notes) > 0 && notes[0].Name == f.Name { // they are in the order of the members
			f, notes = notes[0], notes[1:]
		}
		s.Fields = append(s.Fields, f)
	}
	if len(notes) > 0 {
		panic(s.Type.Name() + " has no " + notes[0].Name + " here")
	}
	return s
}

func noted(name, note string) Field { return Field{Name: name, Support: Full, Note: note} }

func limited(name, note string) Field { return Field{Name: name, Support: Partly, Note: note} }

// Notes that stand at several members.
const (
	nameOrArn = "A name or an ARN."
	toNobody  = "Kept and shown. Events go to the feed and to the webhooks that the settings name for it; " +
		"nothing is sent to SNS."
	notGiven    = "Absent leaves it as it is."
	emptyClears = "Absent leaves it as it is; the empty text clears it."
	listClears  = "Absent leaves it as it is; a list replaces it whole, the empty one clears it."
	noGateway   = "Always `DISABLED`: there is no player gateway."
	elsewhere   = "Those of this Region must exist, else `NotFoundException`; " +
		"those of other Regions are kept and shown, and not used."
	placedOnly = "Absent until a game session is being started, and again after CANCELLED and TIMED_OUT."
)

// queueShapes are the structures of the operations on queues, each after the first that holds it.
func queueShapes() []Shape {
	return []Shape{
		shape[wire.CreateGameSessionQueueInput](
			noted("Name", "Unique in the Region: one that is taken is `InvalidRequestException`."),
			noted("TimeoutInSeconds", "10 to 600; 600 when absent."),
			noted("PlayerLatencyPolicies", "At most 100."),
			limited("Destinations", "At most 100. "+elsewhere),
			noted("PriorityConfiguration", "LOCATION without a LocationOrder is accepted: the order is alphabetical."),
			limited("NotificationTarget", toNobody),
		),
		shape[wire.PlayerLatencyPolicy](
			noted("MaximumIndividualPlayerLatencyMilliseconds",
				"Required. Policies are shown, and hold, ascending by it."),
			noted("PolicyDurationSeconds", "Absent or 0: to the queue's timeout."),
		),
		shape[wire.GameSessionQueueDestination](
			noted("DestinationArn", "Required: of a fleet or of an alias. One of a TERMINAL alias takes nothing."),
		),
		shape[wire.FilterConfiguration](noted("AllowedLocations", "None: every location.")),
		shape[wire.PriorityConfiguration](
			noted("PriorityOrder",
				"Each criterion once; those left out follow in the order LATENCY, COST, DESTINATION, LOCATION."),
			noted("LocationOrder", "Each location once; those left out follow alphabetically."),
		),
		shape[wire.Tag](),
		shape[wire.CreateGameSessionQueueOutput](),
		shape[wire.GameSessionQueue](
			noted("GameSessionQueueArn", "With the account."),
			noted("PlayerLatencyPolicies", "Never absent: may be the empty list."),
			noted("Destinations", "Never absent: may be the empty list."),
			noted("FilterConfiguration", "Absent without one."),
			noted("PriorityConfiguration", "Absent without one."),
		),
		shape[wire.DescribeGameSessionQueuesInput](
			noted("Names", "Names or ARNs, at most 100, in one page. What does not exist is left out."),
			noted("Limit", "50 when absent or larger."),
		),
		shape[wire.DescribeGameSessionQueuesOutput](noted("GameSessionQueues", "By name.")),
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
		shape[wire.UpdateGameSessionQueueOutput](),
		shape[wire.DeleteGameSessionQueueInput](
			noted("Name", nameOrArn+" What waits to be placed in the queue becomes FAILED."),
		),
	}
}

func placementShapes() []Shape {
	return []Shape{
		shape[wire.StartGameSessionPlacementInput](
			noted("PlacementId", "One that was used in the last 30 days is `InvalidRequestException`."),
			noted("GameSessionQueueName", nameOrArn),
			noted("PlayerLatencies", "Together with a PriorityConfigurationOverride: `InvalidRequestException`."),
			noted("DesiredPlayerSessions", "More than the maximum: `InvalidRequestException`."),
			noted("PriorityConfigurationOverride",
				"Only for a queue whose PriorityOrder begins with LOCATION, else `InvalidRequestException`."),
		),
		shape[wire.GameProperty](),
		shape[wire.PlayerLatency](
			noted("RegionIdentifier", "A custom location."),
			noted("LatencyInMilliseconds",
				"A player without one for a location cannot play there while a policy holds."),
		),
		shape[wire.DesiredPlayerSession](),
		shape[wire.PriorityConfigurationOverride](
			noted("PlacementFallbackStrategy",
				"DEFAULT_AFTER_SINGLE_PASS when absent. Later passes try the list "+
					"first, then the queue's other locations."),
			noted("LocationOrder", "Locations that the queue does not allow are skipped."),
		),
		shape[wire.StartGameSessionPlacementOutput](),
		shape[wire.GameSessionPlacement](
			noted("GameSessionQueueName", "The name, also when the request had the ARN."),
			noted("GameProperties", "Never absent: may be the empty list."),
			noted("GameSessionId", "An ARN. "+placedOnly+" A FAILED placement keeps that of its last attempt."),
			noted("GameSessionArn", "The same as GameSessionId."),
			noted("GameSessionRegion", "The custom location."),
			noted("EndTime", "Absent while PENDING."),
			noted("IpAddress", placedOnly),
			noted("DnsName", placedOnly),
			noted("Port", placedOnly),
			noted("PlacedPlayerSessions", "Of a FULFILLED placement for which players were desired."),
			noted("MatchmakerData", "Of the placement of a match, whose id is the match's."),
			noted("PlayerGatewayStatus", noGateway),
		),
		shape[wire.PlacedPlayerSession](),
		shape[wire.DescribeGameSessionPlacementInput](
			noted("PlacementId", "Placements that are over are found for 30 days."),
		),
		shape[wire.DescribeGameSessionPlacementOutput](),
		shape[wire.StopGameSessionPlacementInput](
			noted("PlacementId", "`InvalidRequestException` while a game session is being started for it, and "+
				"once it is over."),
		),
		shape[wire.StopGameSessionPlacementOutput](),
	}
}

// matchmakingShapes are those of the operations on configurations and rule sets.
func matchmakingShapes() []Shape {
	return []Shape{
		shape[wire.CreateMatchmakingConfigurationInput](
			noted("Name", "Unique in the Region: one that is taken is `InvalidRequestException`."),
			limited("GameSessionQueueArns",
				"At most 100; needed WITH_QUEUE, refused when STANDALONE. Matches are placed in the first that "+
					"exists. "+elsewhere),
			noted("AcceptanceTimeoutSeconds", "300 in effect when absent."),
			noted("RuleSetName", nameOrArn),
			limited("NotificationTarget", toNobody),
			noted("AdditionalPlayerCount", "Kept and not used when STANDALONE."),
			noted("GameProperties", "Each key once. Kept and not used when STANDALONE."),
			noted("GameSessionData", "Kept and not used when STANDALONE."),
			noted("BackfillMode", "MANUAL when absent; AUTOMATIC is refused when STANDALONE."),
			noted("FlexMatchMode", "WITH_QUEUE when absent."),
		),
		shape[wire.CreateMatchmakingConfigurationOutput](),
		shape[wire.MatchmakingConfiguration](
			noted("ConfigurationArn", "With the account."),
			noted("GameSessionQueueArns", "Never absent: may be the empty list."),
			noted("AcceptanceTimeoutSeconds", "Absent when it was not given."),
			noted("RuleSetName", "The name, also when the request had the ARN."),
			noted("AdditionalPlayerCount", "0 when it was not given."),
			noted("GameProperties", "Never absent: may be the empty list."),
		),
		shape[wire.DescribeMatchmakingConfigurationsInput](
			noted("Names", "Names or ARNs, at most 100, in one page. What does not exist is left out."),
			noted("RuleSetName", nameOrArn+
				" Also filters what Names selects; one that does not exist is used by nothing."),
			noted("Limit", "10 when absent or larger."),
		),
		shape[wire.DescribeMatchmakingConfigurationsOutput](noted("Configurations", "By name.")),
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
		shape[wire.UpdateMatchmakingConfigurationOutput](),
		shape[wire.DeleteMatchmakingConfigurationInput](
			noted("Name", nameOrArn+" `InvalidRequestException` while active tickets use it."),
		),
		shape[wire.CreateMatchmakingRuleSetInput](
			noted("Name", "Unique in the Region: one that is taken is `InvalidRequestException`."),
			noted("RuleSetBody", "What is wrong with it is said with its place in the document."),
		),
		shape[wire.CreateMatchmakingRuleSetOutput](),
		shape[wire.MatchmakingRuleSet](
			noted("RuleSetArn", "With the account."), noted("RuleSetBody", "To the byte as it was given."),
		),
		shape[wire.DescribeMatchmakingRuleSetsInput](
			noted("Names", "Names or ARNs. One that does not exist is `NotFoundException`."),
			noted("Limit", "10 when absent."),
		),
		shape[wire.DescribeMatchmakingRuleSetsOutput](noted("RuleSets", "By name.")),
		shape[wire.DeleteMatchmakingRuleSetInput](
			noted("Name", nameOrArn+" `InvalidRequestException` while a matchmaking configuration uses it."),
		),
		shape[wire.ValidateMatchmakingRuleSetInput](),
		shape[wire.ValidateMatchmakingRuleSetOutput](
			noted("Valid", "Always true: a body that is not valid is `InvalidRequestException`, with the "+
				"problems and their positions."),
		),
	}
}

func ticketShapes() []Shape {
	return []Shape{
		shape[wire.StartMatchmakingInput](
			noted("TicketId", "A UUID when absent. One that was used in the last 30 days is "+
				"`InvalidRequestException`."),
			noted("ConfigurationName", nameOrArn),
			noted("Players",
				"1 to 10. Other active tickets of a player are CANCELLED; one in PLACING cannot be, and is "+
					"`InvalidRequestException`."),
		),
		shape[wire.Player](
			noted("PlayerAttributes",
				"At most 10. The wrong type for the rule set is `InvalidRequestException`; one that the rule set "+
					"does not declare is kept and does not count."),
			noted("Team",
				"Needed for backfill, where a copy of a team is named with its number (crew_2); does not count in "+
					"StartMatchmaking."),
			noted("LatencyInMs", "Never absent in answers: may be the empty map."),
		),
		shape[wire.AttributeValue](noted("SL", "At most 100; duplicates are dropped."), noted("SDM", "At most 10.")),
		shape[wire.StartMatchmakingOutput](noted("MatchmakingTicket", "QUEUED.")),
		shape[wire.MatchmakingTicket](
			noted("ConfigurationName", "The name, also when the request had the ARN."),
			noted("Status", "QUEUED in the answer of StartMatchmaking alone."),
			noted("StatusReason",
				"`TimedOut`, `Cancelled` and `UNEXPECTED_ERROR`; of a ticket that searches again `AcceptanceFailed`, "+
					"`PlacementTimedOut` or `BackfillFailed`."),
			noted("GameSessionConnectionInfo",
				"Of a backfill ticket GameSessionArn alone until it is COMPLETED. Absent when STANDALONE."),
			noted("EstimatedWaitTime", "Absent until the matchmaker has made matches."),
		),
		shape[wire.GameSessionConnectionInfo](
			noted("MatchedPlayerSessions", "Of the ticket's own players."),
			noted("PlayerGatewayStatus", noGateway),
		),
		shape[wire.MatchedPlayerSession](),
		shape[wire.DescribeMatchmakingInput](
			noted("TicketIds", "At most 10. Unknown ones are left out; tickets that are over are found for 30 days."),
		),
		shape[wire.DescribeMatchmakingOutput](),
		shape[wire.StopMatchmakingInput](
			noted("TicketId", "Also in REQUIRES_ACCEPTANCE: the other tickets of the match search again."),
		),
		shape[wire.AcceptMatchInput](
			noted("TicketId", "`InvalidRequestException` unless it is in REQUIRES_ACCEPTANCE."),
			noted("PlayerIds", "One that is not of the ticket is `InvalidRequestException`."),
			noted("AcceptanceType",
				"A rejection ends the match at once: tickets with a player who has not accepted are CANCELLED."),
		),
		shape[wire.StartMatchBackfillInput](
			noted("TicketId", "A UUID when absent. One that was used in the last 30 days is "+
				"`InvalidRequestException`."),
			noted("ConfigurationName", nameOrArn),
			noted("GameSessionArn",
				"Of a game session that FlexMatch made; absent when STANDALONE. Another request for it replaces "+
					"the one that is active."),
			noted("Players", "1 to 199."),
		),
		shape[wire.StartMatchBackfillOutput](),
	}
}
