package matchmaking

import "github.com/muster-gg/muster/internal/event"

// Commands lists the types of commands (401–499). A number is never reused; it is unrelated to the numbers of events.
// See package event.
var Commands = []event.Entry{
	{Number: 401, Type: (*Accept)(nil)},
	{Number: 402, Type: (*Discard)(nil)},
	{Number: 403, Type: (*FillFailed)(nil)},
	{Number: 404, Type: (*Filled)(nil)},
	{Number: 405, Type: (*Forget)(nil)},
	{Number: 406, Type: (*Placed)(nil)},
	{Number: 407, Type: (*PlacementFailed)(nil)},
	{Number: 408, Type: (*PlacementTimedOut)(nil)},
	{Number: 409, Type: (*Propose)(nil)},
	{Number: 410, Type: (*GameSessionEnded)(nil)},
	{Number: 411, Type: (*Start)(nil)},
	{Number: 412, Type: (*Stop)(nil)},
	{Number: 413, Type: (*Trim)(nil)},
}
