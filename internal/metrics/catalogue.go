package metrics

import (
	"slices"
	"strings"
)

// The units of CloudWatch.
const (
	count   = "Count"
	percent = "Percent"
	seconds = "Seconds"
)

// A kind determines how the values of a column add up.
type kind uint8

const (
	gauge    kind = iota // sampled every 10 s; the sum of the parts of an entity
	counter              // the number of events since the sample before
	ratio                // of other columns; only sampled while it is defined
	duration             // of events, with their number; a histogram follows as columns of kind bucket
	bucket               // a counter of a histogram
)

// ownCount reports whether a column has a number of samples of its own, which may be 0.
func (k kind) ownCount() bool { return k == ratio || k == duration }

// A set is a set of dimensions. Its number is stored, and never reused.
type set uint8

const (
	byFleet set = iota
	byFleetLocation
	byGroup
	byGroupLocation
	byLocation
	byQueue
	byQueueLocation
	byConfiguration
	byRule
	setCount
)

// dimensions are the names of dimensions, in their order. Source of the names: developer guide, monitoring with
// CloudWatch.
var dimensions = [setCount][]string{
	byFleet:         {"FleetId"},
	byFleetLocation: {"FleetId", "Location"},
	byGroup:         {"MetricGroup"},
	byGroupLocation: {"MetricGroup", "Location"},
	byLocation:      {"Location"},
	byQueue:         {"QueueName"},
	byQueueLocation: {"QueueName", "Location"},
	byConfiguration: {"ConfigurationName"},
	byRule:          {"ConfigurationName-RuleName"},
}

// labels are the names of an entity's labels in Prometheus, and whether its columns are shown there: the other sets are
// sums of these.
var labels = [setCount][]string{
	byFleetLocation: {"fleet", "location"},
	byQueue:         {"queue"},
	byQueueLocation: {"queue", "location"},
	byConfiguration: {"configuration"},
	byRule:          {"configuration", "rule"},
}

// A column is one metric of a family. Its position is stored, and never reused.
type column struct {
	name  string // CloudWatch's; "": only for Prometheus, or for other columns
	unit  string
	kind  kind
	sets  []set  // in which it is a series of CloudWatch
	shown string // the name for Prometheus; "": none
	label string // name=value of its own label there
	only  set    // the set that Prometheus shows
	help  string

	ratio func(v []float64) float64 // of the values of all columns; NaN: not defined
}

// A family is the columns of some sets.
type family struct {
	columns []column
	base    int // columns without buckets
}

var (
	fleetSets      = []set{byFleet, byFleetLocation, byGroup, byGroupLocation, byLocation}
	withoutGroups  = []set{byFleet, byFleetLocation, byLocation}
	queueSets      = []set{byQueue, byQueueLocation}
	queueOnly      = []set{byQueue}
	configurations = []set{byConfiguration}
)

// The columns of fleets.
const (
	activeInstances = iota
	idleInstances
	percentIdleInstances
	desiredInstances
	minInstances
	maxInstances
	recycledInstances
	instanceInterruptions
	activeServerProcesses
	healthyServerProcesses
	percentHealthyServerProcesses
	serverProcessActivations
	serverProcessTerminations
	serverProcessAbnormalTerminations
	activatingGameSessions
	activeGameSessions
	availableGameSessions
	concurrentActivatableGameSessions
	percentAvailableGameSessions
	gameSessionInterruptions
	currentPlayerSessions
	playerSessionActivations
	maximumPlayerSessions
	sessionsEnded
	sessionsTerminated
	sessionsCrashed
	sessionsUnhealthy
)

const (
	fleetInstances  = "muster_fleet_instances"
	instanceEnds    = "muster_fleet_instance_ends_total"
	serverProcesses = "muster_fleet_server_processes"
	processChanges  = "muster_fleet_server_process_changes_total"
	gameSessions    = "muster_fleet_game_sessions"
	gameSessionEnds = "muster_fleet_game_session_ends_total"
	placements      = "muster_queue_placements_total"
	choices         = "muster_queue_choices_total"
	ticketEvents    = "muster_matchmaking_events_total"
	ticketSeconds   = "muster_matchmaking_seconds"
	evaluations     = "muster_matchmaking_rule_evaluations_total"
)

