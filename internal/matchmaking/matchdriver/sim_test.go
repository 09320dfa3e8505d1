package matchdriver

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement/placer"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/wire/arn"
)

var seeds = flag.Uint64("seeds", 40, "how many seeds TestSimulation runs")

// A town is a world with people, server processes and disturbances.
type town struct {
	*world
	started   map[string]bool // tickets whose start was answered
	processes int
	ends      int // how likely it is, in percent, that a game session ends
}

// come starts a server process, which is ready.
func (w *town) come(location string) {
	w.processes++
	key := fleet.ProcessKey{Compute: "host-" + location, ID: fmt.Sprint("process-", w.processes)}
	w.tell(location, fleet.ConnectProcess{ProcessKey: key})
	w.tell(location, fleet.ReadyProcess{ProcessKey: key, Port: 7777})
}

// play lets a server process of a room do what it is asked to; by chance it ends instead.
func (w *town) play(location string) {
	var commands []fleet.Command
	w.room(location).GameSessions(0, func(g *fleet.GameSession) bool {
		switch {
		case g.Status == fleet.Terminating, !g.HasEnded() && w.rng.IntN(100) < w.ends:
			commands = append(commands, fleet.EndProcess{ProcessKey: g.Host})
		case g.Status == fleet.Activating:
			commands = append(commands, fleet.ActivateGameSession{ProcessKey: g.Host, GameSession: g.ID})
		}
		return true
	})
	if len(commands) > 0 {
		c := commands[w.rng.IntN(len(commands))]
		w.ask(call{
			shard:   region.ShardOf(room(location), shards),
			command: region.RoomCommand{Room: room(location), Command: c},
		})
	}
}

// seek starts a ticket, or a backfill ticket of a game session, and repeats the call until it is answered.
func (w *town) seek() {
	configuration := matchmaking.Configuration{Name: "plain", ID: "c-1"}
	if w.rng.IntN(2) == 0 {
		configuration = matchmaking.Configuration{Name: "careful", ID: "c-2"}
	}
	id := w.id("ticket")
	c := matchmaking.Start{
		ID: id, Call: id, Configuration: configuration, Timeout: int32(10 + w.rng.IntN(30)),
		Players: []matchmaking.Player{{ID: "player-" + id}},
	}
	if w.rng.IntN(6) == 0 {
		location := locations[w.rng.IntN(len(locations))]
		w.room(location).GameSessions(0, func(g *fleet.GameSession) bool {
			if g.Status == fleet.Active {
				c.Backfill, c.Players[0].Team = true, "crew"
				c.GameSession = arn.GameSession(regionID, fleetID, location, g.ID)
			}
			return !c.Backfill
		})
	}
	w.begin(c)
}

func (w *town) begin(c matchmaking.Start) {
	w.ask(call{shard: tickets, command: region.MatchmakingCommand{Command: c}, answer: func(_ any, err error) {
		if passing(err) {
			w.begin(c)
		} else if err == nil {
			w.started[c.ID] = true
			if w.told[c.ID] == "" {
				w.told[c.ID] = matchmaking.Searching
			}
		}
	}})
}

// decide lets a player who is asked accept a match, or, with cruel, sometimes reject it or stop its ticket.
func (w *town) decide(cruel bool) {
	state := w.shards[tickets].state.Matchmaking()
	var asked []matchmaking.Accept
	state.Matches(func(m *matchmaking.Match) bool {
		_, unanswered := state.Answers(m)
		if m.Stage != matchmaking.StageAcceptance {
			return true
		}
		for _, player := range unanswered {
			asked = append(asked, matchmaking.Accept{
				ID: strings.TrimPrefix(player, "player-"), Players: []string{player},
				Accept: !cruel || w.rng.IntN(8) > 0,
			})
		}
		return true
	})
	if len(asked) == 0 {
		return
	}
	var c matchmaking.Command = asked[w.rng.IntN(len(asked))]
	if cruel && w.rng.IntN(20) == 0 {
		c = matchmaking.Stop{ID: asked[0].ID}
	}
	w.ask(call{shard: tickets, command: region.MatchmakingCommand{Command: c}})
}

