package bench

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

var acceptProfile = Profile{
	Name:    "accept",
	Summary: "AcceptPlayerSession over the WebSockets of game servers, 200 players each",
	Unit:    "players",
	Pool:    1000,
	prepare: prepareAccept,
}

// A guest is a player with a reservation.
type guest struct {
	process *process
	ticket  string // player session id
}

// prepareAccept makes a reservation for every place. They last a minute, so the
// work has to be done by then.
func prepareAccept(ctx context.Context, s *site) (func(int) operation, error) {
	games, err := s.startGames(ctx, s.cfg.Pool)
	if err != nil {
		return nil, err
	}
	guests := make([]guest, len(games)*places)
	s.cfg.Note(fmt.Sprintf("reserving places for %d players", len(guests)))
	err = s.each(ctx, len(games), func(ctx context.Context, c *conn, i int) error {
		return reserveAll(ctx, c, games[i], guests[i*places:(i+1)*places])
	})
	if err != nil {
		return nil, err
	}
	var next atomic.Int64
	var here *door
	return func(worker int) operation {
		if worker%s.cfg.InFlight == 0 {
			here = &door{guests: guests, next: &next}
		}
		at := here
		return func(ctx context.Context) (int, error) {
			g, ok := at.guest()
			if !ok {
				return 0, errExhausted
			}
			return 1, g.process.accept(ctx, g.ticket)
		}
	}, nil
}

// A door is that of one game session after the other, where guests come in. The
// workers of a connection stand at the same one.
type door struct {
	guests []guest       // of all game sessions
	next   *atomic.Int64 // number of the next game session that no door belongs to

	mu   sync.Mutex
	mine []guest // of this game session
}

// guest is the next one; false when no game session is left.
func (d *door) guest() (guest, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.mine) == 0 {
		begin := (int(d.next.Add(1)) - 1) * places
		if begin >= len(d.guests) {
			return guest{}, false
		}
		d.mine = d.guests[begin : begin+places]
	}
	g := d.mine[0]
	d.mine = d.mine[1:]
	return g, true
}

// reserveAll takes all places of a game session.
func reserveAll(ctx context.Context, c *conn, g game, guests []guest) error {
	const batch = 25
	for len(guests) > 0 {
		n := min(batch, len(guests))
		ids := make([]string, n)
		for i := range ids {
			ids[i] = fmt.Sprintf("player-%d-%d", len(guests), i)
		}
		var out struct {
			PlayerSessions []struct{ PlayerSessionId string }
		}
		if err := c.ask(ctx, "CreatePlayerSessions", map[string]any{"GameSessionId": g.id, "PlayerIds": ids}, &out); err != nil {
			return err
		}
		if len(out.PlayerSessions) != n {
			return fmt.Errorf("CreatePlayerSessions answered %d player sessions instead of %d", len(out.PlayerSessions), n)
		}
		for i, p := range out.PlayerSessions {
			guests[i] = guest{g.process, p.PlayerSessionId}
		}
		guests = guests[n:]
	}
	return nil
}
