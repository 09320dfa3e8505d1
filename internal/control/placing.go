package control

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/placer"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/shard"
)

// placing runs the machine that drives placements, on the node that leads: it passes the facts of the shards on, and
// carries out its requests. It is an observer of the shards.
type placing struct {
	plane   *Plane
	watches router.Watches[string] // of placements, by id
	news    chan struct{}          // holds one when review has to look when it is due

	mu      sync.Mutex
	machine *placer.Machine
	armed   event.Time // when review looks at the machine by itself
}

const never = event.Time(math.MaxInt64)

func newPlacing(p *Plane) *placing {
	d := &placing{plane: p, news: make(chan struct{}, 1), armed: never}
	d.machine = placer.New(placer.Config{
		Shards: p.cfg.Settings.Shards, Elsewhere: p.Elsewhere,
		Random: func(b []byte) { rand.Read(b) },
		Failed: func(err error) { p.cfg.Log.Error("recovery of placements failed, is tried again", "err", err) },
	})
	return d
}

// observe notifies those who wait for placements and, where it drives, the machine.
func (d *placing) observe(c *router.Commit, drives bool) {
	if c.HasView && c.Shard == region.CatalogShard {
		d.step(func(m *placer.Machine) { m.SetCatalog(c.View.Catalog()) })
	}
	if c.Recovered {
		d.watches.NotifyAll()
	}
	for _, f := range c.Facts {
		switch e := f.Body.(type) {
		case *placement.PlacementFulfilled:
			d.watches.Notify(e.ID)
		case *placement.PlacementEnded:
			d.watches.Notify(e.ID)
		}
	}
	if drives && (c.Recovered || c.Refresh) {
		d.step(func(m *placer.Machine) { m.Recover(c.Shard, c.View) })
	}
	if drives && slices.ContainsFunc(c.Facts, placer.Concerns) {
		d.step(func(m *placer.Machine) { m.Observe(c.Shard, c.Facts) })
	}
}

// step calls f with the machine, and then carries out its requests: a shard that has stopped answers at once, and the
// answer is a step, too.
func (d *placing) step(f func(m *placer.Machine)) {
	var few [8]placer.Request
	requests, wakes := d.locked(f, few[:0])
	if wakes {
		router.Wake(d.news)
	}
	for i := range requests {
		d.send(&requests[i])
	}
}

// locked is the part of step that others wait for. wakes reports that review would look too late.
func (d *placing) locked(f func(m *placer.Machine), list []placer.Request) (requests []placer.Request, wakes bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.machine.SetNow(d.plane.Now())
	f(d.machine)
	at, due := d.machine.Due()
	if due && at < d.armed {
		d.armed, wakes = at, true
	}
	return d.machine.Requests(list), wakes
}

// send carries out a request.
func (d *placing) send(r *placer.Request) {
	switch s := d.plane.Shards()[r.Shard]; {
	case r.Past != nil:
		d.plane.Go(func() { d.lookUp(r.Past, r.Answer) })
	case r.View != nil:
		var view *region.Machine
		s.SubmitRead(func(m *region.Machine) { view = m.Freeze() }, func(err error) {
			d.plane.Go(func() {
				if err == nil {
					r.View(view)
				}
				d.answer(r.Answer, nil, err)
			})
		})
	case r.Read != nil:
		s.SubmitRead(r.Read, func(err error) {
			if err == nil {
				d.answer(r.Answer, nil, nil)
				return
			}
			d.plane.Go(func() { d.answer(r.Answer, nil, err) }) // many may fail at once, one in the answer of another
		})
	case r.Answer != nil:
		s.SubmitUnbounded(r.Command, func(answer any, err error) { d.answer(r.Answer, answer, err) })
	default:
		s.Post(r.Command)
	}
}

// lookUpLimit is how long the history may take.
const lookUpLimit = 15 * time.Second

// lookUp finds a game session in the history.
func (d *placing) lookUp(past *placer.PastSession, done func(any, error)) {
	ctx, cancel := context.WithTimeout(context.Background(), lookUpLimit)
	defer cancel()
	g, err := d.plane.pastGameSession(ctx, past.Room, past.ID)
	d.answer(done, g, err)
}

func (d *placing) answer(done func(any, error), answer any, err error) {
	if errors.Is(err, shard.ErrNotDone) || errors.Is(err, shard.ErrOutcomeUnknown) {
		err = fmt.Errorf("%w: %w", placer.ErrUnanswered, err)
	}
	d.step(func(*placer.Machine) { done(answer, err) })
}

// review has the machine do what is due, until ctx is done.
func (d *placing) review(ctx context.Context) error {
	timer := d.plane.cfg.Clock.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		d.step((*placer.Machine).Review)
		d.arm(timer)
		select {
		case <-ctx.Done():
			return nil
		case <-d.news:
		case <-timer.Chan():
		}
	}
}

// arm sets the timer to when the machine has something to do.
func (d *placing) arm(timer clockwork.Timer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.armed = never
	if at, due := d.machine.Due(); due {
		d.armed = at
		timer.Reset(max(0, at.Time().Sub(d.plane.cfg.Clock.Now())))
	}
}

// admit is the queue for a new placement, and how many are PENDING.
func (d *placing) admit(view *catalog.State, q *catalog.Queue) (queue *placer.Queue, pending int) {
	d.step(func(m *placer.Machine) { queue, pending = m.Queue(view, q), m.Pending() })
	return queue, pending
}

// first is the room for the first attempt of a new placement.
func (d *placing) first(c *placement.Choice) (room *fleet.RoomID) {
	d.step(func(m *placer.Machine) { room = m.First(c) })
	return room
}
