package direct_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/direct"
)

// searching pages through n sessions of which every fifth accepts no players.
func searching(n int, asked chan<- wire.SearchGameSessionsInput) wire.Handler {
	return wire.OpSearchGameSessions.Handle(func(
		_ context.Context, in *wire.SearchGameSessionsInput,
	) (*wire.SearchGameSessionsOutput, error) {
		asked <- *in
		if in.FleetId == goneFleet {
			return nil, fault.New(fault.NotFound, "no such fleet")
		}
		out := new(wire.SearchGameSessionsOutput)
		from, _ := strconv.Atoi(in.NextToken)
		to := min(n, from+int(in.Limit.Or(20)))
		for i := from; i < to; i++ {
			g := wire.GameSession{GameSessionId: fmt.Sprintf("%s%d", gsess, i),
				PlayerSessionCreationPolicy: wire.PlayerSessionCreationPolicyAcceptAll}
			if i%5 == 4 {
				g.PlayerSessionCreationPolicy = wire.PlayerSessionCreationPolicyDenyAll
			}
			out.GameSessions = append(out.GameSessions, g)
		}
		if to < n {
			out.NextToken = strconv.Itoa(to)
		}
		return out, nil
	})
}

const goneFleet = "arn:aws:gamelift:eu-central-1:111122223333:fleet/fleet-99999999-2222-3333-4444-555555555555"

func TestFindPages(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ sessions, limit, want, pages int }{
		{0, 0, 0, 1}, {30, 0, 24, 2}, {30, 5, 5, 2}, {30, 4, 4, 1}, {200, 0, 100, 7},
	} {
		t.Run(fmt.Sprintf("%d of %d", test.limit, test.sessions), func(t *testing.T) {
			t.Parallel()
			asked := make(chan wire.SearchGameSessionsInput, 100)
			s := newScript(t, searching(test.sessions, asked))
			found, err := s.provider(direct.Target{FleetID: fleet, Location: "custom-attic"}).Find(t.Context(),
				session.FindRequest{BuildID: 7, Limit: test.limit})
			if err != nil || len(found) != test.want || len(asked) != test.pages {
				t.Errorf("found %d on %d pages, %v; want %d on %d", len(found), len(asked), err, test.want, test.pages)
			}
			in := <-asked
			if in.FilterExpression != "hasAvailablePlayerSessions=true AND "+
				"gameSessionProperties.build_id='7'" || in.Location != "custom-attic" {
				t.Errorf("asked for %+v", in)
			}
		})
	}
}

// TestFindOnQueue looks on the destinations of a queue: each once, and not on
// those that are gone or elsewhere.
func TestFindOnQueue(t *testing.T) {
	t.Parallel()
	asked := make(chan wire.SearchGameSessionsInput, 100)
	const alias = "arn:aws:gamelift:eu-central-1::alias/alias-1"
	queue := wire.GameSessionQueue{Name: "q"}
	for _, arn := range []string{
		"arn:aws:gamelift:us-east-1:111122223333:fleet/" + fleet, goneFleet, alias,
		"arn:aws:gamelift:eu-central-1:111122223333:fleet/" + fleet, "x",
	} {
		queue.Destinations = append(queue.Destinations, wire.GameSessionQueueDestination{DestinationArn: arn})
	}
	s := newScript(t, searching(4, asked), answers(wire.OpDescribeGameSessionQueues,
		&wire.DescribeGameSessionQueuesOutput{GameSessionQueues: []wire.GameSessionQueue{queue}}))
	found, err := s.provider(direct.Target{QueueName: "q"}).Find(t.Context(), session.FindRequest{})
	if err != nil || len(found) != 4 || len(asked) != 3 {
		t.Fatalf("found %d in %d searches, %v", len(found), len(asked), err)
	}
	if first, second := <-asked, <-asked; first.FleetId != goneFleet || second.AliasId != alias ||
		second.FleetId != "" {
		t.Errorf("searched %+v and %+v", first, second)
	}
}

func TestFindFailures(t *testing.T) {
	t.Parallel()
	s := newScript(t, searching(1, make(chan wire.SearchGameSessionsInput, 1)),
		answers(wire.OpDescribeGameSessionQueues, &wire.DescribeGameSessionQueuesOutput{}))
	_, err := s.provider(direct.Target{FleetID: goneFleet}).Find(t.Context(), session.FindRequest{})
	wantError(t, err, session.ErrNotFound, "NotFoundException")
	_, err = s.provider(direct.Target{QueueName: "q"}).Find(t.Context(), session.FindRequest{})
	wantError(t, err, session.ErrNotFound, "")
}
