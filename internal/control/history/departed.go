package history

import (
	"context"
	"strings"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
)

// moveDeparted moves player sessions that have ended from game sessions that have many of them and have not ended.
func (h *History) moveDeparted(ctx context.Context, s Shard) error {
	before := event.At(h.cfg.Clock.Now().Add(-max(h.cfg.Retention, fleet.RepeatedWithin)))
	crowded, err := read(ctx, s, func(m *region.Machine) (crowded []crowd) {
		for _, r := range m.Rooms() {
			c := crowd{room: r.ID(), at: r.Address()}
			r.WithExcess(func(g *fleet.GameSession) bool {
				if !g.HasEnded() && len(g.Excess(before)) > 0 {
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
			awaited, err := h.awaited(ctx, g)
			if err != nil {
				return err
			}
			if awaited {
				continue
			}
			if _, err := h.drain(ctx, s, c, g, before); err != nil && !h.refused(err, g.ID) {
				return err
			}
		}
	}
	return nil
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

// drain moves the excess player sessions of a game session, and returns the game session as it is then; nil if it is
// not in memory any more. It moves nothing while a node of the region could not read that.
func (h *History) drain(ctx context.Context, s Shard, c crowd, g *fleet.GameSession,
	before event.Time) (*fleet.GameSession, error) {
	if s.Level() < fleet.ArchiveLevel {
		return g, nil
	}
	for g != nil {
		players := g.Excess(before)
		if len(players) == 0 {
			break
		}
		players = players[:min(len(players), batch)]
		for i, player := range players {
			if err := h.putDeparted(ctx, c, g, g.Archived+uint32(i), player); err != nil {
				return g, err
			}
		}
		forget := fleet.ForgetPlayers{Session: g.Ordinal, Through: g.Archived + uint32(len(players))}
		if _, err := s.Do(ctx, region.RoomCommand{Room: c.room, Command: forget}); err != nil {
			return g, err
		}
		next, err := read(ctx, s, func(m *region.Machine) (next *fleet.GameSession) {
			if r, ok := m.RoomAt(c.at.Room); ok {
				next, _ = r.GameSessionAt(g.Ordinal)
			}
			return next
		})
		if err != nil {
			return nil, err
		}
		if next != nil && next.Archived == g.Archived { // the owner's clock is behind: later
			return next, nil
		}
		g = next
	}
	return g, nil
}

// putDeparted stores one player session.
func (h *History) putDeparted(ctx context.Context, c crowd, g *fleet.GameSession, number uint32,
	s *fleet.PlayerSession) error {
	subject := departedSubject(c.room, g.ID, place(c.at, g.Ordinal), s.ID.String())
	if err := h.put(ctx, subject, uint32(c.at.Room), g.ArchiveRecord(number, s)); err != nil {
		return err
	}
	return h.cfg.Entries.Put(ctx, playerSubject(s.PlayerID)+strings.TrimPrefix(subject, "d"), nil)
}
