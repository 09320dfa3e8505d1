package sim

import (
	"fmt"
	"slices"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
)

// lawful says why a fact cannot have happened in the state that it is about to
// change.
func (m *mirror) lawful(w *world, f event.Fact) error {
	var broken string
	switch body := f.Body.(type) {
	case *region.RoomOpened:
		if _, open := m.machine.RoomAt(uint16(f.Room)); open {
			broken = "the room is open"
		}
	case *region.RoomClosed:
		if r, open := m.machine.RoomAt(uint16(f.Room)); !open || !r.Empty() {
			broken = "the room is not empty"
		}
	case *region.LevelRaised:
		broken = w.raiseLaw(m.machine, body)
	default:
		if level := region.Events.Level(body); level > m.machine.Level() {
			broken = sprintf("it is of feature level %d, and the shard is at %d", level, m.machine.Level())
			break
		}
		switch f.Room {
		case 0:
			if w.opts.Machines {
				broken = w.instanceLaw(m.machine.Catalog(), body)
			}
		case region.PlacementsRoom:
			broken = w.placementLaw(m.machine.Placements(), body)
		case region.MatchmakingRoom:
			broken = w.ticketLaw(m.machine.Matchmaking(), body)
		default:
			r, ok := m.machine.RoomAt(uint16(f.Room))
			if !ok {
				return fmt.Errorf("%s of room %d, which does not exist", region.Events.Name(body), f.Room)
			}
			broken = w.roomLaw(r, body)
		}
	}
	if broken != "" {
		return fmt.Errorf("%s cannot have happened: %s", described{f.Body}, broken)
	}
	return nil
}

// raiseLaw: the feature level rises to what all nodes read.
func (w *world) raiseLaw(m *region.Machine, e *region.LevelRaised) string {
	for _, n := range w.nodes {
		if level := n.release.level(); e.Level > level {
			return sprintf("node %d reads level %d at most", n.name, level)
		}
	}
	return unless(e.Level > m.Level(), "the level is %d already", m.Level())
}

