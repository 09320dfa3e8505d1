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

// placementPrefix is the prefix of a site's placement ids, without a dash: in game session ids a dash precedes the
// number of the attempt.
func placementPrefix(s *site) string { return strings.ReplaceAll(s.name, "-", "") + "x" }

// placementOf returns the placement of a game session.
func placementOf(session string) string {
	id, _, _ := strings.Cut(session[strings.LastIndexByte(session, '/')+1:], "-")
	return id
}

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

// place starts a placement and returns when it is FULFILLED. It asks first when the game session has been activated.
func (p *placer) place(ctx context.Context, id string) error {
	c := p.creator
	b := appendField(append(p.body[:0], '{'), "PlacementId", id)
	b = appendField(b, "GameSessionQueueName", c.site.queue)
	b = append(b, `,"MaximumPlayerSessionCount":`...)
	b = appendNumber(b, slotsPerSession)
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
