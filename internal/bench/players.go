package bench

import (
	"context"
	"sync/atomic"
)

var playersProfile = Profile{
	Name:    "players",
	Summary: "CreatePlayerSessions, 25 players per call (--batch), into game sessions for 200 players",
	Unit:    "player sessions",
	Pool:    2000,
	prepare: func(ctx context.Context, s *site) (func(int) operation, error) {
		return prepareSlots(ctx, s, func(slots *slots) operation {
			return func(ctx context.Context) (int, error) { return slots.reserve(ctx, s.cfg.Batch) }
		})
	},
}

var playerProfile = Profile{
	Name:    "player",
	Summary: "CreatePlayerSession, into game sessions for 200 players",
	Unit:    "player sessions",
	Pool:    1500,
	prepare: func(ctx context.Context, s *site) (func(int) operation, error) {
		return prepareSlots(ctx, s, func(slots *slots) operation { return slots.reserveOne })
	},
}

// prepareSlots starts the game sessions. Each worker fills some of them, one after the other.
func prepareSlots(ctx context.Context, s *site, work func(*slots) operation) (func(int) operation, error) {
	games, err := s.startGames(ctx, s.cfg.Pool)
	if err != nil {
		return nil, err
	}
	var next atomic.Int64
	return func(worker int) operation {
		prefix := appendNumber([]byte("player-"), worker)
		return work(&slots{site: s, games: games, next: &next, conn: s.newConn(), prefix: prefix})
	}, nil
}

// slots are the player slots that a worker reserves.
type slots struct {
	site   *site
	games  []game
	next   *atomic.Int64 // next game session not assigned to a worker
	conn   *conn
	prefix []byte // of this worker's player ids

	game    string // being filled
	free    int    // slots in it
	players int    // so far
	body    []byte
}

// take finds a game session with n free slots.
func (s *slots) take(n int) error {
	if s.free < n {
		number := int(s.next.Add(1)) - 1
		if number >= len(s.games) {
			return errExhausted
		}
		s.game, s.free = s.games[number].id, slotsPerSession
	}
	s.free -= n
	return nil
}

// begin begins a body for n players.
func (s *slots) begin(n int) error {
	err := s.take(n)
	s.body = appendField(append(s.body[:0], '{'), "GameSessionId", s.game)
	return err
}

// appendPlayer appends the id of a new player, in quotes.
func (s *slots) appendPlayer() {
	s.players++
	s.body = append(append(s.body, '"'), s.prefix...)
	s.body = append(appendNumber(append(s.body, '-'), s.players), '"')
}

// reserve reserves slots for n players in one call.
func (s *slots) reserve(ctx context.Context, n int) (int, error) {
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

// reserveOne reserves a slot for one player.
func (s *slots) reserveOne(ctx context.Context) (int, error) {
	if err := s.begin(1); err != nil {
		return 0, err
	}
	s.body = append(s.body, `,"PlayerId":`...)
	s.appendPlayer()
	s.body = append(s.body, '}')
	_, err := s.conn.call(ctx, "CreatePlayerSession", s.body)
	return 1, err
}
