package game

import (
	"bytes"
	"testing"

	"github.com/muster-gg/muster/gameserver"
)

func TestPrintTeams(t *testing.T) {
	t.Parallel()
	const data = `{"matchId":"m-1",` +
		`"matchmakingConfigurationArn":"arn:aws:gamelift:us-east-1:000000000000:matchmakingconfiguration/duel",` +
		`"teams":[{"name":"red","players":[{"playerId":"ada","attributes":{}}]},{"name":"blue",` +
		`"players":[{"playerId":"bob\n","attributes":{}},{"playerId":"cy","attributes":{}}]}]}`
	made := gameserver.GameSession{MatchmakerData: data}
	const line = `LogMatch: Match m-1: red: "ada"; blue: "bob\n", "cy"` + "\n"
	for name, test := range map[string]struct {
		print func(*game)
		want  string
	}{
		"of a match":      {func(g *game) { g.printTeams(made) }, line},
		"without a match": {func(g *game) { g.printTeams(gameserver.GameSession{}) }, ""},
		"of bad data": {func(g *game) { g.printTeams(gameserver.GameSession{MatchmakerData: "{}"}) },
			"[error] MatchmakerData: no valid matchmaker data: matchmakingConfigurationArn is missing\n"},
		"of a backfill": {func(g *game) {
			g.updated(gameserver.GameSessionUpdate{GameSession: made, Reason: gameserver.MatchmakingDataUpdated,
				BackfillTicketID: "b-1"})
		}, "LogMatch: GameSession updated: MATCHMAKING_DATA_UPDATED by backfill b-1\n" + line},
		"of a backfill that failed": {func(g *game) {
			g.updated(gameserver.GameSessionUpdate{GameSession: made, Reason: gameserver.BackfillTimedOut,
				BackfillTicketID: "b-1"})
		}, "LogMatch: GameSession updated: BACKFILL_TIMED_OUT by backfill b-1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			test.print(&game{out: &printer{to: &out}})
			if out.String() != test.want {
				t.Errorf("printed %q, want %q", out.String(), test.want)
			}
		})
	}
}
