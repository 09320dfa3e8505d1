package publish

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jonboulle/clockwork"
	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/shard"
)

// The limits of publishing.
const (
	maxFound   = 256         // announcements that are read from one outbox at a time
	maxRecord  = 1 << 20     // bytes of a record of the feed, unless one event alone is larger
	retryPause = time.Second // after a failure
	trimPause  = time.Second // between two trims of the outboxes: each costs a write to the journal
)

// A Shard has the outboxes. It is a router.Shard.
type Shard interface {
	// Read calls read with the state of the shard. After an error, read may still be running.
	Read(ctx context.Context, read func(*region.Machine)) error

	// Post sends a command without waiting for its outcome.
	Post(region.Command)
}

// Config configures a Publisher. All fields but Feed are required.
type Config struct {
	Shards  []Shard
	Feed    journal.Feed // nil: the announcements are trimmed and published nowhere
	Origin  Origin
	Catalog func() *catalog.State // a frozen view

	// EventID returns the id of an announcement: always the same one, and not that of any other announcement, also of a
	// region whose data was deleted.
	EventID func(shard int, outbox string, number uint64, at event.Time) string

	// RuleNames lists the rules of a configuration that are evaluated; none if it was deleted.
	RuleNames func(matchmaking.Configuration) []string

	Clock clockwork.Clock
	Log   *slog.Logger
}

// A Publisher publishes the announcements of all shards. There is one for a region, so that the announcements of all
// shards share records of the feed, and the time of the disk.
type Publisher struct {
	cfg       Config
	news      chan struct{} // holds one when there may be something to publish
	outboxes  []*outbox
	trimmedAt time.Time
}

// New returns a publisher, which Run starts.
func New(cfg Config) *Publisher {
	p := &Publisher{cfg: cfg, news: make(chan struct{}, 1)}
	p.Begin()
	return p
}

// Begin forgets what was published, which another publisher may have trimmed since. It must not be called during Run.
func (p *Publisher) Begin() { p.outboxes = p.cfg.outboxes() }

// Observe notes that a commit may have filled an outbox. It does not block.
func (p *Publisher) Observe(c shard.Commit[*region.Machine]) {
	if !c.HasView && !announces(c.Facts) {
		return
	}
	select {
	case p.news <- struct{}{}:
	default: // Run is about to read the outboxes anyway
	}
}

// announces reports whether facts may have put announcements into an outbox.
func announces(facts []event.Fact) bool {
	for _, f := range facts {
		if _, ok := f.Body.(*catalog.ShortageSet); ok {
			return true
		}
		if f.Room < region.PlacementsRoom {
			continue
		}
		switch f.Body.(type) {
		case *placement.PlacementStarted, *placement.AttemptBegun, *placement.AttemptEnded,
			*placement.PlacementsForgotten:
		case *placement.AnnouncementsTrimmed, *matchmaking.AnnouncementsTrimmed:
		default:
			return true
		}
	}
	return false
}

// Run publishes until ctx is done, and retries after failures. It always returns nil.
func (p *Publisher) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		err := p.publish(ctx)
		if ctx.Err() != nil {
			break
		}
		untilTrim := p.trim()
		if err != nil {
			p.cfg.Log.Warn("events not published; trying again", "err", err)
			sleep(ctx, p.cfg.Clock, retryPause)
			continue
		}
		p.wait(ctx, untilTrim)
	}
	return nil
}

// wait returns when there is news, or after a time; 0 is no limit.
func (p *Publisher) wait(ctx context.Context, limit time.Duration) {
	var due <-chan time.Time
	if limit > 0 {
		timer := p.cfg.Clock.NewTimer(limit)
		defer timer.Stop()
		due = timer.Chan()
	}
	select {
	case <-p.news:
	case <-due:
	case <-ctx.Done():
	}
}

// sleep returns after a time, or when ctx is done.
func sleep(ctx context.Context, clock clockwork.Clock, d time.Duration) {
	timer := clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.Chan():
	case <-ctx.Done():
	}
}

