package bench

import (
	"sync/atomic"
	"testing"
)

// Each guest comes in once, whatever door he takes.
func TestDoors(t *testing.T) {
	const games = 3
	guests := make([]guest, games*slotsPerSession)
	for i := range guests {
		guests[i].process = &process{}
	}
	var next atomic.Int64
	doors := []*guestList{{guests: guests, next: &next}, {guests: guests, next: &next}}
	seen := map[*process]bool{}
	for len(seen) < len(guests) {
		progress := false
		for _, d := range doors {
			if g, ok := d.guest(); ok {
				if seen[g.process] {
					t.Fatal("a guest came in twice")
				}
				seen[g.process], progress = true, true
			}
		}
		if !progress {
			t.Fatalf("%d of %d guests came in", len(seen), len(guests))
		}
	}
	for _, d := range doors {
		if _, ok := d.guest(); ok {
			t.Error("a guest came in when all were in")
		}
	}
}
