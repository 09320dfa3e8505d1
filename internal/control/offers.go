package control

import (
	"slices"

	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/wire"
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
	wire.Handler
	Support Support
	Note    string     // what is missing, or why the operation is not offered
	Refusal fault.Kind // with which an operation that is not offered answers
}

// Handlers are the operations for the door that serves them.
func (p *Plane) Handlers() []wire.Handler {
	var handlers []wire.Handler
	for _, o := range p.Offers() {
		handlers = append(handlers, o.Handler)
	}
	return handlers
}

// A Family is operations that belong together.
type Family struct {
	Name   string
	Offers []Offer
	Shapes []Shape // of their inputs and outputs, where the table goes down to these
}

// Families is the table of all operations by family. The compatibility table of
// the documentation is made from it.
func (p *Plane) Families() []Family {
	return []Family{
		{Name: "Locations", Offers: p.offerLocations()},
		{Name: "Fleets", Offers: p.offerFleets()},
		{Name: "Capacity, utilization and ports", Offers: p.offerCapacity()},
		{Name: "Computes", Offers: p.offerComputes()},
		{Name: "Game sessions", Offers: p.offerGameSessions()},
		{Name: "Player sessions", Offers: p.offerPlayerSessions()},
		{Name: "Aliases", Offers: p.offerAliases()},
		{Name: "Tags", Offers: p.offerTags()},
		{Name: "Queues and placements", Offers: p.offerQueues(), Shapes: slices.Concat(queueShapes(), placementShapes())},
		{Name: "Matchmaking", Offers: p.offerMatchmaking(), Shapes: slices.Concat(matchmakingShapes(), ticketShapes())},
		{Name: "Builds and scripts", Offers: offerBuilds()},
		{Name: "Container fleets", Offers: offerContainers()},
		{Name: "FleetIQ game servers", Offers: offerFleetIQ()},
		{Name: "VPC peering", Offers: offerVPC()},
		{Name: "Remote access", Offers: offerRemote()},
	}
}

// Offers is the table of all operations.
func (p *Plane) Offers() []Offer {
	var offers []Offer
	for _, f := range p.Families() {
		offers = append(offers, f.Offers...)
	}
	return offers
}

func full(h wire.Handler) Offer { return Offer{Handler: h, Support: Full} }

func partly(h wire.Handler, note string) Offer { return Offer{Handler: h, Support: Partly, Note: note} }

// absent refuses an operation with the exception that says "not offered here":
// UnsupportedRegionException where the model lists it for the operation, else
// InvalidRequestException.
func absent[I, O any](op wire.Operation[I, O], why string) Offer {
	kind := fault.InvalidRequest
	if op.Models(fault.UnsupportedRegion) {
		kind = fault.UnsupportedRegion
	}
	return refused(op, kind, why)
}

func refused[I, O any](op wire.Operation[I, O], kind fault.Kind, why string) Offer {
	return Offer{Handler: op.Refuse(kind, op.Name+" is not offered. "+why), Support: No, Note: why, Refusal: kind}
}

func (p *Plane) offerLocations() []Offer {
	return []Offer{
		full(wire.OpCreateLocation.Handle(p.CreateLocation)),
		full(wire.OpListLocations.Handle(p.ListLocations)),
		full(wire.OpDeleteLocation.HandleEmpty(p.DeleteLocation)),
	}
}

func (p *Plane) offerFleets() []Offer {
	return []Offer{
		partly(wire.OpCreateFleet.Handle(p.CreateFleet), "Compute type ANYWHERE. There are no managed EC2 instances."),
		full(wire.OpDescribeFleetAttributes.Handle(p.DescribeFleetAttributes)),
		full(wire.OpListFleets.Handle(p.ListFleets)),
		full(wire.OpUpdateFleetAttributes.Handle(p.UpdateFleetAttributes)),
		full(wire.OpDeleteFleet.HandleEmpty(p.DeleteFleet)),
		full(wire.OpCreateFleetLocations.Handle(p.CreateFleetLocations)),
		full(wire.OpDeleteFleetLocations.Handle(p.DeleteFleetLocations)),
		full(wire.OpDescribeFleetLocationAttributes.Handle(p.DescribeFleetLocationAttributes)),
		full(wire.OpDescribeFleetEvents.Handle(p.DescribeFleetEvents)),
		full(wire.OpDescribeRuntimeConfiguration.Handle(p.DescribeRuntimeConfiguration)),
		partly(wire.OpUpdateRuntimeConfiguration.Handle(p.UpdateRuntimeConfiguration), "Kept, and its activation limits hold. Launching processes from it needs an agent."),
	}
}

// noScaling is why nothing about capacity can be changed.
const noScaling = "Capacity is the computes that are registered; the service launches and scales none."

