package room

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/muster-gg/muster/examples/arena/protocol"
)

const rate = 30

// join lets a player in.
func join(r *Room, name string) uint32 {
	n := r.NextNumber()
	r.Join(n, name)
	return n
}

// place is where a player is after the next tick, in metres.
func place(t *testing.T, r *Room, number uint32) (x, y float64) {
	t.Helper()
	for _, p := range r.Tick().Places {
		if p.Number == number {
			return float64(p.X) / metre, float64(p.Y) / metre
		}
	}
	t.Fatalf("player %d has no place", number)
	return 0, 0
}

func TestNews(t *testing.T) {
	r := New(rate)
	if ada, bob := join(r, "ada"), join(r, "bob"); ada != 1 || bob != 2 {
		t.Fatalf("the numbers are %d and %d", ada, bob)
	}
	if err := r.Say(2, "hello"); err != nil {
		t.Fatal(err)
	}
	r.Leave(1)
	r.Leave(1) // no more there
	if err := r.Say(1, "still here?"); err != nil {
		t.Fatal(err)
	}
	if carl := join(r, "carl"); carl != 3 {
		t.Errorf("the third player is number %d", carl)
	}
	got := r.Tick()
	want := []protocol.Message{
		protocol.Joined{Number: 1, Name: "ada"}, protocol.Joined{Number: 2, Name: "bob"},
		protocol.Said{Number: 2, Text: "hello"},
		protocol.Left{Number: 1}, protocol.Joined{Number: 3, Name: "carl"},
	}
	if got.Tick != 1 || !reflect.DeepEqual(got.News, want) {
		t.Errorf("tick %d tells %v, want %v", got.Tick, got.News, want)
	}
	if len(got.Places) != 2 || got.Places[0].Number != 2 || got.Places[1].Number != 3 {
		t.Errorf("places: %v", got.Places)
	}
	present := r.Present()
	if !reflect.DeepEqual(present, []protocol.Joined{{Number: 2, Name: "bob"}, {Number: 3, Name: "carl"}}) ||
		r.Len() != 2 {
		t.Errorf("present: %v", present)
	}
	if again := r.Tick(); again.Tick != 2 || len(again.News) != 0 {
		t.Errorf("the next tick tells %+v", again)
	}
}

// TestJoinInAnyOrder lets players in who got their numbers in another order.
func TestJoinInAnyOrder(t *testing.T) {
	r := New(rate)
	ada, bob, carl := r.NextNumber(), r.NextNumber(), r.NextNumber()
	r.Join(carl, "carl")
	r.Join(ada, "ada")
	r.Join(bob, "bob")
	present := r.Present()
	if !reflect.DeepEqual(present, []protocol.Joined{
		{Number: 1, Name: "ada"}, {Number: 2, Name: "bob"}, {Number: 3, Name: "carl"},
	}) {
		t.Errorf("present: %v", present)
	}
}

func TestWalk(t *testing.T) {
	r := New(rate)
	n := join(r, "")
	x0, y0 := place(t, r, n)
	r.Steer(n, protocol.Input{Sequence: 1, X: protocol.MaxInput})
	for range rate - 1 {
		r.Tick()
	}
	x, y := place(t, r, n)
	if math.Abs(x-x0-Speed) > 0.02 || y != y0 {
		t.Errorf("after a second to the right: from %.2f,%.2f to %.2f,%.2f", x0, y0, x, y)
	}
	if still, _ := place(t, r, n); still != x {
		t.Errorf("an input of a second ago still holds: at %.2f, was at %.2f", still, x)
	}
	r.Steer(n, protocol.Input{Sequence: 1, X: -protocol.MaxInput}) // the same once more
	r.Steer(n, protocol.Input{Sequence: 0, X: -protocol.MaxInput}) // overtaken
	if still, _ := place(t, r, n); still != x {
		t.Errorf("an old input was followed: at %.2f, was at %.2f", still, x)
	}
}

func TestInputsWrapAround(t *testing.T) {
	r := New(rate)
	n := join(r, "")
	x0, _ := place(t, r, n)
	r.Steer(n, protocol.Input{Sequence: math.MaxUint32, X: 0})
	r.Steer(n, protocol.Input{Sequence: 0, X: protocol.MaxInput})
	if x, _ := place(t, r, n); x <= x0 {
		t.Errorf("the sequence after the largest one is not newer: at %.2f, was at %.2f", x, x0)
	}
}

// TestWalls steers at random: nobody is faster than allowed or leaves the arena.
func TestWalls(t *testing.T) {
	r := New(2) // quick to the wall
	numbers := []uint32{join(r, ""), join(r, ""), join(r, "")}
	was := r.Tick()
	before := append([]protocol.Place(nil), was.Places...)
	random := rand.New(rand.NewPCG(1, 2))
	for sequence := range uint32(2000) {
		for _, n := range numbers {
			if sequence%8 == n%8 { // for a while in one direction
				r.Steer(n, protocol.Input{Sequence: sequence, X: int8(random.IntN(256)), Y: int8(random.IntN(256))})
			}
		}
		for i, p := range r.Tick().Places {
			if far := math.Hypot(float64(p.X-before[i].X), float64(p.Y-before[i].Y)); far > Speed*metre/2+2 {
				t.Fatalf("player %d walked %.0f cm in half a second", p.Number, far)
			}
			if max(p.X, p.Y) > Half*metre || min(p.X, p.Y) < -Half*metre {
				t.Fatalf("player %d is outside: %d,%d", p.Number, p.X, p.Y)
			}
			before[i] = p
		}
	}
}

func TestTalkative(t *testing.T) {
	r := New(rate)
	n := join(r, "")
	said := func() (count int) {
		for r.Say(n, "and") == nil {
			count++
		}
		return count
	}
	if count := said(); count != burst {
		t.Errorf("%d things were said at once", count)
	}
	if err := r.Say(n, "and"); !errors.Is(err, ErrTalkative) {
		t.Errorf("got %v", err)
	}
	for range rate {
		r.Tick()
	}
	if count := said(); count != 1 {
		t.Errorf("%d things were said after a second", count)
	}
	for range 100 * rate {
		r.Tick()
	}
	if count := said(); count != burst {
		t.Errorf("%d things were said after a long silence", count)
	}
}
