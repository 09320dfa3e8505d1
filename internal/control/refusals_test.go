package control

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A refusal is a call that has to fail. In its body names in capitals stand for
// what refusalWorld has made.
type refusal struct {
	why, operation, body string
	kind                 fault.Kind
}

// bare are the exceptions that the model does not list for an operation and
// that it answers with all the same, because they are the natural ones.
var bare = map[string][]fault.Kind{
	"RegisterCompute": {fault.NotFound, fault.InvalidFleetStatus}, // the model knows of no unknown fleet here
	"ListCompute":     {fault.NotFound},
}

var locationRefusals = []refusal{
	{"no custom-", "CreateLocation", `{"LocationName":"frankfurt"}`, fault.InvalidRequest},
	{"nothing behind custom-", "CreateLocation", `{"LocationName":"custom-"}`, fault.InvalidRequest},
	{"bad character", "CreateLocation", `{"LocationName":"custom-a_b"}`, fault.InvalidRequest},
	{"too long", "CreateLocation", `{"LocationName":"custom-` + strings.Repeat("x", 58) + `"}`, fault.InvalidRequest},
	{"no name", "CreateLocation", `{}`, fault.InvalidRequest},
	{"exists", "CreateLocation", `{"LocationName":"custom-a"}`, fault.Conflict},
	{"tag key twice", "CreateLocation",
		`{"LocationName":"custom-t","Tags":[{"Key":"k","Value":"1"},{"Key":"k","Value":"2"}]}`, fault.TaggingFailed},
	{"reserved tag", "CreateLocation", `{"LocationName":"custom-t","Tags":[{"Key":"aws:k","Value":"1"}]}`,
		fault.TaggingFailed},
	{"unknown", "DeleteLocation", `{"LocationName":"custom-unknown"}`, fault.NotFound},
	{"of another Region", "DeleteLocation",
		`{"LocationName":"arn:aws:gamelift:eu-west-1:111122223333:location/custom-a"}`, fault.NotFound},
	{"an AWS Region", "DeleteLocation", `{"LocationName":"us-west-2"}`, fault.InvalidRequest},
	{"page too large", "ListLocations", `{"Limit":201}`, fault.InvalidRequest},
}

