package game

import (
	"fmt"
	"strings"

	"github.com/muster-gg/muster/gameserver"
)

// updated prints that the game session has changed: a backfill of it is over.
func (g *game) updated(u gameserver.GameSessionUpdate) {
	g.out.line("LogMatch: GameSession updated: %s by backfill %s", u.Reason, u.BackfillTicketID)
	if u.Reason == gameserver.MatchmakingDataUpdated {
		g.printTeams(u.GameSession)
	}
}

// printTeams prints who plays with whom in a game session that matchmaking has made.
func (g *game) printTeams(gs gameserver.GameSession) {
	if gs.MatchmakerData == "" {
		return
	}
	match, err := gameserver.ParseMatchmakerData(gs.MatchmakerData)
	if err != nil {
		g.out.line("[error] MatchmakerData: %v", err)
		return
	}
	g.out.line("LogMatch: Match %s: %s", match.MatchID, teams(match))
}

// teams is the teams of a match as text: red: "ada"; blue: "bob", "cy".
func teams(match gameserver.MatchmakerData) string {
	texts := make([]string, len(match.Teams))
	for i, team := range match.Teams {
		names := make([]string, len(team.Players))
		for j, p := range team.Players {
			names[j] = fmt.Sprintf("%q", p.PlayerID) // an id may hold anything
		}
		texts[i] = team.Name + ": " + strings.Join(names, ", ")
	}
	return strings.Join(texts, "; ")
}
