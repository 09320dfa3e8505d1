package bot

import (
	"context"
	"maps"
	"slices"

	"github.com/muster-gg/muster/examples/arena/protocol"
)

// maxSaid is how many of the last things that were said a World holds.
const maxSaid = 100

// A World is what a bot knows of its room.
type World struct {
	Tick    uint32            // of the newest State
	Ticks   int               // different ones that have come
	Players map[uint32]Player // those who are there, the bot included
	Said    []protocol.Said   // the last ones
	Notices []string          // of the server, the last ones
}

// A Player is a player in the room.
type Player struct {
	Name  string
	Tick  uint32 // when they were last seen; 0: not yet
	Place protocol.Place
	Moved bool // their place has changed
}

// World is what the bot knows at this moment.
func (b *Bot) World() World {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.world.clone()
}

func (w World) clone() World {
	w.Players, w.Said, w.Notices = maps.Clone(w.Players), slices.Clone(w.Said), slices.Clone(w.Notices)
	return w
}

// Until waits until the world is as wanted. It fails when ctx is done before, or with the cause when the connection has
// ended.
func (b *Bot) Until(ctx context.Context, wanted func(World) bool) error {
	for {
		b.mu.Lock()
		world, changed := b.world.clone(), b.changed
		b.mu.Unlock()
		if wanted(world) {
			return nil
		}
		select {
		case <-changed:
		case <-b.Done():
			select {
			case <-changed: // before the end
			default:
				return b.Err()
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take notes what a message says.
func (b *Bot) take(m protocol.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := &b.world
	switch m := m.(type) {
	case protocol.Joined:
		w.Players[m.Number] = Player{Name: m.Name}
	case protocol.Left:
		delete(w.Players, m.Number)
	case protocol.Said:
		w.Said = lastOf(append(w.Said, m))
	case protocol.Notice:
		w.Notices = lastOf(append(w.Notices, m.Text))
	case protocol.State:
		w.see(m)
	}
	close(b.changed)
	b.changed = make(chan struct{})
}

// see notes where players are, unless something newer is known. A player who has not joined yet, or has left, is not
// seen: datagrams may be early or late.
func (w *World) see(m protocol.State) {
	if w.Ticks == 0 || int32(m.Tick-w.Tick) > 0 {
		w.Tick = m.Tick
		w.Ticks++
	}
	for _, place := range m.Places {
		p, there := w.Players[place.Number]
		if !there || p.Tick != 0 && int32(m.Tick-p.Tick) <= 0 {
			continue
		}
		p.Moved = p.Moved || p.Tick != 0 && p.Place != place
		p.Tick, p.Place = m.Tick, place
		w.Players[place.Number] = p
	}
}

func lastOf[T any](list []T) []T { return list[max(0, len(list)-maxSaid):] }