var fleetRefusals = []refusal{
	{"no location", "CreateFleet", `{"Name":"f","ComputeType":"ANYWHERE"}`, fault.InvalidRequest},
	{"AWS location", "CreateFleet", `{"Name":"f","ComputeType":"ANYWHERE","Locations":[{"Location":"us-west-2"}]}`,
		fault.InvalidRequest},
	{"unknown location", "CreateFleet",
		`{"Name":"f","ComputeType":"ANYWHERE","Locations":[{"Location":"custom-unknown"}]}`, fault.NotFound},
	{"location twice", "CreateFleet",
		`{"Name":"f","ComputeType":"ANYWHERE","Locations":[{"Location":"custom-a"},{"Location":"custom-a"}]}`,
		fault.InvalidRequest},
	{"EC2", "CreateFleet", `{"Name":"f","ComputeType":"EC2","Locations":[{"Location":"custom-a"}]}`,
		fault.InvalidRequest},
	{"EC2 by default", "CreateFleet", `{"Name":"f"}`, fault.InvalidRequest},
	{"build", "CreateFleet",
		`{"Name":"f","ComputeType":"ANYWHERE","Locations":[{"Location":"custom-a"}],"BuildId":"build-1"}`,
		fault.InvalidRequest},
	{"script", "CreateFleet",
		`{"Name":"f","ComputeType":"ANYWHERE","Locations":[{"Location":"custom-a"}],"ScriptId":"script-1"}`,
		fault.InvalidRequest},
	{"instance type", "CreateFleet",
		`{"Name":"f","ComputeType":"ANYWHERE","Locations":[{"Location":"custom-a"}],"EC2InstanceType":"c5.large"}`,
		fault.InvalidRequest},
	{"permissions", "CreateFleet",
		`{"Name":"f","ComputeType":"ANYWHERE","Locations":[{"Location":"custom-a"}],` +
			`"EC2InboundPermissions":[{"FromPort":1,"ToPort":2,"IpRange":"0.0.0.0/0",` +
			`"Protocol":"UDP"}]}`, fault.InvalidRequest},
	{"bad cost", "CreateFleet",
		`{"Name":"f","ComputeType":"ANYWHERE","Locations":[{"Location":"custom-a"}],` +
			`"AnywhereConfiguration":{"Cost":"cheap"}}`, fault.InvalidRequest},
	{"half a policy", "CreateFleet",
		`{"Name":"f","ComputeType":"ANYWHERE","Locations":[{"Location":"custom-a"}],` +
			`"ResourceCreationLimitPolicy":{"NewGameSessionsPerCreator":1}}`, fault.InvalidRequest},
	{"a gateway is required", "CreateFleet", `{"Name":"f","ComputeType":"ANYWHERE","PlayerGatewayMode":"REQUIRED",` +
		`"Locations":[{"Location":"custom-a"}]}`, fault.InvalidRequest},
	{"too many log paths", "CreateFleet",
		`{"Name":"f","ComputeType":"ANYWHERE","Locations":[{"Location":"custom-a"}],"LogPaths":[` +
			strings.Repeat(`"/a",`, 50) + `"/a"]}`, fault.InvalidRequest},
	{"51 processes", "CreateFleet",
		`{"Name":"f","ComputeType":"ANYWHERE","Locations":[{"Location":"custom-a"}],` +
			`"RuntimeConfiguration":{"ServerProcesses":[{"LaunchPath":"x",` +
			`"ConcurrentExecutions":51}]}}`, fault.InvalidRequest},
	{"bad tag", "CreateFleet",
		`{"Name":"f","ComputeType":"ANYWHERE","Locations":[{"Location":"custom-a"}],"Tags":[{"Key":"aws:x",` +
			`"Value":""}]}`, fault.TaggingFailed},
	{"unknown", "UpdateFleetAttributes", `{"FleetId":"fleet-unknown","Name":"x"}`, fault.NotFound},
	{"deleting", "UpdateFleetAttributes", `{"FleetId":"LEAVING","Name":"x"}`, fault.InvalidFleetStatus},
	{"terminated", "UpdateFleetAttributes", `{"FleetId":"DEAD","Name":"x"}`, fault.NotFound},
	{"unknown", "DeleteFleet", `{"FleetId":"fleet-unknown"}`, fault.NotFound},
	{"hosts sessions", "DeleteFleet", `{"FleetId":"FLEET"}`, fault.InvalidRequest},
	{"deleting", "DeleteFleet", `{"FleetId":"LEAVING"}`, fault.InvalidFleetStatus},
	{"terminated", "DeleteFleet", `{"FleetId":"DEAD"}`, fault.NotFound},
	{"unknown", "CreateFleetLocations", `{"FleetId":"fleet-unknown","Locations":[{"Location":"custom-b"}]}`,
		fault.NotFound},
	{"there already", "CreateFleetLocations", `{"FleetId":"FLEET","Locations":[{"Location":"custom-a"}]}`,
		fault.Conflict},
	{"deleting", "CreateFleetLocations", `{"FleetId":"LEAVING","Locations":[{"Location":"custom-b"}]}`,
		fault.InvalidFleetStatus},
	{"none", "CreateFleetLocations", `{"FleetId":"FLEET","Locations":[]}`, fault.InvalidRequest},
	{"unknown", "DeleteFleetLocations", `{"FleetId":"fleet-unknown","Locations":["custom-a"]}`, fault.NotFound},
	{"not there", "DeleteFleetLocations", `{"FleetId":"FLEET","Locations":["custom-b"]}`, fault.NotFound},
	{"twice", "DeleteFleetLocations", `{"FleetId":"FLEET","Locations":["custom-a","custom-a"]}`, fault.InvalidRequest},
	{"unknown", "DescribeFleetLocationAttributes", `{"FleetId":"fleet-unknown"}`, fault.NotFound},
	{"unknown", "DescribeFleetEvents", `{"FleetId":"fleet-unknown"}`, fault.NotFound},
	{"end before start", "DescribeFleetEvents", `{"FleetId":"FLEET","StartTime":20,"EndTime":10}`,
		fault.InvalidRequest},
	{"too many ids", "DescribeFleetAttributes", `{"FleetIds":[` + strings.Repeat(`"fleet-1",`, 100) + `"fleet-1"]}`,
		fault.InvalidRequest},
	{"bad id", "DescribeFleetAttributes", `{"FleetIds":["x"]}`, fault.InvalidRequest},
	{"unknown", "DescribeRuntimeConfiguration", `{"FleetId":"fleet-unknown"}`, fault.NotFound},
	{"unknown", "UpdateRuntimeConfiguration", `{"FleetId":"fleet-unknown","RuntimeConfiguration":{}}`, fault.NotFound},
	{"terminated", "UpdateRuntimeConfiguration", `{"FleetId":"DEAD","RuntimeConfiguration":{}}`, fault.NotFound},
	{"no configuration", "UpdateRuntimeConfiguration", `{"FleetId":"FLEET"}`, fault.InvalidRequest},
	{"timeout too long", "UpdateRuntimeConfiguration",
		`{"FleetId":"FLEET","RuntimeConfiguration":{"GameSessionActivationTimeoutSeconds":601}}`, fault.InvalidRequest},
	{"unknown", "DescribeFleetPortSettings", `{"FleetId":"fleet-unknown"}`, fault.NotFound},
	{"wrong location", "DescribeFleetPortSettings", `{"FleetId":"FLEET","Location":"custom-b"}`, fault.NotFound},
	{"unknown", "DescribeFleetLocationCapacity", `{"FleetId":"fleet-unknown","Location":"custom-a"}`, fault.NotFound},
	{"wrong location", "DescribeFleetLocationCapacity", `{"FleetId":"FLEET","Location":"custom-b"}`, fault.NotFound},
	{"wrong location", "DescribeFleetLocationUtilization", `{"FleetId":"FLEET","Location":"custom-b"}`, fault.NotFound},
	{"Anywhere", "UpdateFleetCapacity", `{"FleetId":"FLEET","DesiredInstances":1}`, fault.InvalidRequest},
	{"Anywhere", "UpdateFleetPortSettings", `{"FleetId":"FLEET"}`, fault.InvalidRequest},
	{"Anywhere", "StartFleetActions", `{"FleetId":"FLEET","Actions":["AUTO_SCALING"]}`, fault.InvalidRequest},
	{"Anywhere", "DescribeInstances", `{"FleetId":"FLEET"}`, fault.InvalidRequest},
}

var computeRefusals = []refusal{
	{"no location", "RegisterCompute", `{"FleetId":"FLEET","ComputeName":"x","IpAddress":"10.0.0.9"}`,
		fault.InvalidRequest},
	{"location of another fleet", "RegisterCompute",
		`{"FleetId":"FLEET","ComputeName":"x","Location":"custom-b","IpAddress":"10.0.0.9"}`, fault.InvalidRequest},
	{"deleted location", "RegisterCompute",
		`{"FleetId":"FLEET","ComputeName":"x","Location":"custom-gone","IpAddress":"10.0.0.9"}`, fault.InvalidRequest},
	{"no address", "RegisterCompute", `{"FleetId":"FLEET","ComputeName":"x","Location":"custom-a"}`,
		fault.InvalidRequest},
	{"bad address", "RegisterCompute", `{"FleetId":"FLEET","ComputeName":"x","Location":"custom-a","IpAddress":"here"}`,
		fault.InvalidRequest},
	{"bad name", "RegisterCompute",
		`{"FleetId":"FLEET","ComputeName":"x y","Location":"custom-a","IpAddress":"10.0.0.9"}`, fault.InvalidRequest},
	{"other address", "RegisterCompute",
		`{"FleetId":"FLEET","ComputeName":"c1","Location":"custom-a","IpAddress":"10.0.0.9"}`, fault.Conflict},
	{"other location", "RegisterCompute",
		`{"FleetId":"TWO","ComputeName":"c2","Location":"custom-b","IpAddress":"10.0.0.1","DnsName":"c2.example"}`,
		fault.Conflict},
	{"unknown fleet", "RegisterCompute",
		`{"FleetId":"fleet-unknown","ComputeName":"x","Location":"custom-a","IpAddress":"10.0.0.9"}`, fault.NotFound},
	{"deleting fleet", "RegisterCompute",
		`{"FleetId":"LEAVING","ComputeName":"x","Location":"custom-a","IpAddress":"10.0.0.9"}`,
		fault.InvalidFleetStatus},
	{"unknown fleet", "ListCompute", `{"FleetId":"fleet-unknown"}`, fault.NotFound},
	{"unknown fleet", "DescribeCompute", `{"FleetId":"fleet-unknown","ComputeName":"c1"}`, fault.NotFound},
	{"unknown", "DescribeCompute", `{"FleetId":"FLEET","ComputeName":"x"}`, fault.NotFound},
	{"of another Region", "DescribeCompute",
		`{"FleetId":"FLEET","ComputeName":"arn:aws:gamelift:eu-west-1:111122223333:compute/c1"}`, fault.NotFound},
	{"unknown", "DeregisterCompute", `{"FleetId":"FLEET","ComputeName":"x"}`, fault.NotFound},
	{"unknown", "GetComputeAuthToken", `{"FleetId":"FLEET","ComputeName":"x"}`, fault.NotFound},
	{"deleted fleet", "GetComputeAuthToken", `{"FleetId":"DEAD","ComputeName":"c1"}`, fault.NotFound},
}

