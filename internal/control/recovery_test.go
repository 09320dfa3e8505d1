package control

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/wire/fault"
)

var errDisk = errors.New("disk full")

// ticking lets the fake clock run, until the returned function is called.
func ticking(clock *clockwork.FakeClock) (stop func()) {
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				clock.Advance(10 * time.Millisecond)
			}
		}
	})
	return func() { close(done); running.Wait() }
}

// recovered waits until the shard answers again and knows of the sockets. The
// wait before a recovery is on the fake clock, which moves meanwhile.
func (w *world) recovered(sockets ...*socket) {
	w.t.Helper()
	defer ticking(w.clock)()
	if _, err := w.read(w.ctx, fleet.RoomID{}, func(*fleet.Room) {}); err != nil {
		w.t.Fatal(err)
	}
	w.await("the sockets to be known", func() bool {
		for _, s := range sockets {
			if p := s.inRoom(); p.Status != fleet.ProcessEnded && !p.Connected {
				return false
			}
		}
		return true
	})
}

// meanwhile lets the fake clock run while f does something: the service waits before it makes an attempt again.
func (w *world) meanwhile(f func()) {
	defer ticking(w.clock)()
	f()
}

func wantInternal(t *testing.T, what string, err error) {
	t.Helper()
	if f := fault.Of(err); f == nil || f.Kind != fault.InternalService {
		t.Errorf("%s: got %v, want an InternalServiceException", what, err)
	}
}

// After a failed append the shard recovers while sockets stay open: they are announced again and continue.
func TestRecoveryWithOpenSockets(t *testing.T) {
	w := newWorld(t, withShards(1))
	fleetID, sockets := w.host(3)
	active := w.active(fleetID, object{"MaximumPlayerSessionCount": 4}, sockets...)
	for range 3 {
		w.journals[0].FailAppend(errDisk)
		w.meanwhile(func() { w.must("CreatePlayerSession", object{"GameSessionId": active, "PlayerId": "x"}) })
		w.recovered(sockets...)
	}
	same(t, at(w.must("DescribeGameSessions", object{"GameSessionId": active}), "GameSessions", 0,
		"CurrentPlayerSessionCount"), `3`)
	w.active(fleetID, nil, sockets...)
	for _, s := range sockets {
		s.ok(s.heartbeat(true))
		s.quiet()
		if len(s.replaced) > 0 {
			t.Error("a socket was given up")
		}
	}
	w.must("CreateLocation", `{"LocationName":"custom-new"}`) // the catalog's view goes on, too
}

// A record may be durable though its append seemed to fail. The service repeats the call, and so may
// the caller: both find what it made, and the process is asked to start it.
func TestRecoveryWithALostAnswer(t *testing.T) {
	w := newWorld(t, withShards(1))
	fleetID, sockets := w.host(1)
	s := sockets[0]
	ctx := WithCall(w.ctx, Call{Principal: "AKIA1", Invocation: "0001"})
	in := object{"FleetId": fleetID, "MaximumPlayerSessionCount": 1}
	w.journals[0].LoseAnswer(errDisk)
	var out object
	var err error
	w.meanwhile(func() { out, err = w.callAs(ctx, "CreateGameSession", in) })
	session := text(out, "GameSession", "GameSessionId")
	if err != nil || s.next().(processes.CreateGameSessionPush).GameSessionID != session {
		t.Errorf("the call gave %v, %v", out, err)
	}
	out, err = w.callAs(ctx, "CreateGameSession", in)
	if err != nil || text(out, "GameSession", "GameSessionId") != session {
		t.Errorf("the repeated call gave %v, %v, want %s", out, err, session)
	}
	s.ok(s.activate(session))
	w.journals[0].FailAppend(errDisk)
	wantInternal(t, "heartbeat", s.heartbeat(true))
	w.recovered(s)
	s.quiet()

	w.journals[0].LoseAnswer(errDisk)
	w.meanwhile(func() { s.ok(s.end()) })
	s.wasReplaced()
	if w.status(session) != "TERMINATED" {
		t.Errorf("the game session is %s", w.status(session))
	}
	s.ok(s.end())
}

// A game session that was put on a process is pushed once over each socket,
// however often the shard recovers.
func TestPendingPushComesOnce(t *testing.T) {
	w := newWorld(t, withShards(1))
	fleetID, sockets := w.host(1)
	s := sockets[0]
	session := w.create(fleetID, nil)
	for range 2 {
		w.journals[0].FailAppend(errDisk)
		wantInternal(t, "heartbeat", s.heartbeat(true))
		w.recovered(s)
	}
	if p := s.next().(processes.CreateGameSessionPush); p.GameSessionID != session {
		t.Errorf("pushed %+v", p)
	}
	s.quiet()
}

// A socket that closes while the shard recovers is not taken for open.
func TestSocketClosesDuringRecovery(t *testing.T) {
	w := newWorld(t, withShards(1))
	_, sockets := w.host(2)
	w.journals[0].FailAppend(errDisk)
	wantInternal(t, "heartbeat", sockets[0].heartbeat(true))
	sockets[0].Disconnected()
	w.recovered(sockets[1])
	w.await("the note of the lost socket", func() bool {
		p := sockets[0].inRoom()
		return !p.Connected && p.ReconnectBy != 0
	})
}

