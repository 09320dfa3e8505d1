package history

import (
	"context"
	"errors"
	"math"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/region"
)

// endless is after all moments.
const endless = event.Time(math.MaxInt64)

// addSession adds a game session that has ended, and the player sessions that do not fit in its entry.
func (m *mover) addSession(ctx context.Context, c crowd, g *fleet.GameSession) error {
	excess := g.Excess(endless)
	if err := m.addDeparted(ctx, c, g, excess, func(int) {}); err != nil {
		return err
	}
	return m.add(sessionEntry, c, uint32(c.at.Room), g.WithoutExcess(len(excess)))
}

// addDeparted adds player sessions that leave memory before their game session. It calls full with how many were added
// before it writes a full batch.
func (m *mover) addDeparted(ctx context.Context, c crowd, g *fleet.GameSession, players []*fleet.PlayerSession,
	full func(n int)) error {
	for i, p := range players {
		if err := m.add(departedEntry, c, uint32(c.at.Room), g.ArchiveRecord(g.Archived+uint32(i), p)); err != nil {
			return err
		}
		if m.packed.full() {
			full(i + 1)
			if err := m.flush(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// moveDeparted moves player sessions that have ended from game sessions that have many of them and have not ended.
func (m *mover) moveDeparted(ctx context.Context, departed span) error {
	for i, s := range m.cfg.Shards {
		crowded, err := read(ctx, s, func(state *region.Machine) (crowded []crowd) {
			for _, r := range state.Rooms() {
				c := crowd{room: r.ID(), at: r.Address()}
				r.WithExcess(func(g *fleet.GameSession) bool {
					excess := g.Excess(departed.soon)
					if !g.HasEnded() && len(excess) > 0 && departed.due(len(excess), excess[0].Ended) {
						c.sessions = append(c.sessions, g)
					}
					return true
				})
				crowded = append(crowded, c)
			}
			return crowded
		})
		if err != nil {
			return err
		}
		for _, c := range crowded {
			for _, g := range c.sessions {
				if err := m.moveDepartedOf(ctx, i, c, g, g.Excess(departed.soon)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (m *mover) moveDepartedOf(ctx context.Context, shard int, c crowd, g *fleet.GameSession,
	players []*fleet.PlayerSession) error {
	awaited, err := m.awaited(ctx, g)
	if err != nil || awaited {
		return err
	}
	forget := func(n int) {
		command := fleet.ForgetPlayers{Session: g.Ordinal, Through: g.Archived + uint32(n)}
		m.forget[shard] = append(m.forget[shard], region.RoomCommand{Room: c.room, Command: command})
	}
	err = m.addDeparted(ctx, c, g, players, forget)
	if errors.Is(err, journal.ErrTooLarge) {
		m.cfg.Log.Warn("player session too large for the history; it stays in memory", "id", g.ID, "err", err)
		return nil
	}
	if err == nil {
		forget(len(players))
	}
	return err
}

// awaited reports whether a driver may still have to read the player sessions that a placement or a match made in a
// game session. After a crash it does so late.
func (h *History) awaited(ctx context.Context, g *fleet.GameSession) (awaited bool, err error) {
	shards := h.cfg.Shards
	if g.Placement != "" {
		s := shards[region.PlacementShardOf(g.Placement, len(shards))]
		awaited, err = read(ctx, s, func(m *region.Machine) bool {
			p, ok := m.Placements().Placement(g.Placement)
			return ok && !p.HasEnded()
		})
	}
	if g.Filled != "" && !awaited && err == nil {
		awaited, err = read(ctx, shards[region.MatchmakingShard(len(shards))], func(m *region.Machine) bool {
			_, ok := m.Matchmaking().Match(g.Filled)
			return ok
		})
	}
	return awaited, err
}
