package region

import (
	"fmt"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
)

// Nodes send each other commands and answers as values of package event. A command is one or two of them: the part of
// the shard, and the command to that part.

// Commands lists the types of commands. Their numbers are unrelated to those of events.
var Commands = event.NewSet(catalog.Commands, fleet.Commands, placement.Commands, matchmaking.Commands, []event.Entry{
	{Number: 201, Type: (*RoomCommand)(nil)},
	{Number: 202, Type: (*CloseRoom)(nil)},
	{Number: 203, Type: (*CatalogCommand)(nil)},
	{Number: 204, Type: (*PlacementCommand)(nil)},
	{Number: 205, Type: (*MatchmakingCommand)(nil)},
	{Number: 206, Type: (*RaiseLevel)(nil), Level: 2},
	{Number: 207, Type: (*ReachHistory)(nil), Level: HistoryLevel},
})

// AppendCommand appends an encoded command to dst. It fails for a type that is not in Commands.
func AppendCommand(dst []byte, c Command) ([]byte, error) {
	dst, err := Commands.AppendValue(dst, c)
	if err != nil {
		return nil, err
	}
	if inner, ok := inner(c); ok {
		return Commands.AppendValue(dst, inner)
	}
	return dst, nil
}

// inner returns the command to a part of the shard; ok is false if c has none.
func inner(c Command) (command any, ok bool) {
	switch c := c.(type) {
	case RoomCommand:
		return c.Command, true
	case CatalogCommand:
		return c.Command, true
	case PlacementCommand:
		return c.Command, true
	case MatchmakingCommand:
		return c.Command, true
	default:
		return nil, false
	}
}

// DecodeCommand decodes what AppendCommand of this release, or of the one before or after it, encoded; unknown fields
// are ignored. It does not retain data. For a command that this release does not know, event.ErrUnknown is in the chain
// of the error. After an error nothing was carried out.
func DecodeCommand(data []byte) (Command, error) {
	v, rest, err := nextCommand(data)
	if err != nil {
		return nil, fmt.Errorf("command: %w", err)
	}
	c, rest, err := withPartCommand(v, rest)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d unexpected bytes at the end", len(rest))
	}
	if err != nil {
		return nil, fmt.Errorf("command: %w", err)
	}
	return c, nil
}

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

// withPartCommand completes command v with the command in data to its part.
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
		return nil, nil, fmt.Errorf("%T is not a command to a shard", v)
	}
}

// partCommand decodes the command to a part of the shard.
func partCommand[C any](data []byte) (c C, rest []byte, err error) {
	v, rest, err := nextCommand(data)
	if err != nil {
		return c, nil, err
	}
	c, ok := v.(C)
	if !ok {
		return c, nil, fmt.Errorf("%T is for another part of the shard", v)
	}
	return c, rest, nil
}

// Repeatable reports whether a command may be sent again after an unknown outcome: it names what it creates by an id,
// or requests a final state, so that a repetition changes nothing and returns the same answer.
func Repeatable(c Command) bool {
	switch c := c.(type) {
	case ReachHistory:
		return true
	case RoomCommand:
		return repeatableInRoom(c.Command)
	case CatalogCommand:
		switch c.Command.(type) {
		case catalog.CreateFleet, catalog.CreateAlias, catalog.CreateBuild, catalog.FinishBuild, catalog.ClaimCompute,
			catalog.CreateManagedFleet, catalog.CreateInstance, catalog.ReportInstance, catalog.ActivateInstance,
			catalog.TerminateInstance, catalog.DropInstance, catalog.PutInstanceLog, catalog.SetShortage,
			catalog.StartSignIn, catalog.RotateSignIn, catalog.TouchSignIn, catalog.EndSignIn:
			return true
		}
	case PlacementCommand:
		start, ok := c.Command.(placement.Start)
		return ok && start.Request.Repeatable()
	case MatchmakingCommand:
		start, ok := c.Command.(matchmaking.Start)
		return ok && start.Call != ""
	}
	return false
}

func repeatableInRoom(c fleet.Command) bool {
	switch c.(type) {
	case fleet.RegisterCompute, fleet.IssueToken, fleet.ConnectProcess, fleet.ReadyProcess, fleet.EndProcess,
		fleet.ExitProcess, fleet.StopCompute,
		fleet.CreateGameSession, fleet.ActivateGameSession, fleet.TerminateGameSession, fleet.ConfirmGameSession,
		fleet.ReservePlayers, fleet.ClaimGameSession, fleet.BackfillGameSession, fleet.AcceptPlayer, fleet.RemovePlayer,
		fleet.ReleasePlayer:
		return true
	}
	return false
}
