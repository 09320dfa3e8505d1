package catalog

import "github.com/muster-gg/muster/internal/event"

// Events lists the types of the catalog with their numbers in the file format: events below 50 and from 60 to 79,
// records of snapshots from 50 to 59 and from 80 to 89.
var Events = []event.Entry{
	{Number: 1, Type: (*LocationCreated)(nil)},
	{Number: 2, Type: (*LocationDeleted)(nil)},

	{Number: 5, Type: (*FleetCreated)(nil)},
	{Number: 6, Type: (*FleetAttributesUpdated)(nil)},
	{Number: 7, Type: (*RuntimeConfigurationUpdated)(nil)},
	{Number: 8, Type: (*FleetDeletionStarted)(nil)},
	{Number: 9, Type: (*FleetTerminated)(nil)},
	{Number: 10, Type: (*FleetForgotten)(nil)},
	{Number: 11, Type: (*FleetEventRecorded)(nil)},
	{Number: 12, Type: (*FleetEventsExpired)(nil)},
	{Number: 13, Type: (*FleetLocationsAdded)(nil)},
	{Number: 14, Type: (*FleetLocationRemovalStarted)(nil)},
	{Number: 15, Type: (*FleetLocationRemoved)(nil)},

	{Number: 20, Type: (*ComputeClaimed)(nil)},
	{Number: 21, Type: (*ComputeReleased)(nil)},

	{Number: 25, Type: (*AliasCreated)(nil)},
	{Number: 26, Type: (*AliasUpdated)(nil)},
	{Number: 27, Type: (*AliasDeleted)(nil)},

	{Number: 30, Type: (*ResourceTagged)(nil)},
	{Number: 31, Type: (*ResourceUntagged)(nil)},

	{Number: 35, Type: (*AccessKeyPut)(nil)},
	{Number: 36, Type: (*AccessKeyDeleted)(nil)},

	{Number: 40, Type: (*CreationClaimed)(nil)},
	{Number: 41, Type: (*CreationReleased)(nil)},
	{Number: 42, Type: (*CreationsExpired)(nil)},

	{Number: 50, Type: (*Location)(nil)},
	{Number: 51, Type: (*Fleet)(nil)},
	{Number: 52, Type: (*FleetLocation)(nil)},
	{Number: 53, Type: (*FleetEvent)(nil)},
	{Number: 54, Type: (*ComputeClaim)(nil)},
	{Number: 55, Type: (*Alias)(nil)},
	{Number: 56, Type: (*ResourceTags)(nil)},
	{Number: 57, Type: (*AccessKey)(nil)},
	{Number: 58, Type: (*CreatorWindow)(nil)},

	{Number: 60, Type: (*QueueCreated)(nil)},
	{Number: 61, Type: (*QueueUpdated)(nil)},
	{Number: 62, Type: (*QueueDeleted)(nil)},

	{Number: 65, Type: (*MatchmakingConfigurationCreated)(nil)},
	{Number: 66, Type: (*MatchmakingConfigurationUpdated)(nil)},
	{Number: 67, Type: (*MatchmakingConfigurationDeleted)(nil)},

	{Number: 70, Type: (*RuleSetCreated)(nil)},
	{Number: 71, Type: (*RuleSetDeleted)(nil)},

	{Number: 80, Type: (*Queue)(nil)},
	{Number: 81, Type: (*MatchmakingConfiguration)(nil)},
	{Number: 82, Type: (*RuleSet)(nil)},
}

// Commands lists the types of commands (1–99). A number is never reused; it is unrelated to the numbers of events. See
// package event.
var Commands = []event.Entry{
	{Number: 1, Type: (*AddFleetLocations)(nil)},
	{Number: 2, Type: (*ClaimCompute)(nil)},
	{Number: 3, Type: (*ClaimCreation)(nil)},
	{Number: 4, Type: (*CreateAlias)(nil)},
	{Number: 5, Type: (*CreateFleet)(nil)},
	{Number: 6, Type: (*CreateLocation)(nil)},
	{Number: 7, Type: (*CreateMatchmakingConfiguration)(nil)},
	{Number: 8, Type: (*CreateQueue)(nil)},
	{Number: 9, Type: (*CreateRuleSet)(nil)},
	{Number: 10, Type: (*DeleteAccessKey)(nil)},
	{Number: 11, Type: (*DeleteAlias)(nil)},
	{Number: 12, Type: (*DeleteFleet)(nil)},
	{Number: 13, Type: (*DeleteLocation)(nil)},
	{Number: 14, Type: (*DeleteMatchmakingConfiguration)(nil)},
	{Number: 15, Type: (*DeleteQueue)(nil)},
	{Number: 16, Type: (*DeleteRuleSet)(nil)},
	{Number: 17, Type: (*FinishFleetDeletion)(nil)},
	{Number: 18, Type: (*FinishFleetLocationRemoval)(nil)},
	{Number: 19, Type: (*PutAccessKey)(nil)},
	{Number: 20, Type: (*RecordFleetEvent)(nil)},
	{Number: 21, Type: (*ReleaseCompute)(nil)},
	{Number: 22, Type: (*ReleaseCreation)(nil)},
	{Number: 23, Type: (*RemoveFleetLocations)(nil)},
	{Number: 24, Type: (*TagResource)(nil)},
	{Number: 25, Type: (*UntagResource)(nil)},
	{Number: 26, Type: (*UpdateAlias)(nil)},
	{Number: 27, Type: (*UpdateFleetAttributes)(nil)},
	{Number: 28, Type: (*UpdateMatchmakingConfiguration)(nil)},
	{Number: 29, Type: (*UpdateQueue)(nil)},
	{Number: 30, Type: (*UpdateRuntimeConfiguration)(nil)},
}
