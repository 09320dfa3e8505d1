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
	bySelf // of the service itself; it has no series
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
	bySelf:          nil,
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
	help  string
}

// A family is the columns of some sets.
type family struct {
	columns []column
	base    int       // columns without buckets
	bounds  []float64 // the upper bounds of buckets in seconds; one more has no bound
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
	activeInstances: {"ActiveInstances", count, gauge, fleetSets, fleetInstances, "state=active",
		"registered computes; of an EC2-type fleet its ACTIVE instances"},
	idleInstances: {"IdleInstances", count, gauge, fleetSets, fleetInstances, "state=idle",
		"computes or instances without a game session"},
	percentIdleInstances: {"PercentIdleInstances", percent, ratio, fleetSets, "", "",
		"idle of all computes, or of all ACTIVE instances"},
	desiredInstances: {"DesiredInstances", count, gauge, withoutGroups, fleetInstances, "state=desired",
		"the capacity that was asked for; of an Anywhere fleet its registered computes"},
	minInstances: {"MinInstances", count, gauge, withoutGroups, fleetInstances, "state=minimum",
		"the least capacity; 0 for an Anywhere fleet"},
	maxInstances: {"MaxInstances", count, gauge, withoutGroups, fleetInstances, "state=maximum",
		"the largest capacity; of an Anywhere fleet its registered computes"},
	recycledInstances: {"RecycledInstances", count, counter, fleetSets, instanceEnds, "reason=recycled",
		"replaced Spot instances; there are none in an Anywhere fleet"},
	instanceInterruptions: {"InstanceInterruptions", count, counter, fleetSets, instanceEnds, "reason=interrupted",
		"interrupted Spot instances; there are none in an Anywhere fleet"},
	activeServerProcesses: {"ActiveServerProcesses", count, gauge, fleetSets, serverProcesses, "state=active",
		"server processes that are ready or host a game session"},
	healthyServerProcesses: {"HealthyServerProcesses", count, gauge, fleetSets, serverProcesses, "state=healthy",
		"active server processes that are connected and did not report to be unhealthy"},
	percentHealthyServerProcesses: {"PercentHealthyServerProcesses", percent, ratio, fleetSets, "", "",
		"healthy of all active server processes"},
	serverProcessActivations: {"ServerProcessActivations", count, counter, fleetSets, processChanges,
		"change=activation", "server processes that became ready"},
	serverProcessTerminations: {"ServerProcessTerminations", count, counter, fleetSets, processChanges,
		"change=termination", "server processes that ended, for any reason"},
	serverProcessAbnormalTerminations: {"ServerProcessAbnormalTerminations", count, counter, fleetSets, processChanges,
		"change=abnormal_termination",
		"server processes that crashed, were unhealthy, never became ready or did not end when asked to"},
	activatingGameSessions: {"ActivatingGameSessions", count, gauge, fleetSets, gameSessions, "state=activating",
		"game sessions in ACTIVATING"},
	activeGameSessions: {"ActiveGameSessions", count, gauge, fleetSets, gameSessions, "state=active",
		"game sessions in ACTIVE or TERMINATING"},
	availableGameSessions: {"AvailableGameSessions", count, gauge, fleetSets, "muster_fleet_game_sessions_available",
		"", "connected server processes that can host a game session"},
	concurrentActivatableGameSessions: {"ConcurrentActivatableGameSessions", count, gauge, fleetSets,
		"muster_fleet_game_sessions_activatable", "",
		"game sessions that can be created now, within MaxConcurrentGameSessionActivations"},
	percentAvailableGameSessions: {"PercentAvailableGameSessions", percent, ratio, fleetSets, "", "",
		"available of all: active game sessions, available ones, and unhealthy server processes"},
	gameSessionInterruptions: {"GameSessionInterruptions", count, counter, fleetSets, "", "",
		"game sessions whose server process crashed or became unhealthy"},
	currentPlayerSessions: {"CurrentPlayerSessions", count, gauge, fleetSets, "muster_fleet_player_sessions", "",
		"player sessions in RESERVED or ACTIVE"},
	playerSessionActivations: {"PlayerSessionActivations", count, counter, fleetSets,
		"muster_fleet_player_session_activations_total", "", "accepted player sessions"},
	maximumPlayerSessions: {"", count, gauge, nil, "muster_fleet_player_sessions_maximum", "",
		"player slots of all game sessions that have not ended"},
	sessionsEnded: {"", count, counter, nil, gameSessionEnds, "reason=ended",
		"game sessions that ended with their server process, or by it"},
	sessionsTerminated: {"", count, counter, nil, gameSessionEnds, "reason=terminated",
		"game sessions that ended after their server process was asked to end"},
	sessionsCrashed: {"", count, counter, nil, gameSessionEnds, "reason=crashed",
		"game sessions whose server process was lost"},
	sessionsUnhealthy: {"", count, counter, nil, gameSessionEnds, "reason=unhealthy",
		"game sessions whose server process became unhealthy"},
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
	queueDepth: {"QueueDepth", count, gauge, queueSets, "muster_queue_depth", "",
		"placements in PENDING; at a location those that are being tried there"},
	averageWaitTime: {"AverageWaitTime", seconds, ratio, queueSets, "", "",
		"how long the placements in PENDING have waited, on average; no value while there are none"},
	waitSum: {"", seconds, gauge, nil, "", "", ""},
	placementsStarted: {"PlacementsStarted", count, counter, queueOnly, placements, "outcome=started",
		"placements that were requested"},
	placementsSucceeded: {"PlacementsSucceeded", count, counter, queueOnly, placements, "outcome=succeeded",
		"placements that were FULFILLED"},
	placementsFailed: {"PlacementsFailed", count, counter, queueOnly, placements, "outcome=failed",
		"placements that FAILED"},
	placementsCanceled: {"PlacementsCanceled", count, counter, queueOnly, placements, "outcome=canceled",
		"placements that were CANCELLED"},
	placementsTimedOut: {"PlacementsTimedOut", count, counter, queueOnly, placements, "outcome=timed_out",
		"placements that TIMED_OUT"},
	firstChoiceNotViable: {"FirstChoiceNotViable", count, counter, queueOnly, choices, "choice=not_viable",
		"fulfilled placements whose first destination was excluded"},
	firstChoiceOutOfCapacity: {"FirstChoiceOutOfCapacity", count, counter, queueOnly, choices,
		"choice=out_of_capacity", "fulfilled placements that were not placed at the best candidate"},
	lowestLatencyPlacement: {"LowestLatencyPlacement", count, counter, queueOnly, choices, "choice=lowest_latency",
		"fulfilled placements with latency data, at the location with the lowest latency"},
	lowestPricePlacement: {"LowestPricePlacement", count, counter, queueOnly, choices, "choice=lowest_price",
		"fulfilled placements with latency data, at a fleet of the lowest cost"},
	placedAt: {"Placement ", count, counter, queueSets[1:], "muster_queue_placed_total", "",
		"fulfilled placements at the location"},
	placementWait: {"", seconds, duration, nil, "muster_queue_wait_seconds", "",
		"time from the start of a placement to its end, of any outcome"},
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
	currentTickets: {"CurrentTickets", count, gauge, configurations, "muster_matchmaking_tickets", "",
		"tickets that have not ended"},
	ticketsStarted: {"TicketsStarted", count, counter, configurations, ticketEvents, "event=ticket_started",
		"started tickets, those of backfills included"},
	ticketsFailed: {"TicketsFailed", count, counter, configurations, ticketEvents, "event=ticket_failed",
		"tickets that FAILED"},
	ticketsTimedOut: {"TicketsTimedOut", count, counter, configurations, ticketEvents, "event=ticket_timed_out",
		"tickets that TIMED_OUT"},
	playersStarted: {"PlayersStarted", count, counter, configurations, ticketEvents, "event=player_started",
		"players in started tickets, without those of backfills"},
	matchesCreated: {"MatchesCreated", count, counter, configurations, ticketEvents, "event=match_created",
		"proposed matches"},
	matchesPlaced: {"MatchesPlaced", count, counter, configurations, ticketEvents, "event=match_placed",
		"matches that got a game session"},
	matchesAccepted: {"MatchesAccepted", count, counter, configurations, ticketEvents, "event=match_accepted",
		"matches that all players accepted"},
	matchesRejected: {"MatchesRejected", count, counter, configurations, ticketEvents, "event=match_rejected",
		"matches that a player rejected"},
	matchAcceptancesTimedOut: {"MatchAcceptancesTimedOut", count, counter, configurations, ticketEvents,
		"event=acceptance_timed_out", "matches that players did not accept in time"},
	timeToMatch: {"TimeToMatch", seconds, duration, configurations, ticketSeconds, "to=match",
		"time from the start of a ticket to a match with it"},
	timeToTicketCancel: {"TimeToTicketCancel", seconds, duration, configurations, ticketSeconds, "to=cancel",
		"time from the start of a ticket until it was CANCELLED"},
	timeToTicketSuccess: {"TimeToTicketSuccess", seconds, duration, configurations, ticketSeconds, "to=success",
		"time from the start of a ticket until it was COMPLETED"},
})

