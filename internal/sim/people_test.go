package sim

import (
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/wire/arn"
)

// create is an operator, or a backend, who wants a game session, and asks again
// with the same id until there is an answer.
func (w *world) create() {
	w.createAs(w.rooms[w.rng.IntN(len(w.rooms))], fleet.CreateGameSession{
		ID: w.id("game"), Maximum: int32(1 + w.rng.IntN(6)),
		ActivationTimeout: w.between(20*time.Second, 2*time.Minute), MaxActivations: 1 + w.rng.IntN(3),
		Fingerprint: []byte("as asked"), ConfirmWithin: []time.Duration{0, time.Minute}[w.rng.IntN(2)],
	}, 4)
}

func (w *world) createAs(room fleet.RoomID, c fleet.CreateGameSession, tries int) {
	w.askRoom(room, c, true, func(_ any, err error) {
		switch {
		case undecided(err) && tries > 0:
			w.in(w.between(0, 3*time.Second), func(*world) { w.createAs(room, c, tries-1) })
		case err == nil && c.ConfirmWithin > 0 && w.chance(70):
			w.in(w.between(0, time.Minute),
				func(*world) { w.askRoom(room, fleet.ConfirmGameSession{ID: c.ID}, true, nil) })
		}
	})
}

// someSession draws a game session.
func (w *world) someSession(status fleet.GameSessionStatus) (room fleet.RoomID, found *fleet.GameSession) {
	n := 0
	for _, id := range w.rooms {
		r, ok := w.shards[w.shardOf(id)].mirror.machine.Room(id)
		if !ok {
			continue
		}
		r.GameSessions(0, func(g *fleet.GameSession) bool {
			if g.Status == status {
				if n++; w.rng.IntN(n) == 0 {
					room, found = id, g
				}
			}
			return true
		})
	}
	return room, found
}

// join is a player, or some, who wants a place in a game session.
func (w *world) join() {
	room, g := w.someSession(fleet.Active)
	if g == nil {
		return
	}
	c := fleet.ReservePlayers{GameSession: g.ID}
	for range 1 + w.rng.IntN(3) {
		c.Players = append(c.Players, fleet.NewPlayer{PlayerID: w.id("player"), Random: w.random()})
	}
	w.askRoom(room, c, w.chance(50), func(answer any, err error) {
		if r, ok := answer.(fleet.Reservation); ok && err == nil {
			w.come(room, r.GameSession.Host, r.GameSession.ID, r.Players)
		}
	})
}

// claim is a player who wants a game session that nobody is in.
func (w *world) claim() {
	room := w.rooms[w.rng.IntN(len(w.rooms))]
	w.askRoom(room, fleet.ClaimGameSession{
		Name: "claimed", Maximum: int32(1 + w.rng.IntN(5)),
		Player: fleet.NewPlayer{PlayerID: w.id("player"), Random: w.random()},
	}, true, func(answer any, err error) {
		if r, ok := answer.(fleet.Reservation); ok && err == nil {
			w.come(room, r.GameSession.Host, r.GameSession.ID, r.Players)
		}
	})
}

// backfill is a game server that wants more players for its game session.
func (w *world) backfill() {
	room, g := w.someSession(fleet.Active)
	if g == nil || len(g.CurrentPlayers) == 0 {
		return
	}
	c := matchmaking.Start{
		ID: w.id("backfill"), Configuration: w.someConfiguration(), Timeout: int32(10 + w.rng.IntN(100)),
		Backfill:    true,
		GameSession: arn.GameSession("us-west-2", string(room.Fleet), room.Location, g.ID),
	}
	c.Call = "call-" + c.ID
	for _, p := range g.CurrentPlayers {
		if !slices.ContainsFunc(c.Players, func(o matchmaking.Player) bool { return o.ID == p.PlayerID }) {
			c.Players = append(c.Players, matchmaking.Player{ID: p.PlayerID, Team: "all"})
		}
	}
	w.askTickets(c, true, nil)
}

// come lets players come to the server, each in time or not.
func (w *world) come(room fleet.RoomID, host fleet.ProcessKey, session string, players []*fleet.PlayerSession) {
	for _, p := range players {
		w.visit(room, host, session, p.ID)
	}
}