// unless is a broken law, when the condition does not hold.
func unless(holds bool, format string, args ...any) string {
	if holds {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// due reports whether a deadline has passed.
func due(at, now event.Time) bool { return at != 0 && at <= now }

// roomLaw is about computes, processes, and then what roomSessionLaw is about.
func (w *world) roomLaw(r *fleet.Room, e any) string {
	status := func(k fleet.ProcessKey) (p fleet.Process) {
		if found, ok := r.Process(k); ok {
			p = *found
		}
		return p
	}
	alive := func(p fleet.Process) bool { return p.Status != 0 && p.Status != fleet.ProcessEnded }
	switch e := e.(type) {
	case *fleet.ComputeRegistered:
		_, known := r.Compute(e.Name)
		return unless(!known, "the compute exists")
	case *fleet.ComputeDeregistered:
		_, known := r.Compute(e.Name)
		return unless(known, "there is no such compute")
	case *fleet.ProcessConnected:
		return unless(!alive(status(e.ProcessKey)), "the process lives")
	case *fleet.ProcessResumed:
		return unless(alive(status(e.ProcessKey)), "the process does not live")
	case *fleet.ProcessLost:
		return unless(alive(status(e.ProcessKey)) && status(e.ProcessKey).Connected, "the process has no socket")
	case *fleet.ProcessBecameReady:
		return unless(status(e.ProcessKey).Status == fleet.ProcessInitializing, "the process is not INITIALIZING")
	case *fleet.HealthReported:
		p := status(e.ProcessKey)
		return unless(p.Status == fleet.ProcessIdle || p.Status == fleet.ProcessHosting, "the process does not run")
	case *fleet.ProcessHasEnded:
		p, law := status(e.ProcessKey), *e
		if s := w.byKey[serverKey{r.ID(), e.ProcessKey}]; s != nil && s.reported &&
			(s.box != nil || e.Reason == fleet.EndedCrashed) || w.unstarted[serverKey{r.ID(), e.ProcessKey}] {
			law.Reason = fleet.EndedItself // its agent knows, so nothing is waited for
		}
		g, ok := r.GameSessionAt(p.Session)
		if ok && g.StatusReason == fleet.ForceTerminated && p.Supervised && e.Reason == fleet.EndedByForce {
			law.Reason = fleet.EndedItself // an operator has ended it
		}
		if ok && p.Requested {
			law.Reason = fleet.EndedItself // it has not connected, and ends with its game session
		}
		return processEndLaw(r, p, &law) + w.endLaw(r.ID(), p, law.Reason)
	case *fleet.ProcessRequested:
		return requestLaw(r, e)
	case *fleet.ProcessExited:
		return unless(!alive(status(e.ProcessKey)), "the process lives")
	case *fleet.ProcessForgotten:
		return unless(status(e.ProcessKey).Status == fleet.ProcessEnded, "the process has not ended")
	case *fleet.GameSessionCreated:
		return w.creationLaw(r, status(e.Host), e)
	default:
		return w.sessionLaw(r, e)
	}
}

// processEndLaw: a process ends once, for a reason that is there.
func processEndLaw(r *fleet.Room, p fleet.Process, e *fleet.ProcessHasEnded) string {
	if p.Status == 0 || p.Status == fleet.ProcessEnded {
		return "the process does not live"
	}
	if g, ok := r.GameSessionAt(p.Session); ok && !g.HasEnded() {
		return fmt.Sprintf("its game session %s is %s", g.ID, g.Status)
	}
	switch e.Reason {
	case fleet.EndedCrashed:
		return unless(due(p.ReconnectBy, e.At), "it has time to come back until %d", p.ReconnectBy)
	case fleet.EndedNeverReady:
		return unless(due(p.ReadyBy, e.At), "it has time to be ready until %d", p.ReadyBy)
	case fleet.EndedByForce:
		return unless(due(p.TerminateBy, e.At), "it has time to end until %d", p.TerminateBy)
	case fleet.EndedUnhealthy:
		return unless(due(p.HealthBy, e.At) || p.Unhealthy >= healthMisses-1, "its health is not bad for long enough")
	}
	return ""
}

// healthMisses is how many bad reports in a row end a process.
const healthMisses = 3

// creationLaw: a game session gets a process of its own, which waits for one, and an attempt has one game session.
func (w *world) creationLaw(r *fleet.Room, host fleet.Process, e *fleet.GameSessionCreated) string {
	if old, ok := r.GameSession(e.ID); ok {
		return fmt.Sprintf("game session %d has the id already", old.Ordinal)
	}
	if _, ok := r.GameSessionAt(e.Ordinal); ok {
		return "the number is taken"
	}
	if id := placement.SessionID(e.Placement, int(e.Attempt)); e.Placement != "" && e.ID != id {
		return fmt.Sprintf("the game session of the attempt is %s", id)
	}
	if broken := w.versionLaw(r.ID(), host, fleet.VersionOf(e.Properties)); broken != "" {
		return broken
	}
	waits := host.Requested && host.Status == fleet.ProcessInitializing && host.Session == 0
	if !waits && (host.Status != fleet.ProcessIdle || !host.Connected || host.TerminateBy != 0) {
		return fmt.Sprintf("the process cannot take a game session: it is %s", described{host})
	}
	if w.opts.Machines {
		return w.beginLaw(host.Compute)
	}
	return ""
}

// sessionLaw is about game sessions that exist, and their players.
func (w *world) sessionLaw(r *fleet.Room, e any) string {
	session := func(ordinal uint64) fleet.GameSession {
		if g, ok := r.GameSessionAt(ordinal); ok {
			return *g
		}
		return fleet.GameSession{Status: fleet.Terminated}
	}
	switch e := e.(type) {
	case *fleet.GameSessionActivated:
		return w.activationLaw(r, session(e.Ordinal), e)
	case *fleet.GameSessionHosted:
		g := session(e.Ordinal)
		return unless(!g.HasEnded() && g.Host == e.Host && g.Port == 0, "the game session is %s", described{g})
	case *fleet.GameSessionBackfilled:
		g := session(e.Ordinal)
		fills := g.Status == fleet.Active && g.Filled != e.Match
		return unless(fills, "the game session is %s and filled by %q", g.Status, g.Filled) + w.seatLaw(g, e.Slots)
	case *fleet.GameSessionUpdated:
		return unless(!ptr(session(e.Ordinal)).HasEnded(), "the game session is over")
	case *fleet.GameSessionConfirmed:
		return unless(session(e.Ordinal).ConfirmBy != 0, "nobody waits for it")
	case *fleet.GameSessionTerminating:
		s := session(e.Ordinal).Status
		return unless(s == fleet.Activating || s == fleet.Active, "the game session is %s", s)
	case *fleet.GameSessionEnded:
		return unless(!ptr(session(e.Ordinal)).HasEnded(), "the game session is over")
	case *fleet.GameSessionsForgotten:
		return w.forgetSessions(r, e)
	case *fleet.PlayersForgotten:
		return w.forgetPlayers(session(e.Session), e)
	case *fleet.PlayersReserved:
		g := session(e.Session)
		return unless(g.Status == fleet.Active, "the game session is %s", g.Status) + w.seatLaw(g, e.Players)
	case *fleet.PlayerAccepted:
		p := seated(session(e.Session), e.Index)
		return unless(p.Status == fleet.Reserved, "the player session is %q", p.Status)
	case *fleet.PlayerRemoved:
		p := seated(session(e.Session), e.Index)
		return unless(p.Status == fleet.Reserved || p.Status == fleet.InGame, "the player session is %q", p.Status)
	case *fleet.PlayersTimedOut:
		return w.timeoutLaw(r, session(e.Session), e)
	}
	return ""
}

func ptr[T any](v T) *T { return &v }

// activationLaw: a game session is activated once, and a placement has one that was.
func (w *world) activationLaw(r *fleet.Room, g fleet.GameSession, e *fleet.GameSessionActivated) string {
	if g.Status != fleet.Activating {
		return fmt.Sprintf("the game session is %s", g.Status)
	}
	w.active[sessionKey{r.ID(), g.ID}] = true
	if g.Placement != "" {
		if broken := w.placed.activated(g.Placement, r.ID(), g.ID); broken != "" {
			return broken
		}
	}
	return w.seatLaw(g, e.Slots)
}

// seatLaw: no place and no player session is given twice, and none to anybody who was told that he
// has none.
func (w *world) seatLaw(g fleet.GameSession, seats []fleet.Slot) string {
	if len(seats) > int(g.Free()) {
		return fmt.Sprintf("the game session has %d players and room for %d", g.Players(), g.Maximum)
	}
	for _, s := range seats {
		if _, ok := g.PlayerSession(s.ID); ok {
			return fmt.Sprintf("player session %s is there already", s.ID)
		}
		if w.refusedSeats[ticketOf(s.ID)] {
			return fmt.Sprintf("the owner said that player session %s will never be", s.ID)
		}
		w.givenSeats[ticketOf(s.ID)] = true
	}
	return ""
}

// ticketOf is the random part of a player session's id.
func ticketOf(id fleet.PlayerSessionID) (ticket [8]byte) { return [8]byte(id[8:]) }

// seated finds a player who has a place.
func seated(g fleet.GameSession, index uint32) fleet.PlayerSession {
	for _, p := range g.CurrentPlayers {
		if p.Index == index {
			return *p
		}
	}
	return fleet.PlayerSession{}
}

// timeoutLaw: who has not come in time loses the place, once and not before.
func (w *world) timeoutLaw(r *fleet.Room, g fleet.GameSession, e *fleet.PlayersTimedOut) string {
	if len(e.Indexes) == 0 {
		return "nobody has timed out"
	}
	for _, index := range e.Indexes {
		if p := seated(g, index); p.Status != fleet.Reserved || !due(p.Expires, e.At) {
			return fmt.Sprintf("player session %d is %q and has time until %d", index, p.Status, p.Expires)
		}
		since := w.waits.reserved[seatKey{r.ID(), g.Ordinal, index}]
		if broken := w.waitLaw(r.ID(), since, w.settings.Fleet.Reservation); broken != "" {
			return broken
		}
	}
	return ""
}

// leftOver: a match that ends without a game leaves no placement that goes on, and no
// game session.
func (w *world) leftOver(match string) string {
	p, ok := w.placement(match)
	switch {
	case !ok || !p.HasEnded():
		return sprintf("left over is %s", described{p})
	case p.Session == nil:
		return ""
	}
	r, ok := w.shards[w.shardOf(p.Session.Room)].mirror.machine.Room(p.Session.Room)
	if !ok {
		return ""
	}
	g, ok := r.GameSession(p.Session.ID)
	return unless(!ok || g.Status == fleet.Terminating || g.HasEnded(), "left over is %s", described{g})
}

// forgetSessions keeps what the history would, and holds it to being over.
func (w *world) forgetSessions(r *fleet.Room, e *fleet.GameSessionsForgotten) string {
	for _, ordinal := range e.Ordinals {
		g, ok := r.GameSessionAt(ordinal)
		if !ok || !g.HasEnded() {
			return fmt.Sprintf("game session %d is not over", ordinal)
		}
		w.past.sessions[sessionKey{r.ID(), g.ID}] = g
	}
	return ""
}

// forgetPlayers keeps what the history would, and holds it to having ended.
func (w *world) forgetPlayers(g fleet.GameSession, e *fleet.PlayersForgotten) string {
	if e.Through <= g.Archived || int(e.Through-g.Archived) > len(g.PastPlayers) {
		return fmt.Sprintf("%d player sessions have ended in memory, after %d in the history", len(g.PastPlayers),
			g.Archived)
	}
	for _, p := range g.PastPlayers[:e.Through-g.Archived] {
		w.past.players[p.ID] = p
	}
	return ""
}

// placementLaw is about placements.
func (w *world) placementLaw(s *placement.State, e any) string {
	get := func(id string) placement.Placement {
		if p, ok := s.Placement(id); ok {
			return *p
		}
		return placement.Placement{}
	}
	switch e := e.(type) {
	case *placement.PlacementStarted:
		return unless(get(e.ID).Status == "", "the placement exists")
	case *placement.AttemptBegun:
		p := get(e.ID)
		next := 1
		if p.Attempt != nil {
			next = p.Attempt.Number + 1
		}
		searches := p.Status == placement.Pending && !p.AttemptRunning()
		return unless(searches && e.Number == next && e.At < p.Deadline, "the placement is %s", described{p})
	case *placement.AttemptEnded:
		return unless(ptr(get(e.ID)).AttemptRunning(), "no attempt runs")
	case *placement.PlacementFulfilled:
		p := get(e.ID)
		return unless(p.AttemptRunning(), "no attempt runs") + w.placed.fulfilled(e)
	case *placement.PlacementEnded:
		p := get(e.ID)
		return unless(p.Status == placement.Pending, "the placement is %q", p.Status) +
			unless(e.Status != placement.TimedOut || e.At >= p.Deadline, "it has time until %d", p.Deadline)
	case *placement.PlacementsForgotten:
		for _, id := range e.IDs {
			if p := get(id); p.Status == "" || p.Status == placement.Pending {
				return fmt.Sprintf("placement %s is %q", id, p.Status)
			}
			w.past.placements[id] = ptr(get(id))
		}
	}
	return ""
}

// ticketLaw is about tickets and matches.
func (w *world) ticketLaw(s *matchmaking.State, e any) string {
	ticket := func(id string) matchmaking.Ticket {
		if t, ok := s.Ticket(id); ok {
			return *t
		}
		return matchmaking.Ticket{}
	}
	match := func(id string) (matchmaking.Match, bool) {
		if m, ok := s.Match(id); ok {
			return *m, true
		}
		return matchmaking.Match{}, false
	}
	switch e := e.(type) {
	case *matchmaking.TicketStarted:
		return unless(ticket(e.ID).Status == "", "the ticket exists")
	case *matchmaking.TicketEnded:
		t := ticket(e.ID)
		return unless(t.Status == matchmaking.Searching, "the ticket is %q", t.Status) +
			unless(e.Status != matchmaking.TimedOut || e.At >= t.Deadline, "it has time until %d", t.Deadline)
	case *matchmaking.MatchProposed:
		if _, ok := match(e.ID); ok || w.past.matches[e.ID] {
			return "the match was proposed before"
		}
		for _, id := range e.Tickets {
			if t := ticket(id); t.Status != matchmaking.Searching {
				return fmt.Sprintf("ticket %s is %q", id, t.Status)
			}
		}
	case *matchmaking.MatchAnswered:
		m, _ := match(e.ID)
		for _, a := range e.Answers {
			if slices.ContainsFunc(m.Answers, func(b matchmaking.Answer) bool { return a.PlayerID == b.PlayerID }) {
				return fmt.Sprintf("player %s has answered", a.PlayerID)
			}
		}
		return unless(m.Stage == matchmaking.StageAcceptance, "the match asks nobody")
	case *matchmaking.MatchAccepted:
		m, ok := match(e.ID)
		return unless(ok && (m.Stage == matchmaking.StageAcceptance || m.Stage == 0), "the match is in stage %d",
			m.Stage)
	case *matchmaking.MatchDropped:
		m, ok := match(e.ID)
		w.past.matches[e.ID] = true
		if placed := m.Stage == matchmaking.StagePlacing || m.Stage == matchmaking.StageCancelling; placed &&
			!e.Cancel {
			return w.leftOver(e.ID)
		}
		return unless(ok, "there is no such match")
	case *matchmaking.MatchCompleted:
		m, ok := match(e.ID)
		w.past.matches[e.ID] = true
		for _, id := range m.Tickets {
			t := ticket(id)
			if s.Allows(2) && m.Stage == matchmaking.StagePlacing && t.Deadline <= e.At { // older releases let it go on
				return fmt.Sprintf("ticket %s had time until %d", id, t.Deadline)
			}
		}
		return unless(ok, "there is no such match")
	case *matchmaking.TicketsForgotten:
		for _, id := range e.IDs {
			if t := ticket(id); !t.HasEnded() {
				return fmt.Sprintf("ticket %s is %q", id, t.Status)
			}
			w.past.tickets[id] = true
		}
	}
	return ""
}
