package sim

import (
	"bytes"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
)

// calm is how long everything has to come to an end when all faults have ended. It
// is longer than any deadline but those that tidy up.
const calm = 8 * time.Minute

// conclude ends all faults, and holds the world to what must be true when nothing
// goes wrong any more.
func (w *world) conclusion() {
	if w.err != nil {
		return
	}
	w.trace.add(w.step, "all faults end")
	w.rates = rates{}
	for _, n := range w.nodes {
		n.paused, n.cut = time.Time{}, [2]time.Time{}
		n.clock.skew.Store(0)
		n.release = max(n.release, currentRelease) // the last node is upgraded: what waits for that goes on
	}
	const rounds = 16
	for i := range rounds {
		w.pass(calm / rounds)
		if i == rounds/3 {
			w.beginLast()
		}
		w.raiseLevel()
		w.poke()
	}
	w.pass(patience)
	w.poke() // a timer that was set before the clock was runs late, until somebody asks
	w.pass(time.Second)
	for _, s := range w.shards {
		if w.err == nil {
			w.checkEnd(s)
		}
	}
	if w.err == nil {
		w.checkLast()
	}
}

// beginLast begins a placement, and tickets that make a match, when faults have ended. Nothing hinders them: there are
// processes for them and for the placements that still wait, although a room may be full because a game session that a
// clock far ahead began is still ACTIVATING in it.
func (w *world) beginLast() {
	w.calm = true
	for range 2 + w.pendingPlacements() {
		for _, room := range w.rooms {
			w.equip(room)
		}
	}
	w.in(30*time.Second, func(*world) {
		w.startPlacement(placement.Request{ID: lastPlacement, Queue: queue, Maximum: 2, Call: "last"}, 0)
		for i := range lastTickets {
			w.askTickets(matchmaking.Start{
				ID: lastTicket(i), Configuration: matchmaking.Configuration{Name: "last", ID: "last-1"}, Timeout: 120,
				Call: lastTicket(i), Players: []matchmaking.Player{{ID: lastTicket(i)}},
			}, false, nil)
		}
	})
}

func (w *world) pendingPlacements() (n int) {
	for _, s := range w.shards {
		s.mirror.machine.Placements().Pending(func(*placement.Placement) bool {
			n++
			return true
		})
	}
	return n
}

const (
	lastPlacement = "last-placement"
	lastTickets   = 3
)

func lastTicket(i int) string { return sprintf("last-ticket-%d", i) }

// checkLast: what nothing hindered has succeeded.
func (w *world) checkLast() {
	if p, _ := w.placement(lastPlacement); p == nil || p.Status != placement.Fulfilled {
		w.fail("the last placement has come to nothing: %s", described{p})
	}
	for i := range lastTickets {
		if t, _ := w.tickets().Ticket(lastTicket(i)); t == nil || t.Status != matchmaking.Completed {
			w.fail("ticket %d of the last match has come to nothing: %s", i, described{t})
		}
	}
}

// poke asks each shard something, so that it looks at its clock.
func (w *world) poke() {
	for _, s := range w.shards {
		w.ask(&question{shard: s.number, room: region.PlacementsRoom, read: func(*region.Machine) {}})
	}
}

func (w *world) checkEnd(s *shardWorld) {
	m := s.mirror
	if at := w.deadline(m); !at.IsZero() && at.Before(time.Now().Add(-time.Second)) {
		w.fail("shard %d: what was due at %s is not done at %s", s.number, at, time.Now())
	}
	w.checkOutcomes(m.machine)
	w.checkStrays(m.machine)
	if again, err := m.replayed(w.settings); err != nil || !bytes.Equal(snapshotOf(again), snapshotOf(m.machine)) {
		w.fail("shard %d: a replay of all records gives another state (%v)", s.number, err)
	}
	w.checkHolder(s)
}

// checkOutcomes: no placement and no match is left without one when its time is over.
// The clock by which it began may have been ahead.
func (w *world) checkOutcomes(m *region.Machine) {
	late := event.At(time.Now().Add(-2 * time.Minute))
	m.Placements().Pending(func(p *placement.Placement) bool {
		if p.Deadline < late && !w.activating(p) {
			w.fail("placement %s has come to nothing: %s", p.ID, described{p})
		}
		return w.err == nil
	})
	if m.Matchmaking() == nil {
		return
	}
	m.Matchmaking().Matches(func(match *matchmaking.Match) bool {
		if match.Stage == matchmaking.StageFilling {
			w.fail("match %s fills nothing: %s", match.ID, described{match})
		}
		if match.Stage == matchmaking.StageCancelling {
			w.fail("the placement of match %s is not cancelled", match.ID)
		}
		p, ok := w.placement(match.ID)
		if match.Stage == matchmaking.StagePlacing && (!ok || p.HasEnded()) {
			w.fail("match %s has heard of no game session: %s, its placement is %s", match.ID, described{match},
				described{p})
		}
		return w.err == nil
	})
}

// checkStrays: a placement has no game session but its own, and so none goes on that nobody knows of.
func (w *world) checkStrays(m *region.Machine) {
	for _, r := range m.Rooms() {
		r.GameSessions(0, func(g *fleet.GameSession) bool {
			if g.Placement == "" || g.Status != fleet.Active {
				return true
			}
			if p, ok := w.placement(g.Placement); !ok || p.Session == nil || p.Session.ID != g.ID ||
				p.Session.Room != r.ID() {
				w.fail("game session %s is left over; its placement is %s", g.ID, described{p})
			}
			return w.err == nil
		})
	}
}

// activating reports whether the game session of a placement's attempt has time to
// become ACTIVE, by the clock that was ahead when it was created.
func (w *world) activating(p *placement.Placement) bool {
	if !p.AttemptRunning() {
		return false
	}
	r, ok := w.shards[w.shardOf(p.Attempt.Room)].mirror.machine.Room(p.Attempt.Room)
	if !ok {
		return false
	}
	g, ok := r.GameSession(placement.SessionID(p.ID, p.Attempt.Number))
	return ok && g.Status == fleet.Activating && g.ActivateBy > event.At(time.Now())
}

// checkHolder holds the last owner's state to the truth, and to all that was
// acknowledged.
func (w *world) checkHolder(s *shardWorld) {
	var view *region.Machine
	if s.holder == nil {
		w.fail("shard %d has no owner at the end", s.number)
		return
	}
	for answered := false; !answered && w.err == nil; {
		seq := s.mirror.seq
		s.holder.runs.SubmitRead(func(m *machine) { view = m.Freeze().Machine }, func(error) { answered = true })
		w.settle()
		answered = answered && seq == s.mirror.seq // else something happened meanwhile
		if !answered {
			w.pass(time.Second)
		}
	}
	switch {
	case w.err != nil:
	case !bytes.Equal(snapshotOf(view), snapshotOf(s.mirror.machine)):
		w.fail("%s has another state than the records at the end", s.holder)
	default:
		w.ledger.check(w, s.number, view)
	}
}

// deadline is when a machine next has work that has the state of a mirror. The
// mirror's own may look up earlier, for what has been put off since.
func (w *world) deadline(m *mirror) time.Time {
	fresh := region.New(m.shard, w.settings)
	restore(fresh, snapshotOf(m.machine))
	return fresh.Deadline()
}
