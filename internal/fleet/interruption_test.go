package fleet

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/event"
)

// waiting is a Room in which each deadline for a game server runs.
func waiting(t *testing.T) *world {
	w := newWorld(t)
	w.active("reserved", key("a"))
	w.reserve("reserved", "ada")
	w.ready(key("b"))
	w.do(creation("activating"))
	w.active("ending", key("c"))
	w.do(TerminateGameSession{"ending"})
	w.do(ConnectProcess{ProcessKey: key("loading")})
	w.ready(key("lost"))
	w.do(LoseProcess{ProcessKey: key("lost")})
	w.do(ConnectProcess{ProcessKey: key("d")})
	w.do(ReadyProcess{ProcessKey: key("d"), Port: 1})
	c := creation("unconfirmed")
	c.ConfirmWithin = 30 * time.Second
	w.do(c)
	w.do(ActivateGameSession{key("d"), "unconfirmed"})
	return w
}

// left is how long each deadline is away, by what it asks for.
func (w *world) left() map[string]time.Duration {
	left := map[string]time.Duration{}
	note := func(name string, at event.Time) {
		if at != 0 {
			left[name] = at.Sub(w.now)
		}
	}
	eachProcess(w.room, func(p *Process) bool {
		note(p.ID+" ReadyBy", p.ReadyBy)
		note(p.ID+" BackBy", p.ReconnectBy)
		note(p.ID+" HealthBy", p.HealthBy)
		note(p.ID+" TerminateBy", p.TerminateBy)
		return true
	})
	eachSession(w.room, func(g *GameSession) bool {
		note(g.ID+" ActivateBy", g.ActivateBy)
		note(g.ID+" ConfirmBy", g.ConfirmBy)
		for _, p := range g.CurrentPlayers {
			note(fmt.Sprintf("%s %s Expires", g.ID, p.PlayerID), p.Expires)
		}
		return true
	})
	return left
}

// TestPause: each deadline stays as far away as it was, and at least as far as the pause was long.
func TestPause(t *testing.T) {
	for _, pause := range []time.Duration{6 * time.Second, 225 * time.Second, 8 * time.Hour, -time.Hour} {
		t.Run(pause.String(), func(t *testing.T) {
			w := waiting(t)
			w.wait(20 * time.Second)
			want := w.left()
			if len(want) != 10 {
				t.Fatalf("these deadlines run: %v", want)
			}
			for name := range want {
				want[name] = max(want[name], min(pause, w.settings.ProcessGrace))
			}
			w.now = w.now.Add(pause)
			w.do(Interrupt{Pause: pause})
			if got := w.left(); !reflect.DeepEqual(got, want) {
				t.Errorf("the deadlines are\n%v, want\n%v", got, want)
			}
			if p := w.process(key("a")); !p.Connected {
				t.Error("a process has lost its socket")
			}
			first := event.Time(0)
			for _, d := range want {
				first = earliest(first, w.now.Add(d))
			}
			if events := w.wait(first.Sub(w.now) - tick); len(events) > 0 {
				t.Errorf("%v too early", names(events))
			}
			if len(w.wait(tick)) == 0 {
				t.Error("nothing happens when the first deadline passes")
			}
		})
	}
}

// TestNoGraceForTheEnded: what is over stays over, and is forgotten when it was to be.
func TestNoGraceForTheEnded(t *testing.T) {
	w := newWorld(t)
	w.active("game", key("a"))
	w.do(EndProcess{key("a")})
	w.ready(key("b"))
	before, _ := w.room.Process(key("a"))
	w.now = w.now.Add(9 * time.Minute)
	w.do(Interrupt{Pause: 9 * time.Minute})
	w.do(Interrupt{})
	if p := w.process(key("a")); !reflect.DeepEqual(*p, *before) {
		t.Errorf("the process is %+v, and was %+v", *p, *before)
	}
}

// TestOutage: while there was no owner nobody could be ready, activate a game session, accept
// a player or end. A new owner waits for all of them as long as for their sockets, and not for
// a gateway that is gone.
func TestOutage(t *testing.T) {
	w := waiting(t)
	w.now = w.now.Add(time.Hour)
	w.do(Interrupt{})
	for name, left := range w.left() {
		if want := w.settings.ProcessGrace; left != want && name != "unconfirmed ConfirmBy" {
			t.Errorf("%s is in %v", name, left)
		}
	}
	wantEvents(t, w.wait(0), "GameSessionTerminating", "ProcessAskedToEnd")
	wantEvents(t, w.wait(w.settings.ProcessGrace-tick))
	w.wait(tick)
	eachProcess(w.room, func(p *Process) bool {
		if p.Status != ProcessEnded {
			t.Errorf("process %s is still waited for", p.ID)
		}
		return true
	})
}

// TestShortOutage: a deadline that is farther away than the grace period stays where it is.
func TestShortOutage(t *testing.T) {
	w := waiting(t)
	w.do(Interrupt{})
	left := w.left()
	if got, want := left["loading ReadyBy"], w.settings.ReadyTimeout; got != want {
		t.Errorf("ProcessReady is waited for for %v, want %v", got, want)
	}
	if got, want := left["loading BackBy"], w.settings.ProcessGrace; got != want {
		t.Errorf("the socket is waited for for %v, want %v", got, want)
	}
}
