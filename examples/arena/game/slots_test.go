package game

import "testing"

// A slotsTest is slots that test.
type slotsTest struct {
	*testing.T
	slots
}

func (d *slotsTest) in(ticket string, want error) {
	d.Helper()
	if err := d.enter(ticket); err != want {
		d.Errorf("%q: got %v, want %v", ticket, err, want)
	}
}

func (d *slotsTest) out(over bool) {
	d.Helper()
	d.leave()
	if got := d.settle(); got != over {
		d.Errorf("somebody has left: over is %t", got)
	}
}

func TestSlots(t *testing.T) {
	d := &slotsTest{t, slots{most: 2, strict: true}}
	d.in("a", errNoGame)
	d.open = true
	d.in("a", nil)
	d.out(false) // refused by the service: nobody has played
	d.in("a", nil)
	d.visited = true
	d.in("b", nil)
	d.in("c", errNoPlace)
	d.leave() // a, of whom the service does not know yet
	d.in("c", nil)
	if d.settle() {
		t.Error("it is over with two players in it")
	}
	d.out(false)
	d.in("a", nil) // on the way in while the last player leaves
	d.out(false)
	d.out(true)
}

// TestSlotsTrustsTheService accepts a player with a player session also when all slots seem to be taken: the service
// has counted them.
func TestSlotsTrustsTheService(t *testing.T) {
	d := &slotsTest{t, slots{open: true, unticketed: true, most: 1}}
	d.in("", nil)
	d.in("", errNoPlace)
	d.in("a", nil)
	d.out(false)
	d.in("", errNoPlace)
	d.most = 0
	for range 3 {
		d.in("", nil)
	}
}