var aliasAndTagRefusals = []refusal{
	{"no target", "CreateAlias", `{"Name":"a","RoutingStrategy":{"Type":"SIMPLE"}}`, fault.InvalidRequest},
	{"no message", "CreateAlias", `{"Name":"a","RoutingStrategy":{"Type":"TERMINAL"}}`, fault.InvalidRequest},
	{"mixed", "CreateAlias", `{"Name":"a","RoutingStrategy":{"Type":"TERMINAL","FleetId":"FLEET","Message":"m"}}`,
		fault.InvalidRequest},
	{"no type", "CreateAlias", `{"Name":"a","RoutingStrategy":{"FleetId":"FLEET"}}`, fault.InvalidRequest},
	{"unknown fleet", "CreateAlias", `{"Name":"a","RoutingStrategy":{"Type":"SIMPLE","FleetId":"fleet-unknown"}}`,
		fault.InvalidRequest},
	{"unknown fleet", "UpdateAlias",
		`{"AliasId":"ALIAS","RoutingStrategy":{"Type":"SIMPLE","FleetId":"fleet-unknown"}}`, fault.NotFound},
	{"unknown", "UpdateAlias", `{"AliasId":"alias-unknown","Name":"x"}`, fault.NotFound},
	{"unknown", "DescribeAlias", `{"AliasId":"alias-unknown"}`, fault.NotFound},
	{"unknown", "DeleteAlias", `{"AliasId":"alias-unknown"}`, fault.NotFound},
	{"unknown", "ResolveAlias", `{"AliasId":"alias-unknown"}`, fault.NotFound},
	{"terminal", "ResolveAlias", `{"AliasId":"CLOSED"}`, fault.TerminalRoutingStrategy},
	{"unknown", "TagResource",
		`{"ResourceARN":"arn:aws:gamelift:us-west-2::fleet/fleet-unknown","Tags":[{"Key":"k","Value":"v"}]}`,
		fault.NotFound},
	{"not taggable", "TagResource",
		`{"ResourceARN":"arn:aws:gamelift:us-west-2::compute/c1","Tags":[{"Key":"k","Value":"v"}]}`,
		fault.InvalidRequest},
	{"malformed", "TagResource", `{"ResourceARN":"fleet","Tags":[{"Key":"k","Value":"v"}]}`, fault.InvalidRequest},
	{"other Region", "TagResource",
		`{"ResourceARN":"arn:aws:gamelift:eu-west-1::location/custom-a","Tags":[{"Key":"k","Value":"v"}]}`,
		fault.NotFound},
	{"key twice", "TagResource",
		`{"ResourceARN":"arn:aws:gamelift:us-west-2::location/custom-a","Tags":[{"Key":"k","Value":"v"},{"Key":"k",` +
			`"Value":"w"}]}`, fault.TaggingFailed},
	{"too many", "TagResource", `{"ResourceARN":"arn:aws:gamelift:us-west-2::location/custom-a","Tags":[MANYTAGS]}`,
		fault.TaggingFailed},
	{"unknown", "UntagResource", `{"ResourceARN":"arn:aws:gamelift:us-west-2::alias/alias-unknown","TagKeys":["k"]}`,
		fault.NotFound},
	{"unknown", "ListTagsForResource", `{"ResourceARN":"arn:aws:gamelift:us-west-2::location/custom-unknown"}`,
		fault.NotFound},
}

