package matchdriver

import (
	"cmp"
	"maps"
	"slices"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/wire/arn"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A jobKey is a match in a stage. A match whose tickets time out while it is being placed has two jobs for a while: the
// one that cancels the placement ends the other one, too.
type jobKey struct {
	match string
	stage matchmaking.Stage
}

// A job is what is done about a match in a stage, until the machine of the tickets has heard the result.
type job struct {
	d *Driver
	jobKey
	asked   bool                // a placement may have been started, by an earlier attempt or another Driver
	waits   bool                // for the end of the placement
	outcome matchmaking.Command // of the placement, as far as it is known
	missed  bool                // facts of the placement may have been
	told    bool                // the result
}

// A game is a match with all that its game session has to know.
type game struct {
	*matchmaking.Match
	tickets       []*matchmaking.Ticket
	configuration *catalog.MatchmakingConfiguration // nil: it was deleted
	automatic     string                            // the backfill ticket that will follow; "": none
}

// work begins the job of a match in a stage, unless it runs. again: another Driver may have begun it before.
func (d *Driver) work(match string, stage matchmaking.Stage, again bool) {
	key := jobKey{match, stage}
	if stage == matchmaking.StageAcceptance || d.jobs[key] != nil {
		return
	}
	j := &job{d: d, jobKey: key, asked: again}
	d.jobs[key] = j
	j.begin()
}

// again begins a job again a little later.
func (j *job) again(err error) {
	j.d.cfg.Failed("match "+j.match, err)
	j.d.retry(j.begin)
}

// tell reports the result of the job.
func (j *job) tell(c matchmaking.Command) {
	if !j.told {
		j.told = true
		j.d.tell(c, j.end)
	}
}

func (j *job) end() { delete(j.d.jobs, j.jobKey) }

// begin reads the match, and does what is to be done about it. A match that has left the stage is left alone.
func (j *job) begin() {
	j.waits = false
	g := &game{}
	j.d.ask(Request{Shard: region.MatchmakingShard(j.d.cfg.Shards), Read: func(m *region.Machine) {
		g.read(m.Matchmaking(), j.jobKey)
	}}, func(_ any, err error) {
		switch {
		case err != nil: // and the read may still be going on
			j.again(err)
		case g.Match == nil:
			j.end()
		default:
			j.settle(g)
		}
	})
}

func (g *game) read(s *matchmaking.State, key jobKey) {
	found, ok := s.Match(key.match)
	if !ok || found.Stage != key.stage {
		return
	}
	g.Match = found
	for _, id := range found.Tickets {
		if t, ok := s.Ticket(id); ok {
			g.tickets = append(g.tickets, t)
		}
	}
	g.automatic, _ = s.AutomaticAfter(found)
}

func (j *job) settle(g *game) {
	d := j.d
	if found, ok := d.configuration(g.Settings.Configuration); ok {
		g.configuration = found
	}
	switch {
	case j.stage == matchmaking.StageCancelling:
		j.cancel(g, j.cancelled)
	case g.configuration == nil:
		j.fail(g, "The matchmaking configuration "+g.Settings.Configuration.Name+" was deleted.")
	case j.stage == matchmaking.StageFilling:
		j.describe(g, func(data string) { j.fill(g, data) })
	default:
		j.describe(g, func(data string) { j.place(g, data) })
	}
}

// fail reports that there will be no game. A placement that may have been started is cancelled first; if it was
// fulfilled before, there is a game.
func (j *job) fail(g *game, why string) {
	failed := matchmaking.PlacementFailed{Match: j.match, Message: why}
	switch {
	case j.stage == matchmaking.StageFilling:
		j.tell(matchmaking.FillFailed{Match: j.match, Message: why})
	case !j.asked:
		j.tell(failed)
	default:
		j.cancel(g, func(p *placement.Placement) {
			if p.Status == placement.Fulfilled {
				j.tell(j.d.outcome(p.ID, p.Status, p.Session))
				return
			}
			j.tell(failed)
		})
	}
}

// describe makes the matchmaker data of a match.
func (j *job) describe(g *game, made func(data string)) {
	view, cfg := j.d.catalog, &j.d.cfg
	var data string
	var err error
	j.d.ask(Request{Work: func() { data, err = g.matchmakerData(cfg, view) }}, func(any, error) {
		if err != nil {
			j.fail(g, fault.Of(err).Message)
			return
		}
		made(data)
	})
}

// place has a queue place a match, and waits for what comes of it.
func (j *job) place(g *game, data string) {
	queue, ok := j.d.queueOf(g.configuration)
	if !ok {
		j.fail(g, "The matchmaking configuration has no game session queue that exists in this Region.")
		return
	}
	j.missed = false
	place := &Placement{Queue: queue, Request: placementOf(g, queue, data)}
	j.d.ask(Request{Place: place}, func(answer any, err error) {
		p, _ := answer.(*placement.Placement)
		switch {
		case j.outcome != nil:
			j.tell(j.outcome)
		case fault.Is(err, fault.InvalidRequest), fault.Is(err, fault.NotFound):
			j.fail(g, fault.Of(err).Message)
		case err != nil:
			j.asked = true
			j.again(err)
		case p.HasEnded():
			j.tell(j.d.outcome(p.ID, p.Status, p.Session))
		default:
			j.asked, j.waits = true, true
			j.look()
		}
	})
}

// look looks for the end of the placement, if facts of it may have been missed.
func (j *job) look() {
	if !j.missed || !j.waits || j.told {
		return
	}
	j.missed = false
	var p *placement.Placement
	shard := region.PlacementShardOf(j.match, j.d.cfg.Shards)
	j.d.ask(Request{Shard: shard, Read: func(m *region.Machine) {
		p, _ = m.Placements().Placement(j.match)
	}}, func(_ any, err error) {
		switch {
		case j.told:
		case err != nil: // and the read may still be going on
			j.missed = true
			j.d.retry(j.look)
		case p == nil: // it may be in the history, or it was lost
			j.begin()
		case p.HasEnded():
			j.tell(j.d.outcome(p.ID, p.Status, p.Session))
		}
	})
}

// recoverPlacements looks for the ends of the placements of a shard.
func (d *Driver) recoverPlacements(shard int) {
	keys := slices.SortedFunc(maps.Keys(d.jobs), func(a, b jobKey) int { return cmp.Compare(a.match, b.match) })
	for _, key := range keys {
		if key.stage == matchmaking.StagePlacing && region.PlacementShardOf(key.match, d.cfg.Shards) == shard {
			d.jobs[key].missed = true
			d.jobs[key].look()
		}
	}
}

// placementOver notes the end of a placement, if it is that of a match.
func (d *Driver) placementOver(id string, status placement.Status, s *placement.Session) {
	j := d.jobs[jobKey{id, matchmaking.StagePlacing}]
	if j == nil {
		return
	}
	j.outcome = d.outcome(id, status, s)
	if j.waits {
		j.tell(j.outcome)
	}
}

// outcome is what the end of a placement means for its match.
func (d *Driver) outcome(match string, status placement.Status, s *placement.Session) matchmaking.Command {
	switch status {
	case placement.Fulfilled:
		c := matchmaking.Connection{
			GameSession: arn.GameSession(d.cfg.Region, string(s.Room.Fleet), s.Room.Location, s.ID),
			IPAddress:   s.IPAddress, DNSName: s.DNSName, Port: s.Port,
		}
		for _, player := range s.Players {
			c.Players = append(c.Players, matchmaking.MatchedPlayer(player))
		}
		return matchmaking.Placed{Match: match, Connection: c}
	case placement.Failed:
		return matchmaking.PlacementFailed{Match: match}
	default: // CANCELLED is as good as TIMED_OUT: the players want to play all the same
		return matchmaking.PlacementTimedOut{Match: match}
	}
}

// cancel cancels the placement of a match, unless it has ended. A request that starts it later finds it CANCELLED.
func (j *job) cancel(g *game, over func(*placement.Placement)) {
	cancelled := func(answer any, err error) {
		if err != nil {
			j.again(err)
			return
		}
		over(answer.(*placement.Placement))
	}
	j.d.ask(Request{Past: j.match}, func(answer any, err error) {
		if past, _ := answer.(*placement.Placement); err != nil || past != nil {
			cancelled(answer, err)
			return
		}
		j.d.ask(Request{
			Shard:   region.PlacementShardOf(j.match, j.d.cfg.Shards),
			Command: region.PlacementCommand{Command: placement.Cancel{Request: j.d.unplaced(g)}},
		}, cancelled)
	})
}

// cancelled ends the game session of a placement that was fulfilled before it was cancelled: the tickets have left the
// match.
func (j *job) cancelled(p *placement.Placement) {
	over := matchmaking.PlacementTimedOut{Match: j.match}
	if p.Status != placement.Fulfilled {
		j.tell(over)
		return
	}
	terminate := region.RoomCommand{Room: p.Session.Room, Command: fleet.TerminateGameSession{ID: p.Session.ID}}
	j.d.ask(Request{Shard: region.ShardOf(p.Session.Room, j.d.cfg.Shards), Command: terminate}, func(_ any, err error) {
		// It has ended.
		if err == nil || fault.Is(err, fault.NotFound) || fault.Is(err, fault.InvalidGameSessionStatus) {
			j.tell(over)
			return
		}
		j.again(err)
	})
}

// unplaced is the request of a placement that may not have been started.
func (d *Driver) unplaced(g *game) placement.Request {
	r := placement.Request{ID: g.ID, Match: g.ID}
	if g.configuration != nil {
		if queue, ok := d.queueOf(g.configuration); ok {
			r.Queue, r.QueueID = queue.Name, queue.ID
		}
	}
	return r
}

// queueOf is the first queue of a configuration that exists in this Region.
func (d *Driver) queueOf(c *catalog.MatchmakingConfiguration) (*catalog.Queue, bool) {
	for _, text := range c.Queues {
		name, ok := arn.ParseQueue(text)
		if a, full := arn.Parse(text); !ok || full && a.Region != d.cfg.Region {
			continue
		}
		if q, ok := d.catalog.Queue(name); ok {
			return q, true
		}
	}
	return nil, false
}

// placementOf asks for a game session with a slot for each player of the match.
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
				r.Latencies = append(r.Latencies, placement.Latency{
					PlayerID: player.ID, Location: l.Location, Milliseconds: float64(l.Milliseconds),
				})
			}
		}
	}
	return r
}

