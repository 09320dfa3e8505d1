package placement

import (
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// Start begins a placement, with its first attempt if Room is set. The same id with the same Call, or for the same
// Match, returns the existing placement; otherwise a used id is an InvalidRequestException.
type Start struct {
	Request Request       `cbor:"1,keyasint"`
	Timeout int32         `cbor:"2,keyasint,omitzero"` // seconds
	Room    *fleet.RoomID `cbor:"3,keyasint,omitzero"`
	Trail   Trail         `cbor:"4,keyasint"` // Candidates and Omitted
}

func (c Start) decide(s *State, now event.Time) ([]any, error) {
	if p, ok := s.placements.Get(c.Request.ID); ok {
		if p.IsRequest(&c.Request) {
			return nil, nil
		}
		return nil, fault.New(fault.InvalidRequest,
			"Placement %s exists already: a PlacementId is used once, so choose "+
				"another one", p.ID)
	}
	if bytes := c.Request.weight(); bytes > maxWeight {
		return nil, fault.New(fault.InvalidRequest,
			"The request takes about %d bytes with all latencies and players; a "+
				"placement may have %d", bytes, maxWeight)
	}
	candidates, omitted := bounded(c.Trail.Candidates, c.Trail.Omitted)
	return []any{&PlacementStarted{
		Request: c.Request, At: now, Deadline: now.Add(time.Duration(c.Timeout) * time.Second),
		Room: c.Room, Candidates: candidates, Omitted: omitted,
	}}, nil
}

func (c Start) answer(s *State) any { return s.shown(c.Request.ID) }

// maxWeight is the approximate maximum size of a request in bytes: it must fit in a journal record.
const maxWeight = 3 << 20

func (r *Request) weight() (bytes int) {
	const each = 16
	bytes = len(r.Name) + len(r.Data) + len(r.MatchmakerData)
	for i := range r.Latencies {
		bytes += each + len(r.Latencies[i].PlayerID) + len(r.Latencies[i].Location)
	}
	for i := range r.Players {
		bytes += each + len(r.Players[i].PlayerID) + len(r.Players[i].Data)
	}
	return bytes
}

// Repeatable reports whether a repetition of the request is recognised.
func (r *Request) Repeatable() bool { return r.Call != "" || r.Match != "" }

// IsRequest reports whether r repeats the placement's request.
func (p *Placement) IsRequest(r *Request) bool {
	return r.Call != "" && p.Call == r.Call || r.Match != "" && p.Match == r.Match
}

func (e *PlacementStarted) apply(s *State) {
	if _, ok := s.placements.Get(e.ID); ok {
		return
	}
	p := &Placement{
		Request: e.Request, Status: Pending, Started: e.At, Deadline: e.Deadline,
		Trail: Trail{Candidates: e.Candidates, Omitted: e.Omitted, Steps: make([]Step, 0, usualSteps)},
	}
	switch {
	case e.Room != nil:
		p.begin(1, *e.Room, e.At)
	case e.Deadline > e.At: // else it is CANCELLED immediately: see Cancel
		p.Trail.add(Step{At: e.At, Kind: StepWaiting, Text: waitText(e.Candidates)})
	}
	s.put(p)
}