var gameSessionRefusals = []refusal{
	{"no target", "CreateGameSession", `{"MaximumPlayerSessionCount":1,"Location":"custom-a"}`, fault.InvalidRequest},
	{"two targets", "CreateGameSession",
		`{"FleetId":"FLEET","AliasId":"ALIAS","MaximumPlayerSessionCount":1,"Location":"custom-a"}`,
		fault.InvalidRequest},
	{"no maximum", "CreateGameSession", `{"FleetId":"FLEET","Location":"custom-a"}`, fault.InvalidRequest},
	{"maximum below zero", "CreateGameSession",
		`{"FleetId":"FLEET","Location":"custom-a","MaximumPlayerSessionCount":-1}`, fault.InvalidRequest},
	{"maximum above 200", "CreateGameSession",
		`{"FleetId":"FLEET","Location":"custom-a","MaximumPlayerSessionCount":201}`, fault.InvalidRequest},
	{"unknown fleet", "CreateGameSession",
		`{"FleetId":"fleet-unknown","MaximumPlayerSessionCount":1,"Location":"custom-a"}`, fault.NotFound},
	{"unknown alias", "CreateGameSession",
		`{"AliasId":"alias-unknown","MaximumPlayerSessionCount":1,"Location":"custom-a"}`, fault.NotFound},
	{"alias of a deleted fleet", "CreateGameSession",
		`{"AliasId":"STALE","MaximumPlayerSessionCount":1,"Location":"custom-a"}`, fault.NotFound},
	{"terminal alias", "CreateGameSession", `{"AliasId":"CLOSED","MaximumPlayerSessionCount":1,"Location":"custom-a"}`,
		fault.TerminalRoutingStrategy},
	{"deleting fleet", "CreateGameSession", `{"FleetId":"LEAVING","MaximumPlayerSessionCount":1,"Location":"custom-a"}`,
		fault.InvalidFleetStatus},
	{"wrong location", "CreateGameSession", `{"FleetId":"FLEET","MaximumPlayerSessionCount":1,"Location":"custom-b"}`,
		fault.InvalidRequest},
	{"no location of two", "CreateGameSession", `{"FleetId":"FLEET","MaximumPlayerSessionCount":1}`,
		fault.InvalidRequest},
	{"no process", "CreateGameSession", `{"FleetId":"FLEET","MaximumPlayerSessionCount":1,"Location":"custom-a"}`,
		fault.FleetCapacityExceeded},
	{"no compute", "CreateGameSession",
		`{"FleetId":"TWO","MaximumPlayerSessionCount":1,"Location":"custom-b","CreatorId":"you"}`,
		fault.FleetCapacityExceeded},
	{"other token", "CreateGameSession",
		`{"FleetId":"FLEET","MaximumPlayerSessionCount":1,"Location":"custom-a","IdempotencyToken":"a",` +
			`"GameSessionId":"b"}`, fault.InvalidRequest},
	{"token with other parameters", "CreateGameSession",
		`{"FleetId":"FLEET","MaximumPlayerSessionCount":9,"Location":"custom-a","IdempotencyToken":"full"}`,
		fault.IdempotentParameterMismatch},
	{"bad token", "CreateGameSession",
		`{"FleetId":"FLEET","MaximumPlayerSessionCount":1,"Location":"custom-a","IdempotencyToken":"a b"}`,
		fault.InvalidRequest},
	{"property twice", "CreateGameSession",
		`{"FleetId":"FLEET","MaximumPlayerSessionCount":1,"Location":"custom-a","GameProperties":[{"Key":"k",` +
			`"Value":"1"},{"Key":"k","Value":"2"}]}`, fault.InvalidRequest},
	{"17 properties", "CreateGameSession",
		`{"FleetId":"FLEET","MaximumPlayerSessionCount":1,"Location":"custom-a","GameProperties":[` +
			strings.Repeat(`{"Key":"k","Value":"v"},`, 16) + `{"Key":"k","Value":"v"}]}`, fault.InvalidRequest},
	{"no creator", "CreateGameSession", `{"FleetId":"TWO","MaximumPlayerSessionCount":1,"Location":"custom-a"}`,
		fault.InvalidRequest},
	{"creator over the limit", "CreateGameSession",
		`{"FleetId":"TWO","MaximumPlayerSessionCount":1,"Location":"custom-a","CreatorId":"me"}`, fault.LimitExceeded},
	{"bad id", "UpdateGameSession", `{"GameSessionId":"x"}`, fault.InvalidRequest},
	{"unknown", "UpdateGameSession", `{"GameSessionId":"UNKNOWN","Name":"x"}`, fault.NotFound},
	{"other Region", "UpdateGameSession", `{"GameSessionId":"ELSEWHERE","Name":"x"}`, fault.NotFound},
	{"activating", "UpdateGameSession", `{"GameSessionId":"STARTING","Name":"x"}`, fault.InvalidGameSessionStatus},
	{"over", "UpdateGameSession", `{"GameSessionId":"OVER","Name":"x"}`, fault.InvalidGameSessionStatus},
	{"maximum above 200", "UpdateGameSession", `{"GameSessionId":"FULL","MaximumPlayerSessionCount":201}`,
		fault.InvalidRequest},
	{"property twice", "UpdateGameSession",
		`{"GameSessionId":"FULL","GameProperties":[{"Key":"k","Value":"1"},{"Key":"k","Value":"2"}]}`,
		fault.InvalidRequest},
	{"no mode", "TerminateGameSession", `{"GameSessionId":"FULL"}`, fault.InvalidRequest},
	{"by force", "TerminateGameSession", `{"GameSessionId":"FULL","TerminationMode":"FORCE_TERMINATE"}`,
		fault.InvalidRequest},
	{"unknown", "TerminateGameSession", `{"GameSessionId":"UNKNOWN","TerminationMode":"TRIGGER_ON_PROCESS_TERMINATE"}`,
		fault.NotFound},
	{"over", "TerminateGameSession", `{"GameSessionId":"OVER","TerminationMode":"TRIGGER_ON_PROCESS_TERMINATE"}`,
		fault.InvalidGameSessionStatus},
	{"no logs", "GetGameSessionLogUrl", `{"GameSessionId":"FULL"}`, fault.NotFound},
	{"no selector", "DescribeGameSessions", `{}`, fault.InvalidRequest},
	{"two selectors", "DescribeGameSessions", `{"FleetId":"FLEET","GameSessionId":"FULL"}`, fault.InvalidRequest},
	{"unknown fleet", "DescribeGameSessions", `{"FleetId":"fleet-unknown"}`, fault.NotFound},
	{"unknown alias", "DescribeGameSessions", `{"AliasId":"alias-unknown"}`, fault.NotFound},
	{"terminal alias", "DescribeGameSessions", `{"AliasId":"CLOSED"}`, fault.TerminalRoutingStrategy},
	{"unknown", "DescribeGameSessions", `{"GameSessionId":"UNKNOWN"}`, fault.NotFound},
	{"bad id", "DescribeGameSessions", `{"GameSessionId":"gsess-1"}`, fault.InvalidRequest},
	{"odd status", "DescribeGameSessions", `{"FleetId":"FLEET","StatusFilter":"ERROR"}`, fault.InvalidRequest},
	{"garbled token", "DescribeGameSessions", `{"FleetId":"FLEET","NextToken":"x"}`, fault.InvalidRequest},
	{"unknown", "DescribeGameSessionDetails", `{"GameSessionId":"UNKNOWN"}`, fault.NotFound},
	{"two selectors", "DescribeGameSessionDetails", `{"FleetId":"FLEET","AliasId":"ALIAS"}`, fault.InvalidRequest},
	{"no target", "SearchGameSessions", `{}`, fault.InvalidRequest},
	{"unknown fleet", "SearchGameSessions", `{"FleetId":"fleet-unknown"}`, fault.NotFound},
	{"terminal alias", "SearchGameSessions", `{"AliasId":"CLOSED"}`, fault.TerminalRoutingStrategy},
	{"unknown operand", "SearchGameSessions", `{"FleetId":"FLEET","FilterExpression":"mood = 'good'"}`,
		fault.InvalidRequest},
	{"wrong type", "SearchGameSessions", `{"FleetId":"FLEET","FilterExpression":"maximumSessions = 'x'"}`,
		fault.InvalidRequest},
	{"wrong comparator", "SearchGameSessions", `{"FleetId":"FLEET","FilterExpression":"gameSessionName < 'x'"}`,
		fault.InvalidRequest},
	{"open quote", "SearchGameSessions", `{"FleetId":"FLEET","FilterExpression":"gameSessionName = 'x"}`,
		fault.InvalidRequest},
	{"bad sort", "SearchGameSessions", `{"FleetId":"FLEET","SortExpression":"creationTimeMillis UP"}`,
		fault.InvalidRequest},
	{"garbled token", "SearchGameSessions", `{"FleetId":"FLEET","NextToken":"%%%"}`, fault.InvalidRequest},
}