func (p *Plane) offerCapacity() []Offer {
	return []Offer{
		partly(wire.OpDescribeFleetCapacity.Handle(p.DescribeFleetCapacity), "Counts registered computes as instances."),
		partly(wire.OpDescribeFleetLocationCapacity.Handle(p.DescribeFleetLocationCapacity), "Counts registered computes as instances."),
		full(wire.OpDescribeFleetUtilization.Handle(p.DescribeFleetUtilization)),
		full(wire.OpDescribeFleetLocationUtilization.Handle(p.DescribeFleetLocationUtilization)),
		partly(wire.OpDescribeFleetPortSettings.Handle(p.DescribeFleetPortSettings), "Always without permissions: firewalls of computes are their owner's."),
		refused(wire.OpUpdateFleetPortSettings, fault.InvalidRequest, "Firewalls of Anywhere computes are their owner's."),
		refused(wire.OpUpdateFleetCapacity, fault.InvalidRequest, noScaling),
		refused(wire.OpPutScalingPolicy, fault.InvalidRequest, noScaling),
		refused(wire.OpDeleteScalingPolicy, fault.NotFound, "There are no scaling policies. "+noScaling),
		refused(wire.OpDescribeScalingPolicies, fault.InvalidRequest, "There are no scaling policies. "+noScaling),
		refused(wire.OpStartFleetActions, fault.InvalidRequest, noScaling),
		refused(wire.OpStopFleetActions, fault.InvalidRequest, noScaling),
		refused(wire.OpDescribeEC2InstanceLimits, fault.InvalidRequest, "There are no managed EC2 instances."),
	}
}

func (p *Plane) offerComputes() []Offer {
	return []Offer{
		full(wire.OpRegisterCompute.Handle(p.RegisterCompute)),
		full(wire.OpDeregisterCompute.HandleEmpty(p.DeregisterCompute)),
		full(wire.OpDescribeCompute.Handle(p.DescribeCompute)),
		full(wire.OpListCompute.Handle(p.ListCompute)),
		full(wire.OpGetComputeAuthToken.Handle(p.GetComputeAuthToken)),
	}
}

func (p *Plane) offerGameSessions() []Offer {
	return []Offer{
		full(wire.OpCreateGameSession.Handle(p.CreateGameSession)),
		full(wire.OpDescribeGameSessions.Handle(p.DescribeGameSessions)),
		full(wire.OpDescribeGameSessionDetails.Handle(p.DescribeGameSessionDetails)),
		full(wire.OpSearchGameSessions.Handle(p.SearchGameSessions)),
		full(wire.OpUpdateGameSession.Handle(p.UpdateGameSession)),
		partly(wire.OpTerminateGameSession.Handle(p.TerminateGameSession), "TRIGGER_ON_PROCESS_TERMINATE. FORCE_TERMINATE needs an agent on the compute."),
		refused(wire.OpGetGameSessionLogUrl, fault.NotFound, "Game session logs stay on their computes; none are collected."),
	}
}

func (p *Plane) offerPlayerSessions() []Offer {
	return []Offer{
		full(wire.OpCreatePlayerSession.Handle(p.CreatePlayerSession)),
		full(wire.OpCreatePlayerSessions.Handle(p.CreatePlayerSessions)),
		full(wire.OpDescribePlayerSessions.Handle(p.DescribePlayerSessions)),
		partly(wire.OpGetPlayerConnectionDetails.Handle(p.GetPlayerConnectionDetails), "The address of the game server. There is no player gateway, so no gateway tokens."),
	}
}

func (p *Plane) offerAliases() []Offer {
	return []Offer{
		full(wire.OpCreateAlias.Handle(p.CreateAlias)),
		full(wire.OpUpdateAlias.Handle(p.UpdateAlias)),
		full(wire.OpDescribeAlias.Handle(p.DescribeAlias)),
		full(wire.OpListAliases.Handle(p.ListAliases)),
		full(wire.OpDeleteAlias.HandleEmpty(p.DeleteAlias)),
		full(wire.OpResolveAlias.Handle(p.ResolveAlias)),
	}
}

func (p *Plane) offerTags() []Offer {
	return []Offer{
		full(wire.OpTagResource.HandleEmpty(p.TagResource)),
		full(wire.OpUntagResource.HandleEmpty(p.UntagResource)),
		full(wire.OpListTagsForResource.Handle(p.ListTagsForResource)),
	}
}

// inOneRegion is what queues and matchmaking configurations lack.
const inOneRegion = "Nothing is placed in other Regions. Events go to a feed and to webhooks instead of SNS."

func (p *Plane) offerQueues() []Offer {
	return []Offer{
		partly(wire.OpCreateGameSessionQueue.Handle(p.CreateGameSessionQueue), inOneRegion),
		full(wire.OpDescribeGameSessionQueues.Handle(p.DescribeGameSessionQueues)),
		partly(wire.OpUpdateGameSessionQueue.Handle(p.UpdateGameSessionQueue), inOneRegion),
		full(wire.OpDeleteGameSessionQueue.HandleEmpty(p.DeleteGameSessionQueue)),
		full(wire.OpStartGameSessionPlacement.Handle(p.StartGameSessionPlacement)),
		full(wire.OpDescribeGameSessionPlacement.Handle(p.DescribeGameSessionPlacement)),
		full(wire.OpStopGameSessionPlacement.Handle(p.StopGameSessionPlacement)),
	}
}

