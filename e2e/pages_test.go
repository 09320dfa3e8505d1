package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
)

// A paginator of the SDK for Go.
type paginator[O any] interface {
	HasMorePages() bool
	NextPage(context.Context, ...func(*gamelift.Options)) (*O, error)
}

// all reads every page. No page may have more than size items, and all but the
// last as many.
func all[O, E any](t testing.TB, size int, p paginator[O], items func(*O) []E) (found []E) {
	t.Helper()
	for p.HasMorePages() {
		page, err := p.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		part := items(page)
		if len(part) > size || p.HasMorePages() && len(part) < size {
			t.Errorf("a page of %d, and the size is %d", len(part), size)
		}
		found = append(found, part...)
	}
	return found
}

// expectSame checks that found holds exactly the items wanted, in any order.
func expectSame(t testing.TB, what string, found, want []string) {
	t.Helper()
	found, want = slices.Sorted(slices.Values(found)), slices.Sorted(slices.Values(want))
	if !slices.Equal(found, want) {
		t.Errorf("%s: found %d, want %d:\n%q\n%q", what, len(found), len(want), found, want)
	}
}

// names makes n names with a prefix.
func names(prefix string, n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("%s-%03d", prefix, i))
	}
	return list
}

func TestPaginatorsOfResources(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := s.client()
	size := aws.Int32(7)

	locations := names("custom-place", 30)
	fleet := s.newFleet(t, locations...)
	expectSame(t, "locations", all(t, 7, gamelift.NewListLocationsPaginator(c,
		&gamelift.ListLocationsInput{Limit: size}),
		func(o *gamelift.ListLocationsOutput) (found []string) {
			for _, l := range o.Locations {
				found = append(found, *l.LocationName)
			}
			return found
		}), locations)
	expectSame(t, "fleet locations", all(t, 7,
		gamelift.NewDescribeFleetLocationAttributesPaginator(c,
			&gamelift.DescribeFleetLocationAttributesInput{FleetId: &fleet, Limit: size}),
		func(o *gamelift.DescribeFleetLocationAttributesOutput) (found []string) {
			for _, l := range o.LocationAttributes {
				found = append(found, *l.LocationState.Location)
			}
			return found
		}), locations)

	var aliases []string
	for _, name := range names("alias", 24) {
		aliases = append(aliases, *call(t, c.CreateAlias, &gamelift.CreateAliasInput{
			Name: &name, RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeSimple,
				FleetId: &fleet},
		}).Alias.AliasId)
	}
	expectSame(t, "aliases", all(t, 7, gamelift.NewListAliasesPaginator(c, &gamelift.ListAliasesInput{Limit: size}),
		func(o *gamelift.ListAliasesOutput) (found []string) {
			for _, a := range o.Aliases {
				found = append(found, *a.AliasId)
			}
			return found
		}), aliases)

	computes := names("pc", 15)
	for i, name := range computes {
		s.newCompute(t, fleet, locations[i%len(locations)], name)
	}
	expectSame(t, "computes", all(t, 7, gamelift.NewListComputePaginator(c,
		&gamelift.ListComputeInput{FleetId: &fleet, Limit: size}),
		func(o *gamelift.ListComputeOutput) (found []string) {
			for _, l := range o.ComputeList {
				found = append(found, *l.ComputeName)
			}
			return found
		}), computes)

	fleets := []string{fleet}
	for range 9 {
		fleets = append(fleets, *call(t, c.CreateFleet, &gamelift.CreateFleetInput{
			Name: new("Further"), ComputeType: types.ComputeTypeAnywhere,
			Locations: []types.LocationConfiguration{{Location: &locations[0]}},
		}).FleetAttributes.FleetId)
	}
	expectSame(t, "fleets", all(t, 7, gamelift.NewListFleetsPaginator(c, &gamelift.ListFleetsInput{Limit: size}),
		func(o *gamelift.ListFleetsOutput) []string { return o.FleetIds }), fleets)
}

func TestPaginatorsOfSessions(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := s.client()
	fleet := s.newFleet(t, "custom-east", "custom-west")
	var sessions []string
	for i, location := range []string{"custom-east", "custom-west", "custom-east", "custom-west", "custom-east"} {
		s.launch(t, s.newCompute(t, fleet, location, fmt.Sprintf("pc-%d", i)), behaviour{})
		sessions = append(sessions, s.newActiveSession(t, fleet, location))
	}
	ids := func(list []types.GameSession) (found []string) {
		for _, g := range list {
			found = append(found, *g.GameSessionId)
		}
		return found
	}
	expectSame(t, "described sessions", all(t, 2,
		gamelift.NewDescribeGameSessionsPaginator(c,
			&gamelift.DescribeGameSessionsInput{FleetId: &fleet, Limit: new(int32(2))}),
		func(o *gamelift.DescribeGameSessionsOutput) []string { return ids(o.GameSessions) }), sessions)
	expectSame(t, "searched sessions", all(t, 2,
		gamelift.NewSearchGameSessionsPaginator(c,
			&gamelift.SearchGameSessionsInput{FleetId: &fleet, Limit: new(int32(2))}),
		func(o *gamelift.SearchGameSessionsOutput) []string { return ids(o.GameSessions) }), sessions)
	expectSame(t, "sessions in one location", all(t, 2,
		gamelift.NewDescribeGameSessionsPaginator(c,
			&gamelift.DescribeGameSessionsInput{FleetId: &fleet, Location: new("custom-west"), Limit: new(int32(2))}),
		func(o *gamelift.DescribeGameSessionsOutput) []string {
			return ids(o.GameSessions)
		}), []string{sessions[1], sessions[3]})

	var mine []string // the player sessions of one player in all game sessions
	for _, session := range sessions {
		mine = append(mine, s.join(t, session, "ada"))
	}
	players := []string{mine[0]}
	for _, player := range []string{"bob", "cleo", "dan"} {
		players = append(players, s.join(t, sessions[0], player))
	}
	playerIDs := func(o *gamelift.DescribePlayerSessionsOutput) (found []string) {
		for _, p := range o.PlayerSessions {
			found = append(found, *p.PlayerSessionId)
		}
		return found
	}
	expectSame(t, "players of a session", all(t, 3,
		gamelift.NewDescribePlayerSessionsPaginator(c,
			&gamelift.DescribePlayerSessionsInput{GameSessionId: &sessions[0], Limit: new(int32(3))}), playerIDs),
		players)
	expectSame(t, "sessions of a player", all(t, 2,
		gamelift.NewDescribePlayerSessionsPaginator(c,
			&gamelift.DescribePlayerSessionsInput{PlayerId: new("ada"), Limit: new(int32(2))}), playerIDs), mine)
}

