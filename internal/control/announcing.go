package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/internal/arn"
	"github.com/muster-gg/muster/internal/awsevent"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/ruleset"
)

// This file publishes what placements and matchmaking announce. An announcement
// stands in the state of its shard until it is durable in the feed, so none is
// lost. A crash between the two publishes it again, with the same id.

// A Publication is an event of the feed. A record of the feed holds one or more,
// each as a line of JSON.
type Publication struct {
	Target string          `json:"target,omitempty"` // the NotificationTarget of the queue or configuration
	Event  json.RawMessage `json:"event"`            // as package awsevent writes it
}

const (
	announceMost  = 256         // events of one outbox that are looked at together
	announceBytes = 1 << 20     // of a record of the feed, unless one event alone is larger
	announceRetry = time.Second // how long publishing rests after a failure
	trimEvery     = time.Second // how often outboxes are told what was published
)

// announces reports whether facts may have put announcements into an outbox.
func announces(facts []event.Fact) bool {
	for _, f := range facts {
		if f.Room < region.PlacementsRoom {
			continue
		}
		switch f.Body.(type) {
		case *placement.PlacementStarted, *placement.AttemptBegun, *placement.AttemptEnded, *placement.PlacementsForgotten:
		case *placement.AnnouncementsTrimmed, *matchmaking.AnnouncementsTrimmed:
		default:
			return true
		}
	}
	return false
}

// A publisher publishes what all shards announce. There is one, so that what the
// shards announce at a time shares one record, and the disk's time.
type publisher struct {
	plane   *Plane
	shards  int
	news    chan struct{} // holds one when there may be something to publish
	boxes   []*outbox
	trimmed time.Time // when the outboxes were last told
}

// An outbox is where a part of a shard keeps its announcements.
type outbox struct {
	shard              int
	name               string
	published, trimmed uint64 // numbers of the newest announcement that was published, and that the shard was told of
	read               func(m *region.Machine, after uint64) []announcement
	trim               func(through uint64) region.Command
	found              []announcement // that are yet to be published
}

// An announcement is one event.
type announcement struct {
	number uint64
	line   func() ([]byte, error) // as it stands in the feed
}

func newPublisher(p *Plane, shards int) *publisher {
	b := &publisher{plane: p, shards: shards, news: make(chan struct{}, 1)}
	b.begin()
	return b
}

// begin makes the outboxes anew: what of them is published is for their shards to say.
func (b *publisher) begin() {
	b.boxes = nil
	for i := range b.shards {
		b.boxes = append(b.boxes, b.plane.placementBox(i))
		if i == region.MatchmakingShard(b.shards) {
			b.boxes = append(b.boxes, b.plane.matchmakingBox(i))
		}
	}
}

func (p *Plane) placementBox(shard int) *outbox {
	const name = "placements"
	return &outbox{
		shard: shard, name: name,
		read: func(m *region.Machine, after uint64) (found []announcement) {
			for _, a := range m.Placements().Announcements(after, announceMost) {
				found = append(found, announcement{a.Seq, func() ([]byte, error) {
					head, target := p.queueHead(&a.Placement.Request)
					head.ID = p.secrets.eventID(shard, name, a.Seq, a.Placement.Ended)
					return publication(target)(p.origin().Placement(head, a.Placement))
				}})
			}
			return found
		},
		trim: func(n uint64) region.Command { return region.PlacementCommand{Command: placement.Trim{Through: n}} },
	}
}

func (p *Plane) matchmakingBox(shard int) *outbox {
	const name = "matchmaking"
	return &outbox{
		shard: shard, name: name,
		read: func(m *region.Machine, after uint64) (found []announcement) {
			for _, a := range m.Matchmaking().Announcements(after, announceMost) {
				found = append(found, announcement{a.Seq, func() ([]byte, error) {
					head, target := p.configurationHead(a.Configuration)
					head.ID = p.secrets.eventID(shard, name, a.Seq, a.At)
					return publication(target)(p.origin().Matchmaking(head, a, p.rulesOf(a.Configuration)))
				}})
			}
			return found
		},
		trim: func(n uint64) region.Command { return region.MatchmakingCommand{Command: matchmaking.Trim{Through: n}} },
	}
}

