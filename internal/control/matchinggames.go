package control

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"

	"github.com/muster-gg/muster/internal/arn"
	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
)

// A goroutine sees to each match that is accepted, until the machine has heard
// where it is played, or that it is not. When tickets of it time out meanwhile, another
// goroutine cancels its placement, which ends the first one too. Both may stop at any
// point and be begun anew after a recovery: the placement has the id of the match, and a
// game session knows the match that filled it last.

// matchSet is the matches that a goroutine sees to, each with its stage.
type matchSet struct {
	mu sync.Mutex
	in map[stagedMatch]bool
}

type stagedMatch struct {
	id    string
	stage matchmaking.Stage
}

// enter reports whether the match was not there yet.
func (s *matchSet) enter(m stagedMatch) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.in == nil {
		s.in = map[stagedMatch]bool{}
	}
	was := s.in[m]
	s.in[m] = true
	return !was
}

func (s *matchSet) leave(m stagedMatch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.in, m)
}

// carry sees to a match that is accepted, beside the caller.
func (m *matching) carry(ctx context.Context, id string, stage matchmaking.Stage) {
	settle := m.place
	switch stage {
	case matchmaking.StagePlacing:
	case matchmaking.StageFilling:
		settle = m.fill
	case matchmaking.StageCancelling:
		settle = m.cancel
	default:
		return
	}
	staged := stagedMatch{id, stage}
	if !m.carried.enter(staged) {
		return
	}
	m.working.Go(func() {
		defer m.carried.leave(staged)
		for {
			err := m.settle(ctx, staged, settle)
			if err == nil || ctx.Err() != nil {
				return
			}
			m.plane.cfg.Log.Warn("match not settled; trying again", "match", id, "err", err)
			if !m.plane.pause(ctx, again) {
				return
			}
		}
	})
}

// A game is a match with all that its game session has to know.
type game struct {
	*matchmaking.Match
	tickets       []*matchmaking.Ticket
	configuration *catalog.MatchmakingConfiguration
	automatic     string // the backfill ticket that will follow; "": none
}

// settle finds the game session of a match and tells the machine. A match that has left
// the stage is left alone. An error is one that may pass.
func (m *matching) settle(ctx context.Context, match stagedMatch, find func(context.Context, *game) (matchmaking.Command, error)) error {
	g := &game{}
	err := m.plane.ticketShard().Read(ctx, func(machine *region.Machine) {
		found, ok := machine.Matchmaking().Match(match.id)
		if !ok || found.Stage != match.stage {
			return
		}
		g.Match = found
		for _, ticket := range g.Match.Tickets {
			if t, ok := machine.Matchmaking().Ticket(ticket); ok {
				g.tickets = append(g.tickets, t)
			}
		}
		g.automatic, _ = machine.Matchmaking().AutomaticAfter(g.Match)
	})
	if err != nil || g.Match == nil {
		return err
	}
	var known bool
	if g.configuration, known = m.configuration(g.Settings.Configuration); !known && g.Stage != matchmaking.StageCancelling {
		m.insist(ctx, g.failed("The matchmaking configuration "+g.Settings.Configuration.Name+" was deleted."))
		return nil
	}
	found, err := find(ctx, g)
	if err != nil {
		return err
	}
	m.insist(ctx, found)
	return nil
}

// failed says that there will be no game.
func (g *game) failed(why string) matchmaking.Command {
	if g.Stage == matchmaking.StageFilling {
		return matchmaking.FillFailed{Match: g.ID, Message: why}
	}
	return matchmaking.PlacementFailed{Match: g.ID, Message: why}
}

// place has a queue place a match, and waits for what comes of it.
func (m *matching) place(ctx context.Context, g *game) (matchmaking.Command, error) {
	queue, ok := m.queueOf(g.configuration)
	if !ok {
		return g.failed("The matchmaking configuration has no game session queue that exists in this Region."), nil
	}
	data, err := m.matchmakerData(g)
	if err != nil {
		return g.failed(fault.Of(err).Message), nil
	}
	_, err = m.plane.startPlacement(ctx, queue, placementOf(g, queue, data))
	if err == nil {
		var p *placement.Placement
		if p, err = m.plane.awaitPlacement(ctx, g.ID); err == nil {
			return m.placed(g.ID, p), nil
		}
	}
	if fault.Is(err, fault.InvalidRequest) || fault.Is(err, fault.NotFound) {
		return g.failed(fault.Of(err).Message), nil
	}
	return nil, err
}

// cancel cancels the placement of a match whose tickets have left it. If the placement
// was fulfilled before, its game session is terminated: no ticket leads its players there.
func (m *matching) cancel(ctx context.Context, g *game) (matchmaking.Command, error) {
	p, err := m.plane.pastPlacement(ctx, g.ID)
	if err == nil && p == nil {
		p, err = askPlacement(ctx, m.plane, g.ID, placement.Cancel{Request: m.cancelled(g)})
	}
	if err != nil {
		return nil, err
	}
	if p.Status == placement.Fulfilled {
		terminate := region.RoomCommand{Room: p.Session.Room, Command: fleet.TerminateGameSession{ID: p.Session.ID}}
		_, err := ask[any](ctx, m.plane, terminate)
		if err != nil && !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.InvalidGameSessionStatus) { // else it has ended
			return nil, err
		}
	}
	return matchmaking.PlacementTimedOut{Match: g.ID}, nil
}