func TestPaginatorsOfMatchmaking(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := s.client()
	s.newMatchmaker(t, s.newFleet(t), types.BackfillModeManual)
	queues, ruleSets, configurations := names("queue", 23), names("rules", 23), names("configuration", 23)
	for i := range queues {
		call(t, c.CreateGameSessionQueue, &gamelift.CreateGameSessionQueueInput{Name: &queues[i]})
		call(t, c.CreateMatchmakingRuleSet, &gamelift.CreateMatchmakingRuleSetInput{Name: &ruleSets[i],
			RuleSetBody: new(duelRules)})
		call(t, c.CreateMatchmakingConfiguration, &gamelift.CreateMatchmakingConfigurationInput{
			Name: &configurations[i], RuleSetName: new("duel"), FlexMatchMode: types.FlexMatchModeStandalone,
			RequestTimeoutSeconds: new(int32(60)), AcceptanceRequired: new(false),
		})
	}
	size := new(int32(7))
	expectSame(t, "queues", all(t, 7, gamelift.NewDescribeGameSessionQueuesPaginator(c,
		&gamelift.DescribeGameSessionQueuesInput{Limit: size}),
		func(o *gamelift.DescribeGameSessionQueuesOutput) (found []string) {
			for _, q := range o.GameSessionQueues {
				found = append(found, *q.Name)
			}
			return found
		}), append(queues, "duel"))
	expectSame(t, "rule sets", all(t, 7, gamelift.NewDescribeMatchmakingRuleSetsPaginator(c,
		&gamelift.DescribeMatchmakingRuleSetsInput{Limit: size}),
		func(o *gamelift.DescribeMatchmakingRuleSetsOutput) (found []string) {
			for _, r := range o.RuleSets {
				found = append(found, *r.RuleSetName)
			}
			return found
		}), append(ruleSets, "duel"))
	expectSame(t, "configurations", all(t, 7,
		gamelift.NewDescribeMatchmakingConfigurationsPaginator(c,
			&gamelift.DescribeMatchmakingConfigurationsInput{Limit: size, RuleSetName: new("duel")}),
		func(o *gamelift.DescribeMatchmakingConfigurationsOutput) (found []string) {
			for _, m := range o.Configurations {
				found = append(found, *m.Name)
			}
			return found
		}), append(configurations, "duel"))
}

func TestPaginatorOfFleetEvents(t *testing.T) {
	t.Parallel()
	s := start(t, fakeTime)
	fleet := s.newFleet(t, names("custom-place", 12)...)
	s.advance(time.Minute)
	call(t, s.client().UpdateFleetAttributes, &gamelift.UpdateFleetAttributesInput{
		FleetId: &fleet, NewGameSessionProtectionPolicy: types.ProtectionPolicyFullProtection,
	})
	events := all(t, 4, gamelift.NewDescribeFleetEventsPaginator(s.client(),
		&gamelift.DescribeFleetEventsInput{FleetId: &fleet, Limit: new(int32(4))}),
		func(o *gamelift.DescribeFleetEventsOutput) []types.Event { return o.Events })
	seen := map[string]bool{}
	for i, e := range events {
		seen[*e.EventId] = true
		if i > 0 && e.EventTime.After(*events[i-1].EventTime) {
			t.Errorf("event %d is newer than the one before it", i)
		}
	}
	if len(events) != 15 || len(seen) != 15 {
		t.Errorf("%d events, %d different ones; want a fleet's two, one for each of 12 locations and one change",
			len(events), len(seen))
	}
	if events[0].EventCode != types.EventCodeFleetNewGameSessionProtectionPolicyUpdated {
		t.Errorf("the newest event is %s", events[0].EventCode)
	}
}

func TestPagesDoNotRepeatWhenThingsGo(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := s.client()
	locations := names("custom-place", 6)
	for _, l := range locations {
		call(t, c.CreateLocation, &gamelift.CreateLocationInput{LocationName: &l})
	}
	first := call(t, c.ListLocations, &gamelift.ListLocationsInput{Limit: new(int32(3))})
	call(t, c.DeleteLocation, &gamelift.DeleteLocationInput{LocationName: first.Locations[2].LocationName})
	second := call(t, c.ListLocations, &gamelift.ListLocationsInput{Limit: new(int32(3)), NextToken: first.NextToken})
	var rest []string
	for _, l := range second.Locations {
		rest = append(rest, *l.LocationName)
	}
	expectSame(t, "the second page", rest, locations[3:])

	// Of another list.
	refuse[*types.InvalidRequestException](t, c.ListAliases, &gamelift.ListAliasesInput{NextToken: first.NextToken})
}
