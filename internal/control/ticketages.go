package control

import (
	"context"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
)

// TicketAges counts the SEARCHING tickets of a matchmaking configuration by their age.
type TicketAges struct {
	Tickets int         `json:"tickets"` // all that are counted
	Ages    []TicketAge `json:"ages"`    // ascending
	// More reports that there may be further tickets: the oldest 100,000 of the region are counted.
	More bool `json:"more,omitempty"`
}

// A TicketAge counts the tickets of an age.
type TicketAge struct {
	FromSeconds int `json:"fromSeconds"`
	ToSeconds   int `json:"toSeconds,omitempty"` // exclusive; absent: there is no end
	Tickets     int `json:"tickets"`
}

// ageBounds begin the ages that are counted, in seconds.
var ageBounds = []int{0, 5, 10, 20, 30, 60, 120, 300}

// maxCounted is the maximum number of tickets that are read to count ages.
const maxCounted = 100_000

// ticketAges counts the SEARCHING tickets of a configuration, in a frozen copy, because there can be many.
func (p *Plane) ticketAges(ctx context.Context, configuration string, now event.Time) (*TicketAges, error) {
	view, err := router.Look(ctx, p.TicketShard(), (*region.Machine).Freeze)
	if err != nil {
		return nil, err
	}
	return countAges(view.Matchmaking(), configuration, now, maxCounted), nil
}

func countAges(s *matchmaking.State, configuration string, now event.Time, limit int) *TicketAges {
	a := &TicketAges{}
	for i, from := range ageBounds {
		age := TicketAge{FromSeconds: from}
		if i+1 < len(ageBounds) {
			age.ToSeconds = ageBounds[i+1]
		}
		a.Ages = append(a.Ages, age)
	}
	s.Searching(func(t *matchmaking.Ticket) bool {
		if a.More = limit == 0; a.More {
			return false
		}
		limit--
		if t.Configuration.Name == configuration {
			a.Tickets++
			a.Ages[ageIndex(ageMS(t.Started, 0, now))].Tickets++
		}
		return true
	})
	return a
}

// ageIndex returns the index of the last bound that is not after an age.
func ageIndex(ms int64) int {
	at := 0
	for at+1 < len(ageBounds) && 1000*int64(ageBounds[at+1]) <= ms {
		at++
	}
	return at
}
