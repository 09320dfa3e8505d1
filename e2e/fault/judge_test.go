//go:build unix

package fault

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/e2e/calls"
)

// judge compares what every node says with everything that was acknowledged.
func (t *trial) judge() {
	t.t.Helper()
	t.awaitNodes()
	t.settle()
	t.repeat()
	t.settle()
	for i, n := range t.cluster.nodes {
		j := &judge{caller: t.newCaller(i), from: n.name}
		seen := j.gameSessions()
		j.players(seen)
		j.placed(seen)
	}
}

// awaitNodes waits until every node answers: one that was cut off shortly may be ready all
// the time, and answer only when it has found the others again.
func (t *trial) awaitNodes() {
	t.t.Helper()
	for i, client := range t.clients {
		t.await("an answer of "+t.cluster.nodes[i].name, func() bool {
			_, err := client.ListFleets(t.ctx, &gamelift.ListFleetsInput{})
			return err == nil
		})
	}
}

// repeat makes every creation again: an answer that was given is given again, and a call
// that got none happens now, or gives what it made. So it is with placements.
func (t *trial) repeat() {
	c := t.newCaller(0)
	var inputs []*gamelift.CreateGameSessionInput
	t.games.look(func(k *game) {
		if k.input != nil {
			inputs = append(inputs, k.input)
		}
	})
	for _, in := range inputs {
		c.node = c.random.IntN(len(t.clients))
		if c.create(*in.Location, in) == calls.Unanswered {
			t.found.Lost("CreateGameSession with the token %s gets no answer", *in.IdempotencyToken)
		}
	}
	for _, id := range t.placements.ids(false) {
		t.await("an answer to the repetition of placement "+id,
			func() bool { return c.startPlacement(id) != calls.Unanswered })
	}
}

// A judge looks at the service through one node.
type judge struct {
	caller
	from string
}

// lost and doubled note a finding, and the node that shows it.

func (j *judge) lost(format string, args ...any) {
	j.found.Lost("by node "+j.from+": "+format, args...)
}

func (j *judge) doubled(format string, args ...any) {
	j.found.Doubled("by node "+j.from+": "+format, args...)
}

// gameSessions lists all game sessions. Each that was acknowledged is there once; each that
// is there was asked for; no process has two.
func (j *judge) gameSessions() map[string]types.GameSession {
	seen, hosts := map[string]types.GameSession{}, map[string]string{}
	pages := gamelift.NewDescribeGameSessionsPaginator(j.clients[j.node],
		&gamelift.DescribeGameSessionsInput{FleetId: &j.fleet, Limit: aws.Int32(100)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(j.ctx)
		j.must(err)
		for _, g := range page.GameSessions {
			arn, host := *g.GameSessionId, hostOf(&g)
			if _, twice := seen[arn]; twice {
				j.doubled("game session %s is there twice", arn)
			}
			if other, taken := hosts[host]; taken {
				j.doubled("process %s has game sessions %s and %s", host, other, arn)
			}
			seen[arn], hosts[host] = g, arn
		}
	}
	j.games.look(func(k *game) {
		g, there := seen[k.arn]
		switch {
		case !there && (k.answered || k.process != nil):
			j.lost("game session %s", k.arn)
		case there && k.host != "" && k.host != hostOf(&g):
			j.lost("game session %s has moved from %s to %s", k.arn, k.host, hostOf(&g))
		case there && k.process != nil && k.process.name() != hostOf(&g):
			j.doubled("game session %s is on %s and was given to %s", k.arn, hostOf(&g), k.process.name())
		}
	})
	for arn := range seen {
		known := false
		j.games.look(func(k *game) { known = known || k.arn == arn })
		if !known {
			j.doubled("game session %s is there; nobody asked for it", arn)
		}
	}
	return seen
}

// players lists the players of all game sessions. Each player session that was acknowledged
// is there once; no player is there twice; no game session has more than it has places. How
// far each is, and each game session, is read for the history.
func (j *judge) players(seen map[string]types.GameSession) {
	for arn, g := range seen {
		j.describe(arn)
		players, ok := j.list(arn)
		if !ok {
			j.lost("the players of game session %s cannot be read", arn)
			continue
		}
		ids, seated := map[string]string{}, int32(0)
		for _, p := range players {
			if _, twice := ids[*p.PlayerId]; twice {
				j.doubled("player %s is in game session %s twice", *p.PlayerId, arn)
			}
			ids[*p.PlayerId] = *p.PlayerSessionId
			if p.Status == types.PlayerSessionStatusReserved || p.Status == types.PlayerSessionStatusActive {
				seated++
			}
		}
		if seated > *g.MaximumPlayerSessionCount {
			j.doubled("game session %s has %d players and room for %d", arn, seated, *g.MaximumPlayerSessionCount)
		}
		j.games.change(arn, func(k *game) {
			for _, s := range k.seats {
				if ids[s.player] != s.id {
					j.lost("player session %s of player %s in game session %s; there is %q", s.id, s.player, arn,
						ids[s.player])
				}
			}
		})
	}
}

// placed looks at all placements: each that was acknowledged is there, and has one game
// session or none; each game session of the queue is that of one placement.
func (j *judge) placed(seen map[string]types.GameSession) {
	given := map[string]string{} // placements by game session
	for _, id := range j.placements.ids(true) {
		out, err := j.clients[j.node].DescribeGameSessionPlacement(j.ctx,
			&gamelift.DescribeGameSessionPlacementInput{PlacementId: &id})
		if err != nil {
			j.lost("placement %s: %v", id, err)
			continue
		}
		p := out.GameSessionPlacement
		if p.Status != types.GameSessionPlacementStateFulfilled {
			continue
		}
		arn := *p.GameSessionArn
		if other, twice := given[arn]; twice {
			j.doubled("placements %s and %s have game session %s", id, other, arn)
		}
		given[arn] = id
		if _, there := seen[arn]; !there {
			j.lost("game session %s of placement %s", arn, id)
		}
	}
	for arn := range seen {
		if locationOf(arn) == queueLocation && given[arn] == "" && !j.comesToBe(arn) {
			j.doubled("game session %s belongs to no placement; it is %s", arn, j.placementOf(arn))
		}
	}
}

// placementOf describes the placement whose name a game session has.
func (j *judge) placementOf(arn string) string {
	id := arn[strings.LastIndex(arn, "/")+1:]
	out, err := j.clients[j.node].DescribeGameSessionPlacement(j.ctx,
		&gamelift.DescribeGameSessionPlacementInput{PlacementId: &id})
	if err != nil {
		return err.Error()
	}
	p := out.GameSessionPlacement
	return fmt.Sprintf("%s, begun %v, ended %v, of %q", p.Status, p.StartTime, p.EndTime,
		aws.ToString(p.GameSessionArn))
}

// comesToBe waits for a placement to have its game session, which is a step later than
// the game session itself.
func (j *judge) comesToBe(arn string) bool {
	ctx, cancel := context.WithTimeout(j.ctx, callLimit)
	defer cancel()
	for {
		for _, id := range j.placements.ids(true) {
			out, err := j.clients[j.node].DescribeGameSessionPlacement(ctx,
				&gamelift.DescribeGameSessionPlacementInput{PlacementId: &id})
			if err == nil && aws.ToString(out.GameSessionPlacement.GameSessionArn) == arn {
				return true
			}
		}
		if !pause(ctx, roundWait) {
			return false
		}
	}
}