// fleets are the metrics of fleets. Source: developer guide, Amazon GameLift Servers metrics for fleets.
var fleets = newFamily([]column{
	activeInstances: {"ActiveInstances", count, gauge, fleetSets, fleetInstances, "state=active", byFleetLocation,
		"registered computes", nil},
	idleInstances: {"IdleInstances", count, gauge, fleetSets, fleetInstances, "state=idle", byFleetLocation,
		"computes without a game session", nil},
	percentIdleInstances: {"PercentIdleInstances", percent, ratio, fleetSets, "", "", 0,
		"idle of all computes", func(v []float64) float64 { return share(v[idleInstances], v[activeInstances]) }},
	desiredInstances: {"DesiredInstances", count, gauge, withoutGroups, fleetInstances, "state=desired", byFleetLocation,
		"the capacity that was asked for; of an Anywhere fleet its registered computes", nil},
	minInstances: {"MinInstances", count, gauge, withoutGroups, fleetInstances, "state=minimum", byFleetLocation,
		"the least capacity; 0 for an Anywhere fleet", nil},
	maxInstances: {"MaxInstances", count, gauge, withoutGroups, fleetInstances, "state=maximum", byFleetLocation,
		"the largest capacity; of an Anywhere fleet its registered computes", nil},
	recycledInstances: {"RecycledInstances", count, counter, fleetSets, instanceEnds, "reason=recycled", byFleetLocation,
		"replaced Spot instances; there are none in an Anywhere fleet", nil},
	instanceInterruptions: {"InstanceInterruptions", count, counter, fleetSets, instanceEnds, "reason=interrupted",
		byFleetLocation, "interrupted Spot instances; there are none in an Anywhere fleet", nil},
	activeServerProcesses: {"ActiveServerProcesses", count, gauge, fleetSets, serverProcesses, "state=active",
		byFleetLocation, "server processes that are ready or host a game session", nil},
	healthyServerProcesses: {"HealthyServerProcesses", count, gauge, fleetSets, serverProcesses, "state=healthy",
		byFleetLocation, "active server processes that are connected and did not report to be unhealthy", nil},
	percentHealthyServerProcesses: {"PercentHealthyServerProcesses", percent, ratio, fleetSets, "", "", 0,
		"healthy of all active server processes",
		func(v []float64) float64 { return share(v[healthyServerProcesses], v[activeServerProcesses]) }},
	serverProcessActivations: {"ServerProcessActivations", count, counter, fleetSets, processChanges,
		"change=activation", byFleetLocation, "server processes that became ready", nil},
	serverProcessTerminations: {"ServerProcessTerminations", count, counter, fleetSets, processChanges,
		"change=termination", byFleetLocation, "server processes that ended, for any reason", nil},
	serverProcessAbnormalTerminations: {"ServerProcessAbnormalTerminations", count, counter, fleetSets, processChanges,
		"change=abnormal_termination", byFleetLocation,
		"server processes that crashed, were unhealthy, never became ready or did not end when asked to", nil},
	activatingGameSessions: {"ActivatingGameSessions", count, gauge, fleetSets, gameSessions, "state=activating",
		byFleetLocation, "game sessions in ACTIVATING", nil},
	activeGameSessions: {"ActiveGameSessions", count, gauge, fleetSets, gameSessions, "state=active", byFleetLocation,
		"game sessions in ACTIVE or TERMINATING", nil},
	availableGameSessions: {"AvailableGameSessions", count, gauge, fleetSets, "muster_fleet_game_sessions_available", "",
		byFleetLocation, "connected server processes that can host a game session", nil},
	concurrentActivatableGameSessions: {"ConcurrentActivatableGameSessions", count, gauge, fleetSets,
		"muster_fleet_game_sessions_activatable", "", byFleetLocation,
		"game sessions that can be created now, within MaxConcurrentGameSessionActivations", nil},
	percentAvailableGameSessions: {"PercentAvailableGameSessions", percent, ratio, fleetSets, "", "", 0,
		"available of all: active game sessions, available ones, and unhealthy server processes",
		func(v []float64) float64 {
			unhealthy := v[activeServerProcesses] - v[healthyServerProcesses]
			return share(v[availableGameSessions], v[activeGameSessions]+v[availableGameSessions]+unhealthy)
		}},
	gameSessionInterruptions: {"GameSessionInterruptions", count, counter, fleetSets, "", "", 0,
		"game sessions whose server process crashed or became unhealthy", nil},
	currentPlayerSessions: {"CurrentPlayerSessions", count, gauge, fleetSets, "muster_fleet_player_sessions", "",
		byFleetLocation, "player sessions in RESERVED or ACTIVE", nil},
	playerSessionActivations: {"PlayerSessionActivations", count, counter, fleetSets,
		"muster_fleet_player_session_activations_total", "", byFleetLocation, "accepted player sessions", nil},
	maximumPlayerSessions: {"", count, gauge, nil, "muster_fleet_player_sessions_maximum", "", byFleetLocation,
		"player slots of all game sessions that have not ended", nil},
	sessionsEnded: {"", count, counter, nil, gameSessionEnds, "reason=ended", byFleetLocation,
		"game sessions that ended with their server process, or by it", nil},
	sessionsTerminated: {"", count, counter, nil, gameSessionEnds, "reason=terminated", byFleetLocation,
		"game sessions that ended after their server process was asked to end", nil},
	sessionsCrashed: {"", count, counter, nil, gameSessionEnds, "reason=crashed", byFleetLocation,
		"game sessions whose server process was lost", nil},
	sessionsUnhealthy: {"", count, counter, nil, gameSessionEnds, "reason=unhealthy", byFleetLocation,
		"game sessions whose server process became unhealthy", nil},
})