// cancelled is the request of a placement that may not have been started.
func (m *matching) cancelled(g *game) placement.Request {
	r := placement.Request{ID: g.ID, Match: g.ID}
	if g.configuration != nil {
		if queue, ok := m.queueOf(g.configuration); ok {
			r.Queue, r.QueueID = queue.Name, queue.ID
		}
	}
	return r
}

// queueOf is the first queue of a configuration that exists in this Region.
func (m *matching) queueOf(c *catalog.MatchmakingConfiguration) (*catalog.Queue, bool) {
	for _, text := range c.Queues {
		name, ok := arn.ParseQueue(text)
		if !ok || m.plane.elsewhere(text) {
			continue
		}
		if q, ok := m.plane.catalog().Queue(name); ok {
			return q, true
		}
	}
	return nil, false
}

// placed is what a placement that is over says about its match.
func (m *matching) placed(match string, p *placement.Placement) matchmaking.Command {
	switch p.Status {
	case placement.Fulfilled:
		s := p.Session
		c := matchmaking.Connection{GameSession: m.plane.gameSessionArn(s.Room, s.ID), IPAddress: s.IPAddress, DNSName: s.DNSName, Port: s.Port}
		for _, player := range s.Players {
			c.Players = append(c.Players, matchmaking.MatchedPlayer{PlayerID: player.PlayerID, PlayerSession: player.PlayerSession})
		}
		return matchmaking.Placed{Match: match, Connection: c}
	case placement.Failed:
		return matchmaking.PlacementFailed{Match: match}
	default: // CANCELLED is as good as TIMED_OUT: the players want to play all the same
		return matchmaking.PlacementTimedOut{Match: match}
	}
}

// placementOf asks for a game session with a place for each player of the match.
func placementOf(g *game, queue *catalog.Queue, data string) placement.Request {
	r := placement.Request{
		ID: g.ID, Match: g.ID, Queue: queue.Name, QueueID: queue.ID, Maximum: g.Settings.Capacity,
		Data: g.configuration.Data, MatchmakerData: data,
	}
	for _, property := range g.configuration.Properties {
		r.Properties = append(r.Properties, fleet.Property{Key: property.Key, Value: property.Value})
	}
	for _, t := range g.tickets {
		for _, player := range t.Players {
			r.Players = append(r.Players, placement.Player{PlayerID: player.ID})
			for _, l := range player.Latencies {
				r.Latencies = append(r.Latencies, placement.Latency{PlayerID: player.ID, Location: l.Location, Milliseconds: float64(l.Milliseconds)})
			}
		}
	}
	return r
}

// fill lets the new players of a match into the game session that it fills, and
// tells its process.
func (m *matching) fill(ctx context.Context, g *game) (matchmaking.Command, error) {
	room, id, err := m.plane.gameSessionPlace(g.Backfill)
	if err != nil {
		return g.failed(fault.Of(err).Message), nil
	}
	data, err := m.matchmakerData(g)
	if err != nil {
		return g.failed(fault.Of(err).Message), nil
	}
	command := fleet.BackfillGameSession{GameSession: id, Match: g.ID, MatchmakerData: data, Players: newPlayers(g)}
	r, err := ask[fleet.Reservation](ctx, m.plane, region.RoomCommand{Room: room, Command: command})
	switch {
	case err != nil && passing(err):
		return nil, err
	case err != nil:
		return g.failed(fault.Of(err).Message), nil
	}
	c := matchmaking.Connection{GameSession: g.Backfill, IPAddress: r.GameSession.IPAddress, DNSName: r.GameSession.DNSName, Port: r.GameSession.Port}
	for _, s := range r.Players {
		c.Players = append(c.Players, matchmaking.MatchedPlayer{PlayerID: s.PlayerID, PlayerSession: s.ID})
	}
	m.updateProcess(room, r.GameSession, g.backfillTicket(), updated)
	return matchmaking.Filled{Match: g.ID, Connection: c}, nil
}

// newPlayers are the players of a match who are not in its game session yet.
func newPlayers(g *game) []fleet.NewPlayer {
	var players []fleet.NewPlayer
	for _, t := range g.tickets {
		if t.Backfill {
			continue
		}
		for _, player := range t.Players {
			n := fleet.NewPlayer{PlayerID: player.ID}
			rand.Read(n.Random[:])
			players = append(players, n)
		}
	}
	return players
}

// backfillTicket is the id of the match's backfill ticket.
func (g *game) backfillTicket() string {
	i := slices.IndexFunc(g.tickets, func(t *matchmaking.Ticket) bool { return t.Backfill })
	if i < 0 {
		return ""
	}
	return g.tickets[i].ID
}
