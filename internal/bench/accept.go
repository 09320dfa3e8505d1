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

// prepareAccept reserves every slot. Reservations last a minute, so the work must be done by then.
func prepareAccept(ctx context.Context, s *site) (func(int) operation, error) {
	games, err := s.startGames(ctx, s.cfg.Pool)
	if err != nil {
		return nil, err
	}
	guests := make([]guest, len(games)*slotsPerSession)
	s.cfg.Note(fmt.Sprintf("reserving slots for %d players", len(guests)))
	err = s.each(ctx, len(games), func(ctx context.Context, c *conn, i int) error {
		return reserveAll(ctx, c, games[i], guests[i*slotsPerSession:(i+1)*slotsPerSession])
	})
	if err != nil {
		return nil, err
	}
	var next atomic.Int64
	var list *guestList
	return func(worker int) operation {
		if worker%s.cfg.InFlight == 0 {
			list = &guestList{guests: guests, next: &next}
		}
		at := list
		return func(ctx context.Context) (int, error) {
			g, ok := at.guest()
			if !ok {
				return 0, errExhausted
			}
			return 1, g.process.accept(ctx, g.ticket)
		}
	}, nil
}

// A guestList returns the guests of one game session after the other. The workers of a connection share one.
type guestList struct {
	guests []guest       // of all game sessions
	next   *atomic.Int64 // next game session not assigned to a list

	mu   sync.Mutex
	mine []guest // of the present game session
}

// guest returns the next guest; false if no game session is left.
func (d *guestList) guest() (guest, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.mine) == 0 {
		begin := (int(d.next.Add(1)) - 1) * slotsPerSession
		if begin >= len(d.guests) {
			return guest{}, false
		}
		d.mine = d.guests[begin : begin+slotsPerSession]
	}
	g := d.mine[0]
	d.mine = d.mine[1:]
	return g, true
}

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
		err := c.ask(ctx, "CreatePlayerSessions", map[string]any{"GameSessionId": g.id, "PlayerIds": ids}, &out)
		if err != nil {
			return err
		}
		if len(out.PlayerSessions) != n {
			return fmt.Errorf("CreatePlayerSessions answered %d player sessions instead of %d",
				len(out.PlayerSessions), n)
		}
		for i, p := range out.PlayerSessions {
			guests[i] = guest{g.process, p.PlayerSessionId}
		}
		guests = guests[n:]
	}
	return nil
}
