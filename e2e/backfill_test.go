package e2e

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/gameserver"
)

// newMatchmaker makes a queue of a fleet, and a matchmaker of duelRules that asks
// nobody to accept. Both are named "duel".
func (s *service) newMatchmaker(t testing.TB, fleet string, backfill types.BackfillMode) {
	t.Helper()
	c := s.client()
	queue := call(t, c.CreateGameSessionQueue, &gamelift.CreateGameSessionQueueInput{
		Name: new("duel"), Destinations: []types.GameSessionQueueDestination{{DestinationArn: new(arnPrefix + "fleet/" +
			fleet)}},
	}).GameSessionQueue
	call(t, c.CreateMatchmakingRuleSet, &gamelift.CreateMatchmakingRuleSetInput{Name: new("duel"),
		RuleSetBody: new(duelRules)})
	call(t, c.CreateMatchmakingConfiguration, &gamelift.CreateMatchmakingConfigurationInput{
		Name: new("duel"), RuleSetName: new("duel"), GameSessionQueueArns: []string{*queue.GameSessionQueueArn},
		BackfillMode:          backfill,
		RequestTimeoutSeconds: new(int32(900)), AcceptanceRequired: new(false),
	})
}

// seek starts a ticket for one player, which has the player's name.
func (s *service) seek(t testing.TB, player string) {
	t.Helper()
	call(t, s.client().StartMatchmaking, &gamelift.StartMatchmakingInput{
		ConfigurationName: new("duel"), TicketId: &player, Players: []types.Player{{PlayerId: &player}},
	})
}

// ticket describes a ticket.
func (s *service) ticket(t testing.TB, id string) types.MatchmakingTicket {
	t.Helper()
	found := call(t, s.client().DescribeMatchmaking,
		&gamelift.DescribeMatchmakingInput{TicketIds: []string{id}}).TicketList
	if len(found) != 1 {
		t.Fatalf("there are %d tickets %s", len(found), id)
	}
	return found[0]
}

// awaitTicket waits until a ticket has a status.
func (s *service) awaitTicket(t testing.TB, id string, status types.MatchmakingConfigurationStatus) (
	found types.MatchmakingTicket,
) {
	t.Helper()
	eventually(t, "ticket "+id+" "+string(status), func() bool {
		found = s.ticket(t, id)
		return found.Status == status
	})
	return found
}

// admit has a game server let in the players of completed tickets.
func (s *service) admit(t testing.TB, host *process, tickets ...string) {
	t.Helper()
	for _, id := range tickets {
		found := s.awaitTicket(t, id, types.MatchmakingConfigurationStatusCompleted)
		for _, p := range found.GameSessionConnectionInfo.MatchedPlayerSessions {
			if err := host.AcceptPlayerSession(t.Context(), *p.PlayerSessionId); err != nil {
				t.Errorf("%s is not let in: %v", *p.PlayerId, err)
			}
			s.awaitPlayer(t, *p.PlayerSessionId, types.PlayerSessionStatusActive)
		}
	}
}

// TestGameServerBackfills has a game server ask for a player for the place that is
// free in its match.
func TestGameServerBackfills(t *testing.T) {
	t.Parallel()
	s := start(t)
	fleet := s.newFleet(t)
	host := s.launch(t, s.newCompute(t, fleet, home, "pc"), behaviour{})
	s.newMatchmaker(t, fleet, types.BackfillModeManual)
	s.seek(t, "ada")
	s.seek(t, "grace")
	g := receive(t, "the game session", host.started)
	expectSame(t, "players", matched(t, g), []string{"ada", "grace"})
	s.admit(t, host, "ada", "grace")

	match, err := gameserver.ParseMatchmakerData(g.MatchmakerData)
	if err != nil {
		t.Fatal(err)
	}
	request := gameserver.MatchBackfill{MatchmakingConfigurationARN: match.MatchmakingConfigurationARN,
		TicketID: "more"}
	for _, team := range match.Teams {
		request.Players = append(request.Players, team.Players...)
	}
	id, err := host.StartMatchBackfill(t.Context(), request)
	if err != nil || id != "more" {
		t.Fatalf("the backfill is %q, %v", id, err)
	}
	if err := host.StopMatchBackfill(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	s.wantUpdate(t, host, gameserver.BackfillCancelled, "more")

	request.TicketID = ""
	if id, err = host.StartMatchBackfill(t.Context(), request); err != nil || id == "" {
		t.Fatalf("the second backfill is %q, %v", id, err)
	}
	s.seek(t, "linus")
	u := s.wantUpdate(t, host, gameserver.MatchmakingDataUpdated, id)
	expectSame(t, "players after the backfill", matched(t, u.GameSession), []string{"ada", "grace", "linus"})
	s.admit(t, host, "linus")
	s.awaitTicket(t, id, types.MatchmakingConfigurationStatusCompleted)
	if got := *s.session(t, g.GameSessionID).CurrentPlayerSessionCount; got != 3 {
		t.Errorf("%d players are in the game session, want 3", got)
	}
	if _, err := host.StartMatchBackfill(t.Context(), gameserver.MatchBackfill{
		MatchmakingConfigurationARN: arnPrefix + "matchmakingconfiguration/nothing", Players: request.Players,
	}); err == nil {
		t.Error("an unknown matchmaker backfills")
	}
}

// wantUpdate waits for the next change of a game server's game session.
func (s *service) wantUpdate(
	t testing.TB, host *process, reason gameserver.UpdateReason, ticket string,
) gameserver.GameSessionUpdate {
	t.Helper()
	u := receive(t, "an update of the game session", host.updated)
	if u.Reason != reason || u.BackfillTicketID != ticket || u.GameSession.GameSessionID != host.GameSessionID() {
		t.Fatalf("the game server heard of %s by %s in %s; want %s by %s", u.Reason, u.BackfillTicketID,
			u.GameSession.GameSessionID, reason, ticket)
	}
	return u
}

// TestAutomaticBackfill leaves it to the matchmaker.
func TestAutomaticBackfill(t *testing.T) {
	t.Parallel()
	s := start(t)
	fleet := s.newFleet(t)
	host := s.launch(t, s.newCompute(t, fleet, home, "pc"), behaviour{})
	s.newMatchmaker(t, fleet, types.BackfillModeAutomatic)
	s.seek(t, "ada")
	s.seek(t, "grace")
	g := receive(t, "the game session", host.started)
	match, err := gameserver.ParseMatchmakerData(g.MatchmakerData)
	if err != nil || match.AutoBackfillMode != "AUTOMATIC" || match.AutoBackfillTicketID == "" {
		t.Fatalf("the game server was given %q: %v", g.MatchmakerData, err)
	}
	s.admit(t, host, "ada", "grace")
	s.awaitTicket(t, match.AutoBackfillTicketID, types.MatchmakingConfigurationStatusSearching)

	s.seek(t, "linus")
	u := s.wantUpdate(t, host, gameserver.MatchmakingDataUpdated, match.AutoBackfillTicketID)
	expectSame(t, "players after the backfill", matched(t, u.GameSession), []string{"ada", "grace", "linus"})
	s.admit(t, host, "linus")
	if full, err := gameserver.ParseMatchmakerData(u.GameSession.MatchmakerData); err != nil ||
		full.AutoBackfillTicketID != "" {
		t.Errorf("a full game session has the backfill %q: %v", full.AutoBackfillTicketID, err)
	}
}
