package control

import (
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/shard"
)

// An attempt is durable in the placement before its game session is asked for, with
// an id that follows from the placement and the number. So a crash leaves one
// place to look, and asking again makes no second game session.

// A try is an attempt from the decision to begin it until the room has answered.
// Meanwhile the line counts it as under way.
type try struct {
	d      *placing
	p      *pending
	line   *line
	number int
	wakes  uint64 // of the line, when the room was asked
	asked  bool
}

// newTry begins to count an attempt of p, which p holds already.
func (d *placing) newTry(p *pending) *try {
	t := &try{d: d, p: p, line: d.line(p.room), number: p.attempt}
	t.line.underway++
	p.try = t
	return t
}

// begin asks a placement to begin an attempt in the room of a line.
func (d *placing) begin(p *pending, l *line) {
	d.leave(p)
	p.attempt, p.room, p.stage, p.tries = p.attempt+1, l.room, beginning, 0
	t := d.newTry(p)
	d.say(p, placement.Begin{
		ID: p.request.ID, Number: p.attempt, Room: l.room, Candidates: p.choice.Considered, Omitted: p.choice.Omitted,
	}, t.begun)
}

// begun takes the answer of the placement. When the attempt has begun, run has been
// called before.
func (t *try) begun(any, error) {
	t.d.mu.Lock()
	defer t.d.unlock()
	if !t.asked {
		t.release()
		t.d.wake(t.line)
	}
}

// release counts the try no more.
func (t *try) release() { t.line.underway-- }

// run asks the room for the game session of an attempt that has begun.
func (d *placing) run(p *pending, t *try) {
	p.stage = running
	command, refusal := d.creation(p)
	if refusal != "" {
		t.release()
		d.wake(t.line)
		t.asked = true
		d.say(p, placement.Refused{ID: p.request.ID, Number: p.attempt, Text: refusal}, nil)
		return
	}
	t.asked, t.wakes = true, t.line.wakes
	d.sayTo(p.room, command, t.created)
}

// creation is the command that creates the game session of an attempt, or why there
// can be none.
func (d *placing) creation(p *pending) (c fleet.CreateGameSession, refusal string) {
	now := d.plane.now()
	if now >= p.deadline {
		return c, "The time of the placement is over"
	}
	queue := p.queue
	if queue == nil {
		queue = d.queueOf(p.request)
	}
	if queue == nil {
		return c, "The game session queue was deleted"
	}
	limits, ok := queue.fleets[p.room.Fleet]
	if !ok {
		return c, "The fleet has left the queue"
	}
	p.queue = queue
	r := p.request
	id := placement.SessionID(r.ID, p.attempt)
	c = fleet.CreateGameSession{
		ID: id, Name: r.Name, Data: r.Data, MatchmakerData: r.MatchmakerData, Properties: r.Properties, Maximum: r.Maximum,
		Protection: limits.protection, Fingerprint: fmt.Appendf(nil, "%s/%d", r.ID, p.attempt),
		ActivationTimeout: min(limits.activationTimeout, p.deadline.Sub(now)), MaxActivations: limits.activations,
		Placement: r.ID, Attempt: int32(p.attempt),
	}
	if len(r.Players) > 0 {
		c.Desired = make([]fleet.NewPlayer, len(r.Players))
	}
	for i, player := range r.Players {
		c.Desired[i] = fleet.NewPlayer{PlayerID: player.PlayerID, Data: player.Data}
		rand.Read(c.Desired[i].Random[:])
	}
	return c, ""
}

// created takes the room's answer. Without one the room's shard has failed: its
// recovery finds out what became of the attempt.
func (t *try) created(answer any, err error) {
	d, p := t.d, t.p
	d.mu.Lock()
	defer d.unlock()
	t.release()
	if p.try == t {
		p.try = nil
	}
	current := d.placements[p.request.ID] == p && p.stage == running && p.attempt == t.number
	g, _ := answer.(*fleet.GameSession)
	switch {
	case err == nil && current:
		d.conclude(p, g)
	case err == nil && !g.Over(): // the placement was given up, or has what it wanted
		d.suspect(suspect{room: t.line.room, id: placement.SessionID(p.request.ID, t.number), placement: p.request.ID, attempt: t.number, active: g.Status == fleet.Active})
	case errors.Is(err, shard.ErrNotDone) || errors.Is(err, shard.ErrOutcomeUnknown):
		p.tries++
	default:
		d.refused(t, current, err)
	}
}

// refused notes that no game session was created. When a process came free since
// the room was asked, it may be there now.
func (d *placing) refused(t *try, current bool, err error) {
	noProcess := fault.Is(err, fault.FleetCapacityExceeded) || fault.Is(err, fault.NotFound) // none ever registered there
	switch l := t.line; {
	case !noProcess:
		d.wake(l) // the process that was meant for it is still there
	case t.wakes == l.wakes && !l.asking: // else the answer tells
		l.full = true
		d.passOn(l)
	}
	if current {
		text := fault.Of(err).Message
		if fault.Is(err, fault.NotFound) {
			text = "No server process is registered there"
		}
		d.say(t.p, placement.Refused{ID: t.p.request.ID, Number: t.number, Text: text}, nil)
	}
}

// conclude tells a placement what has become of its attempt, if anything has.
func (d *placing) conclude(p *pending, g *fleet.GameSession) {
	if c := outcome(p.room, g, len(p.request.Players)); c != nil {
		d.say(p, c, nil)
	}
}

// outcome is what a game session says about the attempt that it is of: nothing while
// it is ACTIVATING.
func outcome(room fleet.RoomID, g *fleet.GameSession, players int) placement.Command {
	number := int(g.Attempt)
	switch {
	case g.Activated != 0:
		s := placement.Session{Room: room, ID: g.ID, IPAddress: g.IPAddress, DNSName: g.DNSName, Port: g.Port}
		for _, seat := range g.PlayerSessions() {
			if int(seat.Index) < players {
				s.Players = append(s.Players, placement.PlacedPlayer{PlayerID: seat.PlayerID, PlayerSession: seat.ID})
			}
		}
		return placement.Fulfil{ID: g.Placement, Number: number, Session: s}
	case g.Status == fleet.Activating:
		return nil
	}
	terminated := g.Status == fleet.Terminating || g.StatusReason == fleet.TriggeredOnProcessTerminate
	return placement.Ended{ID: g.Placement, Number: number, Terminated: terminated, Text: endText(terminated)}
}

// endText says why an attempt has come to nothing.
func endText(terminated bool) string {
	if terminated {
		return "The game session was terminated before it was ACTIVE"
	}
	return "The game session ended before it was ACTIVE: its server process ended, or did not activate it in time"
}
