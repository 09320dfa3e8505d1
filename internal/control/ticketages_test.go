package control

import (
	"fmt"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/matchmaking"
)

// agesText formats the counts of ages.
func agesText(a *TicketAges) string {
	if a == nil {
		return "not counted"
	}
	ages := make([]int, len(a.Ages))
	for i, age := range a.Ages {
		ages[i] = age.Tickets
	}
	text := fmt.Sprint(a.Tickets, " ", ages)
	if a.More {
		text += " and more"
	}
	return text
}

// TestCountAges: each bound begins an age, tickets of other configurations are read and not counted, and the newest
// tickets are left out.
func TestCountAges(t *testing.T) {
	t.Parallel()
	s, now := matchmaking.New(), event.At(birth)
	for i, age := range []time.Duration{400 * time.Second, 300 * time.Second, 5 * time.Second, 4999 * time.Millisecond,
		4 * time.Second, 3 * time.Second, -time.Second} {
		c := matchmaking.Configuration{Name: "duel", ID: "c1"}
		if i == 4 {
			c = matchmaking.Configuration{Name: "other", ID: "c2"}
		}
		start := matchmaking.Start{ID: fmt.Sprint("t", i), Configuration: c, Timeout: 3600,
			Players: []matchmaking.Player{{ID: fmt.Sprint("p", i)}}}
		events, _, err := s.Handle(event.At(birth.Add(-age)), start)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			s.Apply(e)
		}
	}
	for limit, want := range map[int]string{100: "6 [3 1 0 0 0 0 0 2]", 7: "6 [3 1 0 0 0 0 0 2]",
		6: "5 [2 1 0 0 0 0 0 2] and more", 0: "0 [0 0 0 0 0 0 0 0] and more"} {
		if got := agesText(countAges(s, "duel", now, limit)); got != want {
			t.Errorf("limit %d: %s, want %s", limit, got, want)
		}
	}
	if last := countAges(s, "duel", now, 1).Ages[7]; last.FromSeconds != 300 || last.ToSeconds != 0 {
		t.Errorf("the last age is %+v", last)
	}
}
