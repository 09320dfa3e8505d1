package sim

import (
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
)

// A ledger is what owners have acknowledged, by shard. It must be true from then on.
type ledger map[int][]entry

// An entry says why it is not true in a state; "" when it is.
type entry func(w *world, m *region.Machine) string

// acknowledged notes what the answer to a command promises, and looks for it in
// what is stored at this very moment.
func (w *world) acknowledged(q *request, answer any) {
	for _, e := range promises(q.cmd, answer) {
		if broken := e(w, w.shards[q.shard].mirror.machine); broken != "" {
			w.fail("shard %d acknowledged %s, and what is stored says: %s", q.shard, described{q.cmd}, broken)
			return
		}
		w.ledger[q.shard] = append(w.ledger[q.shard], e)
		w.seen["acknowledged"]++
	}
}

// check holds a state to all that was acknowledged.
func (l ledger) check(w *world, shardNumber int, m *region.Machine) {
	for _, e := range l[shardNumber] {
		if broken := e(w, m); broken != "" {
			w.fail("shard %d has lost what it acknowledged: %s", shardNumber, broken)
			return
		}
	}
}

// refusedForGood notes that what a command asked for will never be. When it is sent twice, the other
// one may be carried out.
func (w *world) refusedForGood(q *request) {
	room, ok := q.cmd.(region.RoomCommand)
	if !ok || q.twice {
		return
	}
	c, ok := room.Command.(fleet.ReservePlayers)
	if !ok {
		return
	}
	for _, p := range c.Players {
		w.refusedSeats[p.Random] = true
		if w.givenSeats[p.Random] {
			w.fail("shard %d says that %s has no place and never will, and it is stored", q.shard, p.PlayerID)
		}
	}
}

// promises are what an answer says about the state from then on.
func promises(c region.Command, answer any) []entry {
	switch c := c.(type) {
	case region.RoomCommand:
		return roomPromises(c, answer)
	case region.PlacementCommand:
		if p, ok := answer.(*placement.Placement); ok && p != nil {
			return []entry{placementPromise(*p)}
		}
	case region.MatchmakingCommand:
		if t, ok := answer.(*matchmaking.Ticket); ok && t != nil {
			return []entry{ticketPromise(*t)}
		}
	}
	return nil
}

func roomPromises(c region.RoomCommand, answer any) []entry {
	switch answer := answer.(type) {
	case *fleet.GameSession:
		if answer != nil {
			return []entry{answersQuestion(c.Command, answer.ID), sessionPromise(c.Room, *answer)}
		}
	case *fleet.Process:
		if answer != nil {
			return []entry{processPromise(c.Room, *answer)}
		}
	case fleet.Reservation:
		var all []entry
		for _, p := range answer.Players {
			all = append(all, playerPromise(c.Room, answer.GameSession.ID, *p))
		}
		return all
	}
	if accept, ok := c.Command.(fleet.AcceptPlayer); ok {
		p := fleet.PlayerSession{ID: accept.PlayerSession, Status: fleet.InGame}
		return []entry{playerPromise(c.Room, accept.GameSession, p)}
	}
	if remove, ok := c.Command.(fleet.RemovePlayer); ok {
		p := fleet.PlayerSession{ID: remove.PlayerSession, Status: fleet.Completed}
		return []entry{playerPromise(c.Room, remove.GameSession, p)}
	}
	return nil
}

// answersQuestion: whoever asks for a game session by its id is told of that one,
// however often it is asked for.
func answersQuestion(c fleet.Command, id string) entry {
	return func(*world, *region.Machine) string {
		create, ok := c.(fleet.CreateGameSession)
		return unless(!ok || create.ID == id, "the answer is game session %s", id)
	}
}

// sessionRank says how far a game session is in its life.
var sessionRank = map[fleet.GameSessionStatus]int{
	fleet.Activating: 1, fleet.Active: 2, fleet.Terminating: 3, fleet.Terminated: 4,
}

