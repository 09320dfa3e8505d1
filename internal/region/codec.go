package region

import (
	"fmt"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
)

// Commands and their answers travel between nodes as values of package event. A
// command is one or two of them: which part of the shard it is for, and what that
// part is asked.

// Commands are the types of commands. Their numbers have nothing to do with those of
// events.
var Commands = event.NewSet(catalog.Commands, fleet.Commands, placement.Commands, matchmaking.Commands, []event.Entry{
	{Number: 201, Type: (*RoomCommand)(nil)},
	{Number: 202, Type: (*CloseRoom)(nil)},
	{Number: 203, Type: (*CatalogCommand)(nil)},
	{Number: 204, Type: (*PlacementCommand)(nil)},
	{Number: 205, Type: (*MatchmakingCommand)(nil)},
	{Number: 206, Type: (*RaiseLevel)(nil), Level: 2},
})

// AppendCommand appends the bytes of a command behind dst. It fails for a type that
// is not one of Commands.
func AppendCommand(dst []byte, c Command) ([]byte, error) {
	dst, err := Commands.AppendValue(dst, c)
	if err != nil {
		return nil, err
	}
	switch c := c.(type) {
	case RoomCommand:
		return Commands.AppendValue(dst, c.Command)
	case CatalogCommand:
		return Commands.AppendValue(dst, c.Command)
	case PlacementCommand:
		return Commands.AppendValue(dst, c.Command)
	case MatchmakingCommand:
		return Commands.AppendValue(dst, c.Command)
	default:
		return dst, nil
	}
}

// DecodeCommand reads what AppendCommand wrote, in this release or in one next to
// it; fields that are not known are ignored. It keeps nothing of data. event.ErrUnknown
// is in the chain of the error for a command that this release does not have. After an
// error nothing can have been done.
func DecodeCommand(data []byte) (Command, error) {
	v, rest, err := nextCommand(data)
	if err != nil {
		return nil, fmt.Errorf("command: %w", err)
	}
	c, rest, err := withPartCommand(v, rest)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes too many", len(rest))
	}
	if err != nil {
		return nil, fmt.Errorf("command: %w", err)
	}
	return c, nil
}

// nextCommand reads a value of one of Commands.
func nextCommand(data []byte) (v any, rest []byte, err error) {
	p, rest, err := Commands.NextValue(data)
	if err != nil {
		return nil, nil, err
	}
	v, ok := event.Deref(p)
	if !ok {
		return nil, nil, fmt.Errorf("%T is null", p)
	}
	return v, rest, nil
}

// withAsked is the command that begins with v: what its part is asked stands in data.
func withPartCommand(v any, data []byte) (c Command, rest []byte, err error) {
	switch v := v.(type) {
	case RoomCommand:
		v.Command, rest, err = partCommand[fleet.Command](data)
		return v, rest, err
	case CatalogCommand:
		v.Command, rest, err = partCommand[catalog.Command](data)
		return v, rest, err
	case PlacementCommand:
		v.Command, rest, err = partCommand[placement.Command](data)
		return v, rest, err
	case MatchmakingCommand:
		v.Command, rest, err = partCommand[matchmaking.Command](data)
		return v, rest, err
	case Command:
		return v, data, nil
	default:
		return nil, nil, fmt.Errorf("a %T is none on its own", v)
	}
}

// asked reads what a part of the shard is asked.
func partCommand[C any](data []byte) (c C, rest []byte, err error) {
	v, rest, err := nextCommand(data)
	if err != nil {
		return c, nil, err
	}
	c, ok := v.(C)
	if !ok {
		return c, nil, fmt.Errorf("a %T is for another part of the shard", v)
	}
	return c, rest, nil
}
