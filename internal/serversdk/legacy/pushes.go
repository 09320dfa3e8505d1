package legacy

import (
	"time"

	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A push is a message to a game server: its name in socket.io, the name of its message, and its content.
type push struct {
	event, message string
	content        any
	terminate      time.Time // the content depends on the protocol: terminateProcess; zero for others
	confirmed      bool      // the game server answers
}

// push sends a push of the service. It is called from goroutines that must not be blocked.
func (s *server) push(p processes.Push) {
	switch p := p.(type) {
	case processes.CreateGameSessionPush:
		s.startGameSession(p)
	case processes.UpdateGameSessionPush:
		p.GameSession.FleetID = p.FleetID
		content := updateGameSession{gameSessionOf(p.GameSession), p.UpdateReason, p.BackfillTicketID}
		s.send(push{event: "UpdateGameSession", message: "UpdateGameSession", content: content, confirmed: true},
			func(error) {})
	case processes.TerminateProcessPush:
		s.terminate(p.TerminationTime)
	}
}

// terminate asks the game server to end, unless it has not called ProcessReady: the port to Node.js crashes then.
func (s *server) terminate(by time.Time) {
	s.mu.Lock()
	ready := s.readyOver != nil || s.conn != nil && (s.conn.Before().Ready || s.conn.Before().Ended)
	s.toldToEnd = s.toldToEnd || ready
	s.mu.Unlock()
	if ready {
		s.send(push{event: "TerminateProcess", message: "TerminateProcess", terminate: by}, nil)
	}
}

// startGameSession pushes a game session, unless the game server has accepted it.
func (s *server) startGameSession(p processes.CreateGameSessionPush) {
	s.mu.Lock()
	id, connected := p.GameSessionID, s.conn != nil
	if s.accepted == id || s.activated == id {
		s.mu.Unlock()
		return
	}
	s.pushed = id
	if !connected {
		s.hold(p)
		s.mu.Unlock()
		return
	}
	s.pushedAt = s.endpoint.Clock.Now()
	s.mu.Unlock()
	s.endpoint.say("Reserved process: "+s.processID()+" for gameSession: "+id, "fleet", p.FleetID)
	content := activateGameSession{gameSessionOf(p)}
	s.send(push{event: "StartGameSession", message: "ActivateGameSession", content: content, confirmed: true},
		func(err error) { s.started(id, err) })
}

// hold delays a push to a process that has reconnected. It may have received the game session before, and starting it
// twice would run the callback of the game twice; then it activates the game session soon. The lock must be held.
func (s *server) hold(p processes.CreateGameSessionPush) {
	if s.held != nil {
		s.held.Stop()
	}
	s.pushedAt = time.Time{}
	s.held = s.endpoint.Clock.AfterFunc(s.endpoint.RepeatAfter, func() {
		s.mu.Lock()
		due := s.pushed == p.GameSessionID && s.pushedAt.IsZero() && s.conn != nil && !s.ended
		s.mu.Unlock()
		if due {
			s.startGameSession(p)
		}
	})
}

// errLost is the outcome of a game session whose game server has lost its sockets before it answered. It may have
// started it, so the game session stays.
var errLost = fault.New(fault.ServiceUnavailable, "The game server has lost its connection. Try again.")

// started records whether the game server has accepted a game session.
func (s *server) started(id string, err error) {
	conn := s.connection()
	switch {
	case err == nil:
		s.endpoint.say("Received ack response: true", "process", s.processID())
		s.accept(id)
		if conn != nil {
			conn.Started(id, nil)
		}
	case err == errLost: //nolint:errorlint // it is passed on unchanged
		if conn != nil {
			conn.Unknown(id, err)
		}
	default:
		s.endpoint.Log.Warn("old game server has not accepted a game session", "process", s.processID(), "err", err)
		if conn != nil {
			conn.Started(id, err)
		}
	}
}

func (s *server) accept(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accepted = id
}

// send pushes over one socket: one that sends no requests, if there is any. Pushing over both would run the callback of
// the game twice.
func (s *server) send(p push, answered func(error)) {
	s.mu.Lock()
	var to link
	for _, l := range s.links {
		if to = l; !s.asking[l] {
			break
		}
	}
	s.mu.Unlock()
	if to == nil {
		if answered != nil {
			answered(errLost)
		}
		return
	}
	s.endpoint.Metrics.Pushed(actionOf(p.message))
	to.push(p, answered)
}
