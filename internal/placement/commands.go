package placement

import "github.com/muster-gg/muster/internal/event"

// Commands lists the types of commands (301–399). A number is never reused; it is unrelated to the numbers of events.
// See package event.
var Commands = []event.Entry{
	{Number: 301, Type: (*Begin)(nil)},
	{Number: 302, Type: (*Ended)(nil)},
	{Number: 303, Type: (*Fail)(nil)},
	{Number: 304, Type: (*Forget)(nil)},
	{Number: 305, Type: (*Fulfil)(nil)},
	{Number: 306, Type: (*Refused)(nil)},
	{Number: 307, Type: (*Start)(nil)},
	{Number: 308, Type: (*Stop)(nil)},
	{Number: 309, Type: (*Trim)(nil)},
	{Number: 310, Type: (*Cancel)(nil), Level: 2},
}
