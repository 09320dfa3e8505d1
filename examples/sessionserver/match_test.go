package main

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
)

// duels makes a matchmaking configuration for two players.
func (s *service) duels() {
	s.t.Helper()
	fleet := call(s.t, s.DescribeFleetAttributes, &gamelift.DescribeFleetAttributesInput{FleetIds: []string{s.fleet}})
	queue := call(s.t, s.CreateGameSessionQueue, &gamelift.CreateGameSessionQueueInput{
		Name:         new("duels"),
		Destinations: []types.GameSessionQueueDestination{{DestinationArn: fleet.FleetAttributes[0].FleetArn}},
	}).GameSessionQueue
	call(s.t, s.CreateMatchmakingRuleSet, &gamelift.CreateMatchmakingRuleSetInput{
		Name: new("duel"), RuleSetBody: new(`{"ruleLanguageVersion": "1.0", "teams": [
			{"name": "all", "minPlayers": 2, "maxPlayers": 2}]}`),
	})
	call(s.t, s.CreateMatchmakingConfiguration, &gamelift.CreateMatchmakingConfigurationInput{
		Name: new("duel"), RuleSetName: new("duel"), AcceptanceRequired: new(false),
		RequestTimeoutSeconds: new(int32(120)), GameSessionQueueArns: []string{*queue.GameSessionQueueArn},
	})
}

// ticket requests a match for a player.
func (s *service) ticket(player string) {
	s.t.Helper()
	call(s.t, s.StartMatchmaking, &gamelift.StartMatchmakingInput{
		ConfigurationName: new("duel"), TicketId: &player, Players: []types.Player{{PlayerId: &player}},
	})
}

// matched waits for the match of a player, and returns the player session.
func (s *service) matched(player string) (ticket string) {
	s.t.Helper()
	eventually(s.t, player+" is in a match", func() bool {
		found := call(s.t, s.DescribeMatchmaking, &gamelift.DescribeMatchmakingInput{TicketIds: []string{player}})
		if t := found.TicketList[0]; t.Status == types.MatchmakingConfigurationStatusCompleted {
			ticket = *t.GameSessionConnectionInfo.MatchedPlayerSessions[0].PlayerSessionId
		}
		return ticket != ""
	})
	return ticket
}

// TestRefill has a third player come into a match that another one has left.
func TestRefill(t *testing.T) {
	s := start(t)
	s.duels()
	server, address := s.host()
	s.ticket("ada")
	s.ticket("bob")
	for _, player := range []string{"ada", "bob"} {
		conn, _, err := join(t, address, s.matched(player))
		if err != nil {
			t.Fatal(err)
		}
		if player == "bob" {
			leave(t, conn)
		}
	}
	s.ticket("eve")
	if _, _, err := join(t, address, s.matched("eve")); err != nil {
		t.Fatal(err)
	}
	server.prints(`game session changes.* reason=MATCHMAKING_DATA_UPDATED`)
}
