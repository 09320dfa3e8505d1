package bench

import (
	"context"
	"sync/atomic"
)

var playersProfile = Profile{
	Name:    "players",
	Summary: "CreatePlayerSessions, 25 players a call (--batch), into game sessions for 200 players",
	Unit:    "player sessions",
	Pool:    2000,
	prepare: func(ctx context.Context, s *site) (func(int) operation, error) {
		return prepareSeats(ctx, s, func(seats *seats) operation {
			return func(ctx context.Context) (int, error) { return seats.reserve(ctx, s.cfg.Batch) }
		})
	},
}

var playerProfile = Profile{
	Name:    "player",
	Summary: "CreatePlayerSession, into game sessions for 200 players",
	Unit:    "player sessions",
	Pool:    1500,
	prepare: func(ctx context.Context, s *site) (func(int) operation, error) {
		return prepareSeats(ctx, s, func(seats *seats) operation { return seats.reserveOne })
	},
}

// prepareSeats starts the game sessions and gives each worker those that it
// fills, one after the other.
func prepareSeats(ctx context.Context, s *site, work func(*seats) operation) (func(int) operation, error) {
	games, err := s.startGames(ctx, s.cfg.Pool)
	if err != nil {
		return nil, err
	}
	var next atomic.Int64
	return func(worker int) operation {
		return work(&seats{site: s, games: games, next: &next, conn: s.newConn(), prefix: appendNumber([]byte("player-"), worker)})
	}, nil
}

// seats are the free places that a worker takes.
type seats struct {
	site   *site
	games  []game
	next   *atomic.Int64 // number of the next game session that no worker has
	conn   *conn
	prefix []byte // of the ids of this worker's players

	game    string // the game session that is being filled
	free    int    // places in it
	players int    // so far
	body    []byte
}

// take finds a game session with room for n players.
func (s *seats) take(n int) error {
	if s.free < n {
		number := int(s.next.Add(1)) - 1
		if number >= len(s.games) {
			return errExhausted
		}
		s.game, s.free = s.games[number].id, places
	}
	s.free -= n
	return nil
}

// begin begins a body for n players.
func (s *seats) begin(n int) error {
	err := s.take(n)
	s.body = appendField(append(s.body[:0], '{'), "GameSessionId", s.game)
	return err
}

// appendPlayer appends the id of a new player, in quotes.
func (s *seats) appendPlayer() {
	s.players++
	s.body = append(append(s.body, '"'), s.prefix...)
	s.body = append(appendNumber(append(s.body, '-'), s.players), '"')
}

// reserve takes places for n players in one call.
func (s *seats) reserve(ctx context.Context, n int) (int, error) {
	if err := s.begin(n); err != nil {
		return 0, err
	}
	s.body = append(s.body, `,"PlayerIds":[`...)
	for i := range n {
		if i > 0 {
			s.body = append(s.body, ',')
		}
		s.appendPlayer()
	}
	s.body = append(s.body, `]}`...)
	_, err := s.conn.call(ctx, "CreatePlayerSessions", s.body)
	return n, err
}

// reserveOne takes a place for one player.
func (s *seats) reserveOne(ctx context.Context) (int, error) {
	if err := s.begin(1); err != nil {
		return 0, err
	}
	s.body = append(s.body, `,"PlayerId":`...)
	s.appendPlayer()
	s.body = append(s.body, '}')
	_, err := s.conn.call(ctx, "CreatePlayerSession", s.body)
	return 1, err
}
