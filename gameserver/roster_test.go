package gameserver

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A rosterWorld drives a roster with random commands, and knows by itself what has happened.
type rosterWorld struct {
	*testing.T
	*rand.Rand
	roster   *roster
	now      time.Time
	pending  []*visit             // the service has not answered
	taken    []*visit             // not settled
	lostAt   map[*visit]time.Time // lost visits
	accepted map[*visit]bool
	parted   time.Time // when the last accepted player's connection ended
	over     bool
}

const (
	testResume = 10 * time.Second
	testEmpty  = 15 * time.Second
)

func newRosterWorld(t *testing.T, seed uint64) *rosterWorld {
	return &rosterWorld{
		T: t, Rand: rand.New(rand.NewPCG(seed, 0)), now: time.Unix(1000, 0),
		roster: newRoster(Config{ResumeLimit: testResume, EmptyLimit: testEmpty}),
		lostAt: make(map[*visit]time.Time), accepted: make(map[*visit]bool),
	}
}

// TestRosterSimulation runs random commands, and checks after each that every visit is taken once, that only lost ones
// are resumed, and that the roster ends only when it has been empty for long enough.
func TestRosterSimulation(t *testing.T) {
	ended, resumed := 0, 0
	for seed := range uint64(300) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			w := newRosterWorld(t, seed)
			for range 200 {
				resumed += w.step()
				w.check()
			}
			w.finish()
			if w.over {
				ended++
			}
		})
	}
	if ended == 0 || resumed == 0 {
		t.Errorf("%d rosters ended, %d visits were resumed: the simulation does not try enough", ended, resumed)
	}
}

// step makes one random command. It returns how many visits were resumed.
func (w *rosterWorld) step() (resumed int) {
	connection := uint64(w.IntN(8))
	switch w.IntN(8) {
	case 0, 1:
		return w.enter(PlayerConnection{connection, fmt.Sprint("psess-", w.IntN(5))})
	case 2:
		w.answer()
	case 3:
		w.leave(connection)
	case 4:
		w.lose(connection)
	case 5:
		w.settle()
	default:
		w.pass(time.Duration(w.IntN(12_000)) * time.Millisecond)
	}
	return 0
}

func (w *rosterWorld) enter(c PlayerConnection) (resumed int) {
	v, err := w.roster.enter(c, w.now)
	at, wasLost := w.lostAt[v]
	switch {
	case w.over:
		if !errors.Is(err, ErrEnding) {
			w.Errorf("entered after the end: %v", err)
		}
	case err != nil:
	case wasLost:
		if w.now.Sub(at) >= testResume || !w.accepted[v] {
			w.Errorf("resumed at %v, lost at %v", w.now, at)
		}
		delete(w.lostAt, v)
		return 1
	default:
		if v.status != joining || v.accepted || slices.Contains(w.pending, v) {
			w.Errorf("entered twice: %+v", v)
		}
		w.pending = append(w.pending, v)
	}
	return 0
}

func (w *rosterWorld) answer() {
	if len(w.pending) == 0 {
		return
	}
	i := w.IntN(len(w.pending))
	v := w.pending[i]
	w.pending = slices.Delete(w.pending, i, i+1)
	accepted := w.IntN(3) > 0
	_, wasLost := w.lostAt[v]
	wasTaken := slices.Contains(w.taken, v)
	taken, err := w.roster.answer(v, accepted, accepted || w.IntN(2) == 0)
	if w.accepted[v] = accepted; accepted && !v.parted.IsZero() && v.parted.After(w.parted) {
		w.parted = v.parted
	}
	if (err != nil) != (wasLost || wasTaken) || taken != (!accepted && !wasTaken) {
		w.Errorf("answered %t: taken %t, %v; lost %t, taken before %t", accepted, taken, err, wasLost, wasTaken)
	}
	if taken {
		w.take(v)
	}
}

func (w *rosterWorld) leave(connection uint64) {
	v := w.roster.leave(connection, w.now)
	if v == nil {
		return
	}
	if _, wasLost := w.lostAt[v]; !wasLost {
		w.part(v)
	}
	w.take(v)
}

func (w *rosterWorld) lose(connection uint64) {
	v := w.roster.connections[connection]
	w.roster.lose(connection, w.now)
	if _, already := w.lostAt[v]; v != nil && !already {
		w.lostAt[v] = w.now
		w.part(v)
	}
}

// part notes the end of a connection.
func (w *rosterWorld) part(v *visit) {
	if w.accepted[v] {
		w.parted = w.now
	}
}

