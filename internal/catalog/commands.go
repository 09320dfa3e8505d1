package catalog

import "github.com/muster-gg/muster/internal/event"

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
