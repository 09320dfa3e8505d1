package sim

import (
	"time"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
)

// waits are when the region began to wait for game servers, by the true time, which no clock
// of a node shows. They tell who was ended because a clock jumped, or because nobody owned the
// shard, from who did not come.
type waits struct {
	heard, connected, asked, lost map[serverKey]time.Time
	reserved                      map[seatKey]time.Time
	owned                         map[fleet.RoomID]time.Time // since its newest owner began
}

type seatKey struct {
	room    fleet.RoomID
	session uint64
	index   uint32
}

func newWaits() waits {
	return waits{
		heard: map[serverKey]time.Time{}, connected: map[serverKey]time.Time{}, asked: map[serverKey]time.Time{},
		lost:     map[serverKey]time.Time{},
		reserved: map[seatKey]time.Time{}, owned: map[fleet.RoomID]time.Time{},
	}
}

// owner takes notice of a new owner of a shard.
func (w *waits) owner(m *region.Machine) {
	for _, r := range m.Rooms() {
		w.owned[r.ID()] = time.Now()
	}
}

// begin takes notice of a fact that has just been stored and applied.
func (w *waits) begin(r *fleet.Room, body any) {
	room, now := r.ID(), time.Now()
	reserve := func(ordinal uint64, seats int) {
		if g, ok := r.GameSessionAt(ordinal); ok {
			for _, p := range g.CurrentPlayers[len(g.CurrentPlayers)-seats:] {
				w.reserved[seatKey{room, ordinal, p.Index}] = now
			}
		}
	}
	switch e := body.(type) {
	case *fleet.ProcessConnected:
		w.connected[serverKey{room, e.ProcessKey}] = now
	case *fleet.ProcessRequested:
		w.connected[serverKey{room, e.ProcessKey}] = now
	case *fleet.ProcessBecameReady:
		w.heard[serverKey{room, e.ProcessKey}] = now
	case *fleet.ProcessResumed:
		w.heard[serverKey{room, e.ProcessKey}] = now
	case *fleet.HealthReported:
		w.heard[serverKey{room, e.ProcessKey}] = now
	case *fleet.ProcessLost:
		w.lost[serverKey{room, e.ProcessKey}] = now
	case *fleet.ProcessAskedToEnd:
		w.asked[serverKey{room, e.ProcessKey}] = now
	case *fleet.Interrupted:
		if e.Pause == 0 {
			w.owned[room] = now // a release that does not mark the first record of an owner
		}
	case *fleet.GameSessionActivated:
		reserve(e.Ordinal, len(e.Slots))
	case *fleet.GameSessionBackfilled:
		reserve(e.Ordinal, len(e.Slots))
	case *fleet.PlayersReserved:
		reserve(e.Session, len(e.Players))
	}
}

// inexact is how far the true time of a wait may be from what an owner meant: a record may be
// stored late, and small jumps of a clock go unnoticed.
const inexact = 50 * time.Second

// endLaw: no process is ended before its time by the true time.
func (w *world) endLaw(room fleet.RoomID, p fleet.Process, reason fleet.EndReason) string {
	key, s := serverKey{room, p.ProcessKey}, &w.settings.Fleet
	switch reason {
	case fleet.EndedCrashed:
		return w.waitLaw(room, w.waits.lost[key], s.ProcessGrace)
	case fleet.EndedNeverReady:
		return w.waitLaw(room, w.waits.connected[key], s.ReadyTimeout)
	case fleet.EndedByForce:
		return w.waitLaw(room, w.waits.asked[key], s.TerminationGrace)
	case fleet.EndedUnhealthy:
		if p.Unhealthy < healthMisses-1 {
			return w.waitLaw(room, w.waits.heard[key], time.Duration(s.HealthMisses)*s.HealthInterval)
		}
	}
	return ""
}

// waitLaw: what was waited for had its time or, when the owner has changed meanwhile, which
// may have another clock, time to come back.
func (w *world) waitLaw(room fleet.RoomID, since time.Time, period time.Duration) string {
	now, owned, grace := time.Now(), w.waits.owned[room], w.settings.Fleet.ProcessGrace
	if since.Before(owned) {
		since := now.Sub(owned)
		return unless(since >= grace-inexact, "nobody owned the shard, and since then it was waited for for %s", since)
	}
	waited := now.Sub(since)
	return unless(waited >= period-inexact, "the clock jumped: it was waited for for %s instead of %s", waited, period)
}