var playerSessionRefusals = []refusal{
	{"unknown", "CreatePlayerSession", `{"GameSessionId":"UNKNOWN","PlayerId":"x"}`, fault.NotFound},
	{"bad id", "CreatePlayerSession", `{"GameSessionId":"gsess-1","PlayerId":"x"}`, fault.InvalidRequest},
	{"no player", "CreatePlayerSession", `{"GameSessionId":"FULL"}`, fault.InvalidRequest},
	{"empty data", "CreatePlayerSession", `{"GameSessionId":"FULL","PlayerId":"x","PlayerData":""}`,
		fault.InvalidRequest},
	{"activating", "CreatePlayerSession", `{"GameSessionId":"STARTING","PlayerId":"x"}`,
		fault.InvalidGameSessionStatus},
	{"over", "CreatePlayerSession", `{"GameSessionId":"OVER","PlayerId":"x"}`, fault.InvalidGameSessionStatus},
	{"denied", "CreatePlayerSession", `{"GameSessionId":"DENYING","PlayerId":"x"}`, fault.InvalidGameSessionStatus},
	{"full", "CreatePlayerSession", `{"GameSessionId":"FULL","PlayerId":"x"}`, fault.GameSessionFull},
	{"full", "CreatePlayerSessions", `{"GameSessionId":"FULL","PlayerIds":["x","y"]}`, fault.GameSessionFull},
	{"twice", "CreatePlayerSessions", `{"GameSessionId":"FULL","PlayerIds":["x","x"]}`, fault.InvalidRequest},
	{"none", "CreatePlayerSessions", `{"GameSessionId":"FULL","PlayerIds":[]}`, fault.InvalidRequest},
	{"26", "CreatePlayerSessions", `{"GameSessionId":"FULL","PlayerIds":[` + strings.Repeat(`"x",`, 25) + `"y"]}`,
		fault.InvalidRequest},
	{"no selector", "DescribePlayerSessions", `{}`, fault.InvalidRequest},
	{"two selectors", "DescribePlayerSessions", `{"PlayerId":"x","GameSessionId":"FULL"}`, fault.InvalidRequest},
	{"odd status", "DescribePlayerSessions", `{"GameSessionId":"FULL","PlayerSessionStatusFilter":"GONE"}`,
		fault.InvalidRequest},
	{"unknown", "DescribePlayerSessions", `{"PlayerSessionId":"psess-unknown"}`, fault.NotFound},
	{"of a shard that is not", "DescribePlayerSessions",
		`{"PlayerSessionId":"psess-ff000010-0000-8001-8000-000000000000"}`, fault.NotFound},
	{"unknown game session", "DescribePlayerSessions", `{"GameSessionId":"UNKNOWN"}`, fault.NotFound},
	{"garbled token", "DescribePlayerSessions", `{"PlayerId":"x","NextToken":"x"}`, fault.InvalidRequest},
	{"unknown", "GetPlayerConnectionDetails", `{"GameSessionId":"UNKNOWN","PlayerIds":["x"]}`, fault.NotFound},
	{"over", "GetPlayerConnectionDetails", `{"GameSessionId":"OVER","PlayerIds":["x"]}`,
		fault.InvalidGameSessionStatus},
}

// standalone are the members that a matchmaking configuration needs beside its name.
const standalone = `"RuleSetName":"duel","AcceptanceRequired":false,"RequestTimeoutSeconds":60,` +
	`"FlexMatchMode":"STANDALONE"`