// A connection whose announcement has an unknown outcome is announced once more.
func TestConnectWithALostAnswer(t *testing.T) {
	w := newWorld(t, withShards(1))
	id := w.fleetAt("custom-a")
	token := w.compute(id, "custom-a", "c1")
	c := processes.ConnectRequest{FleetID: id, ComputeName: "c1", ProcessID: "p1", Authorization: token,
		IdempotencyToken: "i"}
	w.journals[0].LoseAnswer(errDisk)
	var s *socket
	w.meanwhile(func() { s = w.mustDial(c) })
	if p := s.inRoom(); p == nil || !p.Connected {
		t.Errorf("after the recovery: %+v", p)
	}
	s.ok(s.ready(7777))
	session := w.create(id, nil)
	if push := s.next().(processes.CreateGameSessionPush); push.GameSessionID != session {
		t.Errorf("pushed %+v", push)
	}
}

// The caller who goes away in the middle of a connection, too, leaves none.
func TestConnectGivenUp(t *testing.T) {
	w := newWorld(t, withShards(1))
	id := w.fleetAt("custom-a")
	token := w.compute(id, "custom-a", "c1")
	release := w.journals[0].Hold()
	ctx, cancel := context.WithCancel(w.ctx)
	gone := make(chan error)
	s := &socket{w: w, connect: processes.ConnectRequest{FleetID: id, ComputeName: "c1", ProcessID: "p1",
		Authorization: token, Push: func(processes.Push) {}, Replaced: func() {}}}
	go func() {
		_, err := w.processes.Connect(ctx, s.connect)
		gone <- err
	}()
	if err := w.journals[0].AwaitHeld(w.ctx, 1); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("connect: %v", err)
	}
	release()
	w.await("the note of the lost socket", func() bool { p := s.inRoom(); return p != nil && !p.Connected })
}

// A restart keeps everything that was answered, and processes come back with
// what they have.
func TestRestart(t *testing.T) {
	w := newWorld(t)
	fleetID, sockets := w.host(2)
	active := w.active(fleetID, nil, sockets...)
	player := text(w.must("CreatePlayerSession", object{"GameSessionId": active, "PlayerId": "x"}), "PlayerSession",
		"PlayerSessionId")
	starting := w.create(fleetID, nil)
	before := w.state()
	w.restart()
	var asked []string
	for i, s := range sockets {
		sockets[i] = w.mustDial(s.connect)
		for len(sockets[i].pushes) > 0 {
			asked = append(asked, sockets[i].next().(processes.CreateGameSessionPush).GameSessionID)
		}
	}
	if !slices.Equal(asked, []string{starting}) {
		t.Errorf("asked to start %v, want %s", asked, starting)
	}
	if w.status(active) != "ACTIVE" || w.status(starting) != "ACTIVATING" {
		t.Errorf("after the restart: %s, %s", w.status(active), w.status(starting))
	}
	var accepted int
	for _, s := range sockets {
		if s.accept(active, player) == nil {
			accepted++
		}
	}
	if accepted != 1 {
		t.Errorf("%d processes accepted the player", accepted)
	}
	if before == "" {
		t.Error("nothing was kept")
	}
}

// Questions that come after the end are answered with a refusal.
func TestLinksAfterTheEnd(t *testing.T) {
	w := newWorld(t)
	fleetID, sockets := w.host(1)
	session := w.active(fleetID, nil, sockets...)
	w.stop()
	s := sockets[0]
	_, err := s.describe(processes.PlayerSessionQuery{GameSessionID: session})
	wantKind(t, "describe", err, fault.ServiceUnavailable)
	wantKind(t, "certificate",
		wait(func(done func(error)) { s.ComputeCertificate(func(_, _ string, err error) { done(err) }) }),
		fault.ServiceUnavailable)
	wantKind(t, "heartbeat", s.heartbeat(true), fault.ServiceUnavailable)
	s.Disconnected()
	_, err = w.call("CreateLocation", `{"LocationName":"custom-x"}`)
	wantKind(t, "CreateLocation", err, fault.ServiceUnavailable)
}

// Many sockets of the same processes connect concurrently: one of each stays, all others are notified exactly once.
func TestManySocketsAtOnce(t *testing.T) {
	w := newWorld(t)
	_, sockets := w.host(3)
	var mu sync.Mutex
	all := slices.Clone(sockets)
	var group sync.WaitGroup
	for _, s := range sockets {
		for range 8 {
			group.Go(func() {
				next := w.mustDial(s.connect)
				mu.Lock()
				defer mu.Unlock()
				all = append(all, next)
			})
		}
	}
	group.Wait()
	primary := 0
	for _, s := range all {
		switch len(s.replaced) {
		case 0:
			primary++
			if !s.inRoom().Connected {
				t.Error("a process with an open socket counts as lost")
			}
		case 1:
			s.Disconnected()
		default:
			t.Errorf("told %d times", len(s.replaced))
		}
	}
	if primary != len(sockets) {
		t.Errorf("%d primary sockets for %d processes", primary, len(sockets))
	}
	for _, s := range sockets {
		if !s.inRoom().Connected {
			t.Error("the end of an old socket was taken for that of the primary one")
		}
	}
}