// The columns of queues.
const (
	queueDepth = iota
	averageWaitTime
	waitSum // of PENDING placements, for averageWaitTime
	placementsStarted
	placementsSucceeded
	placementsFailed
	placementsCanceled
	placementsTimedOut
	firstChoiceNotViable
	firstChoiceOutOfCapacity
	lowestLatencyPlacement
	lowestPricePlacement
	placedAt
	placementWait
)

// queues are the metrics of queues. Source: developer guide, Amazon GameLift Servers metrics for queues.
var queues = newFamily([]column{
	queueDepth: {"QueueDepth", count, gauge, queueSets, "muster_queue_depth", "", byQueue,
		"placements in PENDING; at a location those that are being tried there", nil},
	averageWaitTime: {"AverageWaitTime", seconds, ratio, queueSets, "", "", 0,
		"how long the placements in PENDING have waited, on average; no value while there are none",
		func(v []float64) float64 { return share(v[waitSum], v[queueDepth]) / 100 }},
	waitSum: {"", seconds, gauge, nil, "", "", 0, "", nil},
	placementsStarted: {"PlacementsStarted", count, counter, queueOnly, placements, "outcome=started", byQueue,
		"placements that were requested", nil},
	placementsSucceeded: {"PlacementsSucceeded", count, counter, queueOnly, placements, "outcome=succeeded", byQueue,
		"placements that were FULFILLED", nil},
	placementsFailed: {"PlacementsFailed", count, counter, queueOnly, placements, "outcome=failed", byQueue,
		"placements that FAILED", nil},
	placementsCanceled: {"PlacementsCanceled", count, counter, queueOnly, placements, "outcome=canceled", byQueue,
		"placements that were CANCELLED", nil},
	placementsTimedOut: {"PlacementsTimedOut", count, counter, queueOnly, placements, "outcome=timed_out", byQueue,
		"placements that TIMED_OUT", nil},
	firstChoiceNotViable: {"FirstChoiceNotViable", count, counter, queueOnly, choices, "choice=not_viable", byQueue,
		"fulfilled placements whose first destination was excluded", nil},
	firstChoiceOutOfCapacity: {"FirstChoiceOutOfCapacity", count, counter, queueOnly, choices, "choice=out_of_capacity",
		byQueue, "fulfilled placements that were not placed at the best candidate", nil},
	lowestLatencyPlacement: {"LowestLatencyPlacement", count, counter, queueOnly, choices, "choice=lowest_latency",
		byQueue, "fulfilled placements with latency data, at the location with the lowest latency", nil},
	lowestPricePlacement: {"LowestPricePlacement", count, counter, queueOnly, choices, "choice=lowest_price", byQueue,
		"fulfilled placements with latency data, at a fleet of the lowest cost", nil},
	placedAt: {"Placement ", count, counter, queueSets[1:], "muster_queue_placed_total", "", byQueueLocation,
		"fulfilled placements at the location", nil},
	placementWait: {"", seconds, duration, nil, "muster_queue_wait_seconds", "", byQueue,
		"time from the start of a placement to its end, of any outcome", nil},
})

// The columns of matchmaking configurations.
const (
	currentTickets = iota
	ticketsStarted
	ticketsFailed
	ticketsTimedOut
	playersStarted
	matchesCreated
	matchesPlaced
	matchesAccepted
	matchesRejected
	matchAcceptancesTimedOut
	timeToMatch
	timeToTicketCancel
	timeToTicketSuccess
)

