package sim

import (
	"maps"
	"slices"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
)

// inspect holds what has changed to the rules that hold between any two steps.
func (w *world) inspect() {
	for _, s := range w.shards {
		m := s.mirror
		for _, room := range slices.Sorted(maps.Keys(m.changed)) {
			var broken string
			switch room {
			case 0, region.ShardRoom:
			case region.PlacementsRoom:
				broken = checkPlacements(m.machine.Placements())
			case region.MatchmakingRoom:
				if t := m.machine.Matchmaking(); t != nil {
					broken = w.checkTickets(t)
				}
			default:
				if r, ok := m.machine.RoomAt(uint16(room)); ok {
					broken = checkRoom(r)
				}
			}
			if broken != "" {
				w.fail("shard %d: %s", s.number, broken)
			}
		}
		clear(m.changed)
	}
}

// checkRoom: no process hosts two live game sessions, and a game session that is to
// end has a process that is to end. (That no place is given twice is a law: an operator
// may lower the maximum below the players who are in.)
func checkRoom(r *fleet.Room) (broken string) {
	hosts := map[fleet.ProcessKey]string{}
	r.GameSessions(0, func(g *fleet.GameSession) bool {
		p, ok := r.Process(g.Host)
		if g.HasEnded() {
			if ok && p.Session == g.Ordinal && p.Status == fleet.ProcessHosting && p.TerminateBy == 0 {
				broken = sprintf("game session %s is over, and its process %v is not asked to end", g.ID, g.Host)
			}
			return broken == ""
		}
		switch other, taken := hosts[g.Host]; {
		case taken:
			broken = sprintf("process %v hosts game sessions %s and %s", g.Host, other, g.ID)
		case !ok || !p.Hosts() || p.Session != g.Ordinal:
			broken = sprintf("game session %s is %s and its process %v does not host it", g.ID, g.Status, g.Host)
		case g.Status == fleet.Terminating && p.TerminateBy == 0:
			broken = sprintf("game session %s is TERMINATING, and its process %v is not asked to end", g.ID, g.Host)
		case g.Status == fleet.Activating && (g.ActivateBy == 0 || len(g.CurrentPlayers)+len(g.PastPlayers) > 0):
			broken = sprintf("game session %s is ACTIVATING without an end, or with players", g.ID)
		}
		hosts[g.Host] = g.ID
		return broken == ""
	})
	if broken == "" && r.Empty() && len(r.FleetEvents(0, 0)) == 0 && r.Counts() != (fleet.Counts{}) {
		broken = sprintf("an empty room counts %+v", r.Counts())
	}
	return broken
}

// checkPlacements: who is FULFILLED has a game session, and nobody else.
func checkPlacements(s *placement.State) (broken string) {
	look := func(p *placement.Placement) {
		if (p.Status == placement.Fulfilled) != (p.Session != nil) || p.HasEnded() != (p.Ended != 0) {
			broken = sprintf("placement %s is %s: %s", p.ID, p.Status, described{p})
		}
	}
	s.Pending(func(p *placement.Placement) bool { look(p); return broken == "" })
	for _, p := range s.EndedBefore(endless, 1<<30) {
		look(p)
	}
	return broken
}

// checkTickets: a player stands in one ticket, a ticket in one match, and a match
// that is over well has a game session with its players.
func (w *world) checkTickets(s *matchmaking.State) (broken string) {
	holders := map[string]string{}
	hold := func(t *matchmaking.Ticket) {
		for _, p := range t.Players {
			if other, ok := holders[p.ID]; ok {
				broken = sprintf("player %s stands in tickets %s and %s", p.ID, other, t.ID)
			}
			holders[p.ID] = t.ID
		}
	}
	s.Searching(func(t *matchmaking.Ticket) bool { hold(t); return broken == "" })
	s.Matches(func(m *matchmaking.Match) bool {
		if m.Stage == 0 {
			broken = sprintf("match %s waits for nothing", m.ID)
		}
		for _, id := range m.Tickets {
			t, ok := s.Ticket(id)
			if !ok || t.Match != m.ID || t.HasEnded() {
				broken = sprintf("match %s has ticket %s, which is not in it", m.ID, id)
				return false
			}
			hold(t)
		}
		return broken == ""
	})
	for _, t := range s.EndedBefore(endless, 1<<30) {
		if t.Status != matchmaking.Completed || t.Connection == nil {
			continue
		}
		room, id := sessionOf(t.Connection.GameSession)
		if !w.active[sessionKey{room, id}] {
			broken = sprintf("ticket %s is COMPLETED with game session %s, which never was ACTIVE", t.ID, id)
		}
	}
	return broken
}
