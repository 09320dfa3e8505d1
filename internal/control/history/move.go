package history

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
)

// batch is how many records of one room or shard are moved at a time.
const batch = 256

// Begin must be called before the shards are read, and before moves by a new leader. It notes that all entries have
// left memory, unless the last Move failed.
func (h *History) Begin(ctx context.Context) error {
	err := h.settle(ctx)
	h.unsettled = false
	return err
}

// settle notes that all entries have left memory. Entries of a move that failed half way are in both until a move
// succeeds as a whole.
func (h *History) settle(ctx context.Context) error {
	if h.unsettled {
		return nil
	}
	last, err := h.cfg.Entries.Last(ctx)
	if err == nil {
		h.settled.Store(last)
	}
	return err
}

// Move moves all that ended long enough ago. It logs what fails, and the next call tries it again.
func (h *History) Move(ctx context.Context) {
	failed := false
	for _, s := range h.cfg.Shards {
		err := errors.Join(h.moveDeparted(ctx, s), h.moveGameSessions(ctx, s))
		failed = failed || err != nil
		h.unsettled = h.unsettled || failed
		h.warn(ctx, "ended game sessions not moved to the history; trying again later", err)
		h.warn(ctx, "ended placements not moved to the history; trying again later", h.movePlacements(ctx, s))
	}
	h.warn(ctx, "ended tickets not moved to the history; trying again later", h.moveTickets(ctx))
	h.unsettled = failed
}

func (h *History) warn(ctx context.Context, message string, err error) {
	if err != nil && ctx.Err() == nil {
		h.cfg.Log.Warn(message, "err", err)
	}
}

// refused reports, and logs, that the history will never accept an entry. Its record stays in memory, and must not keep
// others there.
func (h *History) refused(err error, id string) bool {
	refused := errors.Is(err, journal.ErrTooLarge)
	if refused {
		h.cfg.Log.Warn("entry too large for the history; its record stays in memory", "id", id, "err", err)
	}
	return refused
}

// before returns the latest end of what is moved now.
func (h *History) before() event.Time { return event.At(h.cfg.Clock.Now().Add(-h.cfg.Retention)) }

// movePlacements moves the placements of a shard.
func (h *History) movePlacements(ctx context.Context, s Shard) error {
	return move(ctx, h, s, records[*placement.Placement]{
		room: region.PlacementsRoom,
		ended: func(m *region.Machine, n int) []*placement.Placement {
			return m.Placements().EndedBefore(h.before(), n)
		},
		id:   func(p *placement.Placement) string { return p.ID },
		name: placementSubject,
		forget: func(ids []string) region.Command {
			return region.PlacementCommand{Command: placement.Forget{IDs: ids}}
		},
	})
}

// moveTickets moves the tickets of the region.
func (h *History) moveTickets(ctx context.Context) error {
	return move(ctx, h, h.cfg.Shards[region.MatchmakingShard(len(h.cfg.Shards))], records[*matchmaking.Ticket]{
		room: region.MatchmakingRoom,
		ended: func(m *region.Machine, n int) []*matchmaking.Ticket {
			return m.Matchmaking().EndedBefore(h.before(), n)
		},
		id:   func(t *matchmaking.Ticket) string { return t.ID },
		name: ticketSubject,
		forget: func(ids []string) region.Command {
			return region.MatchmakingCommand{Command: matchmaking.Forget{IDs: ids}}
		},
	})
}

// records says how records of one kind are moved.
type records[T any] struct {
	room   uint32
	ended  func(m *region.Machine, limit int) []T
	id     func(T) string
	name   func(id string) (subject string)
	forget func(ids []string) region.Command
}

// read returns what look finds in the state of a shard.
func read[T any](ctx context.Context, s Shard, look func(*region.Machine) T) (T, error) {
	var found, none T
	err := s.Read(ctx, func(m *region.Machine) { found = look(m) })
	if err != nil { // look may still be running, so found must not be read
		return none, err
	}
	return found, nil
}

// move moves the records of one kind from a shard. Those that the history refuses stay in memory.
func move[T any](ctx context.Context, h *History, s Shard, kind records[T]) error {
	refused := map[string]bool{}
	for {
		ended, err := read(ctx, s, func(m *region.Machine) []T { return kind.ended(m, batch+len(refused)) })
		if err != nil {
			return err
		}
		var ids []string
		for _, record := range ended {
			id := kind.id(record)
			if refused[id] {
				continue
			}
			switch err := h.put(ctx, kind.name(id), kind.room, record); {
			case err == nil:
				ids = append(ids, id)
			case h.refused(err, id):
				refused[id] = true
			default:
				return err
			}
		}
		if len(ids) == 0 {
			return nil
		}
		if _, err := s.Do(ctx, kind.forget(ids)); err != nil {
			return err
		}
	}
}

// crowd is game sessions of one room from which to move something.
type crowd struct {
	room     fleet.RoomID
	at       fleet.Address
	sessions []*fleet.GameSession
}

// moveGameSessions moves the game sessions of a shard. Those that the history refuses stay in memory.
func (h *History) moveGameSessions(ctx context.Context, s Shard) error {
	refused := map[string]bool{} // by place
	for {
		before := h.before()
		ended, err := read(ctx, s, func(m *region.Machine) (ended []crowd) {
			for _, r := range m.Rooms() {
				over := slices.DeleteFunc(r.EndedBefore(before, batch+len(refused)), func(g *fleet.GameSession) bool {
					return refused[place(r.Address(), g.Ordinal)]
				})
				if len(over) > 0 {
					ended = append(ended, crowd{r.ID(), r.Address(), over})
				}
			}
			return ended
		})
		if err != nil || len(ended) == 0 {
			return err
		}
		for _, c := range ended {
			if err := h.moveCrowd(ctx, s, c, refused); err != nil {
				return err
			}
		}
	}
}

// endless is after all moments.
const endless = event.Time(math.MaxInt64)

// moveCrowd moves game sessions of one room, and notes those that the history refuses.
func (h *History) moveCrowd(ctx context.Context, s Shard, c crowd, refused map[string]bool) error {
	forget := fleet.ForgetGameSessions{}
	for _, over := range c.sessions {
		g, err := h.drain(ctx, s, c, over, endless)
		if err == nil && g != nil { // else another node has moved it
			err = h.putGameSession(ctx, c, g)
		}
		switch {
		case err == nil:
			forget.Ordinals = append(forget.Ordinals, over.Ordinal)
		case h.refused(err, over.ID):
			refused[place(c.at, over.Ordinal)] = true
		default:
			return err
		}
	}
	if len(forget.Ordinals) == 0 {
		return nil
	}
	if _, err := s.Do(ctx, region.RoomCommand{Room: c.room, Command: forget}); err != nil {
		return err
	}
	return h.settle(ctx)
}

// putGameSession stores a game session, and an entry for each of its players.
func (h *History) putGameSession(ctx context.Context, c crowd, g *fleet.GameSession) error {
	subject := sessionSubject(c.room, g.ID, place(c.at, g.Ordinal))
	if err := h.put(ctx, subject, uint32(c.at.Room), g); err != nil {
		return err
	}
	players := map[string]bool{}
	for _, s := range g.PlayerSessions() {
		if players[s.PlayerID] {
			continue
		}
		players[s.PlayerID] = true
		err := h.cfg.Entries.Put(ctx, playerSubject(s.PlayerID)+strings.TrimPrefix(subject, "s"), nil)
		if err != nil {
			return err
		}
	}
	return nil
}
