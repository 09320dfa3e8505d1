package history

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
)

const (
	// look is how many records of one room or shard are read at a time.
	look = 2048

	// maxHold is how long a few records may wait for others of their batch: a batch costs memory in the journal.
	maxHold = 5 * time.Minute

	// enough is how many records of one room or shard wait for no others.
	enough = 256
)

// Begin must be called before the shards are read, and before moves by a new leader. Without other nodes it notes that
// all entries have left memory, unless the last Move failed. Another node may be moving something until this one has.
func (h *History) Begin(ctx context.Context) error {
	bounds, err := h.cfg.Entries.Bounds(ctx, 0)
	if err != nil {
		return err
	}
	h.begun.Store(max(h.begun.Load(), bounds.Last))
	if !h.unsettled && !h.cfg.Shared {
		h.settled.Store(max(h.settled.Load(), endOf(bounds.Last)))
	}
	h.unsettled = h.cfg.Shared
	return nil
}

// endOf returns the largest number of an entry of a batch.
func endOf(seq uint64) uint64 { return seq<<numberBits | (maxEntries - 1) }

// Move moves all that ended long enough ago. It logs what fails, and the next call tries it again.
func (h *History) Move(ctx context.Context) {
	if slices.ContainsFunc(h.cfg.Shards, func(s Shard) bool { return s.Level() < BatchLevel }) {
		return // a node of the region runs a release that does not find it
	}
	err := h.moveAll(ctx)
	h.unsettled = err != nil
	h.moving.Store(&err)
	h.warn(ctx, "ended records not moved to the history; trying again later", err)
	h.warn(ctx, "entries of the release before not moved into batches; trying again later", h.moveOldEntries(ctx))
}