var queueRefusals = []refusal{
	{"no name", "CreateGameSessionQueue", `{}`, fault.InvalidRequest},
	{"bad name", "CreateGameSessionQueue", `{"Name":"a.b"}`, fault.InvalidRequest},
	{"long name", "CreateGameSessionQueue", `{"Name":"` + strings.Repeat("q", 129) + `"}`, fault.InvalidRequest},
	{"exists", "CreateGameSessionQueue", `{"Name":"harbor"}`, fault.InvalidRequest},
	{"timeout 0", "CreateGameSessionQueue", `{"Name":"q","TimeoutInSeconds":0}`, fault.InvalidRequest},
	{"timeout 9", "CreateGameSessionQueue", `{"Name":"q","TimeoutInSeconds":9}`, fault.InvalidRequest},
	{"timeout 601", "CreateGameSessionQueue", `{"Name":"q","TimeoutInSeconds":601}`, fault.InvalidRequest},
	{"destination without ARN", "CreateGameSessionQueue", `{"Name":"q","Destinations":[{}]}`, fault.InvalidRequest},
	{"destination by id", "CreateGameSessionQueue", `{"Name":"q","Destinations":[{"DestinationArn":"FLEET"}]}`,
		fault.InvalidRequest},
	{"destination of another kind", "CreateGameSessionQueue",
		`{"Name":"q","Destinations":[{"DestinationArn":"arn:aws:gamelift:us-west-2::location/custom-a"}]}`,
		fault.InvalidRequest},
	{"unknown fleet", "CreateGameSessionQueue",
		`{"Name":"q","Destinations":[{"DestinationArn":"arn:aws:gamelift:us-west-2::fleet/fleet-unknown"}]}`,
		fault.NotFound},
	{"terminated fleet", "CreateGameSessionQueue",
		`{"Name":"q","Destinations":[{"DestinationArn":"arn:aws:gamelift:us-west-2::fleet/DEAD"}]}`, fault.NotFound},
	{"unknown alias", "CreateGameSessionQueue",
		`{"Name":"q","Destinations":[{"DestinationArn":"arn:aws:gamelift:us-west-2::alias/alias-unknown"}]}`,
		fault.NotFound},
	{"destination twice", "CreateGameSessionQueue",
		`{"Name":"q","Destinations":[{"DestinationArn":"arn:aws:gamelift:us-west-2::fleet/FLEET"},` +
			`{"DestinationArn":"arn:aws:gamelift:us-west-2::fleet/FLEET"}]}`, fault.InvalidRequest},
	{"policy without cap", "CreateGameSessionQueue",
		`{"Name":"q","PlayerLatencyPolicies":[{"PolicyDurationSeconds":1}]}`, fault.InvalidRequest},
	{"policy below 0", "CreateGameSessionQueue",
		`{"Name":"q","PlayerLatencyPolicies":[{"MaximumIndividualPlayerLatencyMilliseconds":-1}]}`,
		fault.InvalidRequest},
	{"101 policies", "CreateGameSessionQueue", `{"Name":"q","PlayerLatencyPolicies":[` +
		strings.Repeat(`{"MaximumIndividualPlayerLatencyMilliseconds":1},`, 100) +
		`{"MaximumIndividualPlayerLatencyMilliseconds":1}]}`, fault.InvalidRequest},
	{"101 locations", "CreateGameSessionQueue",
		`{"Name":"q","FilterConfiguration":{"AllowedLocations":[` + strings.Repeat(`"custom-a",`, 100) +
			`"custom-a"]}}`, fault.InvalidRequest},
	{"bad location", "CreateGameSessionQueue", `{"Name":"q","FilterConfiguration":{"AllowedLocations":["a b"]}}`,
		fault.InvalidRequest},
	{"unknown priority", "CreateGameSessionQueue", `{"Name":"q","PriorityConfiguration":{"PriorityOrder":["LUCK"]}}`,
		fault.InvalidRequest},
	{"priority twice", "CreateGameSessionQueue",
		`{"Name":"q","PriorityConfiguration":{"PriorityOrder":["COST","COST"]}}`, fault.InvalidRequest},
	{"location twice", "CreateGameSessionQueue",
		`{"Name":"q","PriorityConfiguration":{"LocationOrder":["custom-a","custom-a"]}}`, fault.InvalidRequest},
	{"long event data", "CreateGameSessionQueue", `{"Name":"q","CustomEventData":"` + strings.Repeat("x", 257) + `"}`,
		fault.InvalidRequest},
	{"URL as target", "CreateGameSessionQueue", `{"Name":"q","NotificationTarget":"https://example.com"}`,
		fault.InvalidRequest},
	{"bad tag", "CreateGameSessionQueue", `{"Name":"q","Tags":[{"Key":"aws:x","Value":""}]}`, fault.TaggingFailed},
	{"unknown", "UpdateGameSessionQueue", `{"Name":"unknown"}`, fault.NotFound},
	{"of another Region", "UpdateGameSessionQueue", `{"Name":"arn:aws:gamelift:eu-west-1::gamesessionqueue/harbor"}`,
		fault.NotFound},
	{"of another service", "UpdateGameSessionQueue", `{"Name":"arn:aws:other:us-west-2::gamesessionqueue/harbor"}`,
		fault.NotFound},
	{"timeout 0", "UpdateGameSessionQueue", `{"Name":"harbor","TimeoutInSeconds":0}`, fault.InvalidRequest},
	{"destination by id", "UpdateGameSessionQueue", `{"Name":"harbor","Destinations":[{"DestinationArn":"FLEET"}]}`,
		fault.InvalidRequest},
	{"unknown fleet", "UpdateGameSessionQueue",
		`{"Name":"harbor","Destinations":[{"DestinationArn":"arn:aws:gamelift:us-west-2::fleet/fleet-unknown"}]}`,
		fault.NotFound},
	{"policy without cap", "UpdateGameSessionQueue", `{"Name":"harbor","PlayerLatencyPolicies":[{}]}`,
		fault.InvalidRequest},
	{"too many names", "DescribeGameSessionQueues", `{"Names":[` + strings.Repeat(`"a",`, 100) + `"a"]}`,
		fault.InvalidRequest},
	{"garbled token", "DescribeGameSessionQueues", `{"NextToken":"x"}`, fault.InvalidRequest},
	{"unknown", "DeleteGameSessionQueue", `{"Name":"unknown"}`, fault.NotFound},
}

