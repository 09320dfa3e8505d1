package control

import (
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
)

// observe passes what has become durable in a shard to its subscribers, on the shard's commit goroutine, before the
// callers are answered: it must be quick.
func (p *Plane) observe(c *router.Commit) {
	p.processes.Observe(c)
	p.notifyWatches(c)
	p.drivers.Observe(c)
	if c.HasView && c.Shard == region.CatalogShard {
		p.ruleSets.tidy(c.View.Catalog())
	}
	if p.cfg.Observe != nil {
		p.cfg.Observe(c.Shard, c.Facts)
	}
}

// sessionKey identifies a game session in watches.
type sessionKey struct {
	room    fleet.RoomID
	ordinal uint64
}

// notifyWatches notifies the watches of game sessions.
func (p *Plane) notifyWatches(c *router.Commit) {
	if c.Recovered {
		p.watches.NotifyAll()
	}
	if !p.watches.Any() {
		return
	}
	for i, f := range c.Facts {
		if ordinal := fleet.ChangedGameSession(f.Body); ordinal != 0 {
			p.watches.Notify(sessionKey{c.Rooms[i], ordinal})
		}
	}
}