// match runs a Maker that has something to do.
func (w *town) match() {
	k := w.makers[0]
	w.makers = w.makers[1:]
	var n News
	var ok bool
	w.drive(func(d *Driver) { n, ok = d.News(k) })
	if !ok {
		k.End()
		return
	}
	proposal, more := k.Step(n, w.now)
	if more {
		w.makers = append(w.makers, k)
	}
	if proposal != nil {
		w.ask(call{shard: tickets, command: region.MatchmakingCommand{Command: *proposal}, answer: func(
			_ any, err error,
		) {
			w.drive(func(d *Driver) { d.Proposed(k, proposal.Tickets, err) })
		}})
	}
}

// pass lets some time go by.
func (w *town) pass(most int) {
	w.now = w.now.Add(time.Duration(1+w.rng.IntN(most)) * time.Millisecond)
	for i := range w.shards {
		w.expire(i)
	}
	if at, due := w.placer.Due(); due && at <= event.At(w.now) {
		w.place((*placer.Machine).Review)
	}
	if at, due := w.driver.Due(); due && at <= event.At(w.now) {
		w.drive((*Driver).Review)
	}
	for _, c := range sorted(w.driver.configured) {
		if at, due := c.maker.Due(); due && !at.After(w.now) {
			w.makers = append(w.makers, c.maker)
		}
	}
}

// random does one thing; final leaves out what disturbs.
func (w *town) random(final bool) {
	location := locations[w.rng.IntN(len(locations))]
	shard := w.rng.IntN(shards)
	s := w.shards[shard]
	switch n := w.rng.IntN(200); {
	case n < 60 && len(s.queue) > 0:
		w.handle(shard)
	case n < 120 && len(s.commits) > 0:
		w.commit(shard)
	case n < 135 && len(w.beside) > 0:
		do := w.beside[0]
		w.beside = w.beside[1:]
		do()
	case n < 145 && len(w.makers) > 0:
		w.match()
	case n < 148 && len(w.late) > 0 && (final || w.rng.IntN(20) == 0):
		c := w.late[0]
		w.late = w.late[1:]
		w.ask(c)
	case n < 151 && !s.led:
		w.recover(shard)
	case n < 155:
		w.play(location)
	case n < 160:
		w.decide(!final)
	case n < 172:
		w.pass(map[bool]int{false: 60, true: 300}[final])
	case final:
	default:
		w.disturb(n, shard, location)
	}
}

// disturb does one thing that happens until the end begins.
func (w *town) disturb(n, shard int, location string) {
	switch {
	case n < 182 && len(w.started) < 30:
		w.seek()
	case n < 186 && w.processes < 16:
		w.come(location)
	case n < 188:
		w.crash(shard)
	case n < 192 && len(w.shards[shard].queue) > 0:
		w.lose(shard)
	case n == 192 && w.rng.IntN(6) == 0:
		w.lead()
	case n == 193 && w.rng.IntN(40) == 0:
		if _, ok := w.shards[0].state.Catalog().MatchmakingConfiguration("careful"); ok {
			w.command(0, region.CatalogCommand{Command: catalog.DeleteMatchmakingConfiguration{Name: "careful"}})
			w.drive(func(d *Driver) { d.SetCatalog(w.shards[0].durable.Catalog().Copy()) })
		}
	}
}

// quiet reports whether nothing is under way, apart from tickets that search.
func (w *town) quiet() bool {
	for _, s := range w.shards {
		if !s.led || len(s.queue) > 0 || len(s.commits) > 0 {
			return false
		}
	}
	matches := 0
	w.shards[tickets].state.Matchmaking().Matches(func(*matchmaking.Match) bool { matches++; return true })
	return matches == 0 && w.driver.Idle() && w.placer.Idle() && len(w.makers)+len(w.beside)+len(w.late) == 0
}

