package drivers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/matcher"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/matchmaking/matchdriver"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/shard"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// matching runs the machines that drive matchmaking: a Driver, as placing runs its machine, and a goroutine for each
// Maker.
type matching struct {
	runner[*matchdriver.Driver, matchdriver.Request]
	drivers *Drivers
	watches router.Watches[string] // of tickets, by id

	makersMu sync.Mutex
	makers   map[*matchdriver.Maker]chan struct{} // those that run; each channel holds one when there are News
}

func newMatching(drivers *Drivers) *matching {
	cfg := &drivers.cfg
	d := &matching{drivers: drivers, makers: map[*matchdriver.Maker]chan struct{}{}}
	machine := matchdriver.New(matchdriver.Config{
		Shards: len(cfg.Router.Shards()), Region: cfg.Region, Account: cfg.Account, NewID: uuid.NewString,
		Random: func(b []byte) { rand.Read(b) }, Changed: d.watches.Notify, RuleSet: cfg.RuleSet,
		Failed: func(request string, err error) {
			cfg.Log.Warn("matchmaking request failed", "request", request, "err", err)
		},
	})
	d.runner = newRunner[*matchdriver.Driver, matchdriver.Request](cfg, machine, matchdriver.ErrUnanswered)
	d.send = d.carryOut
	return d
}

func (d *matching) begin() {
	d.step(func(m *matchdriver.Driver) {
		m.SetCatalog(d.cfg.Router.Catalog())
		m.Begin()
	})
}

func (d *matching) carryOut(r matchdriver.Request) {
	switch {
	case r.Maker != nil:
		d.wakeMaker(r.Maker)
	case r.Notice != nil:
		d.drivers.notify(r.Notice)
	case r.Work != nil:
		d.beside(r.Answer, func(context.Context) (any, error) {
			r.Work()
			return nil, nil
		})
	case r.Past != "":
		d.beside(r.Answer, func(ctx context.Context) (any, error) { return d.cfg.History.Placement(ctx, r.Past) })
	case r.Place != nil:
		d.beside(r.Answer, func(ctx context.Context) (any, error) {
			return d.cfg.StartPlacement(ctx, r.Place.Queue, r.Place.Request)
		})
	default:
		d.ask(r.Shard, r.Command, r.Read, r.Answer)
	}
}

// wakeMaker notifies the goroutine of a Maker that there are News, and starts it first if it does not run.
func (d *matching) wakeMaker(k *matchdriver.Maker) {
	d.makersMu.Lock()
	defer d.makersMu.Unlock()
	news, runs := d.makers[k]
	if !runs {
		news = make(chan struct{}, 1)
		d.makers[k] = news
		d.cfg.Router.Go(func() { d.make(k, news) })
	}
	router.Wake(news)
}

// observe notifies the watches of tickets and, where it drives, the machine. It runs on the shard's commit goroutine.
func (d *matching) observe(c *router.Commit, drives bool) {
	if c.HasView && c.Shard == region.CatalogShard {
		d.step(func(m *matchdriver.Driver) { m.SetCatalog(c.View.Catalog()) })
	}
	tickets := c.Shard == region.MatchmakingShard(len(d.cfg.Router.Shards()))
	of := func(f event.Fact) bool { return f.Room == region.MatchmakingRoom }
	if tickets && (c.Recovered || !drives && slices.ContainsFunc(c.Facts, of)) { // else the driver notifies
		d.watches.NotifyAll()
	}
	if drives && (c.Recovered || c.Refresh) {
		d.step(func(m *matchdriver.Driver) { m.Recover(c.Shard, c.View) })
	}
	if drives && !c.Recovered && slices.ContainsFunc(c.Facts, matchdriver.Concerns) { // else the view has them
		d.step(func(m *matchdriver.Driver) { m.Observe(c.Shard, c.Facts) })
	}
}

// make makes the matches of a configuration, until its Maker has ended.
func (d *matching) make(k *matchdriver.Maker, woken <-chan struct{}) {
	clock := d.cfg.Clock
	timer := clock.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		var news matchdriver.News
		var runs bool
		d.step(func(m *matchdriver.Driver) { news, runs = m.News(k) })
		if !runs {
			break
		}
		if d.search(k, news) {
			continue
		}
		if at, due := k.Due(); due {
			timer.Reset(max(0, at.Sub(clock.Now())))
		}
		select {
		case <-woken:
		case <-timer.Chan():
		}
	}
	k.End()
	d.makersMu.Lock()
	defer d.makersMu.Unlock()
	delete(d.makers, k)
}

// search lets a Maker form a match, and proposes it; more: call again immediately. A panic affects this configuration
// only.
func (d *matching) search(k *matchdriver.Maker, news matchdriver.News) (more bool) {
	defer func() {
		if r := recover(); r != nil {
			k.Break(d.cfg.Clock.Now())
			d.cfg.Log.Error("matching failed; the configuration rests",
				"configuration", k.Configuration(), "err", fmt.Errorf("panic: %v\n%s", r, debug.Stack()))
		}
	}()
	match, more := k.Step(news, d.cfg.Clock.Now())
	if match != nil {
		d.cfg.Router.TicketShard().Submit(region.MatchmakingCommand{Command: *match}, func(_ any, err error) {
			d.step(func(m *matchdriver.Driver) { m.Proposed(k, match.Tickets, err) })
		})
	}
	return more
}

// Explain returns why a ticket that is SEARCHING waits. here is false if another node leads, or none: then it has not
// asked. ServiceUnavailableException: the lead moves.
func (d *Drivers) Explain(ctx context.Context, t *matchmaking.Ticket) (x matcher.Explanation, here bool, err error) {
	ended := d.leader.ended()
	if ended == nil {
		return x, false, nil
	}
	x, err = d.matching.explain(ctx, t, ended)
	return x, true, err
}

// LeadMoves returns the error of a question while no node leads: it may be asked again.
func (d *Drivers) LeadMoves() error {
	if d.cfg.Cluster == nil {
		return shard.Stopped()
	}
	return &fault.Error{
		Kind: fault.ServiceUnavailable, Message: "Matchmaking is moving to another node. Try again.",
		Err: shard.ErrNotDone,
	}
}

// WatchTicket returns a channel that is notified when a ticket has changed, until end is called.
func (d *Drivers) WatchTicket(id string) (news <-chan struct{}, end func()) {
	return d.matching.watches.Add(id)
}

// explain asks the machine why a ticket waits. ended is closed when this node does not lead any more.
func (d *matching) explain(
	ctx context.Context, t *matchmaking.Ticket, ended <-chan struct{},
) (matcher.Explanation, error) {
	type explained struct {
		explanation matcher.Explanation
		err         error
	}
	answered := make(chan explained, 1)
	d.step(func(m *matchdriver.Driver) {
		m.Explain(t.ID, t.Configuration.ID, func(e matcher.Explanation, err error) { answered <- explained{e, err} })
	})
	select {
	case a := <-answered:
		if a.err == nil || d.drivers.leader.ended() == ended && !errors.Is(a.err, matchdriver.ErrUnanswered) {
			return a.explanation, a.err
		}
	case <-ended:
	case <-ctx.Done():
		return matcher.Explanation{}, ctx.Err()
	}
	return matcher.Explanation{}, d.drivers.LeadMoves()
}
