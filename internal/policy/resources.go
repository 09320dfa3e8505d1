package policy

import "strings"

// A Member is a member of an operation's input that names the resource on which the operation acts, or a list of them.
type Member struct {
	Name string // of the input: "FleetId", "Names"
	// Kind is the kind of the resource in its ARN, such as "fleet" (also for ids of container fleets), or:
	//
	//	"arn"            the member is an ARN of any kind
	//	"gamesession"    a game session's id or ARN, which names its fleet
	//	"playersession"  a player session's id, whose game session names the fleet
	//	"placement"      a placement's id, whose queue is the resource
	//	"ticket"         a ticket's id, whose matchmaking configuration is the resource
	Kind string
}

// Members returns the members of a GameLift operation's input that name resources; the caller must not change the
// slice. A request must be allowed on each resource that it names. One that names none is evaluated with the resource
// "*": an operation without members always, one with optional members if all are absent.
//
// For operations that have resources on AWS the members are those. For the others AWS evaluates "*", and nobody can be
// limited to the game sessions of a fleet; here they have resources too. With "*" in a policy both are alike. Members
// that only filter, or refer to a resource from the definition of another (the fleet of an alias, the queues of a
// matchmaking configuration), are not among them.
// Source: Service Authorization Reference, "Actions, resources, and condition keys for Amazon GameLift Servers".
func Members(a Action) []Member { return memberTable[a] }

func one(name, kind string) []Member { return []Member{{name, kind}} }

// memberRows is the table: members, and the operations that have them.
var memberRows = []struct {
	members    []Member
	operations string
}{
	{one("FleetId", "fleet"), `CreateFleetLocations CreateVpcPeeringConnection DeleteContainerFleet DeleteFleet
		DeleteFleetLocations DeleteScalingPolicy DeleteVpcPeeringConnection DeregisterCompute DescribeCompute
		DescribeContainerFleet DescribeContainerGroupPortMappings DescribeFleetDeployment DescribeFleetEvents
		DescribeFleetLocationAttributes DescribeFleetLocationCapacity DescribeFleetLocationUtilization
		DescribeFleetPortSettings DescribeInstances DescribeRuntimeConfiguration DescribeScalingPolicies
		DescribeVpcPeeringConnections GetComputeAccess GetComputeAuthToken GetInstanceAccess ListCompute
		ListFleetDeployments PutScalingPolicy RegisterCompute StartFleetActions StopFleetActions UpdateContainerFleet
		UpdateFleetAttributes UpdateFleetCapacity UpdateFleetPortSettings UpdateRuntimeConfiguration`},
	{one("FleetIds", "fleet"), `DescribeFleetAttributes DescribeFleetCapacity DescribeFleetUtilization`},
	{one("AliasId", "alias"), `DeleteAlias DescribeAlias ResolveAlias UpdateAlias`},
	{one("LocationName", "location"), `CreateLocation DeleteLocation`},
	{one("Name", "gamesessionqueue"), `CreateGameSessionQueue DeleteGameSessionQueue UpdateGameSessionQueue`},
	{one("Names", "gamesessionqueue"), `DescribeGameSessionQueues`},
	{one("GameSessionQueueName", "gamesessionqueue"), `StartGameSessionPlacement`},
	{one("PlacementId", "placement"), `DescribeGameSessionPlacement StopGameSessionPlacement`},
	{one("Name", "matchmakingconfiguration"), `CreateMatchmakingConfiguration DeleteMatchmakingConfiguration
		UpdateMatchmakingConfiguration`},
	{one("Names", "matchmakingconfiguration"), `DescribeMatchmakingConfigurations`},
	{one("Name", "matchmakingruleset"), `CreateMatchmakingRuleSet DeleteMatchmakingRuleSet`},
	{one("Names", "matchmakingruleset"), `DescribeMatchmakingRuleSets`},
	{one("ConfigurationName", "matchmakingconfiguration"), `StartMatchmaking`},
	{[]Member{{"ConfigurationName", "matchmakingconfiguration"}, {"GameSessionArn", "gamesession"}},
		`StartMatchBackfill`},
	{one("TicketId", "ticket"), `AcceptMatch StopMatchmaking`},
	{one("TicketIds", "ticket"), `DescribeMatchmaking`},
	{[]Member{{"FleetId", "fleet"}, {"AliasId", "alias"}}, `CreateGameSession SearchGameSessions`},
	{[]Member{{"FleetId", "fleet"}, {"AliasId", "alias"}, {"GameSessionId", "gamesession"}},
		`DescribeGameSessionDetails DescribeGameSessions`},
	{one("GameSessionId", "gamesession"), `CreatePlayerSession CreatePlayerSessions GetGameSessionLogUrl
		GetPlayerConnectionDetails TerminateGameSession UpdateGameSession`},
	{[]Member{{"GameSessionId", "gamesession"}, {"PlayerSessionId", "playersession"}}, `DescribePlayerSessions`},
	{one("BuildId", "build"), `DeleteBuild DescribeBuild RequestUploadCredentials UpdateBuild`},
	{one("ScriptId", "script"), `DeleteScript DescribeScript UpdateScript`},
	{one("GameServerGroupName", "gameservergroup"), `ClaimGameServer CreateGameServerGroup DeleteGameServerGroup
		DeregisterGameServer DescribeGameServer DescribeGameServerGroup DescribeGameServerInstances ListGameServers
		RegisterGameServer ResumeGameServerGroup SuspendGameServerGroup UpdateGameServer UpdateGameServerGroup`},
	{one("Name", "containergroupdefinition"), `CreateContainerGroupDefinition DeleteContainerGroupDefinition
		DescribeContainerGroupDefinition ListContainerGroupDefinitionVersions UpdateContainerGroupDefinition`},
	{one("ResourceARN", "arn"), `ListTagsForResource TagResource UntagResource`},
	{nil, `CreateAlias CreateBuild CreateContainerFleet CreateFleet CreateScript CreateVpcPeeringAuthorization
		DeleteVpcPeeringAuthorization DescribeEC2InstanceLimits DescribeVpcPeeringAuthorizations ListAliases ListBuilds
		ListContainerFleets ListContainerGroupDefinitions ListFleets ListGameServerGroups ListLocations ListScripts
		ValidateMatchmakingRuleSet`},
}

// memberTable is the table by action.
var memberTable = func() [][]Member {
	table := make([][]Member, len(actionNames))
	for _, row := range memberRows {
		for name := range strings.FieldsSeq(row.operations) {
			table[actionIndex[lower("gamelift:"+name)]] = row.members
		}
	}
	return table
}()