// matchmaking are the metrics of matchmaking configurations. Source: developer guide, Amazon GameLift Servers metrics
// for matchmaking.
var matchmakings = newFamily([]column{
	currentTickets: {"CurrentTickets", count, gauge, configurations, "muster_matchmaking_tickets", "", byConfiguration,
		"tickets that have not ended", nil},
	ticketsStarted: {"TicketsStarted", count, counter, configurations, ticketEvents, "event=ticket_started",
		byConfiguration, "started tickets, those of backfills included", nil},
	ticketsFailed: {"TicketsFailed", count, counter, configurations, ticketEvents, "event=ticket_failed",
		byConfiguration, "tickets that FAILED", nil},
	ticketsTimedOut: {"TicketsTimedOut", count, counter, configurations, ticketEvents, "event=ticket_timed_out",
		byConfiguration, "tickets that TIMED_OUT", nil},
	playersStarted: {"PlayersStarted", count, counter, configurations, ticketEvents, "event=player_started",
		byConfiguration, "players in started tickets, without those of backfills", nil},
	matchesCreated: {"MatchesCreated", count, counter, configurations, ticketEvents, "event=match_created",
		byConfiguration, "proposed matches", nil},
	matchesPlaced: {"MatchesPlaced", count, counter, configurations, ticketEvents, "event=match_placed",
		byConfiguration, "matches that got a game session", nil},
	matchesAccepted: {"MatchesAccepted", count, counter, configurations, ticketEvents, "event=match_accepted",
		byConfiguration, "matches that all players accepted", nil},
	matchesRejected: {"MatchesRejected", count, counter, configurations, ticketEvents, "event=match_rejected",
		byConfiguration, "matches that a player rejected", nil},
	matchAcceptancesTimedOut: {"MatchAcceptancesTimedOut", count, counter, configurations, ticketEvents,
		"event=acceptance_timed_out", byConfiguration, "matches that players did not accept in time", nil},
	timeToMatch: {"TimeToMatch", seconds, duration, configurations, ticketSeconds, "to=match", byConfiguration,
		"time from the start of a ticket to a match with it", nil},
	timeToTicketCancel: {"TimeToTicketCancel", seconds, duration, configurations, ticketSeconds, "to=cancel",
		byConfiguration, "time from the start of a ticket until it was CANCELLED", nil},
	timeToTicketSuccess: {"TimeToTicketSuccess", seconds, duration, configurations, ticketSeconds, "to=success",
		byConfiguration, "time from the start of a ticket until it was COMPLETED", nil},
})

// The columns of rules.
const (
	ruleEvaluationsPassed = iota
	ruleEvaluationsFailed
)

// rules are the metrics of the rules of matchmaking configurations.
var rules = newFamily([]column{
	ruleEvaluationsPassed: {"RuleEvaluationsPassed", count, counter, []set{byRule}, evaluations, "result=passed", byRule,
		"evaluations of the rule that passed, for tickets that got a match", nil},
	ruleEvaluationsFailed: {"RuleEvaluationsFailed", count, counter, []set{byRule}, evaluations, "result=failed", byRule,
		"evaluations of the rule that failed, for tickets that got a match", nil},
})

// catalogue has the family of each set.
var catalogue = [setCount]*family{
	byFleet: fleets, byFleetLocation: fleets, byGroup: fleets, byGroupLocation: fleets, byLocation: fleets,
	byQueue: queues, byQueueLocation: queues, byConfiguration: matchmakings, byRule: rules,
}

// titles are the help texts of Prometheus's metrics with several columns.
var titles = map[string]string{
	fleetInstances:  "Computes of a fleet location by state.",
	instanceEnds:    "Instances of a fleet location that ended by themselves.",
	serverProcesses: "Server processes of a fleet location by state.",
	processChanges:  "Server processes that became ready or ended.",
	gameSessions:    "Game sessions of a fleet location by state.",
	gameSessionEnds: "Ended game sessions by reason.",
	placements:      "Placements of a queue by outcome, and started ones.",
	choices:         "Fulfilled placements of a queue by how they compare with its first choice.",
	ticketEvents:    "Events of tickets and matches of a matchmaking configuration.",
	ticketSeconds:   "Time from the start of a ticket to a match, or its end.",
	evaluations:     "Evaluations of a rule for tickets that got a match, by result.",
}

// bounds are the upper bounds of the buckets of durations in seconds; one more has no bound.
var bounds = []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}

// newFamily appends the buckets of durations, in their order.
func newFamily(columns []column) *family {
	f := &family{columns: columns, base: len(columns)}
	for _, c := range columns {
		if c.kind == duration {
			for range len(bounds) + 1 {
				f.columns = append(f.columns, column{kind: bucket})
			}
		}
	}
	return f
}

// buckets returns the position of the first bucket of a duration.
func (f *family) buckets(of int) int {
	at := f.base
	for i := range of {
		if f.columns[i].kind == duration {
			at += len(bounds) + 1
		}
	}
	return at
}

// bucketOf returns the number of the bucket of a duration.
func bucketOf(seconds float64) int {
	i, _ := slices.BinarySearch(bounds, seconds)
	return i
}

// title returns the text for Prometheus.
func (c *column) title() string {
	if text := titles[c.shown]; text != "" {
		return text
	}
	return strings.ToUpper(c.help[:1]) + c.help[1:] + "."
}
