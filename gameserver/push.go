package gameserver

import (
	"context"
	"encoding/json"
	"strings"
	"time"
)

// An inbound has the members that all messages of the service share. A push has no RequestId.
type inbound struct {
	Action       string
	RequestId    string
	StatusCode   int
	ErrorMessage string
	secrets
}

// secrets are the members of messages that must not be logged.
type secrets struct {
	AuthToken                     string // of RefreshConnection
	SecretAccessKey, SessionToken string // of GetFleetRoleCredentials
}

// receive handles one message of the service. It never waits.
func (s *Server) receive(sock *socket, data []byte) {
	var m inbound
	if err := json.Unmarshal(data, &m); err != nil {
		s.log.Warn("message ignored", "reason", "not the JSON of a reply or a push", "bytes", len(data))
		return
	}
	s.cfg.Trace(Message{Remote: sock.ws.RemoteAddr(), Text: redact(data, m.secrets)})
	if m.RequestId != "" {
		s.deliver(m, data)
		return
	}
	if err := s.pushed(m.Action, data); err != nil {
		s.log.Warn("message ignored", "action", m.Action, "reason", err)
	}
}

// redact is the text of a message without its secrets. They are found by their names: in the text they may be written
// with escapes.
func redact(data []byte, s secrets) string {
	if s == (secrets{}) {
		return string(data)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return "{}"
	}
	for name := range members {
		for _, secret := range []string{"AuthToken", "SecretAccessKey", "SessionToken"} {
			if strings.EqualFold(name, secret) {
				members[name] = json.RawMessage(`"***"`)
			}
		}
	}
	text, err := json.Marshal(members)
	if err != nil {
		return "{}"
	}
	return string(text)
}

// deliver passes a reply to its call. No call waits for a second reply, or a late one.
func (s *Server) deliver(m inbound, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	replies := s.pending[m.RequestId]
	if replies == nil {
		s.log.Debug("reply ignored: no call waits for it", "action", m.Action)
		return
	}
	delete(s.pending, m.RequestId)
	replies <- reply{m.StatusCode, m.ErrorMessage, data} // has room for the one reply
}

// The pushes, as they are on the wire.
type (
	createPush struct {
		wireSession
		GameSessionName string
	}
	updatePush struct {
		GameSession      wireSession
		UpdateReason     UpdateReason
		BackfillTicketId string
	}
	terminatePush struct{ TerminationTime int64 } // milliseconds since 1970
	refreshPush   struct{ RefreshConnectionEndpoint, AuthToken string }
	wireSession   struct {
		GameSessionId, Name, FleetId, Location, Status, StatusReason string
		GameSessionData, MatchmakerData, IpAddress, DnsName          string
		Port, MaximumPlayerSessionCount                              int
		GameProperties                                               map[string]string
	}
)

func (w wireSession) session() GameSession {
	if w.GameProperties == nil {
		w.GameProperties = map[string]string{}
	}
	return GameSession{
		GameSessionID: w.GameSessionId, Name: w.Name, FleetID: w.FleetId,
		MaximumPlayerSessionCount: w.MaximumPlayerSessionCount,
		IPAddress:                 w.IpAddress, Port: w.Port, DNSName: w.DnsName, GameProperties: w.GameProperties,
		GameSessionData: w.GameSessionData,
		MatchmakerData:  w.MatchmakerData, Location: w.Location, Status: w.Status, StatusReason: w.StatusReason,
	}
}

// pushed handles a message that is not a reply. Unknown actions are those of newer versions, and ignored.
func (s *Server) pushed(action string, data []byte) error {
	switch action {
	case "CreateGameSession":
		return decodeThen(data, s.gameSessionCreated)
	case "UpdateGameSession":
		return decodeThen(data, s.gameSessionUpdated)
	case "TerminateProcess":
		return decodeThen(data, s.terminateOrdered)
	case "RefreshConnection":
		return decodeThen(data, s.refreshOrdered)
	}
	s.log.Debug("message ignored", "action", action, "reason", "no such action here")
	return nil
}

// decodeThen hands on a decoded push.
func decodeThen[P any](data []byte, then func(P)) error {
	var p P
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	then(p)
	return nil
}

// gameSessionCreated starts the one game session of the process. The service repeats the push until the session
// is activated.
func (s *Server) gameSessionCreated(p createPush) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.process == nil:
		s.log.Warn("game session ignored: the process is not ready", "game_session", p.GameSessionId)
		return
	case s.session == p.GameSessionId:
		s.log.Debug("game session ignored: it was received before", "game_session", p.GameSessionId)
		return
	case s.session != "":
		s.log.Warn("game session ignored: the process has another", "game_session", p.GameSessionId)
		return
	}
	gs := p.session()
	gs.Name, gs.FleetID = p.GameSessionName, s.params.FleetID
	s.session = gs.GameSessionID
	start := s.process.OnStartGameSession
	s.log.Info("game session received", "game_session", gs.GameSessionID)
	s.schedule(func() { start(gs) })
}

func (s *Server) gameSessionUpdated(p updatePush) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil || s.process.OnUpdateGameSession == nil {
		return
	}
	update := s.process.OnUpdateGameSession
	s.schedule(func() { update(GameSessionUpdate{p.GameSession.session(), p.UpdateReason, p.BackfillTicketId}) })
}

// schedule runs a callback about the game session. The lock is held.
func (s *Server) schedule(callback func()) {
	if s.process.inOrder != nil {
		s.process.inOrder(callback)
		return
	}
	s.callbacks.Go(callback)
}

// terminateOrdered notes that the process is to end. Repeats may move the time.
func (s *Server) terminateOrdered(p terminatePush) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		s.log.Warn("order to terminate ignored: the process is not ready")
		return
	}
	s.deadline = time.UnixMilli(p.TerminationTime)
	if s.ordered {
		return
	}
	s.ordered = true
	s.log.Info("asked to terminate", "deadline", s.deadline)
	terminate := s.process.OnProcessTerminate
	if terminate == nil {
		terminate = s.endByItself
	}
	s.callbacks.Go(terminate)
}

// endByItself ends the process for a game server that has no callback for it.
func (s *Server) endByItself() {
	if err := s.ProcessEnding(context.Background()); err != nil {
		s.log.Warn("reporting the end of the process failed", "error", err)
	}
	s.Close()
}

// refreshOrdered passes a refresh on to the supervisor. While one waits there, another is not needed: the service asks
// again.
func (s *Server) refreshOrdered(p refreshPush) {
	select {
	case s.refreshes <- p:
	default:
	}
}