func (p *Plane) origin() awsevent.Origin {
	return awsevent.Origin{Region: p.cfg.Region, Account: p.cfg.Account, GameSessionARN: func(fleet, location, id string) string {
		return arn.GameSession(p.cfg.Region, fleet, location, id)
	}}
}

// publication writes a Publication around an event, which is JSON already.
func publication(target string) func(event []byte, err error) ([]byte, error) {
	return func(event []byte, err error) ([]byte, error) {
		if err != nil {
			return nil, err
		}
		line := make([]byte, 0, len(event)+len(target)+32)
		if line = append(line, '{'); target != "" {
			text, err := json.Marshal(target)
			if err != nil {
				return nil, err
			}
			line = append(append(append(line, `"target":`...), text...), ',')
		}
		return append(append(append(line, `"event":`...), event...), "}\n"...), nil
	}
}

// run publishes until ctx is done. What fails is tried again.
func (b *publisher) run(ctx context.Context) error {
	for ctx.Err() == nil {
		err := b.publish(ctx)
		if ctx.Err() != nil {
			break
		}
		wait := b.trim()
		if err != nil {
			b.plane.cfg.Log.Warn("events not published; trying again", "err", err)
			b.plane.pause(ctx, announceRetry)
			continue
		}
		b.sleep(ctx, wait)
	}
	return nil
}

// sleep waits for news, or until the outboxes are to be told; 0: they know.
func (b *publisher) sleep(ctx context.Context, wait time.Duration) {
	var due <-chan time.Time
	if wait > 0 {
		timer := b.plane.cfg.Clock.NewTimer(wait)
		defer timer.Stop()
		due = timer.Chan()
	}
	select {
	case <-b.news:
	case <-due:
	case <-ctx.Done():
	}
}

// pause waits, and reports false if ctx ends first.
func (p *Plane) pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-p.cfg.Clock.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// publish looks for announcements and publishes them, until there are none.
func (b *publisher) publish(ctx context.Context) error {
	for {
		looked := b.look(ctx) // of the shards that answer
		r := b.record(announceBytes)
		if r.events == 0 {
			return looked
		}
		err := b.append(ctx, r)
		if errors.Is(err, journal.ErrTooLarge) { // perhaps not each of them
			r = b.record(0)
			err = b.append(ctx, r)
		}
		if errors.Is(err, journal.ErrTooLarge) { // the others must not wait behind it for ever
			b.plane.cfg.Log.Error("an event is too large to be published; it is dropped", "event", r.id(), "bytes", len(r.lines), "err", err)
		} else if err != nil {
			return err
		}
		r.done()
		if looked != nil {
			return looked
		}
	}
}

// look fills the outboxes. A shard that fails holds up none of the others.
func (b *publisher) look(ctx context.Context) error {
	var group errgroup.Group
	for _, box := range b.boxes {
		if len(box.found) > 0 {
			continue
		}
		group.Go(func() error {
			var found []announcement
			err := b.plane.shards[box.shard].Read(ctx, func(m *region.Machine) { found = box.read(m, box.published) })
			if err == nil { // else the read may still be going on
				box.found = found
			}
			return err
		})
	}
	return group.Wait()
}

// A feedRecord is a record of the feed: its lines, and how many announcements of
// which outboxes they are.
type feedRecord struct {
	lines  []byte
	events int
	taken  []taken
}

type taken struct {
	box *outbox
	n   int
}

// record is the next record, of at most so many bytes, and of one event at least.
func (b *publisher) record(most int) (r feedRecord) {
	for _, box := range b.boxes {
		n, full := r.take(box, most, b.plane.cfg.Log)
		if n > 0 {
			r.taken = append(r.taken, taken{box, n})
		}
		if full {
			break
		}
	}
	return r
}

