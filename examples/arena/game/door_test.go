package game

import "testing"

// A doorTest is a door that tests.
type doorTest struct {
	*testing.T
	door
}

func (d *doorTest) in(ticket string, want error) {
	d.Helper()
	if err := d.enter(ticket); err != want {
		d.Errorf("%q: got %v, want %v", ticket, err, want)
	}
}

func (d *doorTest) out(ticket string, over bool) {
	d.Helper()
	d.leave()
	if got := d.settle(ticket); got != over {
		d.Errorf("%q has left: over is %t", ticket, got)
	}
}

func TestDoor(t *testing.T) {
	d := &doorTest{t, door{places: 2, strict: true, tickets: map[string]bool{}}}
	d.in("a", errNoGame)
	d.open = true
	d.in("", errNoTicket)
	d.in("a", nil)
	d.in("a", errInUse)
	d.out("a", false) // refused by the service: nobody has played
	d.in("a", nil)
	d.visited = true
	d.in("b", nil)
	d.in("c", errNoPlace)
	d.leave() // a, of whom the service does not know yet
	d.in("a", errInUse)
	d.in("c", nil)
	if d.settle("a") {
		t.Error("it is over with two players in it")
	}
	d.out("b", false)
	d.in("a", nil) // on the way in while the last player leaves
	d.out("c", false)
	d.out("a", true)
}

// TestDoorTrustsTheService lets in who has a player session, also when the places
// seem to be taken: the service has counted them.
func TestDoorTrustsTheService(t *testing.T) {
	d := &doorTest{t, door{open: true, unticketed: true, places: 1, tickets: map[string]bool{}}}
	d.in("", nil)
	d.in("", errNoPlace)
	d.in("a", nil)
	d.out("", false)
	d.in("", errNoPlace)
	d.places = 0
	for range 3 {
		d.in("", nil)
	}
}