func (p *Plane) offerMatchmaking() []Offer {
	return []Offer{
		partly(wire.OpCreateMatchmakingConfiguration.Handle(p.CreateMatchmakingConfiguration), inOneRegion),
		full(wire.OpDescribeMatchmakingConfigurations.Handle(p.DescribeMatchmakingConfigurations)),
		partly(wire.OpUpdateMatchmakingConfiguration.Handle(p.UpdateMatchmakingConfiguration), inOneRegion),
		full(wire.OpDeleteMatchmakingConfiguration.HandleEmpty(p.DeleteMatchmakingConfiguration)),
		full(wire.OpCreateMatchmakingRuleSet.Handle(p.CreateMatchmakingRuleSet)),
		full(wire.OpDescribeMatchmakingRuleSets.Handle(p.DescribeMatchmakingRuleSets)),
		full(wire.OpDeleteMatchmakingRuleSet.HandleEmpty(p.DeleteMatchmakingRuleSet)),
		full(wire.OpValidateMatchmakingRuleSet.Handle(p.ValidateMatchmakingRuleSet)),
		full(wire.OpStartMatchmaking.Handle(p.StartMatchmaking)),
		full(wire.OpDescribeMatchmaking.Handle(p.DescribeMatchmaking)),
		full(wire.OpStopMatchmaking.HandleEmpty(p.StopMatchmaking)),
		full(wire.OpAcceptMatch.HandleEmpty(p.AcceptMatch)),
		full(wire.OpStartMatchBackfill.Handle(p.StartMatchBackfill)),
	}
}

func offerBuilds() []Offer {
	const (
		builds  = "Builds are for managed instances. Install game servers on your computes yourself."
		scripts = "Realtime scripts run on managed instances only."
	)
	return []Offer{
		absent(wire.OpCreateBuild, builds),
		absent(wire.OpDescribeBuild, builds),
		absent(wire.OpListBuilds, builds),
		absent(wire.OpUpdateBuild, builds),
		absent(wire.OpDeleteBuild, builds),
		absent(wire.OpRequestUploadCredentials, builds),
		absent(wire.OpCreateScript, scripts),
		absent(wire.OpDescribeScript, scripts),
		absent(wire.OpListScripts, scripts),
		absent(wire.OpUpdateScript, scripts),
		absent(wire.OpDeleteScript, scripts),
	}
}

func offerContainers() []Offer {
	const why = "Container fleets run on managed instances. Use an Anywhere fleet: your computes may be containers."
	return []Offer{
		absent(wire.OpCreateContainerFleet, why),
		absent(wire.OpDescribeContainerFleet, why),
		absent(wire.OpListContainerFleets, why),
		absent(wire.OpUpdateContainerFleet, why),
		absent(wire.OpDeleteContainerFleet, why),
		absent(wire.OpCreateContainerGroupDefinition, why),
		absent(wire.OpDescribeContainerGroupDefinition, why),
		absent(wire.OpDescribeContainerGroupPortMappings, why),
		absent(wire.OpListContainerGroupDefinitions, why),
		absent(wire.OpListContainerGroupDefinitionVersions, why),
		absent(wire.OpUpdateContainerGroupDefinition, why),
		absent(wire.OpDeleteContainerGroupDefinition, why),
		absent(wire.OpDescribeFleetDeployment, why),
		absent(wire.OpListFleetDeployments, why),
	}
}

func offerFleetIQ() []Offer {
	const why = "FleetIQ game server groups are not part of this release. Use an Anywhere fleet."
	return []Offer{
		absent(wire.OpCreateGameServerGroup, why),
		absent(wire.OpDescribeGameServerGroup, why),
		absent(wire.OpListGameServerGroups, why),
		absent(wire.OpUpdateGameServerGroup, why),
		absent(wire.OpDeleteGameServerGroup, why),
		absent(wire.OpSuspendGameServerGroup, why),
		absent(wire.OpResumeGameServerGroup, why),
		absent(wire.OpDescribeGameServerInstances, why),
		absent(wire.OpRegisterGameServer, why),
		absent(wire.OpDescribeGameServer, why),
		absent(wire.OpListGameServers, why),
		absent(wire.OpUpdateGameServer, why),
		absent(wire.OpClaimGameServer, why),
		absent(wire.OpDeregisterGameServer, why),
	}
}

func offerVPC() []Offer {
	const why = "VPC peering connects managed instances, of which there are none."
	return []Offer{
		absent(wire.OpCreateVpcPeeringAuthorization, why),
		absent(wire.OpDescribeVpcPeeringAuthorizations, why),
		absent(wire.OpDeleteVpcPeeringAuthorization, why),
		absent(wire.OpCreateVpcPeeringConnection, why),
		absent(wire.OpDescribeVpcPeeringConnections, why),
		absent(wire.OpDeleteVpcPeeringConnection, why),
	}
}

func offerRemote() []Offer {
	const why = "Computes of Anywhere fleets are reached by their owner, not through the service."
	return []Offer{
		refused(wire.OpDescribeInstances, fault.InvalidRequest, why),
		refused(wire.OpGetComputeAccess, fault.InvalidRequest, why),
		refused(wire.OpGetInstanceAccess, fault.InvalidRequest, why),
	}
}
