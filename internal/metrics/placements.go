package metrics

import (
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/placement"
)

// A pending placement is what later events of it, which contain only its id, do not say.
type pending struct {
	queue      string
	started    event.Time
	location   string // of the attempt that runs; "": none does
	measured   bool   // the request has latency data
	candidates []placement.Considered
}

// resumed returns a placement from the state of its shard.
func resumed(p *placement.Placement) *pending {
	found := &pending{
		queue: p.Queue, started: p.Started, measured: len(p.Latencies) > 0, candidates: p.Trail.Candidates,
	}
	if p.AttemptRunning() {
		found.location = p.Attempt.Room.Location
	}
	return found
}

// placement counts an event of a placement.
func (f *fold) placement(body any, owned bool) {
	switch e := body.(type) {
	case *placement.PlacementStarted:
		f.placementStarted(e, owned)
	case *placement.AttemptBegun:
		if p := f.placements[e.ID]; p != nil {
			p.location = e.Room.Location
			if len(e.Candidates) > 0 {
				p.candidates = e.Candidates
			}
		}
	case *placement.AttemptEnded:
		if p := f.placements[e.ID]; p != nil {
			p.location = ""
		}
	case *placement.PlacementFulfilled:
		if p := f.placementOver(e.ID, e.At, placementsSucceeded, owned); p != nil {
			f.of(entity{byQueueLocation, p.queue, e.Session.Room.Location}).add(placedAt, 1)
			p.countChoice(f.of(entity{set: byQueue, a: p.queue}), e.Session.Room)
		}
	case *placement.PlacementEnded:
		outcome := placementsFailed
		switch e.Status {
		case placement.Cancelled:
			outcome = placementsCanceled
		case placement.TimedOut:
			outcome = placementsTimedOut
		}
		f.placementOver(e.ID, e.At, outcome, owned)
	}
}

func (f *fold) placementStarted(e *placement.PlacementStarted, owned bool) {
	if e.Deadline == e.At {
		return // the cancellation of one that was never started
	}
	p := &pending{queue: e.Queue, started: e.At, measured: len(e.Latencies) > 0, candidates: e.Candidates}
	if e.Room != nil {
		p.location = e.Room.Location
	}
	f.placements[e.ID] = p
	if owned {
		f.of(entity{set: byQueue, a: p.queue}).add(placementsStarted, 1)
	}
}

// placementOver counts the end of a placement. It returns nil if that is not to be counted.
func (f *fold) placementOver(id string, at event.Time, outcome int, owned bool) *pending {
	p := f.placements[id]
	delete(f.placements, id)
	if p == nil || !owned {
		return nil
	}
	c := f.of(entity{set: byQueue, a: p.queue})
	c.add(outcome, 1)
	c.took(queues, placementWait, p.started, at)
	return p
}

// countChoice compares the room of a fulfilled placement with its candidates: the usable ones are first, the best one
// at the front, and the dropped ones follow in the order of the queue.
func (p *pending) countChoice(c counts, room fleet.RoomID) {
	var usable []placement.Considered
	for i, candidate := range p.candidates {
		if candidate.Dropped != "" {
			usable = p.candidates[:i]
			break
		}
		usable = p.candidates[:i+1]
	}
	if len(usable) == 0 {
		return
	}
	if len(usable) < len(p.candidates) {
		c.add(firstChoiceNotViable, 1)
	} else if usable[0].Room != room {
		c.add(firstChoiceOutOfCapacity, 1)
	}
	if p.measured {
		p.countBest(c, usable, room)
	}
}

// countBest counts a placement with latency data at the lowest latency, or the lowest cost.
func (p *pending) countBest(c counts, usable []placement.Considered, room fleet.RoomID) {
	var chosen *placement.Considered
	latency, cost := usable[0].Latency, usable[0].Cost
	for i := range usable {
		u := &usable[i]
		if u.Room == room {
			chosen = u
		}
		latency, cost = min(latency, u.Latency), min(cost, u.Cost)
	}
	if chosen == nil {
		return
	}
	if chosen.Latency == latency {
		c.add(lowestLatencyPlacement, 1)
	}
	if chosen.Cost == cost {
		c.add(lowestPricePlacement, 1)
	}
}