// sessionPromise: the game session is there, on its process, and never goes back.
func sessionPromise(id fleet.RoomID, was fleet.GameSession) entry {
	return func(w *world, m *region.Machine) string {
		g, broken := w.findSession(m, id, was.ID)
		if g == nil {
			return broken
		}
		same := unless(g.Ordinal == was.Ordinal && g.Host == was.Host,
			"game session %s is another one: %d on %v, not %d on %v", g.ID, g.Ordinal, g.Host, was.Ordinal, was.Host)
		forward := sessionRank[g.Status] >= sessionRank[was.Status]
		return same + unless(forward, "game session %s is %s and was %s", g.ID, g.Status, was.Status)
	}
}

// findSession finds a game session in its room or in the history.
func (w *world) findSession(m *region.Machine, id fleet.RoomID, session string) (g *fleet.GameSession, broken string) {
	if g, ok := w.past.sessions[sessionKey{id, session}]; ok {
		return g, ""
	}
	r, ok := m.Room(id)
	if !ok {
		return nil, sprintf("there is no room %v", id)
	}
	if g, ok = r.GameSession(session); !ok {
		return nil, sprintf("game session %s is gone", session)
	}
	return g, ""
}

// playerRank says how far a player session is in its life.
func playerRank(s fleet.PlayerSessionStatus) int {
	return map[fleet.PlayerSessionStatus]int{fleet.Reserved: 1, fleet.InGame: 2, fleet.Completed: 3,
		fleet.TimedOut: 3}[s]
}

// playerPromise: the player session is there and never goes back; who was in the
// game has not timed out.
func playerPromise(id fleet.RoomID, session string, was fleet.PlayerSession) entry {
	return func(w *world, m *region.Machine) string {
		g, broken := w.findSession(m, id, session)
		if g == nil {
			return broken
		}
		p, ok := g.PlayerSession(was.ID)
		if !ok {
			p, ok = w.past.players[was.ID]
		}
		if !ok {
			return sprintf("player session %s is gone", was.ID)
		}
		forward := playerRank(p.Status) >= playerRank(was.Status)
		return unless(forward && (was.Status != fleet.InGame || p.Status != fleet.TimedOut),
			"player session %s is %s and was %s", p.ID, p.Status, was.Status)
	}
}

// processPromise: the process is there, or has ended and was forgotten.
func processPromise(id fleet.RoomID, was fleet.Process) entry {
	return func(_ *world, m *region.Machine) string {
		r, ok := m.Room(id)
		if !ok {
			return sprintf("there is no room %v", id)
		}
		p, ok := r.Process(was.ProcessKey)
		if !ok || p.Created != was.Created {
			return ""
		}
		return unless(p.Status >= was.Status, "process %v is %d and was %d", was.ProcessKey, p.Status, was.Status)
	}
}

// placementPromise: the placement is there and never goes back.
func placementPromise(was placement.Placement) entry {
	return func(w *world, m *region.Machine) string {
		p, ok := w.past.placements[was.ID]
		if !ok {
			p, ok = m.Placements().Placement(was.ID)
		}
		switch {
		case !ok:
			return sprintf("placement %s is gone", was.ID)
		case was.HasEnded() && p.Status != was.Status:
			return sprintf("placement %s is %s and was %s", p.ID, p.Status, was.Status)
		case was.Attempt != nil && (p.Attempt == nil || p.Attempt.Number < was.Attempt.Number):
			return sprintf("placement %s has lost attempt %d", p.ID, was.Attempt.Number)
		case was.Session != nil && (p.Session == nil || p.Session.ID != was.Session.ID):
			return sprintf("placement %s has lost game session %s", p.ID, was.Session.ID)
		}
		return ""
	}
}

// ticketPromise: the ticket is there, and when it was over it is as it was.
func ticketPromise(was matchmaking.Ticket) entry {
	return func(w *world, m *region.Machine) string {
		t, ok := m.Matchmaking().Ticket(was.ID)
		switch {
		case w.past.tickets[was.ID]:
			return ""
		case !ok:
			return sprintf("ticket %s is gone", was.ID)
		case was.HasEnded() && t.Status != was.Status || t.Round < was.Round:
			return sprintf("ticket %s is %s in round %d and was %s in round %d", t.ID, t.Status, t.Round, was.Status,
				was.Round)
		}
		return ""
	}
}