// The columns of rules.
const (
	ruleEvaluationsPassed = iota
	ruleEvaluationsFailed
)

// rules are the metrics of the rules of matchmaking configurations.
var rules = newFamily([]column{
	ruleEvaluationsPassed: {"RuleEvaluationsPassed", count, counter, []set{byRule}, evaluations, "result=passed",
		"evaluations of the rule that passed, for tickets that got a match"},
	ruleEvaluationsFailed: {"RuleEvaluationsFailed", count, counter, []set{byRule}, evaluations, "result=failed",
		"evaluations of the rule that failed, for tickets that got a match"},
})

// selves are the metrics of the service itself. Prometheus has them from internal/telemetry.
var selves = newFamily([]column{
	{"", seconds, duration, nil, "", "", "time from the head of a request of the API to its answer"},
}, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10)

// apiCalls is the column of selves.
const apiCalls = 0

// ratios compute columns of kind ratio from the values of all columns. NaN is not defined.
var ratios = map[*family]map[int]func(v []float64) float64{
	fleets: {
		percentIdleInstances: func(v []float64) float64 { return share(v[idleInstances], v[activeInstances]) },
		percentHealthyServerProcesses: func(v []float64) float64 {
			return share(v[healthyServerProcesses], v[activeServerProcesses])
		},
		percentAvailableGameSessions: func(v []float64) float64 {
			unhealthy := v[activeServerProcesses] - v[healthyServerProcesses]
			return share(v[availableGameSessions], v[activeGameSessions]+v[availableGameSessions]+unhealthy)
		},
	},
	queues: {
		averageWaitTime: func(v []float64) float64 { return share(v[waitSum], v[queueDepth]) / 100 },
	},
}