var matchmakingRefusals = []refusal{
	{"empty name", "CreateMatchmakingRuleSet", `{"Name":"","RuleSetBody":RULES}`, fault.InvalidRequest},
	{"bad name", "CreateMatchmakingRuleSet", `{"Name":"a b","RuleSetBody":RULES}`, fault.InvalidRequest},
	{"exists", "CreateMatchmakingRuleSet", `{"Name":"duel","RuleSetBody":RULES}`, fault.InvalidRequest},
	{"no body", "CreateMatchmakingRuleSet", `{"Name":"r"}`, fault.InvalidRequest},
	{"empty body", "CreateMatchmakingRuleSet", `{"Name":"r","RuleSetBody":""}`, fault.InvalidRequest},
	{"long body", "CreateMatchmakingRuleSet", `{"Name":"r","RuleSetBody":"` + strings.Repeat(" ", 65536) + `"}`,
		fault.InvalidRequest},
	{"invalid body", "CreateMatchmakingRuleSet", `{"Name":"r","RuleSetBody":"{}"}`, fault.InvalidRequest},
	{"bad tag", "CreateMatchmakingRuleSet", `{"Name":"r","RuleSetBody":RULES,"Tags":[{"Key":"aws:x","Value":""}]}`,
		fault.TaggingFailed},
	{"invalid body", "ValidateMatchmakingRuleSet", `{"RuleSetBody":"{}"}`, fault.InvalidRequest},
	{"unknown", "DescribeMatchmakingRuleSets", `{"Names":["duel","unknown"]}`, fault.NotFound},
	{"of another Region", "DescribeMatchmakingRuleSets",
		`{"Names":["arn:aws:gamelift:eu-west-1::matchmakingruleset/duel"]}`, fault.NotFound},
	{"11 names", "DescribeMatchmakingRuleSets", `{"Names":[` + strings.Repeat(`"duel",`, 10) + `"duel"]}`,
		fault.InvalidRequest},
	{"page too large", "DescribeMatchmakingRuleSets", `{"Limit":11}`, fault.InvalidRequest},
	{"unknown", "DeleteMatchmakingRuleSet", `{"Name":"unknown"}`, fault.NotFound},
	{"in use", "DeleteMatchmakingRuleSet", `{"Name":"duel"}`, fault.InvalidRequest},
	{"empty name", "CreateMatchmakingConfiguration", `{"Name":"",` + standalone + `}`, fault.InvalidRequest},
	{"exists", "CreateMatchmakingConfiguration", `{"Name":"ladder",` + standalone + `}`, fault.InvalidRequest},
	{"no acceptance", "CreateMatchmakingConfiguration",
		`{"Name":"m","RuleSetName":"duel","RequestTimeoutSeconds":60,"FlexMatchMode":"STANDALONE"}`,
		fault.InvalidRequest},
	{"no timeout", "CreateMatchmakingConfiguration",
		`{"Name":"m","RuleSetName":"duel","AcceptanceRequired":false,"FlexMatchMode":"STANDALONE"}`,
		fault.InvalidRequest},
	{"no rule set", "CreateMatchmakingConfiguration",
		`{"Name":"m","AcceptanceRequired":false,"RequestTimeoutSeconds":60,"FlexMatchMode":"STANDALONE"}`,
		fault.InvalidRequest},
	{"timeout 0", "CreateMatchmakingConfiguration", `{"Name":"m",` + strings.Replace(standalone, ":60", ":0", 1) + `}`,
		fault.InvalidRequest},
	{"timeout 43201", "CreateMatchmakingConfiguration",
		`{"Name":"m",` + strings.Replace(standalone, ":60", ":43201", 1) + `}`, fault.InvalidRequest},
	{"acceptance 601", "CreateMatchmakingConfiguration",
		`{"Name":"m","AcceptanceTimeoutSeconds":601,` + standalone + `}`, fault.InvalidRequest},
	{"unknown rule set", "CreateMatchmakingConfiguration",
		`{"Name":"m",` + strings.Replace(standalone, "duel", "unknown", 1) + `}`, fault.NotFound},
	{"rule set of another Region", "CreateMatchmakingConfiguration",
		`{"Name":"m",` + strings.Replace(standalone, "duel", "arn:aws:gamelift:eu-west-1::matchmakingruleset/duel", 1) +
			`}`, fault.NotFound},
	{"standalone with a queue", "CreateMatchmakingConfiguration",
		`{"Name":"m","GameSessionQueueArns":["arn:aws:gamelift:us-west-2::gamesessionqueue/harbor"],` + standalone +
			`}`, fault.InvalidRequest},
	{"standalone that fills up", "CreateMatchmakingConfiguration",
		`{"Name":"m","BackfillMode":"AUTOMATIC",` + standalone + `}`, fault.InvalidRequest},
	{"no queue", "CreateMatchmakingConfiguration",
		`{"Name":"m",` + strings.Replace(standalone, "STANDALONE", "WITH_QUEUE", 1) + `}`, fault.InvalidRequest},
	{"queue by name", "CreateMatchmakingConfiguration",
		`{"Name":"m","GameSessionQueueArns":["harbor"],` + strings.Replace(standalone, "STANDALONE", "WITH_QUEUE", 1) +
			`}`, fault.InvalidRequest},
	{"unknown queue", "CreateMatchmakingConfiguration",
		`{"Name":"m","GameSessionQueueArns":["arn:aws:gamelift:us-west-2::gamesessionqueue/unknown"],` +
			strings.Replace(standalone, "STANDALONE", "WITH_QUEUE", 1) + `}`, fault.NotFound},
	{"property twice", "CreateMatchmakingConfiguration",
		`{"Name":"m","GameProperties":[{"Key":"k","Value":"1"},{"Key":"k","Value":"2"}],` + standalone + `}`,
		fault.InvalidRequest},
	{"long data", "CreateMatchmakingConfiguration",
		`{"Name":"m","GameSessionData":"` + strings.Repeat("x", 4097) + `",` + standalone + `}`, fault.InvalidRequest},
	{"bad tag", "CreateMatchmakingConfiguration", `{"Name":"m","Tags":[{"Key":"aws:x","Value":""}],` + standalone + `}`,
		fault.TaggingFailed},
	{"unknown", "UpdateMatchmakingConfiguration", `{"Name":"unknown"}`, fault.NotFound},
	{"of another Region", "UpdateMatchmakingConfiguration",
		`{"Name":"arn:aws:gamelift:eu-west-1::matchmakingconfiguration/ladder"}`, fault.NotFound},
	{"unknown rule set", "UpdateMatchmakingConfiguration", `{"Name":"ladder","RuleSetName":"unknown"}`, fault.NotFound},
	{"unknown queue", "UpdateMatchmakingConfiguration",
		`{"Name":"ladder","FlexMatchMode":"WITH_QUEUE",` +
			`"GameSessionQueueArns":["arn:aws:gamelift:us-west-2::gamesessionqueue/unknown"]}`, fault.NotFound},
	{"queue by name", "UpdateMatchmakingConfiguration", `{"Name":"ladder","GameSessionQueueArns":["harbor"]}`,
		fault.InvalidRequest},
	{"standalone with a queue", "UpdateMatchmakingConfiguration",
		`{"Name":"ladder","GameSessionQueueArns":["arn:aws:gamelift:us-west-2::gamesessionqueue/harbor"]}`,
		fault.InvalidRequest},
	{"no queue", "UpdateMatchmakingConfiguration", `{"Name":"ladder","FlexMatchMode":"WITH_QUEUE"}`,
		fault.InvalidRequest},
	{"too many names", "DescribeMatchmakingConfigurations", `{"Names":[` + strings.Repeat(`"a",`, 100) + `"a"]}`,
		fault.InvalidRequest},
	{"garbled token", "DescribeMatchmakingConfigurations", `{"NextToken":"x"}`, fault.InvalidRequest},
	{"unknown", "DeleteMatchmakingConfiguration", `{"Name":"unknown"}`, fault.NotFound},
	{"unknown queue", "TagResource",
		`{"ResourceARN":"arn:aws:gamelift:us-west-2::gamesessionqueue/unknown","Tags":[{"Key":"k","Value":"v"}]}`,
		fault.NotFound},
	{"unknown configuration", "TagResource",
		`{"ResourceARN":"arn:aws:gamelift:us-west-2::matchmakingconfiguration/unknown","Tags":[{"Key":"k",` +
			`"Value":"v"}]}`, fault.NotFound},
	{"unknown rule set", "ListTagsForResource",
		`{"ResourceARN":"arn:aws:gamelift:us-west-2::matchmakingruleset/unknown"}`, fault.NotFound},
}