func (w *world) visit(room fleet.RoomID, host fleet.ProcessKey, session string, p fleet.PlayerSessionID) {
	if w.chance(15) {
		return // the player never comes
	}
	w.in(w.between(0, 70*time.Second), func(*world) {
		if s := w.byKey[serverKey{room, host}]; s != nil {
			s.accept(session, p)
		}
	})
}

// terminate is an operator who ends a game session.
func (w *world) terminate() {
	if room, g := w.someSession([]fleet.GameSessionStatus{fleet.Active, fleet.Activating}[w.rng.IntN(2)]); g != nil {
		if w.chance(30) {
			supervise := fleet.SuperviseProcesses{Compute: g.Host.Compute, IDs: []string{g.Host.ID}}
			w.askRoom(room, supervise, true, nil)
			w.askRoom(room, fleet.ForceTerminateGameSession{ID: g.ID}, true, nil)
			return
		}
		w.askRoom(room, fleet.TerminateGameSession{ID: g.ID}, true, nil)
	}
}

// update is an operator who changes a game session.
func (w *world) update() {
	room, g := w.someSession(fleet.Active)
	if g == nil {
		return
	}
	maximum := g.Players() + int32(w.rng.IntN(4))
	w.askRoom(room, fleet.UpdateGameSession{ID: g.ID, Maximum: &maximum}, true, nil)
}

// administer is an operator at the catalog, and with the computes.
func (w *world) administer() {
	if w.chance(20) {
		room := w.rooms[w.rng.IntN(len(w.rooms))]
		w.askRoom(room, fleet.DeregisterCompute{Name: sprintf("host-%d", w.rng.IntN(3))}, true, nil)
		return
	}
	var c catalog.Command = catalog.CreateLocation{Name: sprintf("custom-%d", 10+w.rng.IntN(5))}
	if w.chance(40) {
		c = catalog.DeleteLocation{Name: sprintf("custom-%d", 10+w.rng.IntN(5))}
	}
	w.ask(&question{shard: region.CatalogShard, cmd: region.CatalogCommand{Command: c}})
}

// stopPlacement is a backend that changes its mind.
func (w *world) stopPlacement() {
	w.someShard().mirror.machine.Placements().Pending(func(p *placement.Placement) bool {
		w.askPlacement(p.ID, placement.Stop{ID: p.ID}, nil)
		return false
	})
}

// tickets are the players who want a match.
func (w *world) startTicket() {
	id := w.id("ticket")
	c := matchmaking.Start{
		ID: id, Configuration: w.someConfiguration(), Timeout: int32(10 + w.rng.IntN(200)), Call: "call-" + id,
	}
	if w.chance(15) { // shorter than many placements take
		c.Timeout = int32(1 + w.rng.IntN(15))
	}
	for range 1 + w.rng.IntN(2) {
		c.Players = append(c.Players, matchmaking.Player{ID: sprintf("seeker-%d", w.rng.IntN(25))})
	}
	w.askTickets(c, true, nil)
}

// someConfiguration draws a matchmaking configuration.
func (w *world) someConfiguration() matchmaking.Configuration {
	c := configurations[w.rng.IntN(len(configurations)-1)]
	return matchmaking.Configuration{Name: c.Name, ID: c.ID}
}

// someTicket draws a ticket that is not over.
func (w *world) someTicket(status matchmaking.Status) (found *matchmaking.Ticket) {
	n := 0
	w.tickets().Matches(func(m *matchmaking.Match) bool {
		for _, id := range m.Tickets {
			if t, ok := w.tickets().Ticket(id); ok && t.Status == status {
				if n++; w.rng.IntN(n) == 0 {
					found = t
				}
			}
		}
		return true
	})
	return found
}

// answerMatch is players who accept a match, or reject it.
func (w *world) answerMatch() {
	t := w.someTicket(matchmaking.RequiresAcceptance)
	if t == nil {
		return
	}
	c := matchmaking.Accept{ID: t.ID, Accept: w.chance(93)}
	for _, p := range t.Players {
		c.Players = append(c.Players, p.ID)
	}
	w.askTickets(c, true, nil)
}

// stopTicket is a player who changes his mind.
func (w *world) stopTicket() {
	var open *matchmaking.Ticket
	w.tickets().Searching(func(t *matchmaking.Ticket) bool { open = t; return !w.chance(30) })
	if open != nil {
		w.askTickets(matchmaking.Stop{ID: open.ID}, true, nil)
	}
}

func (w *world) placementShard(id string) int { return region.PlacementShardOf(id, len(w.shards)) }

