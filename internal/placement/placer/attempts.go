package placer

import (
	"errors"
	"fmt"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A call is an attempt from the decision to begin it until the room has answered. Until then the waiting list of the
// room counts it.
type call struct {
	m      *Machine
	p      *pending
	list   *waitlist
	number int
	freed  uint64 // that of the waiting list, when the room was asked
	asked  bool
}

// newCall begins to count the newest attempt of p in its list.
func (m *Machine) newCall(p *pending, list *waitlist) *call {
	c := &call{m: m, p: p, list: list, number: p.attempt}
	c.list.calls++
	p.call = c
	return c
}

// begin asks the shard of a placement to begin an attempt in the room of a waiting list.
func (m *Machine) begin(p *pending, w *waitlist) {
	m.leave(p)
	p.attempt, p.room, p.stage, p.failed = p.attempt+1, w.room, beginning, 0
	c := m.newCall(p, w)
	m.tell(p, placement.Begin{
		ID: p.request.ID, Number: p.attempt, Room: w.room, Candidates: p.choice.Considered, Omitted: p.choice.Omitted,
	}, c.begun)
}

// begun takes the answer to Begin. If the attempt has begun, run was called before.
func (c *call) begun(any, error) {
	if !c.asked {
		c.list.calls--
		c.m.freed(c.list)
	}
}

// run asks the room for the game session of an attempt that has begun.
func (m *Machine) run(p *pending, c *call) {
	p.stage = running
	command, refusal := m.creation(p)
	c.asked = true
	if refusal != "" {
		c.list.calls--
		m.freed(c.list)
		m.refuse(p, refusal)
		return
	}
	c.freed = c.list.freed
	m.tellRoom(p.room, command, c.created)
}

// creation is the command that creates the game session of an attempt, or why there can be none.
func (m *Machine) creation(p *pending) (c fleet.CreateGameSession, refusal string) {
	if m.now >= p.deadline {
		return c, "The time of the placement is over"
	}
	queue := p.queue
	if queue == nil {
		queue = m.queueOf(p.request)
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
	if placement.Lacks(limits.builds, r) {
		return c, "The fleet has no build version " + fleet.VersionOf(r.Properties)
	}
	c = fleet.CreateGameSession{
		ID: placement.SessionID(r.ID, p.attempt), Name: r.Name, Data: r.Data, MatchmakerData: r.MatchmakerData,
		Properties: r.Properties, Maximum: r.Maximum,
		Protection: limits.protection, Fingerprint: fmt.Appendf(nil, "%s/%d", r.ID, p.attempt),
		ActivationTimeout: min(limits.activationTimeout, p.deadline.Sub(m.now)), MaxActivations: limits.activations,
		Placement: r.ID, Attempt: int32(p.attempt), Build: limits.buildFor(r),
	}
	if c.Build != "" {
		var id [16]byte
		m.cfg.Random(id[:])
		c.Process = fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
	}
	if len(r.Players) > 0 {
		c.Desired = make([]fleet.NewPlayer, len(r.Players))
	}
	for i, player := range r.Players {
		c.Desired[i] = fleet.NewPlayer{PlayerID: player.PlayerID, Data: player.Data}
		m.cfg.Random(c.Desired[i].Random[:])
	}
	return c, ""
}

// created takes the room's answer. Without one the room's shard has failed: its recovery finds out what became of the
// attempt.
func (c *call) created(answer any, err error) {
	m, p := c.m, c.p
	c.list.calls--
	if p.call == c {
		p.call = nil
	}
	current := m.placements[p.request.ID] == p && p.stage == running && p.attempt == c.number
	g, _ := answer.(*fleet.GameSession)
	switch {
	case err == nil && current:
		m.conclude(p, g)
	case err == nil && !g.HasEnded(): // the placement was given up, or is FULFILLED
		m.suspect(suspect{
			room: c.list.room, id: placement.SessionID(p.request.ID, c.number), placement: p.request.ID,
			attempt: c.number,
			active:  g.Status == fleet.Active,
		})
	case errors.Is(err, ErrUnanswered):
		p.failed++
	default:
		c.refused(current, err)
	}
}

// refused notes that no game session was created. If a process became free since the room was asked, it may be there
// now.
func (c *call) refused(current bool, err error) {
	m, w := c.m, c.list
	// None ever registered there.
	noProcess := fault.Is(err, fault.FleetCapacityExceeded) || fault.Is(err, fault.NotFound)
	switch {
	case !noProcess:
		m.freed(w) // the process that it would have had is still free
	case c.freed == w.freed && !w.asking: // else the answer tells
		w.full = true
		m.passOn(w)
	}
	if current {
		text := fault.Of(err).Message
		if fault.Is(err, fault.NotFound) {
			text = "No server process is registered there"
		}
		m.refuse(c.p, text)
	}
}

// refuse tells a placement that its attempt created no game session. Until the placement's shard has stored that,
// recoveries of other shards leave the attempt alone: a game session that is requested once more would be given up.
func (m *Machine) refuse(p *pending, text string) {
	p.stage = refusing
	m.tell(p, placement.Refused{ID: p.request.ID, Number: p.attempt, Text: text}, nil)
}

// conclude tells a placement what has become of its attempt, unless the game session is still ACTIVATING.
func (m *Machine) conclude(p *pending, g *fleet.GameSession) {
	if c := outcome(p.room, g, len(p.request.Players)); c != nil {
		m.tell(p, c, nil)
	}
}

// outcome is what a game session says about its attempt; nil while it is ACTIVATING.
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
	terminated := g.Status == fleet.Terminating || g.StatusReason != ""
	return placement.Ended{ID: g.Placement, Number: number, Terminated: terminated, Text: endText(terminated)}
}

// endText says why an attempt has failed.
func endText(terminated bool) string {
	if terminated {
		return "The game session was terminated before it was ACTIVE"
	}
	return "The game session ended before it was ACTIVE: its server process ended, or did not activate it in time"
}
