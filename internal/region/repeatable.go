package region

import (
	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
)

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
		case catalog.CreateFleet, catalog.CreateAlias, catalog.ClaimCompute:
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
		fleet.CreateGameSession, fleet.ActivateGameSession, fleet.TerminateGameSession, fleet.ConfirmGameSession,
		fleet.ReservePlayers, fleet.ClaimGameSession, fleet.BackfillGameSession, fleet.AcceptPlayer, fleet.RemovePlayer:
		return true
	}
	return false
}
