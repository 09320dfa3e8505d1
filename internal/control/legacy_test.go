package control

import (
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/arn"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// withLocalRules has the rules of GameLift Local.
func withLocalRules(w *world) {
	w.config.Region = arn.LocalRegion
	w.config.Legacy = &Legacy{Fleet: "fleet-1", Address: "127.0.0.1", AnyFleet: true}
}

// connectOld connects an old process with the id 4242.
func (w *world) connectOld(pushed chan processes.Push) processes.LegacyConnection {
	w.t.Helper()
	c, err := w.LegacyServers().ConnectLegacy(w.ctx, processes.LegacyRequest{
		Address: "127.0.0.1", ProcessID: "4242", SDKLanguage: "Cpp", SDKVersion: "3.4.1",
		Push: func(p processes.Push) { pushed <- p }, Replaced: func() {}, Moved: func(processes.LegacyConnection) {},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) readyOld(c processes.LegacyConnection) {
	w.t.Helper()
	done := make(chan error, 1)
	c.Activate(processes.ProcessReady{Port: 7777, LogPaths: []string{"/logs"}}, func(err error) { done <- err })
	if err := <-done; err != nil {
		w.t.Fatal(err)
	}
}

// oldIn checks whether the old process is idle in a fleet.
func (w *world) oldIn(id string, idle bool) {
	w.t.Helper()
	n, err := w.IdleProcesses(w.ctx, id, "")
	if err != nil || n[arn.LocalRegion] > 0 != idle {
		w.t.Errorf("fleet %s has %v, %v; idle must be %v", id, n, err, idle)
	}
}

// TestOldProcessMoves moves an idle process to the fleet that needs it.
func TestOldProcessMoves(t *testing.T) {
	w := newWorld(t, withLocalRules)
	pushed := make(chan processes.Push, 10)
	w.readyOld(w.connectOld(pushed))
	w.oldIn("fleet-1", true)
	out, err := w.CreateGameSession(w.ctx,
		&wire.CreateGameSessionInput{FleetId: "fleet-2", MaximumPlayerSessionCount: wire.Some(int32(2))})
	if err != nil {
		t.Fatal(err)
	}
	if got := out.GameSession; got.FleetId != "fleet-2" || got.Port.Or(0) != 7777 || got.DnsName != "localhost" {
		t.Errorf("created %+v", got)
	}
	if p, ok := (<-pushed).(processes.CreateGameSessionPush); !ok || p.GameSessionID != out.GameSession.GameSessionId {
		t.Errorf("pushed %+v", p)
	}
	w.oldIn("fleet-1", false)
	_, err = w.CreateGameSession(w.ctx,
		&wire.CreateGameSessionInput{FleetId: "fleet-1", MaximumPlayerSessionCount: wire.Some(int32(2))})
	if !fault.Is(err, fault.FleetCapacityExceeded) {
		t.Errorf("a second game session: %v", err)
	}
}

// TestServiceStopsDuringMove makes a process ready where it reconnects after each step of a move, and another process
// with its id not.
func TestServiceStopsDuringMove(t *testing.T) {
	for name, tt := range map[string]struct {
		connected bool          // to the other room
		later     time.Duration // until that
		ready     bool
	}{
		"it has left": {false, 0, true}, "it is connected": {true, 0, true}, "another one": {true, time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, withLocalRules)
			pushed := make(chan processes.Push, 10)
			c := w.connectOld(pushed)
			w.readyOld(c)
			key := c.Key()
			leave := fleet.MoveProcess{ProcessKey: key.Process}
			if _, err := router.AskRoom[any](w.ctx, w.Router, key.Room, leave); err != nil {
				t.Fatal(err)
			}
			if tt.connected {
				w.clock.Advance(tt.later)
				to := w.legacy.room("fleet-2")
				if err := w.legacy.openCompute(w.ctx, to, key.Process.Compute, "127.0.0.1"); err != nil {
					t.Fatal(err)
				}
				connect := fleet.ConnectProcess{ProcessKey: key.Process, Legacy: true}
				if _, err := router.AskRoom[any](w.ctx, w.Router, to, connect); err != nil {
					t.Fatal(err)
				}
			}
			w.restart()
			if got := w.connectOld(pushed).Before(); got.Ready != tt.ready || got.Ended {
				t.Errorf("before: %+v", got)
			}
			idle := w.legacy.room("fleet-1")
			if tt.connected {
				idle = w.legacy.room("fleet-2")
			}
			w.oldIn(string(idle.Fleet), tt.ready)
		})
	}
}