func (w *world) ticketShard() int { return region.MatchmakingShard(len(w.shards)) }

func (w *world) askPlacement(id string, c placement.Command, answered func(any, error)) {
	w.ask(&question{
		shard: w.placementShard(id), cmd: region.PlacementCommand{Command: c}, repeat: true, answered: answered,
	})
}

func (w *world) askTickets(c matchmaking.Command, repeat bool, answered func(any, error)) {
	w.ask(&question{
		shard: w.ticketShard(), cmd: region.MatchmakingCommand{Command: c}, repeat: repeat, answered: answered,
	})
}

// tickets is the truth about them.
func (w *world) tickets() *matchmaking.State {
	return w.shards[w.ticketShard()].mirror.machine.Matchmaking()
}

// forgetAfter is how long what is over stays in memory. It is longer than any message
// about it can be on its way: package control looks into the history then.
const forgetAfter = 3 * time.Minute

// tidy moves what is over into the history, some time later, as package control does.
func (w *world) tidy() {
	for _, id := range w.rooms {
		r, ok := w.shards[w.shardOf(id)].mirror.machine.Room(id)
		if !ok {
			continue
		}
		w.tidyPlayers(id, r)
		var ordinals []uint64
		for _, g := range r.EndedBefore(endless, 20) {
			ordinals = append(ordinals, g.Ordinal)
		}
		if len(ordinals) > 0 {
			w.in(forgetAfter, func(*world) { w.askRoom(id, fleet.ForgetGameSessions{Ordinals: ordinals}, true, nil) })
		}
	}
	for i, s := range w.shards {
		w.tidyPlacements(i, s.mirror.machine.Placements())
	}
	var ids []string
	for _, t := range w.tickets().EndedBefore(endless, 20) {
		ids = append(ids, t.ID)
	}
	if len(ids) > 0 {
		w.in(forgetAfter, func(*world) { w.askTickets(matchmaking.Forget{IDs: ids}, true, nil) })
	}
	if all := w.tickets().Announcements(0, 100); len(all) > 0 {
		w.askTickets(matchmaking.Trim{Through: all[len(all)-1].Seq}, true, nil)
	}
}

// tidyPlayers moves player sessions that have ended into the history before their game
// session: all of them, and not only those that are too many.
func (w *world) tidyPlayers(id fleet.RoomID, r *fleet.Room) {
	r.GameSessions(0, func(g *fleet.GameSession) bool {
		c := fleet.ForgetPlayers{Session: g.Ordinal, Through: g.Archived + uint32(len(g.PastPlayers))}
		if len(g.PastPlayers) > 0 {
			w.in(forgetAfter, func(*world) {
				if !w.awaited(g) {
					w.askRoom(id, c, true, nil)
				}
			})
		}
		return true
	})
}

// awaited reports whether a driver may still read the player sessions of a game session, as
// package control does.
func (w *world) awaited(g *fleet.GameSession) bool {
	_, filling := w.tickets().Match(g.Filled)
	p, ok := w.shards[w.placementShard(g.Placement)].mirror.machine.Placements().Placement(g.Placement)
	return filling || ok && !p.HasEnded()
}

// endless is after all moments.
const endless = event.Time(1 << 62)

func (w *world) tidyPlacements(number int, s *placement.State) {
	ask := func(c placement.Command) {
		w.ask(&question{shard: number, cmd: region.PlacementCommand{Command: c}, repeat: true})
	}
	var ids []string
	for _, p := range s.EndedBefore(endless, 20) {
		ids = append(ids, p.ID)
	}
	if len(ids) > 0 {
		w.in(forgetAfter, func(*world) { ask(placement.Forget{IDs: ids}) })
	}
	if all := s.Announcements(0, 100); len(all) > 0 {
		ask(placement.Trim{Through: all[len(all)-1].Seq})
	}
}

// curious is anybody who reads.
func (w *world) curious() {
	i := w.rng.IntN(len(w.shards))
	part := []uint32{region.PlacementsRoom, 0}[w.rng.IntN(2)]
	if w.chance(70) {
		room := w.rooms[w.rng.IntN(len(w.rooms))]
		i, part = w.shardOf(room), w.numberOf(room)
		if part == 0 {
			return
		}
	}
	w.ask(&question{shard: i, room: part, read: func(*region.Machine) {}})
}