func (h *History) warn(ctx context.Context, message string, err error) {
	if err != nil && ctx.Err() == nil {
		h.cfg.Log.Warn(message, "err", err)
	}
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

// A mover collects a batch, and what the shards forget when it is durable.
type mover struct {
	*History
	packed  packed
	buf     bytes.Buffer
	forget  map[int][]region.Command // by shard
	refused map[string]bool          // too large for the history; by keys
	clean   bool                     // the last move did not fail half way
}

// A span selects what is moved: what ended before soon, if something ended before late or there is enough of it.
type span struct{ soon, late event.Time }

func (s span) due(n int, oldest event.Time) bool { return n >= enough || n > 0 && oldest < s.late }

// moveAll moves until nothing is due.
func (h *History) moveAll(ctx context.Context) error {
	m := &mover{History: h, forget: map[int][]region.Command{}, refused: map[string]bool{}, clean: !h.unsettled}
	now := event.At(h.cfg.Clock.Now())
	hold := h.hold()
	ended := span{now.Add(-h.cfg.Retention), now.Add(-h.cfg.Retention - hold)}
	moved, err := h.due(ctx, ended)
	for moved && err == nil {
		moved, err = m.moveEnded(ctx, ended.soon)
	}
	if err != nil {
		return err
	}
	stay := max(h.cfg.Retention, fleet.RepeatedWithin)
	if err := m.moveDeparted(ctx, span{now.Add(-stay), now.Add(-stay - hold)}); err != nil {
		return err
	}
	return m.flush(ctx)
}

// due reports whether anything is.
func (h *History) due(ctx context.Context, ended span) (due bool, err error) {
	for _, s := range h.cfg.Shards {
		due, err = read(ctx, s, func(m *region.Machine) bool {
			for _, r := range m.Rooms() {
				if over := r.EndedBefore(ended.soon, enough); len(over) > 0 && ended.due(len(over), over[0].Ended) {
					return true
				}
			}
			over := m.Placements().EndedBefore(ended.soon, enough)
			if len(over) > 0 && ended.due(len(over), over[0].Ended) {
				return true
			}
			if m.Matchmaking() == nil {
				return false
			}
			tickets := m.Matchmaking().EndedBefore(ended.soon, enough)
			return len(tickets) > 0 && ended.due(len(tickets), tickets[0].Ended)
		})
		if due || err != nil {
			return due, err
		}
	}
	return false, nil
}

// ended is what one read of a shard found.
type ended struct {
	rooms      []crowd
	placements []*placement.Placement
	tickets    []*matchmaking.Ticket
}

// crowd is game sessions of one room from which to move something.
type crowd struct {
	room     fleet.RoomID
	at       fleet.Address
	sessions []*fleet.GameSession
}

// moveEnded moves what has ended, some of it in each shard. What the history refuses stays in memory.
func (m *mover) moveEnded(ctx context.Context, before event.Time) (moved bool, err error) {
	for i, s := range m.cfg.Shards {
		found, err := read(ctx, s, func(state *region.Machine) (found ended) {
			n := look + len(m.refused)
			for _, r := range state.Rooms() {
				if over := r.EndedBefore(before, n); len(over) > 0 {
					found.rooms = append(found.rooms, crowd{r.ID(), r.Address(), over})
				}
			}
			found.placements = state.Placements().EndedBefore(before, n)
			if state.Matchmaking() != nil {
				found.tickets = state.Matchmaking().EndedBefore(before, n)
			}
			return found
		})
		if err != nil {
			return moved, err
		}
		some, err := m.moveFound(ctx, i, found)
		moved = moved || some
		if err != nil {
			return moved, err
		}
	}
	return moved, m.flush(ctx) // before the shards are read again
}

// moveFound adds what was found to batches.
func (m *mover) moveFound(ctx context.Context, shard int, found ended) (moved bool, err error) {
	for _, c := range found.rooms {
		some, err := move(ctx, m, shard, c.sessions, records[*fleet.GameSession]{
			key: func(g *fleet.GameSession) []byte { return placeKey(c.at, g.Ordinal) },
			add: func(g *fleet.GameSession) error { return m.addSession(ctx, c, g) },
			forget: func(all []*fleet.GameSession) region.Command {
				ordinals := each(all, func(g *fleet.GameSession) uint64 { return g.Ordinal })
				return region.RoomCommand{Room: c.room, Command: fleet.ForgetGameSessions{Ordinals: ordinals}}
			},
		})
		moved = moved || some
		if err != nil {
			return moved, err
		}
	}
	placements, err := move(ctx, m, shard, found.placements, records[*placement.Placement]{
		key: func(p *placement.Placement) []byte { return placementKey(p.ID) },
		add: func(p *placement.Placement) error { return m.add(placementEntry, crowd{}, region.PlacementsRoom, p) },
		forget: func(all []*placement.Placement) region.Command {
			ids := each(all, func(p *placement.Placement) string { return p.ID })
			return region.PlacementCommand{Command: placement.Forget{IDs: ids}}
		},
	})
	if err != nil {
		return moved, err
	}
	tickets, err := move(ctx, m, shard, found.tickets, records[*matchmaking.Ticket]{
		key: func(t *matchmaking.Ticket) []byte { return ticketKey(t.ID) },
		add: func(t *matchmaking.Ticket) error { return m.add(ticketEntry, crowd{}, region.MatchmakingRoom, t) },
		forget: func(all []*matchmaking.Ticket) region.Command {
			ids := each(all, func(t *matchmaking.Ticket) string { return t.ID })
			return region.MatchmakingCommand{Command: matchmaking.Forget{IDs: ids}}
		},
	})
	return moved || placements || tickets, err
}

// each returns a value of each record.
func each[T, V any](all []T, value func(T) V) (values []V) {
	for _, one := range all {
		values = append(values, value(one))
	}
	return values
}

// records describes how records of one kind are moved.
type records[T any] struct {
	key    func(T) []byte
	add    func(T) error
	forget func([]T) region.Command
}

// move adds records of one kind to batches, and notes those that the history refuses.
func move[T any](ctx context.Context, m *mover, shard int, all []T, kind records[T]) (moved bool, err error) {
	var added []T
	note := func() {
		if len(added) > 0 {
			m.forget[shard] = append(m.forget[shard], kind.forget(added))
			added, moved = nil, true
		}
	}
	for _, one := range all {
		key := string(kind.key(one))
		if m.refused[key] {
			continue
		}
		switch err := kind.add(one); {
		case errors.Is(err, journal.ErrTooLarge):
			m.refused[key] = true
			m.cfg.Log.Warn("entry too large for the history; its record stays in memory", "shard", shard, "err", err)
			continue
		case err != nil:
			return moved, err
		}
		added = append(added, one)
		if m.packed.full() {
			note()
			if err := m.flush(ctx); err != nil {
				return moved, err
			}
		}
	}
	note()
	return moved, nil
}

// add adds a record to the batch.
func (m *mover) add(kind byte, of crowd, room uint32, record any) error {
	m.buf.Reset()
	fact, err := encodeFact(&m.buf, room, record)
	if err != nil {
		return err
	}
	return m.packed.add(&entry{kind: kind, room: of.room, shard: of.at.Shard, fact: fact})
}

// flush writes the batch, and has the shards forget what it contains.
func (m *mover) flush(ctx context.Context) error {
	if m.packed.n == 0 {
		return nil
	}
	settled := m.Settled()
	seq, err := m.cfg.Entries.Append(ctx, m.packed.message())
	if err != nil {
		return err
	}
	forget := m.forget
	m.forget = map[int][]region.Command{}
	m.await(ctx, seq)
	group, ctx := errgroup.WithContext(ctx)
	for shard, commands := range forget {
		group.Go(func() error {
			s := m.cfg.Shards[shard]
			if _, err := s.Do(ctx, region.ReachHistory{Seq: seq, Settled: settled}); err != nil {
				return err
			}
			for _, c := range commands {
				if _, err := s.Do(ctx, c); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if m.clean {
		m.settled.Store(max(m.settled.Load(), endOf(seq)))
	}
	return nil
}

// await waits until the index of this node has a batch, so that no reader waits for it later. Without an index the
// batch is forgotten all the same: memory is bounded.
func (h *History) await(ctx context.Context, seq uint64) {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.store != nil {
		_ = h.store.Wait(ctx, seq) // see above
	}
}