// publish publishes announcements until all outboxes are empty.
func (p *Publisher) publish(ctx context.Context) error {
	for {
		readErr := p.read(ctx) // the announcements of the shards that answered are published anyway
		r := p.record(maxRecord)
		if r.events == 0 {
			return readErr
		}
		err := p.append(ctx, r)
		if errors.Is(err, journal.ErrTooLarge) { // alone, each event may fit
			r = p.record(0)
			err = p.append(ctx, r)
		}
		if errors.Is(err, journal.ErrTooLarge) { // the others must not wait behind it forever
			p.cfg.Log.Error("event dropped: it is too large for the feed", "event", r.id(),
				"bytes", len(r.lines), "err", err)
		} else if err != nil {
			return err
		}
		r.done()
		if readErr != nil {
			return readErr
		}
	}
}

// read fills the empty outboxes. A shard that fails does not hold up the others.
func (p *Publisher) read(ctx context.Context) error {
	var group errgroup.Group
	for _, o := range p.outboxes {
		if len(o.found) > 0 {
			continue
		}
		group.Go(func() error {
			var found []announcement
			err := p.cfg.Shards[o.shard].Read(ctx, func(m *region.Machine) { found = o.read(m, o.published) })
			if err == nil { // else the read may still be running
				o.found = found
			}
			return err
		})
	}
	return group.Wait()
}

// A feedRecord is a record of the feed: its lines, and how many announcements of which outboxes they are.
type feedRecord struct {
	lines  []byte
	events int
	taken  []taken
}

type taken struct {
	from *outbox
	n    int // at least 1
}

// record returns the next record: of at most so many bytes, but of one event at least.
func (p *Publisher) record(limit int) (r feedRecord) {
	for _, o := range p.outboxes {
		n, full := r.add(o, limit, p.cfg.Log)
		if n > 0 {
			r.taken = append(r.taken, taken{o, n})
		}
		if full {
			break
		}
	}
	return r
}

// add adds announcements of an outbox, and returns how many. One that cannot be encoded counts, without a line.
func (r *feedRecord) add(o *outbox, limit int, log *slog.Logger) (n int, full bool) {
	for i, a := range o.found {
		line, err := a.line()
		if err != nil {
			log.Error("event dropped: it cannot be encoded", "shard", o.shard, "outbox", o.name,
				"number", a.number, "err", err)
		}
		if r.events > 0 && len(r.lines)+len(line) > limit {
			return i, true
		}
		r.lines = append(r.lines, line...)
		r.events++
	}
	return len(o.found), false
}

// id names the announcements of a record, so that the feed recognises a repetition.
func (r *feedRecord) id() string {
	var names []string
	for _, t := range r.taken {
		first, last := t.from.found[0].number, t.from.found[t.n-1].number
		names = append(names, fmt.Sprintf("%d-%s-%d-%d", t.from.shard, t.from.name, first, last))
	}
	return strings.Join(names, ",")
}

// done removes the announcements of a record from what was found.
func (r *feedRecord) done() {
	for _, t := range r.taken {
		t.from.published = t.from.found[t.n-1].number
		t.from.found = t.from.found[t.n:]
	}
}

// append makes a record durable in the feed.
func (p *Publisher) append(ctx context.Context, r feedRecord) error {
	if p.cfg.Feed == nil {
		return nil
	}
	_, err := p.cfg.Feed.Append(ctx, r.id(), r.lines)
	return err
}

// trim reports to the shards what was published, at most once in trimPause; a crash before that publishes it again. It
// returns the time until the next trim; 0 if the shards know everything.
func (p *Publisher) trim() (wait time.Duration) {
	now := p.cfg.Clock.Now()
	for _, o := range p.outboxes {
		if o.trimmed == o.published {
			continue
		}
		if wait = p.trimmedAt.Add(trimPause).Sub(now); wait > 0 {
			return wait
		}
		p.cfg.Shards[o.shard].Post(o.trim(o.published))
		o.trimmed = o.published
	}
	p.trimmedAt = now
	return 0
}
