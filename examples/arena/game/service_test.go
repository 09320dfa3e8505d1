package game

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const (
	token     = "3c1b6f0e-5f0a-4c55-9b0e-2f1f6f2b7a10"
	sessionID = "arn:aws:gamelift:us-west-2::gamesession/fleet-1/custom-lab/gsess-1"
	patience  = 30 * time.Second
)

// A service is a control plane with one process and one game session. It knows
// the player sessions psess-1, psess-2, and psess-3, who came too late.
type service struct {
	refuse error
	idle   bool                               // gives out no game session
	places int32                              // of the game session; 0 for 4
	answer func(ticket string, answer func()) // of AcceptPlayerSession; nil for at once

	mu       sync.Mutex
	push     func(processes.Push)
	port     int32
	calls    []string
	sessions map[string]string // player session id to status
	changed  chan struct{}
}

func newService() *service {
	return &service{
		places: 4, changed: make(chan struct{}, 1),
		sessions: map[string]string{"psess-1": "RESERVED", "psess-2": "RESERVED", "psess-3": "TIMEDOUT"},
	}
}

func (s *service) Connect(_ context.Context, c processes.ConnectRequest) (processes.Connection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.push = c.Push
	return s, s.refuse
}

// note records a call.
func (s *service) note(format string, args ...any) {
	s.mu.Lock()
	s.calls = append(s.calls, fmt.Sprintf(format, args...))
	s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *service) Activate(r processes.ProcessReady, done func(error)) {
	s.mu.Lock()
	s.port = r.Port
	push := s.push
	s.mu.Unlock()
	s.note("activate")
	done(nil)
	if !s.idle {
		push(processes.CreateGameSessionPush{GameSessionID: sessionID, Name: "duel",
			MaximumPlayerSessionCount: s.places, Port: r.Port})
	}
}

func (s *service) StartMatchBackfill(_ processes.MatchBackfill, done func(string, error)) {
	done("", fault.New(fault.UnsupportedRegion, "there is no matchmaking"))
}

func (s *service) StopMatchBackfill(_, _, _ string, done func(error)) {
	done(fault.New(fault.UnsupportedRegion, "there is no matchmaking"))
}

func (s *service) Heartbeat(healthy bool, done func(error)) { done(nil); s.note("healthy %t", healthy) }

func (s *service) ActivateGameSession(gs string, done func(error)) {
	done(nil)
	s.note("active %s", gs)
}

func (s *service) AcceptPlayerSession(_, ps string, done func(error)) {
	err := s.take(ps)
	if err == nil {
		s.note("accept %s", ps)
	}
	if s.answer == nil {
		done(err)
		return
	}
	s.answer(ps, func() { done(err) })
}

// take takes a reservation.
func (s *service) take(ps string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch status, ok := s.sessions[ps]; {
	case !ok:
		return fault.New(fault.NotFound, "no such player session")
	case status != "RESERVED":
		return fault.New(fault.Conflict, "player session is %s", status)
	}
	s.sessions[ps] = "ACTIVE"
	return nil
}

func (s *service) RemovePlayerSession(_, ps string, done func(error)) {
	s.note("remove %s", ps)
	done(nil)
}

func (s *service) UpdatePlayerSessionCreationPolicy(_, _ string, done func(error)) { done(nil) }

func (s *service) DescribePlayerSessions(
	_ processes.PlayerSessionQuery, done func(processes.PlayerSessionPage, error),
) {
	done(processes.PlayerSessionPage{}, nil)
}

func (*service) RoleCredentials(_, _ string, done func(*processes.RoleKeys, error)) { done(nil, nil) }

func (s *service) ComputeCertificate(done func(path, compute string, err error)) { done("", "", nil) }
func (s *service) Terminate(done func(error))                                    { s.note("terminate"); done(nil) }
func (s *service) Disconnected()                                                 {}

// made are the calls so far.
func (s *service) made() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// count is how often a call was made.
func (s *service) count(call string) (n int) {
	for _, c := range s.made() {
		if c == call {
			n++
		}
	}
	return n
}

// await waits until a call has been made.
func (s *service) await(t *testing.T, call string) {
	t.Helper()
	s.awaitThat(t, call, func(calls []string) bool { return slices.Contains(calls, call) })
}

// awaitThat waits until the calls are as wanted.
func (s *service) awaitThat(t *testing.T, what string, wanted func(calls []string) bool) {
	t.Helper()
	limit := time.After(patience)
	for !wanted(s.made()) {
		select {
		case <-s.changed:
		case <-limit:
			t.Fatalf("still waiting for %q in %v", what, s.made())
		}
	}
}

// removedOnce checks that what was accepted was removed, once, before the end.
func (s *service) removedOnce(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	count := map[string]int{}
	for _, c := range s.calls {
		count[c]++
	}
	for ticket, status := range s.sessions {
		accepted, removed := count["accept "+ticket], count["remove "+ticket]
		if status == "ACTIVE" && (accepted != 1 || removed != 1) {
			t.Errorf("%s was accepted %d times and removed %d times", ticket, accepted, removed)
		}
	}
	if i := slices.Index(s.calls, "terminate"); i != len(s.calls)-1 {
		t.Errorf("calls after the end: %v", s.calls[i+1:])
	}
}
