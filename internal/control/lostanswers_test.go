package control

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A process that lost the answer to ActivateServerProcess ignores pushes until it has one: the C++ server SDK drops an
// earlier CreateGameSession. So the push is repeated after the next request, over the same socket.
func TestActivatedAgain(t *testing.T) {
	w := newWorld(t)
	fleetID, sockets := w.host(1)
	s := sockets[0]
	session := w.create(fleetID, nil)
	if push, ok := s.next().(processes.CreateGameSessionPush); !ok || push.GameSessionID != session {
		t.Fatalf("got %+v", push)
	}
	s.ok(s.ready(7777))
	if push, ok := s.next().(processes.CreateGameSessionPush); !ok || push.GameSessionID != session {
		t.Fatalf("after asking again: %+v", push)
	}
	s.ok(s.activate(session))
	s.ok(s.ready(7777)) // the game has begun: nothing is pushed again
	s.quiet()

	w.must("TerminateGameSession", object{"GameSessionId": session, "TerminationMode": "TRIGGER_ON_PROCESS_TERMINATE"})
	if _, ok := s.next().(processes.TerminateProcessPush); !ok {
		t.Fatal("not asked to end")
	}
	s.ok(s.ready(7777))
	if _, ok := s.next().(processes.TerminateProcessPush); !ok {
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

// The server SDK for C# comes back with a new idempotency token, as a new process with the same id
// does. Until it says that it is ready, it is no process.
func TestBackForTheFarewellWithANewToken(t *testing.T) {
	w := newWorld(t)
	fleetID, sockets := w.host(1)
	s := sockets[0]
	s.ok(s.end())
	s.wasReplaced()
	s.Disconnected()

	for i := range 2 {
		connect := s.connect
		connect.SDKLanguage, connect.IdempotencyToken = "CSharp", fmt.Sprint("token-", i)
		again := w.mustDial(connect)
		if p := again.inRoom(); p.Status != fleet.ProcessEnded {
			t.Errorf("the process that came back is %+v", p)
		}
		again.ok(again.end())
		wantKind(t, "heartbeat", again.heartbeat(true), fault.NotFound)
		again.Disconnected()
		w.elapse(2 * time.Minute)
	}
	w.elapse(5 * time.Minute) // in which a process must be ready
	if text := w.events(fleetID); strings.Contains(text, "SERVER_PROCESS") {
		t.Error("fleet events:", text)
	}

	connect := s.connect
	connect.IdempotencyToken = "new run"
	fresh := w.mustDial(connect)
	fresh.ok(fresh.ready(7778))
	if p := fresh.inRoom(); p.Status != fleet.ProcessIdle || p.Port != 7778 || !p.Connected {
		t.Errorf("the new process is %+v", p)
	}
	session := w.create(fleetID, nil)
	if push, ok := fresh.next().(processes.CreateGameSessionPush); !ok || push.GameSessionID != session {
		t.Errorf("got %+v", push)
	}
	fresh.Disconnected()
	if p := fresh.inRoom(); p.Connected {
		t.Error("its socket is gone, and the room does not know")
	}
}
