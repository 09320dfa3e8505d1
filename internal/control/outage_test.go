package control

import (
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/processes"
)

// An outage is a fleet on which everything waits for a game server: a game session with a
// player, one with a reservation, a process that is not ready yet.
type outage struct {
	*world
	fleet, token     string
	hosting, loading *socket
	session, player  string
}

func newOutage(t *testing.T, options ...option) *outage {
	t.Helper()
	w := newWorld(t, append(options, withShards(1))...)
	o := &outage{world: w, fleet: w.fleetAt("custom-a")}
	o.token = w.compute(o.fleet, "custom-a", "c1")
	o.hosting = w.process(o.fleet, "c1", o.token, "hosting")
	o.session = w.active(o.fleet, nil, o.hosting)
	o.player = text(w.must("CreatePlayerSession", object{"GameSessionId": o.session, "PlayerId": "x"}), "PlayerSession",
		"PlayerSessionId")
	o.loading = w.mustDial(processes.ConnectRequest{
		FleetID: o.fleet, ComputeName: "c1", ProcessID: "loading", Authorization: o.token,
		IdempotencyToken: "loading-1",
	})
	return o
}

// survived checks that game servers can continue.
func (o *outage) survived() {
	o.t.Helper()
	if got := o.status(o.session); got != "ACTIVE" {
		o.t.Errorf("the game session is %s, events %s", got, o.events(o.fleet))
	}
	o.ok(o.hosting.heartbeat(true), "heartbeat")
	o.ok(o.hosting.accept(o.session, o.player), "the player of the reservation")
	o.ok(o.loading.ready(7778), "ProcessReady")
}

func (o *outage) ok(err error, what string) {
	o.t.Helper()
	if err != nil {
		o.t.Errorf("%s: %v", what, err)
	}
}

// TestPauseEndsNothing: the service is paused for longer than any of the deadlines, or its clock is set. It reads its
// clock before it reads what game servers have sent meanwhile.
func TestPauseEndsNothing(t *testing.T) {
	for name, jump := range map[string]time.Duration{
		"SIGSTOP":         225 * time.Second,
		"a night's sleep": 8 * time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			o := newOutage(t)
			o.elapse(50 * time.Second)
			o.jump(jump)
			o.survived()
		})
	}
}

// TestPausesKeepNobodyAlive: a process that was disconnected before a pause has the rest of its time, and no more.
func TestPausesKeepNobodyAlive(t *testing.T) {
	o := newOutage(t)
	o.hosting.Disconnected()
	o.await("the note of the lost socket", func() bool { return !o.hosting.inRoom().Connected })
	for range 5 { // 40 s of service before each
		o.elapse(40 * time.Second)
		o.jump(30 * time.Second)
	}
	if got := o.status(o.session); got != "TERMINATED" {
		t.Errorf("the game session of a process that is gone is %s", got)
	}
}

// TestClockSetBack: deadlines are as far away as before.
func TestClockSetBack(t *testing.T) {
	o := newOutage(t)
	o.elapse(50 * time.Second)
	o.jump(-2 * time.Hour)
	o.elapse(9 * time.Second)
	if got := o.playerStatus(); got != "RESERVED" {
		t.Errorf("before its time the player session is %s", got)
	}
	o.elapse(2 * time.Second)
	if got := o.playerStatus(); got != "TIMEDOUT" {
		t.Errorf("after its time the player session is %s", got)
	}
}

func (o *outage) playerStatus() string {
	o.t.Helper()
	return text(o.must("DescribePlayerSessions", object{"PlayerSessionId": o.player}), "PlayerSessions", 0, "Status")
}

// TestRestartAfterAnOutage: no process needs to have sent processes.ProcessReady, and no player to have been accepted,
// while no service could receive it.
func TestRestartAfterAnOutage(t *testing.T) {
	o := newOutage(t)
	o.stop()
	o.clock.Advance(time.Hour)
	o.restart()
	o.elapse(100 * time.Second) // the server SDKs wait for a minute between two attempts
	o.hosting, o.loading = o.mustDial(o.hosting.connect), o.mustDial(o.loading.connect)
	o.survived()
}

// TestRestartGivesGraceOnce: a process that stays disconnected gets no further grace.
func TestRestartGivesGraceOnce(t *testing.T) {
	o := newOutage(t)
	o.stop()
	o.clock.Advance(time.Hour)
	o.restart()
	o.elapse(o.config.Settings.Fleet.ProcessGrace + time.Second)
	for _, s := range []*socket{o.hosting, o.loading} {
		if p := s.inRoom(); p.Status != fleet.ProcessEnded {
			t.Errorf("process %s is %+v", p.ID, *p)
		}
	}
	if got := o.playerStatus(); got != "TIMEDOUT" {
		t.Errorf("the player session is %s", got)
	}
}
