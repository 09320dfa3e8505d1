package control

import (
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/fault"
)

// A process whose answer to ActivateServerProcess got lost ignores what it is
// told until it has one: the C++ server SDK drops a CreateGameSession that comes
// before. So it is told again when it has asked again, over the same socket.
func TestActivatedAgain(t *testing.T) {
	w := newWorld(t)
	fleetID, sockets := w.host(1)
	s := sockets[0]
	session := w.create(fleetID, nil)
	if push, ok := s.next().(CreateGameSessionPush); !ok || push.GameSessionID != session {
		t.Fatalf("got %+v", push)
	}
	s.ok(s.ready(7777))
	if push, ok := s.next().(CreateGameSessionPush); !ok || push.GameSessionID != session {
		t.Fatalf("after asking again: %+v", push)
	}
	s.ok(s.activate(session))
	s.ok(s.ready(7777)) // the game has begun: there is nothing to tell again
	s.quiet()

	w.must("TerminateGameSession", object{"GameSessionId": session, "TerminationMode": "TRIGGER_ON_PROCESS_TERMINATE"})
	if _, ok := s.next().(TerminateProcessPush); !ok {
		t.Fatal("not asked to end")
	}
	s.ok(s.ready(7777))
	if _, ok := s.next().(TerminateProcessPush); !ok {
		t.Error("not asked to end again")
	}
}

// A process whose answer to TerminateServerProcess got lost may come back for it,
// and for nothing else.
func TestBackForTheFarewell(t *testing.T) {
	w := newWorld(t)
	_, sockets := w.host(1)
	s := sockets[0]
	s.ok(s.end())
	s.wasReplaced()
	s.Disconnected()

	again, err := w.dial(s.connect)
	if err != nil {
		t.Fatal(err)
	}
	again.wasReplaced() // its door closes by itself
	again.ok(again.end())
	wantKind(t, "heartbeat", again.heartbeat(true), fault.NotFound)
	again.Disconnected()

	w.elapse(time.Minute)
	_, err = w.dial(s.connect)
	wantKind(t, "a minute later", err, fault.AccessDenied)
}
