package figures

import (
	"testing"

	"go.uber.org/goleak"
)

// TestReservations runs the code of BenchmarkReservations with a few calls.
func TestReservations(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, r := range reservations {
		t.Run(r.String(), func(t *testing.T) {
			c := r.compare(t, 100)
			if c.service.calls() != 100 || c.bare.calls() != 100 || c.journal <= 0 || c.perRecord <= 0 {
				t.Errorf("got %+v", c)
			}
		})
	}
}

// TestSearch runs the code of BenchmarkSearch on a few game sessions, and looks
// whether the searches find what they are there for.
func TestSearch(t *testing.T) {
	const sessions = 100
	s := openSearch(t, sessions)
	if w := s.joinDuring(func() {
		for _, q := range searches {
			s.search(t, q.filter, q.sort)
		}
	}); w.took <= 0 {
		t.Errorf("got %+v", w)
	}
	for i, want := range []int{20, 1, 0} {
		if got := s.found(t, searches[i].filter, searches[i].sort); got != want {
			t.Errorf("%s found %d game sessions, want %d", searches[i].name, got, want)
		}
	}
}

// TestSteps makes each step of BenchmarkSteps a few times.
func TestSteps(t *testing.T) {
	for _, r := range reservations[:3] {
		for _, s := range r.steps(t, 10) {
			for range 10 {
				s.do()
			}
		}
	}
}

// TestReplay runs the code of BenchmarkReplay on a few players.
func TestReplay(t *testing.T) {
	j := recorded(t, 2)
	for range 2 {
		replay(t, j)
	}
}
