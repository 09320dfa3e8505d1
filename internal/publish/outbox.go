package publish

import (
	"encoding/json"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/wire/arn"
)

// A Publication is an event of the feed. A record of the feed holds one or more, each as a line of JSON.
type Publication struct {
	Target string          `json:"target,omitempty"` // the NotificationTarget of the queue or configuration
	Event  json.RawMessage `json:"event"`            // an Event
}

// An outbox is one of the places where a shard keeps its announcements.
type outbox struct {
	shard     int
	name      string // part of the ids of its events
	published uint64 // number of the newest announcement that is in the feed
	trimmed   uint64 // the shard was asked to remove the announcements up to this one
	read      func(m *region.Machine, after uint64) []announcement
	trim      func(through uint64) region.Command
	found     []announcement // not published yet
}

// An announcement is one event.
type announcement struct {
	number uint64
	line   func() ([]byte, error) // a Publication and a line feed
}

// outboxes returns the outboxes of all shards. No announcement in them counts as published: only the shards know that.
func (c *Config) outboxes() (all []*outbox) {
	for i := range c.Shards {
		all = append(all, c.placements(i))
		if i == region.CatalogShard {
			all = append(all, c.capacity(i))
		}
		if i == region.MatchmakingShard(len(c.Shards)) {
			all = append(all, c.matchmaking(i))
		}
	}
	return all
}

func (c *Config) placements(shard int) *outbox {
	const name = "placements"
	return &outbox{
		shard: shard, name: name,
		read: func(m *region.Machine, after uint64) (found []announcement) {
			for _, a := range m.Placements().Announcements(after, maxFound) {
				found = append(found, announcement{a.Seq, func() ([]byte, error) {
					id := c.EventID(shard, name, a.Seq, a.Placement.Ended)
					head, target := c.queueHead(id, &a.Placement.Request)
					event, err := c.Origin.placement(head, a.Placement)
					return line(target, event, err)
				}})
			}
			return found
		},
		trim: func(n uint64) region.Command { return region.PlacementCommand{Command: placement.Trim{Through: n}} },
	}
}

func (c *Config) matchmaking(shard int) *outbox {
	const name = "matchmaking"
	return &outbox{
		shard: shard, name: name,
		read: func(m *region.Machine, after uint64) (found []announcement) {
			for _, a := range m.Matchmaking().Announcements(after, maxFound) {
				found = append(found, announcement{a.Seq, func() ([]byte, error) {
					id := c.EventID(shard, name, a.Seq, a.At)
					head, target := c.configurationHead(id, a.Configuration)
					event, err := c.Origin.matchmaking(head, a, c.RuleNames)
					return line(target, event, err)
				}})
			}
			return found
		},
		trim: func(n uint64) region.Command { return region.MatchmakingCommand{Command: matchmaking.Trim{Through: n}} },
	}
}

func (c *Config) capacity(shard int) *outbox {
	const name = "capacity"
	return &outbox{
		shard: shard, name: name,
		read: func(m *region.Machine, after uint64) (found []announcement) {
			for _, a := range m.Catalog().Announcements(after, maxFound) {
				found = append(found, announcement{a.Seq, func() ([]byte, error) {
					event, err := c.Origin.capacity(c.EventID(shard, name, a.Seq, a.At), a)
					return line("", event, err)
				}})
			}
			return found
		},
		trim: func(n uint64) region.Command {
			return region.CatalogCommand{Command: catalog.TrimAnnouncements{Through: n}}
		},
	}
}

// queueHead returns what a queue adds to the events of its placements, and their NotificationTarget. For a queue that
// was deleted, both are those of the time when the placement began.
func (c *Config) queueHead(id string, r *placement.Request) (h head, target string) {
	h = head{id: id, resource: arn.Queue(c.Origin.Region, c.Origin.Account, r.Queue), custom: r.EventData}
	if q, ok := c.Catalog().Queue(r.Queue); ok && q.ID == r.QueueID {
		h.custom = q.CustomEventData
		return h, q.NotificationTarget
	}
	return h, r.Topic
}

// configurationHead returns the same for a matchmaking configuration.
func (c *Config) configurationHead(id string, of matchmaking.Configuration) (h head, target string) {
	h = head{id: id, resource: arn.MatchmakingConfiguration(c.Origin.Region, c.Origin.Account, of.Name)}
	if m, ok := c.Catalog().MatchmakingConfiguration(of.Name); ok && m.ID == of.ID {
		h.custom, target = m.CustomEventData, m.NotificationTarget
	}
	return h, target
}

// line writes a Publication. The event is compact JSON already, so encoding/json would only check it again.
func line(target string, event []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	line := make([]byte, 0, len(event)+len(target)+32)
	line = append(line, '{')
	if target != "" {
		text, err := json.Marshal(target)
		if err != nil {
			return nil, err
		}
		line = append(append(append(line, `"target":`...), text...), ',')
	}
	return append(append(append(line, `"event":`...), event...), "}\n"...), nil
}
