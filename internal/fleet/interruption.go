package fleet

import (
	"time"

	"github.com/muster-gg/muster/internal/event"
)

// Interrupt notes that game servers could not reach the shard for a while: it has a new
// owner, or the owner stood still. They may have tried to say in time what a deadline asks
// of them, so each running deadline for a game server gives them time again. Deadlines for
// people do not: whoever waited for an answer has given up by then.
type Interrupt struct {
	// Pause is 0 when the shard has a new owner, which has no sockets yet. Else the owner is
	// the same and has its sockets, and its clock has gone on by Pause since it last looked
	// at what is due. It is negative when the clock was set back.
	Pause time.Duration `cbor:"1,keyasint,omitzero"`
}

// decide gives nothing when nobody lives to whom it matters. After a pause everybody has the
// time that was left before it, and at least as long as the pause was: a server SDK may have
// lost its connection meanwhile. It is no longer than that, so that pauses that come again
// and again keep nobody who is gone, as long as the service runs for longer in between.
func (c Interrupt) decide(r *Room, now event.Time) ([]any, error) {
	if len(r.hosts) == 0 {
		return nil, nil
	}
	grace := r.settings.ProcessGrace
	if c.Pause != 0 {
		grace = min(max(c.Pause, 0), grace)
	}
	return []any{&Interrupted{ReconnectBy: now.Add(grace), Pause: c.Pause}}, nil
}

func (Interrupt) answer(*Room) any { return nil }

func (r *Room) applyInterrupted(e *Interrupted) {
	var living []ProcessKey
	r.processes.Scan(func(entry processEntry) bool {
		if entry.process.Status != ProcessEnded {
			living = append(living, entry.key)
		}
		return true
	})
	for _, key := range living {
		r.changeProcess(key, e.interruptProcess)
	}
	var waiting []uint64
	r.sessions.Scan(func(ordinal uint64, g *GameSession) bool {
		if g.timed() {
			waiting = append(waiting, ordinal)
		}
		return true
	})
	for _, ordinal := range waiting {
		r.changeSession(ordinal, func(g *GameSession) { r.interruptSession(g, e) })
		g, _ := r.sessions.Get(ordinal)
		r.timers.schedule(timerKey{session: ordinal}, g.wake()) // it may come earlier than it did
	}
}

// timed reports whether a deadline is set in the game session, or in a place of it.
func (g *GameSession) timed() bool { return g.ConfirmBy != 0 || g.wake() != 0 }

// later is the moment to which a deadline moves; zero stays zero.
func (e *Interrupted) later(deadline event.Time) event.Time {
	if deadline == 0 {
		return 0
	}
	return max(deadline.Add(e.Pause), e.ReconnectBy)
}

func (e *Interrupted) interruptProcess(p *Process) {
	if e.Pause == 0 { // its socket is gone, and BackBy counts for its health
		p.Connected, p.ReconnectBy, p.HealthBy = false, max(p.ReconnectBy, e.ReconnectBy), 0
	}
	p.ReconnectBy, p.HealthBy = e.later(p.ReconnectBy), e.later(p.HealthBy)
	p.ReadyBy, p.TerminateBy = e.later(p.ReadyBy), e.later(p.TerminateBy)
}

func (r *Room) interruptSession(g *GameSession, e *Interrupted) {
	g.ActivateBy = e.later(g.ActivateBy)
	if e.Pause != 0 { // a gateway does not outlive the process that it is in, and one elsewhere waits no longer
		g.ConfirmBy = e.later(g.ConfirmBy)
	}
	for i, p := range g.CurrentPlayers {
		if p.Expires != 0 {
			next := *p
			next.Expires = e.later(p.Expires)
			r.ownSlots(g)
			g.CurrentPlayers[i] = &next
		}
	}
}
