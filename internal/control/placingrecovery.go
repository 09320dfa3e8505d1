package control

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
)

// When a shard has recovered, what was said to it and by it may be lost. So for each
// attempt that runs in a placement or a room of the shard its game session is looked
// for, in the room and in the history: what became of it is told, and where there is
// none it is asked for, once more or for the first time. And each game session of the
// shard's rooms that belongs to a placement which does not want it is terminated.

// recover begins anew with the placements of a shard, which are as in the view.
func (d *placing) recover(shard int, view *placement.State) {
	d.mu.Lock()
	defer d.unlock()
	if !d.driving {
		return
	}
	for _, p := range d.placements {
		if p.shard == shard {
			d.drop(p)
		}
	}
	view.Pending(func(r *placement.Placement) bool {
		p := &pending{request: &r.Request, shard: shard, started: r.Started, deadline: r.Deadline}
		if r.Attempt != nil {
			p.attempt, p.room = r.Attempt.Number, r.Attempt.Room
		}
		if r.Trying() {
			p.stage = running
		}
		d.placements[r.ID] = p
		return true
	})
	for room, l := range d.lines {
		if d.shardOf(room) == shard {
			d.wake(l)
		}
	}
	d.unresolved[shard] = true
	wake(d.recovered)
}

// A suspect is a game session of a placement that may not want it.
type suspect struct {
	room      fleet.RoomID
	id        string
	placement string
	attempt   int
	active    bool
}

// suspect has a game session looked at.
func (d *placing) suspect(s suspect) {
	d.suspects = append(d.suspects, s)
	wake(d.recovered)
}

// tryAgain is how long resolve waits after a failure.
const tryAgain = time.Second

// resolve does what is to be done after recoveries.
func (d *placing) resolve(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-d.recovered:
		}
		err := d.resolveAll(ctx)
		if err == nil || ctx.Err() != nil {
			continue
		}
		d.plane.cfg.Log.Error("attempts of placements not resolved after a recovery; trying again", "err", err)
		select {
		case <-ctx.Done():
		case <-d.plane.cfg.Clock.After(tryAgain):
			wake(d.recovered)
		}
	}
}

// resolveAll resolves what has come together. After an error it all is to be done again.
func (d *placing) resolveAll(ctx context.Context) (err error) {
	shards, suspects, lost := d.takeUnresolved()
	defer func() {
		if err != nil {
			d.giveBack(shards, suspects)
		}
	}()
	var group errgroup.Group
	group.SetLimit(resuming)
	for _, p := range lost {
		group.Go(func() error { return d.find(ctx, p) })
	}
	err = group.Wait()
	for shard := range shards {
		found, failed := d.sessionsOf(ctx, shard)
		if failed != nil {
			return failed
		}
		suspects = append(suspects, found...)
	}
	if failed := d.clear(ctx, suspects); failed != nil {
		return failed
	}
	return err
}

// takeUnresolved returns what is to be resolved, and places those that search.
func (d *placing) takeUnresolved() (shards map[int]bool, suspects []suspect, lost []*pending) {
	d.mu.Lock()
	defer d.unlock()
	shards, suspects = d.unresolved, d.suspects
	d.unresolved, d.suspects = map[int]bool{}, nil
	for _, p := range d.byAge(func(p *pending) bool { return shards[p.shard] || shards[d.shardOf(p.room)] }) {
		switch {
		case p.stage == searching:
			d.place(p)
		case p.stage == running && p.try == nil:
			lost = append(lost, p)
		}
	}
	return shards, suspects, lost
}

func (d *placing) giveBack(shards map[int]bool, suspects []suspect) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for shard := range shards {
		d.unresolved[shard] = true
	}
	d.suspects = append(d.suspects, suspects...)
}

// maxTries is how often the game session of one attempt is asked for. It is asked for
// again after failures of the service alone, which it may be the cause of.
const maxTries = 3

// find finds out what has become of the attempt of a placement.
func (d *placing) find(ctx context.Context, p *pending) error {
	d.mu.Lock()
	room, number, id := p.room, p.attempt, placement.SessionID(p.request.ID, p.attempt)
	d.mu.Unlock()
	g, err := d.plane.sessionOf(ctx, room, id)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.unlock()
	switch {
	case d.placements[p.request.ID] != p || p.stage != running || p.attempt != number || p.try != nil: // it has been told meanwhile
	case d.queueOf(p.request) == nil:
		d.fail(p)
	case g != nil && g.Placement == p.request.ID:
		d.conclude(p, g)
	case g != nil:
		d.say(p, placement.Refused{ID: p.request.ID, Number: number, Text: "Another game session has the id " + id}, nil)
	case p.tries >= maxTries:
		d.say(p, placement.Refused{ID: p.request.ID, Number: number, Text: "The service failed to start the game session"}, nil)
	default:
		d.run(p, d.newTry(p))
	}
	return nil
}

// sessionOf finds a game session in its room and in the history; nil if there is none.
func (p *Plane) sessionOf(ctx context.Context, room fleet.RoomID, id string) (*fleet.GameSession, error) {
	var g *fleet.GameSession // after an error the read may still be going on
	if _, err := p.read(ctx, room, func(r *fleet.Room) { g, _ = r.GameSession(id) }); err != nil {
		return nil, err
	}
	if g == nil {
		return p.pastGameSession(ctx, room, id)
	}
	return g, nil
}

// sessionsOf lists the game sessions of placements in the rooms of a shard that are
// not over.
func (d *placing) sessionsOf(ctx context.Context, shard int) (found []suspect, err error) {
	view, err := d.plane.shards[shard].View(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range view.Rooms() {
		r.GameSessions(0, func(g *fleet.GameSession) bool {
			if g.Placement != "" && (g.Status == fleet.Activating || g.Status == fleet.Active) {
				found = append(found, suspect{r.ID(), g.ID, g.Placement, int(g.Attempt), g.Status == fleet.Active})
			}
			return true
		})
	}
	return found, nil
}

// clear terminates the game sessions that no placement wants.
func (d *placing) clear(ctx context.Context, suspects []suspect) error {
	views := map[int]*region.Machine{}
	for _, s := range suspects {
		shard := region.PlacementShardOf(s.placement, len(d.plane.shards))
		if views[shard] == nil {
			view, err := d.plane.shards[shard].View(ctx)
			if err != nil {
				return err
			}
			views[shard] = view
		}
		if s.wanted(views[shard].Placements()) {
			continue
		}
		_, err := ask[any](ctx, d.plane, region.RoomCommand{Room: s.room, Command: fleet.TerminateGameSession{ID: s.id}})
		if err != nil && !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.InvalidGameSessionStatus) {
			return err
		}
	}
	return nil
}

// wanted reports whether the placement of a game session wants it. The placements are
// seen later than the game session was: it cannot be of a later attempt. One that has
// left memory is over, and has the game session if that is ACTIVE.
func (s suspect) wanted(placements *placement.State) bool {
	r, ok := placements.Placement(s.placement)
	switch {
	case !ok:
		return s.active
	case r.Trying():
		return r.Attempt.Number == s.attempt
	default:
		return r.Session != nil && r.Session.ID == s.id && r.Session.Room == s.room
	}
}
