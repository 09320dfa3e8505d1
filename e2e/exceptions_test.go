package e2e

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/aws/smithy-go"
)

// isA reports whether an error is a typed exception of the SDK.
func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// TestTypedExceptions checks that bad input gives the exceptions that the SDK
// has types for, with a message that names the matter.
func TestTypedExceptions(t *testing.T) {
	t.Parallel()
	s := start(t)
	c, ctx := s.client(), t.Context()
	fleet := s.newFleet(t)
	s.newCompute(t, fleet, home, "pc")
	s.launch(t, s.newCompute(t, fleet, home, "host"), behaviour{})
	session := s.newActiveSession(t, fleet, home)
	terminal := call(t, c.CreateAlias, &gamelift.CreateAliasInput{
		Name: new("closed"), RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeTerminal,
			Message: new("Come back tomorrow.")},
	}).Alias.AliasId
	s.newMatchmaker(t, fleet, types.BackfillModeManual)
	s.seek(t, "taken")
	const noFleet = "fleet-00000000-0000-4000-8000-000000000000"
	locations := func(names ...string) (list []types.LocationConfiguration) {
		for _, n := range names {
			list = append(list, types.LocationConfiguration{Location: &n})
		}
		return list
	}

	for _, test := range []struct {
		name    string
		call    func() error
		is      func(error) bool
		message string // part of it
	}{
		{"fleet without locations", func() error {
			_, err := c.CreateFleet(ctx, &gamelift.CreateFleetInput{Name: new("A"),
				ComputeType: types.ComputeTypeAnywhere})
			return err
		}, isA[*types.InvalidRequestException], "ocation"},
		{"fleet in an unknown location", func() error {
			_, err := c.CreateFleet(ctx, &gamelift.CreateFleetInput{Name: new("A"),
				ComputeType: types.ComputeTypeAnywhere, Locations: locations("custom-nowhere")})
			return err
		}, isA[*types.NotFoundException], "custom-nowhere"},
		{"managed fleet", func() error {
			_, err := c.CreateFleet(ctx, &gamelift.CreateFleetInput{Name: new("A"), ComputeType: types.ComputeTypeEc2,
				Locations: locations(home)})
			return err
		}, isA[*types.InvalidRequestException], "BuildId"},
		{"location without the prefix", func() error {
			_, err := c.CreateLocation(ctx, &gamelift.CreateLocationInput{LocationName: new("mylocation")})
			return err
		}, isA[*types.InvalidRequestException], "custom-"},
		{"location twice", func() error {
			_, err := c.CreateLocation(ctx, &gamelift.CreateLocationInput{LocationName: new(home)})
			return err
		}, isA[*types.ConflictException], home},
		{"unknown fleet", func() error {
			_, err := c.DeleteFleet(ctx, &gamelift.DeleteFleetInput{FleetId: new(noFleet)})
			return err
		}, isA[*types.NotFoundException], noFleet},
		{"not a fleet id", func() error {
			_, err := c.ListCompute(ctx, &gamelift.ListComputeInput{FleetId: new("arena")})
			return err
		}, isA[*types.InvalidRequestException], "leetId"},
		{"compute without an address", func() error {
			_, err := c.RegisterCompute(ctx, &gamelift.RegisterComputeInput{FleetId: &fleet, ComputeName: new("new"),
				Location: new(home)})
			return err
		}, isA[*types.InvalidRequestException], "IpAddress"},
		{"compute without a location", func() error {
			_, err := c.RegisterCompute(ctx, &gamelift.RegisterComputeInput{FleetId: &fleet, ComputeName: new("new"),
				IpAddress: new("127.0.0.1")})
			return err
		}, isA[*types.InvalidRequestException], "Location"},
		{"compute with a taken name", func() error {
			_, err := c.RegisterCompute(ctx, &gamelift.RegisterComputeInput{FleetId: &fleet, ComputeName: new("pc"),
				Location: new(home), IpAddress: new("192.0.2.7")})
			return err
		}, isA[*types.ConflictException], "pc"},
		{"token of an unknown compute", func() error {
			_, err := c.GetComputeAuthToken(ctx, &gamelift.GetComputeAuthTokenInput{FleetId: &fleet,
				ComputeName: new("nobody")})
			return err
		}, isA[*types.NotFoundException], "nobody"},
		{"no free process", func() error {
			_, err := c.CreateGameSession(ctx, &gamelift.CreateGameSessionInput{FleetId: &fleet, Location: new(home),
				MaximumPlayerSessionCount: new(int32(2))})
			return err
		}, isA[*types.FleetCapacityExceededException], fleet},
		{"too many players", func() error {
			_, err := c.CreateGameSession(ctx, &gamelift.CreateGameSessionInput{FleetId: &fleet, Location: new(home),
				MaximumPlayerSessionCount: new(int32(201))})
			return err
		}, isA[*types.InvalidRequestException], "201"},
		{"property twice", func() error {
			p := types.GameProperty{Key: new("map"), Value: new("dust")}
			_, err := c.CreateGameSession(ctx, &gamelift.CreateGameSessionInput{
				FleetId: &fleet, Location: new(home), MaximumPlayerSessionCount: new(int32(2)),
				GameProperties: []types.GameProperty{p, p},
			})
			return err
		}, isA[*types.InvalidRequestException], "map"},
		{"terminal alias", func() error {
			_, err := c.CreateGameSession(ctx, &gamelift.CreateGameSessionInput{AliasId: terminal, Location: new(home),
				MaximumPlayerSessionCount: new(int32(2))})
			return err
		}, isA[*types.TerminalRoutingStrategyException], "Come back tomorrow."},
		{"not a game session id", func() error {
			_, err := c.CreatePlayerSession(ctx,
				&gamelift.CreatePlayerSessionInput{GameSessionId: new(session[:len(session)-1] + "_"),
					PlayerId: new("ada")})
			return err
		}, isA[*types.InvalidRequestException], "gameSessionId"},
		{"game session that is not there", func() error {
			_, err := c.CreatePlayerSession(ctx, &gamelift.CreatePlayerSessionInput{GameSessionId: new(session + "0"),
				PlayerId: new("ada")})
			return err
		}, isA[*types.NotFoundException], "not found"},
		{"player twice", func() error {
			_, err := c.CreatePlayerSessions(ctx, &gamelift.CreatePlayerSessionsInput{GameSessionId: &session,
				PlayerIds: []string{"ada", "ada"}})
			return err
		}, isA[*types.InvalidRequestException], "PlayerIds"},
		{"more players than places", func() error {
			_, err := c.CreatePlayerSessions(ctx, &gamelift.CreatePlayerSessionsInput{GameSessionId: &session,
				PlayerIds: names("player", 5)})
			return err
		}, isA[*types.GameSessionFullException], "slots"},
		{"no selector", func() error {
			_, err := c.DescribePlayerSessions(ctx, &gamelift.DescribePlayerSessionsInput{})
			return err
		}, isA[*types.InvalidRequestException], "exactly one"},
		{"bad filter", func() error {
			_, err := c.SearchGameSessions(ctx, &gamelift.SearchGameSessionsInput{FleetId: &fleet,
				FilterExpression: new("playerSessionCount >")})
			return err
		}, isA[*types.InvalidRequestException], ""},
		{"forged page token", func() error {
			_, err := c.ListFleets(ctx, &gamelift.ListFleetsInput{NextToken: new("AAAA")})
			return err
		}, isA[*types.InvalidRequestException], "NextToken"},
		{"unknown tagged resource", func() error {
			_, err := c.ListTagsForResource(ctx,
				&gamelift.ListTagsForResourceInput{ResourceARN: new("arn:aws:gamelift:" + testRegion +
					"::alias/alias-00000000-0000-4000-8000-000000000000")})
			return err
		}, isA[*types.NotFoundException], "alias-00000000"},
		{"queue twice", func() error {
			_, err := c.CreateGameSessionQueue(ctx, &gamelift.CreateGameSessionQueueInput{Name: new("duel")})
			return err
		}, isA[*types.InvalidRequestException], "duel"},
		{"queue of an unknown fleet", func() error {
			_, err := c.CreateGameSessionQueue(ctx, &gamelift.CreateGameSessionQueueInput{
				Name: new("new"), Destinations: []types.GameSessionQueueDestination{{DestinationArn: new(arnPrefix +
					"fleet/" + noFleet)}},
			})
			return err
		}, isA[*types.NotFoundException], noFleet},
		{"queue with a time-out of a second", func() error {
			_, err := c.CreateGameSessionQueue(ctx,
				&gamelift.CreateGameSessionQueueInput{Name: new("new"), TimeoutInSeconds: new(int32(1))})
			return err
		}, isA[*types.InvalidRequestException], "TimeoutInSeconds"},
		{"placement in an unknown queue", func() error {
			_, err := c.StartGameSessionPlacement(ctx, &gamelift.StartGameSessionPlacementInput{
				PlacementId: new("new"), GameSessionQueueName: new("nowhere"), MaximumPlayerSessionCount: new(int32(2)),
			})
			return err
		}, isA[*types.NotFoundException], "nowhere"},
		{"placement with more players than places", func() error {
			_, err := c.StartGameSessionPlacement(ctx, &gamelift.StartGameSessionPlacementInput{
				PlacementId: new("new"), GameSessionQueueName: new("duel"), MaximumPlayerSessionCount: new(int32(1)),
				DesiredPlayerSessions: []types.DesiredPlayerSession{{PlayerId: new("ada")}, {PlayerId: new("bob")}},
			})
			return err
		}, isA[*types.InvalidRequestException], "DesiredPlayerSessions"},
		{"placement with latencies and an override", func() error {
			_, err := c.StartGameSessionPlacement(ctx, &gamelift.StartGameSessionPlacementInput{
				PlacementId: new("new"), GameSessionQueueName: new("duel"), MaximumPlayerSessionCount: new(int32(1)),
				PlayerLatencies: []types.PlayerLatency{{PlayerId: new("ada"), RegionIdentifier: new(home),
					LatencyInMilliseconds: new(float32(1))}},
				PriorityConfigurationOverride: &types.PriorityConfigurationOverride{LocationOrder: []string{home}},
			})
			return err
		}, isA[*types.InvalidRequestException], "PriorityConfigurationOverride"},
		{"placement that nobody has started", func() error {
			_, err := c.StopGameSessionPlacement(ctx,
				&gamelift.StopGameSessionPlacementInput{PlacementId: new("nothing")})
			return err
		}, isA[*types.NotFoundException], "nothing"},
		{"rule set with a team of nobody", func() error {
			_, err := c.CreateMatchmakingRuleSet(ctx, &gamelift.CreateMatchmakingRuleSetInput{
				Name: new("new"), RuleSetBody: new(`{"ruleLanguageVersion":"1.0","teams":[{"name":"red",` +
					`"minPlayers":0,"maxPlayers":0}]}`),
			})
			return err
		}, isA[*types.InvalidRequestException], "maxPlayers"},
		{"rule set that is in use", func() error {
			_, err := c.DeleteMatchmakingRuleSet(ctx, &gamelift.DeleteMatchmakingRuleSetInput{Name: new("duel")})
			return err
		}, isA[*types.InvalidRequestException], "duel"},
		{"unknown rule set", func() error {
			_, err := c.DescribeMatchmakingRuleSets(ctx,
				&gamelift.DescribeMatchmakingRuleSetsInput{Names: []string{"nothing"}})
			return err
		}, isA[*types.NotFoundException], "nothing"},
		{"matchmaking configuration without a queue", func() error {
			_, err := c.CreateMatchmakingConfiguration(ctx, &gamelift.CreateMatchmakingConfigurationInput{
				Name: new("new"), RuleSetName: new("duel"), AcceptanceRequired: new(false),
				RequestTimeoutSeconds: new(int32(60)),
			})
			return err
		}, isA[*types.InvalidRequestException], "GameSessionQueueArns"},
		{"matchmaking configuration with a ticket", func() error {
			_, err := c.DeleteMatchmakingConfiguration(ctx,
				&gamelift.DeleteMatchmakingConfigurationInput{Name: new("duel")})
			return err
		}, isA[*types.InvalidRequestException], "duel"},
		{"ticket twice", func() error {
			_, err := c.StartMatchmaking(ctx, &gamelift.StartMatchmakingInput{
				ConfigurationName: new("duel"), TicketId: new("taken"), Players: []types.Player{{PlayerId: new("bob")}},
			})
			return err
		}, isA[*types.InvalidRequestException], "taken"},
		{"ticket with an attribute of the wrong type", func() error {
			_, err := c.StartMatchmaking(ctx,
				&gamelift.StartMatchmakingInput{ConfigurationName: new("duel"), Players: []types.Player{{
					PlayerId: new("bob"), PlayerAttributes: map[string]types.AttributeValue{"skill": {S: new("high")}},
				}}})
			return err
		}, isA[*types.InvalidRequestException], "skill"},
		{"ticket of an unknown configuration", func() error {
			_, err := c.StartMatchmaking(ctx, &gamelift.StartMatchmakingInput{ConfigurationName: new("nothing"),
				Players: []types.Player{{PlayerId: new("bob")}}})
			return err
		}, isA[*types.NotFoundException], "nothing"},
		{"match that is not proposed", func() error {
			_, err := c.AcceptMatch(ctx, &gamelift.AcceptMatchInput{TicketId: new("taken"),
				PlayerIds: []string{"taken"}, AcceptanceType: types.AcceptanceTypeAccept})
			return err
		}, isA[*types.InvalidRequestException], "SEARCHING"},
		{"backfill of a game session without a match", func() error {
			_, err := c.StartMatchBackfill(ctx, &gamelift.StartMatchBackfillInput{
				ConfigurationName: new("duel"), GameSessionArn: &session,
				Players: []types.Player{{PlayerId: new("ada"), Team: new("red")}},
			})
			return err
		}, isA[*types.InvalidRequestException], ""},
		{"instance limits of an unknown location", func() error {
			_, err := c.DescribeEC2InstanceLimits(ctx,
				&gamelift.DescribeEC2InstanceLimitsInput{Location: new("eu-west-1")})
			return err
		}, isA[*types.UnsupportedRegionException], "eu-west-1"},
		{"instance limits of an unknown type", func() error {
			_, err := c.DescribeEC2InstanceLimits(ctx,
				&gamelift.DescribeEC2InstanceLimitsInput{EC2InstanceType: "abacus"})
			return err
		}, isA[*types.InvalidRequestException], "abacus"},
		{"operation of a later release", func() error {
			_, err := c.CreateScript(ctx, &gamelift.CreateScriptInput{Name: new("script")})
			return err
		}, isModelled, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.call()
			if !test.is(err) || !strings.Contains(err.Error(), test.message) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// isModelled reports whether an error is an answer that the SDK understands.
func isModelled(err error) bool {
	refusal, ok := errors.AsType[smithy.APIError](err)
	return ok && refusal.ErrorCode() != "" && refusal.ErrorMessage() != ""
}

// TestIdempotency repeats calls, as a client does that lost an answer.
func TestIdempotency(t *testing.T) {
	t.Parallel()
	s := start(t)
	fleet := s.newFleet(t)
	s.launch(t, s.newCompute(t, fleet, home, "one"), behaviour{})
	s.launch(t, s.newCompute(t, fleet, home, "two"), behaviour{})
	in := &gamelift.CreateGameSessionInput{
		FleetId: &fleet, Location: new(home), MaximumPlayerSessionCount: new(int32(4)),
		IdempotencyToken: new("match-42"),
	}
	first := call(t, s.client().CreateGameSession, in)
	again := call(t, s.client().CreateGameSession, in)
	if *first.GameSession.GameSessionId != *again.GameSession.GameSessionId {
		t.Error("the same token gave two game sessions")
	}
	in.Name = new("another")
	refuse[*types.IdempotentParameterMismatchException](t, s.client().CreateGameSession, in)

	compute := call(t, s.client().DescribeCompute,
		&gamelift.DescribeComputeInput{FleetId: &fleet, ComputeName: new("one")}).Compute
	s.newCompute(t, fleet, home, "one") // as an agent that starts again
	if got := call(t, s.client().DescribeCompute, &gamelift.DescribeComputeInput{
		FleetId: &fleet, ComputeName: new("one"),
	}).Compute; !got.CreationTime.Equal(*compute.CreationTime) {
		t.Error("registering the same compute again replaced it")
	}
}