// shownIn returns the set whose columns Prometheus gets: all others are sums of it.
func (c *column) shownIn(f *family) set {
	switch {
	case len(c.sets) == 1:
		return c.sets[0]
	case f == fleets:
		return byFleetLocation
	default:
		return byQueue
	}
}

// catalogue has the family of each set.
var catalogue = [setCount]*family{
	byFleet: fleets, byFleetLocation: fleets, byGroup: fleets, byGroupLocation: fleets, byLocation: fleets,
	byQueue: queues, byQueueLocation: queues, byConfiguration: matchmakings, byRule: rules,
	bySelf: selves,
}

// titles are the help texts of Prometheus's metrics with several columns.
var titles = map[string]string{
	fleetInstances:  "Computes or instances of a fleet location by state, and its capacity.",
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

// waitBounds are the bounds of times that players wait.
var waitBounds = []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}

// newFamily appends the buckets of durations, in their order; without bounds those of waitBounds.
func newFamily(columns []column, bounds ...float64) *family {
	if bounds == nil {
		bounds = waitBounds
	}
	f := &family{columns: columns, base: len(columns), bounds: bounds}
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
			at += len(f.bounds) + 1
		}
	}
	return at
}

// bucketOf returns the number of the bucket of a duration.
func (f *family) bucketOf(seconds float64) int {
	i, _ := slices.BinarySearch(f.bounds, seconds)
	return i
}

// title returns the text for Prometheus.
func (c *column) title() string {
	if text := titles[c.shown]; text != "" {
		return text
	}
	return strings.ToUpper(c.help[:1]) + c.help[1:] + "."
}
