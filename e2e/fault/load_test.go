//go:build unix

package fault

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/e2e/calls"
	"github.com/muster-gg/muster/e2e/history"
)

const (
	places   = 10  // of a game session
	mostSeen = 120 // players in the life of a game session; then it ends
	queue    = "fault"

	gamerStep   = 10 * time.Millisecond
	doormanStep = 40 * time.Millisecond
)

// A gamer uses the game sessions of one location, as matchmakers, game servers and lists of
// games do.
type gamer struct {
	caller
	location string
	place    bool // by placements, and not by CreateGameSession
}

// inSteps makes a step at each interval until ctx is done; a step that is under way ends by
// itself.
func inSteps(ctx context.Context, interval time.Duration, step func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			step()
		case <-ctx.Done():
			return
		}
	}
}

// step makes one call.
func (g *gamer) step() {
	choice := g.random.IntN(100)
	of, seen := g.games.playing(g.location, g.random)
	switch {
	case of == nil && choice < 20, choice < 2:
		g.begin()
	case of == nil, choice < 20:
		g.search()
	case seen >= mostSeen && !of.process.slot.resident:
		g.terminate(of)
	case choice < 50 && seen < mostSeen:
		g.reserve(of, 1+g.random.IntN(3))
	case choice < 75:
		g.describe(of.arn)
	default:
		g.list(of.arn)
	}
}

// begin asks for another game session.
func (g *gamer) begin() {
	if g.place {
		g.startPlacement(fmt.Sprintf("placement-%d", g.games.number()))
		return
	}
	token := fmt.Sprintf("match-%d", g.games.number())
	g.create(g.location, &gamelift.CreateGameSessionInput{
		FleetId: &g.fleet, Location: &g.location, IdempotencyToken: &token, Name: &token,
		MaximumPlayerSessionCount: aws.Int32(places),
	})
}

// create creates a game session, or repeats that.
func (c *caller) create(location string, in *gamelift.CreateGameSessionInput) (outcome calls.Outcome) {
	arn := c.arn(location, *in.IdempotencyToken)
	c.games.change(arn, func(k *game) { k.location, k.input = location, in })
	op := c.history.Begin(history.Operation{Session: arn, Action: history.Create,
		Maximum: *in.MaximumPlayerSessionCount})
	var out *gamelift.CreateGameSessionOutput
	outcome, fault := c.call(location, func(ctx context.Context, client *gamelift.Client) (err error) {
		out, err = client.CreateGameSession(ctx, in)
		return err
	})
	c.note(op, outcome, fault, nil)
	switch {
	case outcome == calls.Acknowledged:
		c.confirm(arn, out.GameSession)
	case outcome == calls.Refused && fault != "FleetCapacityExceededException":
		c.found.Lost("CreateGameSession was refused with %s", fault)
	}
	return outcome
}

// confirm notes the answer to a creation, which is the same each time.
func (t *trial) confirm(arn string, g *types.GameSession) {
	if *g.GameSessionId != arn {
		t.found.Doubled("a creation that asks for %s gave %s", arn, *g.GameSessionId)
		return
	}
	t.games.change(arn, func(k *game) {
		if host := hostOf(g); k.host != "" && k.host != host {
			t.found.Doubled("game session %s is on %s by one answer, on %s by another", arn, k.host, host)
		} else {
			k.host, k.answered = host, true
		}
	})
}

// hostOf names the process that hosts a game session: in these tests no two processes of a
// compute have the same port.
func hostOf(g *types.GameSession) string {
	return fmt.Sprintf("%s:%d", aws.ToString(g.ComputeName), aws.ToInt32(g.Port))
}

// note takes down the answer to an operation.
func (t *trial) note(op *history.Operation, outcome calls.Outcome, fault string, fill func(*history.Operation)) {
	if outcome == calls.Unanswered {
		return
	}
	t.history.End(op, func(o *history.Operation) {
		if outcome == calls.Refused {
			o.Fault = cmp.Or(fault, "refused")
		} else if fill != nil {
			fill(o)
		}
	})
}

// noteAt is note with the node that the caller is at.
func (c *caller) noteAt(op *history.Operation, outcome calls.Outcome, fault string, fill func(*history.Operation)) {
	c.note(op, outcome, fault, func(o *history.Operation) {
		o.Node = c.cluster.nodes[c.node].name
		if fill != nil {
			fill(o)
		}
	})
}

// startPlacement starts a placement. That its id is taken is an answer too: it was started.
func (c *caller) startPlacement(id string) calls.Outcome {
	outcome, fault := c.call(queueLocation, func(ctx context.Context, client *gamelift.Client) error {
		_, err := client.StartGameSessionPlacement(ctx, &gamelift.StartGameSessionPlacementInput{
			PlacementId: &id, GameSessionQueueName: aws.String(queue), MaximumPlayerSessionCount: aws.Int32(places),
		})
		return err
	})
	switch {
	case outcome == calls.Refused && fault != "InvalidRequestException":
		c.found.Lost("StartGameSessionPlacement was refused with %s", fault)
	case outcome == calls.Unanswered:
		c.placements.set(id, false)
	default:
		c.placements.set(id, true)
	}
	return outcome
}

