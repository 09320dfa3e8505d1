package figures

import (
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/muster-gg/muster/internal/bench"
	"github.com/muster-gg/muster/internal/policy"
	"github.com/muster-gg/muster/internal/wire"
)

// TestReservations runs the code of BenchmarkReservations with a few calls.
func TestReservations(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, r := range reservations {
		t.Run(r.String(), func(t *testing.T) {
			c := r.open(t, 200)
			defer c.stop()
			for range 2 {
				if o := c.round(t, 100); o.service.calls() != 100 || o.bare.calls() != 100 || o.journal <= 0 ||
					o.perRecord <= 0 {
					t.Errorf("got %+v", o)
				}
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
		if got := len(s.naive.search(searches[i].naive, searches[i].order)); got != want {
			t.Errorf("naively %s found %d game sessions, want %d", searches[i].name, got, want)
		}
	}
}

// TestSockets runs the code of BenchmarkSockets with a few operations.
func TestSockets(t *testing.T) {
	for _, w := range socketWorks {
		w.connections, w.warm = 4, 4
		t.Run(w.name, func(t *testing.T) {
			s := w.open(t, 20)
			service, peer := s.round(20)
			s.end()
			for of, got := range map[string]sample{"service": service, "peer": peer} {
				if got.rate <= 0 || got.p50 <= 0 || got.p99 < got.p50 || got.errors != 0 {
					t.Errorf("%s: got %+v", of, got)
				}
			}
		})
	}
}

// TestIdleSockets runs the code of BenchmarkIdleSockets with a few sockets, each of
// which has one heartbeat.
func TestIdleSockets(t *testing.T) {
	const sockets = 20
	s := openIdle(t, sockets)
	r := s.round(sockets)
	s.end()
	if r.lost != 0 || r.heartbeats <= 0 || r.service.goroutines < 0.5 || r.peer.goroutines < 0.5 {
		t.Errorf("got %+v", r)
	}
}

// TestMatchmaking runs the code of BenchmarkMatchmaking with a few tickets.
func TestMatchmaking(t *testing.T) {
	w := matchmakingWork
	w.connections, w.warm, w.waiting, w.rate = 4, 4, 50, 0
	s := w.open(t, 60)
	service, peer := s.turns(60)
	s.end()
	for of, r := range map[string]*bench.Result{"service": service, "peer": peer} {
		if got := matchesOf(r); got.rate <= 0 || got.p50 <= 0 || got.p99 < got.p50 || got.errors != 0 ||
			r.Matchmaking.Matches == 0 {
			t.Errorf("%s: got %+v, %+v, errors %v", of, got, r.Matchmaking, r.Errors)
		}
	}
}

// TestMatcher runs the code of BenchmarkMatcher with a few tickets.
func TestMatcher(t *testing.T) {
	for _, w := range matcherWorks {
		w.waiting /= 10
		if w.refill {
			w.waiting = 2500 // fewer of them make no match of 200
		}
		r := w.open(t)
		own, peer := r.round(w.waiting/10), r.ask(1)
		if own.matches == 0 || own.players != own.matches*w.players || peer.players != peer.matches*w.players ||
			len(r.all) != r.pool.Len() {
			t.Errorf("%s: %d matches of %d players, naively %d of %d; %d tickets of %d", w.name, own.matches,
				own.players, peer.matches, peer.players, len(r.all), r.pool.Len())
		}
	}
}

// TestExamples runs the code of BenchmarkExamples with a few tickets.
func TestExamples(t *testing.T) {
	for _, e := range examples(t) {
		e.waiting = 400
		q := e.open(t)
		if _, matched := q.pass(100); matched == 0 && e.misfits == 0 && !e.set.Large() || q.pool.Len() > e.waiting {
			t.Errorf("%s: %d tickets matched, %d wait", e.name, matched, q.pool.Len())
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
		must(t, replay(t.Context(), j, 1))
	}
}

// TestNodes runs the code of BenchmarkNodes with a few calls.
func TestNodes(t *testing.T) {
	const calls = 30
	r := openRegions(t)
	defer r.end()
	r.prepare(reservation{wire.JSON, 1}, 3*calls, r.three.shards(nodeShards/3))
	three, one := r.together(calls)
	other, owner, alone := r.forwarded(calls)
	for of, got := range map[string]nodesSample{
		"three": three, "one": one, "other": other, "owner": owner, "alone": alone,
	} {
		if got.rate <= 0 || got.cpu <= 0 || got.allocs <= 0 || got.p50 <= 0 || got.p99 < got.p50 || got.perRecord <= 0 {
			t.Errorf("%s: got %+v", of, got)
		}
	}
}

// TestHistory runs the code of the benchmarks of the history with a few game sessions.
func TestHistory(t *testing.T) {
	defer goleak.VerifyNone(t)
	p := openPast(t, t.TempDir())
	defer p.stop()
	if m := p.round(t, 300); m.took <= 0 || m.stream <= 0 {
		t.Errorf("got %+v", m)
	}
	p.fill(t, 300)
	if a := p.ask(t, 20); len(a.session) != 20 || len(a.page) != 3 {
		t.Errorf("got %+v", a)
	}
	if took := p.rebuild(t); took <= 0 {
		t.Errorf("rebuilt in %v", took)
	}
}

// TestAccess runs the code of BenchmarkAccess with a few calls, and of BenchmarkDecisions with a few decisions.
func TestAccess(t *testing.T) {
	k := openKeyring(t, 100)
	defer k.stop()
	for i, m := range k.round(t, 100) {
		if m.calls() != 100 || m.cpu <= 0 {
			t.Errorf("%s: got %+v", k.keys[i].name, m)
		}
	}
	d := openDecisions(t, 2)
	action, _ := policy.ActionOf("gamelift:CreatePlayerSession")
	if !d.AllowsAll(d.identity(d.allowed.ID, ""), action) || d.AllowsAll(d.identity(d.limited.ID, ""), action) {
		t.Error("the keys are not what they are measured for")
	}
	for _, s := range d.steps() {
		s.do()
	}
}

// TestGuesses runs the code of BenchmarkGuesses with a few calls and passwords, and of BenchmarkPasswords with a few
// checks.
func TestGuesses(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("127.0.0.1 is the only loopback address")
	}
	const calls = 200
	s := openSiege(t, 3*calls)
	r := s.round(t, calls)
	s.stop()
	if r.quiet.calls() != calls || r.visited.calls() != calls || r.guessed.calls() != calls || r.sent.sent == 0 ||
		r.sent.hashed == 0 || r.sent.hashed+r.sent.refused != r.sent.sent {
		t.Errorf("got %v, %v and %v calls, and %+v", r.quiet.calls(), r.visited.calls(), r.guessed.calls(), r.sent)
	}
	p := &guessedPlane{plane: openPlane(t, t.TempDir(), never)}
	defer p.stop()
	if known, unknown := checks(t, p, 2); known.calls() != 2 || unknown.calls() != 2 {
		t.Errorf("got %v and %v checks", known.calls(), unknown.calls())
	}
}

// TestConsole runs the code of BenchmarkConsole on a few game sessions, and looks whether its pages show them.
func TestConsole(t *testing.T) {
	w := openWatched(t, 100)
	shown := map[string]string{
		"overview": "1,000 ", "fleets": w.fleet, "fleet": w.fleet, "game-sessions": "a game", "filtered": "code",
		"sorted": "a game", "game-session": playerID(501), "player": playerID(100), "search-id": playerID(100),
		"search-prefix": "gsess-0000000",
	}
	for _, p := range w.pages() {
		if _, _, body := w.reads(t, p[1], 1); !strings.Contains(body, shown[p[0]]) {
			t.Errorf("page %s does not show %q", p[0], shown[p[0]])
		}
	}
	var noted [2][]float64
	stop := w.open(t, 3)
	w.turn(t, 50, &noted)
	if reads := stop(); reads < 3 || noted[0][0] <= 0 {
		t.Errorf("3 pages were read %d times beside %v calls/s", reads, noted[0])
	}
}