// fill reserves slots for the new players of a match in the game session that it fills, and notifies its process.
func (j *job) fill(g *game, data string) {
	d := j.d
	room, id, ok := d.gameSession(g.Backfill)
	if !ok {
		j.fail(g, "Game session "+g.Backfill+" not found")
		return
	}
	command := fleet.BackfillGameSession{GameSession: id, Match: g.ID, MatchmakerData: data, Players: d.newPlayers(g)}
	d.ask(Request{
		Shard: region.ShardOf(room, d.cfg.Shards), Command: region.RoomCommand{Room: room, Command: command},
	}, func(answer any, err error) {
		switch {
		case passing(err):
			j.again(err)
		case err != nil:
			j.fail(g, fault.Of(err).Message)
		default:
			j.filled(g, room, answer.(fleet.Reservation))
		}
	})
}

func (j *job) filled(g *game, room fleet.RoomID, r fleet.Reservation) {
	c := matchmaking.Connection{
		GameSession: g.Backfill, IPAddress: r.GameSession.IPAddress, DNSName: r.GameSession.DNSName,
		Port: r.GameSession.Port,
	}
	for _, s := range r.Players {
		c.Players = append(c.Players, matchmaking.MatchedPlayer{PlayerID: s.PlayerID, PlayerSession: s.ID})
	}
	notice := &Notice{Room: room, GameSession: r.GameSession, Ticket: g.backfillTicket(), Reason: updated}
	j.d.requests = append(j.d.requests, Request{Notice: notice})
	j.tell(matchmaking.Filled{Match: j.match, Connection: c})
}

// newPlayers are the players of a match who are not in its game session yet.
func (d *Driver) newPlayers(g *game) []fleet.NewPlayer {
	var players []fleet.NewPlayer
	for _, t := range g.tickets {
		if t.Backfill {
			continue
		}
		for _, player := range t.Players {
			n := fleet.NewPlayer{PlayerID: player.ID}
			d.cfg.Random(n.Random[:])
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