// reserve takes places for players who have never been seen before.
func (c *caller) reserve(of *game, n int) (seats []*seat) {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("player-%d", c.games.number())
	}
	op := c.history.Begin(history.Operation{Session: of.arn, Action: history.Reserve, Players: ids})
	var sessions []types.PlayerSession
	outcome, fault := c.call(of.location, func(ctx context.Context, client *gamelift.Client) error {
		if n == 1 {
			out, err := client.CreatePlayerSession(ctx,
				&gamelift.CreatePlayerSessionInput{GameSessionId: &of.arn, PlayerId: &ids[0]})
			if err == nil {
				sessions = []types.PlayerSession{*out.PlayerSession}
			}
			return err
		}
		out, err := client.CreatePlayerSessions(ctx,
			&gamelift.CreatePlayerSessionsInput{GameSessionId: &of.arn, PlayerIds: ids})
		if err == nil {
			sessions = out.PlayerSessions
		}
		return err
	})
	c.noteAt(op, outcome, fault, nil)
	if outcome == calls.Refused {
		c.expect("CreatePlayerSessions", fault, "GameSessionFullException", "InvalidGameSessionStatusException")
	}
	for _, ps := range sessions {
		seats = append(seats, &seat{id: *ps.PlayerSessionId, player: *ps.PlayerId})
	}
	c.games.change(of.arn, func(k *game) { k.seats = append(k.seats, seats...) })
	return seats
}

// expect notes a refusal that cannot be right.
func (t *trial) expect(action, fault string, allowed ...string) {
	if !slices.Contains(allowed, fault) {
		t.found.Lost("%s was refused with %s", action, fault)
	}
}

// describe reads one game session.
func (c *caller) describe(arn string) {
	op := c.history.Begin(history.Operation{Session: arn, Action: history.Describe})
	var seen history.Seen
	outcome, fault := c.call(locationOf(arn), func(ctx context.Context, client *gamelift.Client) error {
		out, err := client.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{GameSessionId: &arn})
		if err == nil {
			seen = seenOf(&out.GameSessions[0])
		}
		return err
	})
	c.noteAt(op, outcome, fault, func(o *history.Operation) { o.Seen = seen })
}

func seenOf(g *types.GameSession) history.Seen {
	return history.Seen{Status: history.Status(g.Status), Current: aws.ToInt32(g.CurrentPlayerSessionCount),
		Maximum: aws.ToInt32(g.MaximumPlayerSessionCount)}
}

// list reads the players of one game session, and returns them.
func (c *caller) list(arn string) (players []types.PlayerSession, ok bool) {
	op := c.history.Begin(history.Operation{Session: arn, Action: history.List})
	var more bool
	outcome, fault := c.call(locationOf(arn), func(ctx context.Context, client *gamelift.Client) error {
		out, err := client.DescribePlayerSessions(ctx,
			&gamelift.DescribePlayerSessionsInput{GameSessionId: &arn, Limit: aws.Int32(1024)})
		if err == nil {
			players, more = out.PlayerSessions, out.NextToken != nil
		}
		return err
	})
	if more {
		outcome = calls.Unanswered // pages are not one read
	}
	c.noteAt(op, outcome, fault, func(o *history.Operation) {
		o.Present = map[string]history.Status{}
		for _, p := range players {
			o.Present[*p.PlayerId] = history.Status(p.Status)
		}
	})
	return players, outcome == calls.Acknowledged
}

// search looks for game sessions of the location. Each that it finds counts as read.
func (g *gamer) search() {
	begun := g.history.Now()
	outcome, _ := g.call(g.location, func(ctx context.Context, client *gamelift.Client) error {
		out, err := client.SearchGameSessions(ctx,
			&gamelift.SearchGameSessionsInput{FleetId: &g.fleet, Location: &g.location, Limit: aws.Int32(20)})
		if err != nil {
			return err
		}
		for _, s := range out.GameSessions {
			g.history.Add(history.Operation{Session: *s.GameSessionId, Action: history.Describe,
				Node: g.cluster.nodes[g.node].name, Call: begun, Seen: seenOf(&s)})
		}
		return nil
	})
	if outcome == calls.Refused {
		g.found.Lost("SearchGameSessions was refused")
	}
}

// terminate asks the game server of a game session to end it.
func (g *gamer) terminate(of *game) {
	g.games.change(of.arn, func(k *game) { k.ending = true })
	op := g.history.Begin(history.Operation{Session: of.arn, Action: history.Terminate})
	outcome, fault := g.call(of.location, func(ctx context.Context, client *gamelift.Client) error {
		_, err := client.TerminateGameSession(ctx,
			&gamelift.TerminateGameSessionInput{GameSessionId: &of.arn,
				TerminationMode: types.TerminationModeTriggerOnProcessTerminate})
		return err
	})
	g.noteAt(op, outcome, fault, nil)
	switch outcome {
	case calls.Refused:
		g.expect("TerminateGameSession", fault, "InvalidGameSessionStatusException")
	case calls.Unanswered: // it may go on; nobody plays it any more
	}
}