// settle lets everything come to its end.
func (w *town) settle(what string, ended func() bool) {
	for n := 0; !ended(); n++ {
		if n == 300_000 {
			w.t.Fatalf("%s does not end: %s", what, w.describe())
		}
		w.random(true)
		if n%5000 == 0 && w.processes < 100 {
			w.come(locations[n/5000%len(locations)])
		}
	}
}

// searching counts the tickets that search, without backfill tickets.
func (w *town) searching() (players, backfill int) {
	w.shards[tickets].state.Matchmaking().Searching(func(t *matchmaking.Ticket) bool {
		if t.Backfill {
			backfill++
		} else {
			players++
		}
		return true
	})
	return players, backfill
}

// Whatever crashes, and however answers and facts are delayed: no ticket is lost or in two games, each match ends with
// a game session or without one that is left, those who wait for a ticket see its end, and backfill tickets end with
// their game session.
func TestSimulation(t *testing.T) {
	for seed := range *seeds {
		w := &town{world: newWorld(t, seed), started: map[string]bool{}, ends: 2}
		for range 6_000 {
			w.random(false)
		}
		w.ends = 0
		w.settle(fmt.Sprint("seed ", seed), func() bool {
			players, _ := w.searching()
			return players == 0 && w.quiet()
		})
		w.check(fmt.Sprint("seed ", seed))
		w.ends = 100
		w.settle(fmt.Sprint("backfill of seed ", seed), func() bool {
			_, backfill := w.searching()
			return backfill == 0 && w.quiet()
		})
		if t.Failed() {
			return
		}
	}
}

// check looks at what everybody has in the end.
func (w *town) check(what string) {
	w.t.Helper()
	seated := map[string]string{} // players: the match or backfill ticket that brought them
	state := w.shards[tickets].state.Matchmaking()
	for id := range w.started {
		t, ok := state.Ticket(id)
		switch {
		case !ok || !t.HasEnded() && !t.Backfill:
			w.t.Errorf("%s: ticket %s is %+v", what, id, t)
		case w.told[id] != t.Status:
			w.t.Errorf("%s: ticket %s is %s, those who wait for it know %s", what, id, t.Status, w.told[id])
		case t.Connection != nil && !t.Backfill:
			seated[t.Players[0].ID] = t.Connection.GameSession
		}
	}
	for _, l := range locations {
		w.room(l).GameSessions(0, func(g *fleet.GameSession) bool {
			session := arn.GameSession(regionID, fleetID, l, g.ID)
			for _, seat := range g.PlayerSessions() {
				if at := seated[seat.PlayerID]; at != session && !g.HasEnded() && g.Status != fleet.Terminating {
					w.t.Errorf("%s: %s has a slot in %s, and its ticket is for %q", what, seat.PlayerID, session, at)
				} else if at == session {
					delete(seated, seat.PlayerID)
				}
			}
			return true
		})
	}
	for player, session := range seated {
		w.t.Errorf("%s: %s has no slot in %s", what, player, session)
	}
}

// describe tells what is not as it should be.
func (w *town) describe() (text string) {
	w.shards[tickets].state.Matchmaking().Matches(func(m *matchmaking.Match) bool {
		p, _ := w.shards[region.PlacementShardOf(m.ID, shards)].state.Placements().Placement(m.ID)
		text += fmt.Sprintf("\nmatch %+v has the placement %+v", m, p)
		return true
	})
	w.shards[tickets].state.Matchmaking().Searching(func(t *matchmaking.Ticket) bool {
		text += fmt.Sprintf("\nticket %+v", t)
		return true
	})
	for key, j := range w.driver.jobs {
		text += fmt.Sprintf("\njob %+v waits %v, told %v", key, j.waits, j.told)
	}
	for i, s := range w.shards {
		text += fmt.Sprintf("\nshard %d: led %v, %d requests, %d commits", i, s.led, len(s.queue), len(s.commits))
	}
	return text + fmt.Sprintf("\nmakers %d, beside %d, late %d, placer idle %v, driver idle %v",
		len(w.makers), len(w.beside), len(w.late), w.placer.Idle(), w.driver.Idle())
}