// take adds announcements of an outbox. One that cannot be written is left out.
func (r *feedRecord) take(box *outbox, most int, log *slog.Logger) (n int, full bool) {
	for i := range box.found {
		a := &box.found[i]
		line, err := a.line()
		if err != nil {
			log.Error("an event cannot be written; it is dropped", "shard", box.shard, "outbox", box.name, "number", a.number, "err", err)
		}
		if r.events > 0 && len(r.lines)+len(line) > most {
			return i, true
		}
		r.lines = append(r.lines, line...)
		r.events++
	}
	return len(box.found), false
}

// id names the announcements of a record, so that the feed knows it when it comes again.
func (r *feedRecord) id() string {
	var names []string
	for _, t := range r.taken {
		names = append(names, fmt.Sprintf("%d-%s-%d-%d", t.box.shard, t.box.name, t.box.found[0].number, t.box.found[t.n-1].number))
	}
	return strings.Join(names, ",")
}

// done takes the announcements out of their outboxes.
func (r *feedRecord) done() {
	for _, t := range r.taken {
		t.box.published = t.box.found[t.n-1].number
		t.box.found = t.box.found[t.n:]
	}
}

// append makes a record durable in the feed.
func (b *publisher) append(ctx context.Context, r feedRecord) error {
	if b.plane.cfg.Feed == nil {
		return nil
	}
	_, err := b.plane.cfg.Feed.Append(ctx, r.id(), r.lines)
	return err
}

// trim tells the outboxes what was published, now and then: until they know, a crash
// publishes it again. It returns how long it is until they have to be told; 0: they know.
func (b *publisher) trim() (wait time.Duration) {
	now := b.plane.cfg.Clock.Now()
	for _, box := range b.boxes {
		if box.trimmed == box.published {
			continue
		}
		if wait = b.trimmed.Add(trimEvery).Sub(now); wait > 0 {
			return wait
		}
		b.plane.shards[box.shard].Post(box.trim(box.published))
		box.trimmed = box.published
	}
	b.trimmed = now
	return 0
}

// queueHead is what the queue of a placement says about its events, and where they
// go. For a queue that was deleted it is what it said when the placement began.
func (p *Plane) queueHead(r *placement.Request) (h awsevent.Head, target string) {
	h.Resource = p.queueArn(r.Queue)
	if q, ok := p.catalog().Queue(r.Queue); ok && q.ID == r.QueueID {
		h.Custom, target = q.CustomEventData, q.NotificationTarget
	} else {
		h.Custom, target = r.EventData, r.Topic
	}
	return h, target
}

// configurationHead is the same for a matchmaking configuration.
func (p *Plane) configurationHead(c matchmaking.Configuration) (h awsevent.Head, target string) {
	h.Resource = p.configurationArn(c.Name)
	if m, ok := p.catalog().MatchmakingConfiguration(c.Name); ok && m.ID == c.ID {
		h.Custom, target = m.CustomEventData, m.NotificationTarget
	}
	return h, target
}

// eventID is the id of an announcement: the same whenever it is published, and
// that of no other, also not of a region whose data was thrown away.
func (s *secrets) eventID(shard int, part string, seq uint64, at event.Time) string {
	id := uuid.UUID(mac(s.callKey, "event", strconv.Itoa(shard), part, strconv.FormatUint(seq, 10), strconv.FormatInt(int64(at), 10))[:16])
	id[6] = id[6]&0x0f | 0x80 // version 8
	id[8] = id[8]&0x3f | 0x80
	return id.String()
}

// rulesOf names the rules of a configuration that are evaluated; none when it is gone.
func (p *Plane) rulesOf(of matchmaking.Configuration) []string {
	c, ok := p.catalog().MatchmakingConfiguration(of.Name)
	if !ok || c.ID != of.ID {
		return nil
	}
	set, err := p.matching.sets.of(p.catalog(), c)
	if err != nil {
		return nil
	}
	var names []string
	for _, r := range set.Rules {
		if r.Type != ruleset.AbsoluteSort && r.Type != ruleset.DistanceSort {
			names = append(names, r.Name)
		}
	}
	return names
}
