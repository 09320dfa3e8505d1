package bench

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// slotsPerSession is the number of player slots of a game session. Source: GameLift quotas, "Player sessions per game
// session".
const slotsPerSession = 200

var sessionsProfile = Profile{
	Name:    "sessions",
	Summary: "CreateGameSession until the activation by the game server is acknowledged, from a pool of idle processes",
	Unit:    "game sessions",
	Pool:    2000,
	prepare: prepareSessions,
}

func prepareSessions(ctx context.Context, s *site) (func(int) operation, error) {
	if err := s.startPool(ctx, s.cfg.Pool); err != nil {
		return nil, err
	}
	var taken atomic.Int64
	return func(int) operation {
		creator := newCreator(s)
		return func(ctx context.Context) (int, error) {
			number := int(taken.Add(1)) - 1
			if number >= s.cfg.Pool {
				return 0, errExhausted
			}
			_, err := creator.activate(ctx, number)
			return 1, err
		}
	}, nil
}

type creator struct {
	site  *site
	conn  *conn
	limit *time.Timer
	body  []byte
}

func newCreator(s *site) *creator {
	limit := time.NewTimer(sessionLimit)
	limit.Stop()
	return &creator{site: s, conn: s.newConn(), limit: limit}
}

// create creates a game session in a location and returns its id.
func (c *creator) create(ctx context.Context, location int) (string, error) {
	b := append(c.body[:0], '{')
	b = appendField(b, "FleetId", c.site.fleet)
	b = appendField(b, "Location", c.site.locations[location])
	b = appendField(b, "Name", "Bench")
	b = append(b, `,"MaximumPlayerSessionCount":`...)
	b = appendNumber(b, slotsPerSession)
	b = append(b, `,"GameProperties":[{"Key":"map","Value":"harbour"}]}`...)
	c.body = b
	answer, err := c.conn.call(ctx, "CreateGameSession", b)
	if err != nil {
		return "", err
	}
	return textMember(answer, "GameSessionId"), nil
}

// activate creates a game session and waits until it is ACTIVE.
func (c *creator) activate(ctx context.Context, number int) (game, error) {
	id, err := c.create(ctx, c.site.location(number))
	if err != nil {
		return game{}, err
	}
	p, err := c.site.arrivals.await(ctx, c.limit, id)
	return game{id: id, process: p}, err
}

// A game is an ACTIVE game session.
type game struct {
	id      string
	process *process
}

// startGames starts n processes, each with a game session.
func (s *site) startGames(ctx context.Context, n int) ([]game, error) {
	if err := s.startPool(ctx, n); err != nil {
		return nil, err
	}
	s.cfg.Note(fmt.Sprintf("creating %d game sessions", n))
	games := make([]game, n)
	err := s.each(ctx, n, func(ctx context.Context, c *conn, i int) (err error) {
		limit := time.NewTimer(sessionLimit)
		defer limit.Stop()
		games[i], err = (&creator{site: s, conn: c, limit: limit}).activate(ctx, i)
		return err
	})
	return games, err
}