// refusalWorld makes what the tables of refusals speak of.
func refusalWorld(t *testing.T) (*world, *strings.Replacer) {
	w := newWorld(t)
	alias := func(routing object) string {
		return text(w.must("CreateAlias", object{"Name": "a", "RoutingStrategy": routing}), "Alias", "AliasId")
	}
	id := w.fleetAt("custom-a", "custom-gone")
	w.must("DeleteLocation", `{"LocationName":"custom-gone"}`)
	token := w.compute(id, "custom-a", "c1")

	dead := w.fleetAt("custom-a")
	stale := alias(object{"Type": "SIMPLE", "FleetId": dead})
	w.must("DeleteFleet", object{"FleetId": dead})
	leaving := w.fleetAt("custom-a")
	w.finishing.Lock() // or the plane would finish the deletion
	t.Cleanup(w.finishing.Unlock)
	if err := w.Change(w.ctx, catalog.DeleteFleet{Fleet: leaving}); err != nil {
		t.Fatal(err)
	}

	two := w.fleetAt("custom-a", "custom-b")
	w.process(two, "c2", w.compute(two, "custom-a", "c2"), "p")
	w.must("UpdateFleetAttributes", object{"FleetId": two,
		"ResourceCreationLimitPolicy": object{"NewGameSessionsPerCreator": 1, "PolicyPeriodInMinutes": 60}})
	w.create(two, object{"CreatorId": "me"})

	over := w.process(id, "c1", token, "p-over")
	overID := w.active(id, nil, over)
	over.ok(over.end())
	full := w.active(id, object{"MaximumPlayerSessionCount": 1, "IdempotencyToken": "full"},
		w.process(id, "c1", token, "p-full"))
	w.must("CreatePlayerSession", object{"GameSessionId": full, "PlayerId": "someone"})
	denying := w.active(id, nil, w.process(id, "c1", token, "p-denying"))
	w.must("UpdateGameSession", object{"GameSessionId": denying, "PlayerSessionCreationPolicy": "DENY_ALL"})
	w.process(id, "c1", token, "p-starting")
	starting := w.create(id, nil)

	w.queueOf("harbor", arnOf("fleet/"+id))
	w.ruleSetOf("duel")
	w.must("CreateMatchmakingConfiguration", `{"Name":"ladder",`+standalone+`}`)

	tags := make([]string, 51)
	for i := range tags {
		tags[i] = `{"Key":"k` + string(rune('0'+i/10)) + string(rune('0'+i%10)) + `","Value":"v"}`
	}
	return w, strings.NewReplacer(
		"FLEET", id, "DEAD", dead, "LEAVING", leaving, "TWO", two,
		"ALIAS", alias(object{"Type": "SIMPLE", "FleetId": id}), "STALE", stale, "CLOSED",
		alias(object{"Type": "TERMINAL", "Message": "Closed for today"}),
		"FULL", full, "OVER", overID, "DENYING", denying, "STARTING", starting,
		"UNKNOWN", strings.Replace(full, "/full", "/gsess-unknown", 1), "ELSEWHERE",
		strings.Replace(full, "us-west-2", "eu-west-1", 1),
		"RULES", strconv.Quote(smallestRuleSet), "MANYTAGS", strings.Join(tags, ","),
	)
}

// TestRefusals runs every row of the tables: the exception is the right one, it
// is one that the model lists for the operation or one of the few known bare
// ones, it says something, and nothing has changed.
func TestRefusals(t *testing.T) {
	w, names := refusalWorld(t)
	before := w.state()
	for _, r := range slices.Concat(locationRefusals, fleetRefusals, computeRefusals, aliasAndTagRefusals,
		gameSessionRefusals, playerSessionRefusals,
		queueRefusals, matchmakingRefusals) {
		info := w.handlers[r.operation].Info
		_, err := w.call(r.operation, names.Replace(r.body))
		f := fault.Of(err)
		switch {
		case f == nil || f.Kind != r.kind:
			t.Errorf("%s, %s: got %v, want %s", r.operation, r.why, err, r.kind)
		case strings.TrimSpace(f.Message) == "":
			t.Errorf("%s, %s: %s says nothing", r.operation, r.why, f.Kind)
		case !info.Models(f.Kind) && !slices.Contains(bare[r.operation], f.Kind):
			t.Errorf("%s, %s: %s is not modelled on the operation, and no known bare exception", r.operation, r.why,
				f.Kind)
		}
	}
	if after := w.state(); after != before {
		t.Errorf("refused calls changed the state from\n%s\nto\n%s", before, after)
	}
	_, err := w.call("ResolveAlias", names.Replace(`{"AliasId":"CLOSED"}`))
	if f := fault.Of(err); f == nil || f.Message != "Closed for today" {
		t.Errorf("the message of a terminal alias is its own, got %v", err)
	}
}

func TestQuotas(t *testing.T) {
	w := newWorld(t, withShards(1), withLimits(func(l *catalog.Limits) {
		l.Locations, l.Fleets, l.LocationsPerFleet, l.ComputesPerFleet, l.Aliases = 3, 1, 2, 1, 1
	}))
	id := w.fleetAt("custom-a", "custom-b")
	w.must("CreateLocation", `{"LocationName":"custom-c"}`)
	w.compute(id, "custom-a", "c1")
	alias := object{"Name": "a", "RoutingStrategy": object{"Type": "SIMPLE", "FleetId": id}}
	w.must("CreateAlias", alias)
	w.refused(fault.LimitExceeded, "CreateLocation", `{"LocationName":"custom-d"}`)
	w.refused(fault.LimitExceeded, "CreateFleet",
		`{"Name":"f","ComputeType":"ANYWHERE","Locations":[{"Location":"custom-a"}]}`)
	w.refused(fault.LimitExceeded, "CreateFleetLocations",
		object{"FleetId": id, "Locations": []object{{"Location": "custom-c"}}})
	w.refused(fault.LimitExceeded, "RegisterCompute",
		object{"FleetId": id, "ComputeName": "c2", "Location": "custom-a", "IpAddress": "10.0.0.2"})
	w.refused(fault.LimitExceeded, "CreateAlias", alias)
	w.compute(id, "custom-a", "c1") // the one that is there does not count twice
	w.must("DeleteFleet", object{"FleetId": id})
	w.fleetAt("custom-a")
}
