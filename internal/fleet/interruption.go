package fleet

import (
	"time"

	"github.com/muster-gg/muster/internal/event"
)

// Interrupt records that game servers could not reach the shard for a while: it has a new owner, or the owner was
// paused. Game servers may have tried to meet a deadline meanwhile, so each of their deadlines is extended. Deadlines
// for callers are not: they have given up by then.
type Interrupt struct {
	// Pause is 0 if the shard has a new owner, which has no sockets yet. Otherwise the owner keeps its sockets, and its
	// clock advanced by Pause since the last check of deadlines; it is negative if the clock was set back.
	Pause time.Duration `cbor:"1,keyasint,omitzero"`
}

// decide returns nothing if no process is running. After a pause each deadline keeps the time that was left, and at
// least the length of the pause, because a server SDK may have lost its connection. It is no longer, so that repeated
// pauses do not keep dead processes, as long as the service runs for longer in between.
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

func (e *Interrupted) apply(r *Room) {
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
		r.timers.schedule(timerKey{session: ordinal}, g.wake()) // it may be earlier than before
	}
}

// timed reports whether the game session or one of its players has a deadline.
func (g *GameSession) timed() bool { return g.ConfirmBy != 0 || g.wake() != 0 }

// later returns the extended deadline; zero stays zero.
func (e *Interrupted) later(deadline event.Time) event.Time {
	if deadline == 0 {
		return 0
	}
	return max(deadline.Add(e.Pause), e.ReconnectBy)
}

func (e *Interrupted) interruptProcess(p *Process) {
	if e.Pause == 0 && !p.Requested { // its socket is closed: ReconnectBy applies instead of HealthBy
		p.Connected, p.ReconnectBy, p.HealthBy = false, max(p.ReconnectBy, e.ReconnectBy), 0
	}
	p.ReconnectBy, p.HealthBy = e.later(p.ReconnectBy), e.later(p.HealthBy)
	p.ReadyBy, p.TerminateBy = e.later(p.ReadyBy), e.later(p.TerminateBy)
}

func (r *Room) interruptSession(g *GameSession, e *Interrupted) {
	g.ActivateBy = e.later(g.ActivateBy)
	if e.Pause != 0 { // a local gateway ended with the old owner, and a remote one has stopped waiting
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