// take notes that a visit was taken: once.
func (w *rosterWorld) take(v *visit) {
	if slices.Contains(w.taken, v) {
		w.Errorf("taken twice: %+v", v)
	}
	delete(w.lostAt, v)
	w.taken = append(w.taken, v)
}

// settle ends one of the visits that were taken and are answered.
func (w *rosterWorld) settle() {
	for i, v := range w.taken {
		if !slices.Contains(w.pending, v) {
			w.roster.settle(v)
			w.taken = slices.Delete(w.taken, i, i+1)
			return
		}
	}
}

// pass lets time pass, and does what is due at each deadline, and nothing before.
func (w *rosterWorld) pass(d time.Duration) {
	until := w.now.Add(d)
	for next := w.roster.deadline(); !next.IsZero() && !next.After(until); next = w.roster.deadline() {
		if next.After(w.now) {
			w.now = next.Add(-time.Nanosecond)
			w.nothingDue()
			w.now = next
		}
		w.due()
	}
	w.now = until
	w.nothingDue()
}

func (w *rosterWorld) nothingDue() {
	if expired, ask := w.roster.due(w.now); len(expired) > 0 || ask {
		w.Fatalf("due at %v, before the deadline: %v, %t", w.now, expired, ask)
	}
}

func (w *rosterWorld) due() {
	expired, ask := w.roster.due(w.now)
	for _, v := range expired {
		if at, wasLost := w.lostAt[v]; !wasLost || w.now.Sub(at) < testResume {
			w.Errorf("expired at %v: %+v", w.now, v)
		}
		w.take(v)
	}
	if len(expired) == 0 && !ask {
		w.Fatalf("nothing is due at the deadline %v", w.now)
	}
	if !ask {
		return
	}
	if w.IntN(4) == 0 { // a player comes while the service is asked
		w.enter(PlayerConnection{100, "psess-100"})
	}
	reserved := w.IntN(3) == 0
	if !w.roster.asked(reserved, w.now) {
		return
	}
	if w.over = true; reserved || len(w.roster.tickets) > 0 || w.now.Sub(w.parted) < testEmpty {
		w.Errorf("ended at %v with %v, reservations %t, empty since %v", w.now, w.roster.tickets, reserved, w.parted)
	}
}

// check checks that connections and tickets agree.
func (w *rosterWorld) check() {
	for id, v := range w.roster.connections {
		if v.ConnectionID != id || v.status == leaving || w.roster.tickets[v.PlayerSessionID] != v {
			w.Errorf("connection %d is that of %+v", id, v)
		}
	}
	for ticket, v := range w.roster.tickets {
		if v.PlayerSessionID != ticket || (v.status == leaving) != slices.Contains(w.taken, v) ||
			v.status != leaving && w.roster.connections[v.ConnectionID] != v {
			w.Errorf("player session %s is that of %+v", ticket, v)
		}
	}
}

// finish has all players leave: the roster ends if a player was accepted.
func (w *rosterWorld) finish() {
	for len(w.pending) > 0 {
		w.answer()
	}
	for range 2 { // a player may come while the service is asked
		for id := range w.roster.connections {
			w.leave(id)
		}
		for len(w.pending) > 0 {
			w.answer()
		}
		for len(w.taken) > 0 {
			w.settle()
		}
		w.check()
		w.pass(100 * testEmpty)
	}
	if w.roster.visited && !w.over && len(w.roster.tickets) == 0 {
		w.Errorf("empty since %v, it is %v, and the roster has not ended", w.parted, w.now)
	}
}

// TestRosterTellsWhy has a player leave, or the process end, before the service answers.
func TestRosterTellsWhy(t *testing.T) {
	now := time.Unix(1000, 0)
	for name, test := range map[string]struct {
		before func(*roster)
		want   error
	}{
		"left":               {func(r *roster) { r.leave(1, now) }, ErrPlayerLeft},
		"lost":               {func(r *roster) { r.lose(1, now) }, ErrPlayerLeft},
		"ends":               {func(r *roster) { r.shut(); r.clear() }, ErrEnding},
		"left while it ends": {func(r *roster) { r.leave(1, now); r.shut(); r.clear() }, ErrPlayerLeft},
	} {
		for _, accepted := range []bool{true, false} {
			r := newRoster(Config{})
			v, err := r.enter(PlayerConnection{1, "psess-1"}, now)
			if err != nil {
				t.Fatal(err)
			}
			test.before(r)
			if _, err := r.answer(v, accepted, accepted); !errors.Is(err, test.want) {
				t.Errorf("%s, accepted %t: %v, want %v", name, accepted, err, test.want)
			}
		}
	}
}
