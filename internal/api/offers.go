package api

import (
	"slices"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// Support says how far an operation is offered.
type Support string

// The grades of support, as the compatibility table shows them.
const (
	Full   Support = "yes"
	Partly Support = "partly"
	No     Support = "no"
)

// An Offer is one operation of the API with what this service makes of it.
type Offer struct {
	Info    *wire.OperationInfo
	Support Support
	Note    string     // what is missing, or why the operation is not offered
	Refusal fault.Kind // the error of an operation that is not offered

	refuse wire.Handler // answers with Refusal
}

// A Family is operations that belong together.
type Family struct {
	Name   string
	Offers []Offer
	Shapes []Shape // of their inputs and outputs, where the table goes down to these
}

// Refusals are the handlers of the operations that are not offered.
func Refusals() (handlers []wire.Handler) {
	for _, f := range Families {
		for _, o := range f.Offers {
			if o.Support == No {
				handlers = append(handlers, o.refuse)
			}
		}
	}
	return handlers
}

func full[I, O any](op wire.Operation[I, O]) Offer {
	return Offer{Info: op.OperationInfo, Support: Full}
}

func partly[I, O any](op wire.Operation[I, O], note string) Offer {
	return Offer{Info: op.OperationInfo, Support: Partly, Note: note}
}

// absent rejects an operation with the exception that means "not offered here": UnsupportedRegionException if the model
// lists it for the operation, else InvalidRequestException.
func absent[I, O any](op wire.Operation[I, O], why string) Offer {
	kind := fault.InvalidRequest
	if op.Models(fault.UnsupportedRegion) {
		kind = fault.UnsupportedRegion
	}
	return refused(op, kind, why)
}

func refused[I, O any](op wire.Operation[I, O], kind fault.Kind, why string) Offer {
	return Offer{
		Info: op.OperationInfo, Support: No, Note: why, Refusal: kind,
		refuse: op.Refuse(kind, op.Name+" is not offered. "+why),
	}
}

// Why operations are not offered, or not in full.
const (
	inOneRegion  = "Nothing is placed in other Regions. Events go to a feed and to webhooks instead of SNS."
	noScripts    = "Realtime scripts are not run. Upload a build of a game server instead."
	noContainers = "Container fleets are not offered. Use an Anywhere fleet: your computes may be containers."
	noFleetIQ    = "FleetIQ game server groups are not part of this release. Use an Anywhere fleet."
	noPeering    = "Instances of fleets run on machines of your own, which are in no VPC of GameLift."
	noRemote     = "Computes and machines are reached by their owner, not through the service."
)

// Families is the table of all operations by family. The compatibility table of the documentation is made from it.
var Families = []Family{
	{Name: "Locations", Offers: []Offer{
		full(wire.OpCreateLocation),
		full(wire.OpListLocations),
		full(wire.OpDeleteLocation),
	}},
	{Name: "Fleets", Offers: []Offer{
		partly(wire.OpCreateFleet, "Compute types ANYWHERE and EC2. Instances of EC2-type fleets run on machines that "+
			"have joined. Builds are run, scripts are not; there are no VPCs and no required player gateways."),
		full(wire.OpDescribeFleetAttributes),
		full(wire.OpListFleets),
		full(wire.OpDescribeInstances),
		full(wire.OpUpdateFleetAttributes),
		full(wire.OpDeleteFleet),
		full(wire.OpCreateFleetLocations),
		full(wire.OpDeleteFleetLocations),
		full(wire.OpDescribeFleetLocationAttributes),
		full(wire.OpDescribeFleetEvents),
		full(wire.OpDescribeRuntimeConfiguration),
		partly(wire.OpUpdateRuntimeConfiguration,
			"Kept, and its activation limits hold. The GameLift agent launches processes from it."),
	}},
	{Name: "Capacity, utilization and ports", Offers: []Offer{
		full(wire.OpDescribeFleetCapacity),
		full(wire.OpDescribeFleetLocationCapacity),
		full(wire.OpDescribeFleetUtilization),
		full(wire.OpDescribeFleetLocationUtilization),
		full(wire.OpDescribeFleetPortSettings),
		partly(wire.OpUpdateFleetPortSettings, "Kept and shown. Firewalls of machines are their owner's."),
		full(wire.OpUpdateFleetCapacity),
		full(wire.OpPutScalingPolicy),
		full(wire.OpDeleteScalingPolicy),
		full(wire.OpDescribeScalingPolicies),
		full(wire.OpStartFleetActions),
		full(wire.OpStopFleetActions),
		partly(wire.OpDescribeEC2InstanceLimits, "Of the instance types that fleets use, or the one asked for. The "+
			"limit is how many instances the machines of the location have room for, with those that there are."),
	}},
	{Name: "Computes", Offers: []Offer{
		full(wire.OpRegisterCompute),
		full(wire.OpDeregisterCompute),
		full(wire.OpDescribeCompute),
		full(wire.OpListCompute),
		full(wire.OpGetComputeAuthToken),
	}},
	{Name: "Game sessions", Offers: []Offer{
		full(wire.OpCreateGameSession),
		full(wire.OpDescribeGameSessions),
		full(wire.OpDescribeGameSessionDetails),
		full(wire.OpSearchGameSessions),
		full(wire.OpUpdateGameSession),
		partly(wire.OpTerminateGameSession,
			"FORCE_TERMINATE of game sessions whose process is run by an agent: GameLift's, or muster agent."),
		partly(wire.OpGetGameSessionLogUrl,
			"Of game sessions whose process was run by muster agent, for 14 days."),
	}},
	{Name: "Player sessions", Offers: []Offer{
		full(wire.OpCreatePlayerSession),
		full(wire.OpCreatePlayerSessions),
		full(wire.OpDescribePlayerSessions),
		partly(wire.OpGetPlayerConnectionDetails,
			"The address of the game server. There is no player gateway, so no gateway tokens."),
	}},
	{Name: "Aliases", Offers: []Offer{
		full(wire.OpCreateAlias),
		full(wire.OpUpdateAlias),
		full(wire.OpDescribeAlias),
		full(wire.OpListAliases),
		full(wire.OpDeleteAlias),
		full(wire.OpResolveAlias),
	}},
	{Name: "Tags", Offers: []Offer{
		full(wire.OpTagResource),
		full(wire.OpUntagResource),
		full(wire.OpListTagsForResource),
	}},
	{Name: "Queues and placements", Shapes: slices.Concat(queueShapes(), placementShapes()), Offers: []Offer{
		partly(wire.OpCreateGameSessionQueue, inOneRegion),
		full(wire.OpDescribeGameSessionQueues),
		partly(wire.OpUpdateGameSessionQueue, inOneRegion),
		full(wire.OpDeleteGameSessionQueue),
		full(wire.OpStartGameSessionPlacement),
		full(wire.OpDescribeGameSessionPlacement),
		full(wire.OpStopGameSessionPlacement),
	}},
	{Name: "Matchmaking", Shapes: slices.Concat(matchmakingShapes(), ticketShapes()), Offers: []Offer{
		partly(wire.OpCreateMatchmakingConfiguration, inOneRegion),
		full(wire.OpDescribeMatchmakingConfigurations),
		partly(wire.OpUpdateMatchmakingConfiguration, inOneRegion),
		full(wire.OpDeleteMatchmakingConfiguration),
		full(wire.OpCreateMatchmakingRuleSet),
		full(wire.OpDescribeMatchmakingRuleSets),
		full(wire.OpDeleteMatchmakingRuleSet),
		full(wire.OpValidateMatchmakingRuleSet),
		full(wire.OpStartMatchmaking),
		full(wire.OpDescribeMatchmaking),
		full(wire.OpStopMatchmaking),
		full(wire.OpAcceptMatch),
		full(wire.OpStartMatchBackfill),
	}},
	{Name: "Builds and scripts", Offers: []Offer{
		partly(wire.OpCreateBuild, "A storage location is in a bucket of this region."),
		full(wire.OpDescribeBuild),
		full(wire.OpListBuilds),
		full(wire.OpUpdateBuild),
		full(wire.OpDeleteBuild),
		full(wire.OpRequestUploadCredentials),
		absent(wire.OpCreateScript, noScripts),
		absent(wire.OpDescribeScript, noScripts),
		absent(wire.OpListScripts, noScripts),
		absent(wire.OpUpdateScript, noScripts),
		absent(wire.OpDeleteScript, noScripts),
	}},
	{Name: "Container fleets", Offers: []Offer{
		absent(wire.OpCreateContainerFleet, noContainers),
		absent(wire.OpDescribeContainerFleet, noContainers),
		absent(wire.OpListContainerFleets, noContainers),
		absent(wire.OpUpdateContainerFleet, noContainers),
		absent(wire.OpDeleteContainerFleet, noContainers),
		absent(wire.OpCreateContainerGroupDefinition, noContainers),
		absent(wire.OpDescribeContainerGroupDefinition, noContainers),
		absent(wire.OpDescribeContainerGroupPortMappings, noContainers),
		absent(wire.OpListContainerGroupDefinitions, noContainers),
		absent(wire.OpListContainerGroupDefinitionVersions, noContainers),
		absent(wire.OpUpdateContainerGroupDefinition, noContainers),
		absent(wire.OpDeleteContainerGroupDefinition, noContainers),
		absent(wire.OpDescribeFleetDeployment, noContainers),
		absent(wire.OpListFleetDeployments, noContainers),
	}},
	{Name: "FleetIQ game servers", Offers: []Offer{
		absent(wire.OpCreateGameServerGroup, noFleetIQ),
		absent(wire.OpDescribeGameServerGroup, noFleetIQ),
		absent(wire.OpListGameServerGroups, noFleetIQ),
		absent(wire.OpUpdateGameServerGroup, noFleetIQ),
		absent(wire.OpDeleteGameServerGroup, noFleetIQ),
		absent(wire.OpSuspendGameServerGroup, noFleetIQ),
		absent(wire.OpResumeGameServerGroup, noFleetIQ),
		absent(wire.OpDescribeGameServerInstances, noFleetIQ),
		absent(wire.OpRegisterGameServer, noFleetIQ),
		absent(wire.OpDescribeGameServer, noFleetIQ),
		absent(wire.OpListGameServers, noFleetIQ),
		absent(wire.OpUpdateGameServer, noFleetIQ),
		absent(wire.OpClaimGameServer, noFleetIQ),
		absent(wire.OpDeregisterGameServer, noFleetIQ),
	}},
	{Name: "VPC peering", Offers: []Offer{
		absent(wire.OpCreateVpcPeeringAuthorization, noPeering),
		partly(wire.OpDescribeVpcPeeringAuthorizations, "Always an empty list. "+noPeering),
		absent(wire.OpDeleteVpcPeeringAuthorization, noPeering),
		absent(wire.OpCreateVpcPeeringConnection, noPeering),
		partly(wire.OpDescribeVpcPeeringConnections, "Always an empty list. "+noPeering),
		absent(wire.OpDeleteVpcPeeringConnection, noPeering),
	}},
	{Name: "Remote access", Offers: []Offer{
		refused(wire.OpGetComputeAccess, fault.InvalidRequest, noRemote),
		refused(wire.OpGetInstanceAccess, fault.InvalidRequest, noRemote),
	}},
}
