package control

import (
	"sync"

	"github.com/muster-gg/muster/internal/control/latencies"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire/arn"
)

// LatencyList is the latencies that players have reported in the last hour.
type LatencyList struct {
	Locations []latencies.Reported `json:"locations"` // by name
}

// reportedLatencies counts the latencies in requests of placements and matchmaking. Each node counts those of all
// shards, so that all give the same figures. After a start it counts what is still in memory.
type reportedLatencies struct {
	log latencies.Log

	mu    sync.Mutex
	begun map[int]bool // shards
}

func (r *reportedLatencies) observe(c *router.Commit) {
	if c.Recovered && r.begin(c.Shard) {
		r.recover(c.View)
		return
	}
	for _, fact := range c.Facts {
		switch e := fact.Body.(type) {
		case *placement.PlacementStarted:
			r.placement(&e.Request, e.At)
		case *matchmaking.TicketStarted:
			if !e.Backfill { // its players have been counted
				r.ticket(e.Configuration.Name, e.Players, e.At)
			}
		}
	}
}

// begin reports whether it is called for a shard the first time: a shard that recovers later has been counted.
func (r *reportedLatencies) begin(shard int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := !r.begun[shard]
	if r.begun == nil {
		r.begun = map[int]bool{}
	}
	r.begun[shard] = true
	return first
}

// recover counts what a shard has in memory.
func (r *reportedLatencies) recover(m *region.Machine) {
	m.Placements().From("", func(p *placement.Placement) bool {
		r.placement(&p.Request, p.Started)
		return true
	})
	if m.Matchmaking() == nil {
		return
	}
	m.Matchmaking().From("", func(t *matchmaking.Ticket) bool {
		if !t.Backfill {
			r.ticket(t.Configuration.Name, t.Players, t.Started)
		}
		return true
	})
}

// placement counts a placement, unless it is of a match: its tickets are counted.
func (r *reportedLatencies) placement(p *placement.Request, at event.Time) {
	if p.Match != "" {
		return
	}
	for i := range p.Latencies {
		r.log.Add(latencies.Source{Name: p.Queue}, p.Latencies[i].Location, at.Time(), p.Latencies[i].Milliseconds)
	}
}

func (r *reportedLatencies) ticket(configuration string, players []matchmaking.Player, at event.Time) {
	of := latencies.Source{Configuration: true, Name: configuration}
	for i := range players {
		for _, l := range players[i].Latencies {
			r.log.Add(of, l.Location, at.Time(), float64(l.Milliseconds))
		}
	}
}

// Latencies returns the latencies that players have reported in the last hour, by location: with placements in a queue
// and tickets of the matchmaking configurations that use it; "" is all. NotFoundException: there is no such queue.
func (p *Plane) Latencies(queue string) (*LatencyList, error) {
	if queue == "" {
		return &LatencyList{p.latencies.log.Rows(p.Now().Time(), nil)}, nil
	}
	state := p.Catalog()
	if _, ok := state.Queue(queue); !ok {
		return nil, notFound("Queue %.100q not found", queue)
	}
	wanted := map[latencies.Source]bool{{Name: queue}: true}
	configurations, _ := state.MatchmakingConfigurations("", "", 0)
	for _, c := range configurations {
		for _, of := range c.Queues {
			if name, ok := arn.ParseQueue(of); ok && name == queue {
				wanted[latencies.Source{Configuration: true, Name: c.Name}] = true
			}
		}
	}
	rows := p.latencies.log.Rows(p.Now().Time(), func(s latencies.Source) bool { return wanted[s] })
	return &LatencyList{rows}, nil
}
