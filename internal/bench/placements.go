package bench

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
)

var placementsProfile = Profile{
	Name:    "placements",
	Summary: "StartGameSessionPlacement until the placement is FULFILLED, from a pool of idle processes",
	Unit:    "placements",
	Pool:    2000,
	prepare: preparePlacements,
}

func preparePlacements(ctx context.Context, s *site) (func(int) operation, error) {
	if err := s.makeQueue(ctx); err != nil {
		return nil, err
	}
	if err := s.startPoolFor(ctx, s.cfg.Pool, placementOf); err != nil {
		return nil, err
	}
	var taken atomic.Int64
	return func(int) operation {
		p := &placer{creator: newCreator(s)}
		return func(ctx context.Context) (int, error) {
			number := int(taken.Add(1)) - 1
			if number >= s.cfg.Pool {
				return 0, errExhausted
			}
			return 1, p.place(ctx, placementPrefix(s)+fmt.Sprint(number))
		}
	}, nil
}

// placementPrefix is what the ids of a site's placements begin with. They have no
// dash: what stands behind one in the id of a game session is the number of the attempt.
func placementPrefix(s *site) string { return strings.ReplaceAll(s.name, "-", "") + "x" }

// placementOf is the placement that a game session is of.
func placementOf(session string) string {
	id, _, _ := strings.Cut(session[strings.LastIndexByte(session, '/')+1:], "-")
	return id
}

// makeQueue makes a queue that leads to the fleet.
func (s *site) makeQueue(ctx context.Context) error {
	var out struct {
		GameSessionQueue struct{ GameSessionQueueArn string }
	}
	err := s.newConn().ask(ctx, "CreateGameSessionQueue", map[string]any{
		"Name": s.name, "TimeoutInSeconds": 600, "Destinations": []map[string]string{{"DestinationArn": s.fleetArn}},
	}, &out)
	if err == nil {
		s.queue, s.queueArn = s.name, out.GameSessionQueue.GameSessionQueueArn
	}
	return err
}

// A placer starts placements, one after the other.
type placer struct {
	creator *creator
	body    []byte
}

// place starts a placement and returns when it is FULFILLED. It looks for the first time
// when the game session has been activated: before, there is nothing to see.
func (p *placer) place(ctx context.Context, id string) error {
	c := p.creator
	b := appendField(append(p.body[:0], '{'), "PlacementId", id)
	b = appendField(b, "GameSessionQueueName", c.site.queue)
	b = append(b, `,"MaximumPlayerSessionCount":`...)
	b = appendNumber(b, places)
	b = append(b, `,"GameProperties":[{"Key":"map","Value":"harbour"}]}`...)
	p.body = b
	if _, err := c.conn.call(ctx, "StartGameSessionPlacement", b); err != nil {
		return err
	}
	if _, err := c.site.arrivals.await(ctx, c.limit, id); err != nil {
		return err
	}
	for ctx.Err() == nil {
		p.body = append(appendField(append(p.body[:0], '{'), "PlacementId", id), '}')
		answer, err := c.conn.call(ctx, "DescribeGameSessionPlacement", p.body)
		if err != nil {
			return err
		}
		switch status := textMember(answer, "Status"); status {
		case "PENDING":
		case "FULFILLED":
			return nil
		default:
			return fmt.Errorf("placement is %s", status)
		}
	}
	return ctx.Err()
}
