package legacy

import (
	"context"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// actions are the names of requests and pushes in server SDK 5, which the metrics use.
var actions = map[string]string{
	"ProcessReady": "ActivateServerProcess", "ProcessEnding": "TerminateServerProcess",
	"ReportHealth": "HeartbeatServerProcess", "GameSessionActivate": "ActivateGameSession",
	"UpdatePlayerSessionCreationPolicy": "UpdatePlayerSessionCreationPolicy",
	"AcceptPlayerSession":               "AcceptPlayerSession", "RemovePlayerSession": "RemovePlayerSession",
	"DescribePlayerSessionsRequest": "DescribePlayerSessions", "BackfillMatchmakingRequest": "StartMatchBackfill",
	"StopMatchmakingRequest": "StopMatchBackfill", "GetInstanceCertificate": "GetComputeCertificate",
	"GameSessionTerminate": "TerminateGameSession",
	"ActivateGameSession":  "CreateGameSession", "UpdateGameSession": "UpdateGameSession",
	"TerminateProcess": "TerminateProcess",
}

func actionOf(message string) string {
	if action, ok := actions[message]; ok {
		return action
	}
	return "unknown"
}

// words are what GameLift Local logs for a request.
var words = map[string]string{
	"ProcessReady": "onProcessReady received", "ProcessEnding": "onProcessEnding received",
	"ReportHealth": "onReportHealth received", "GameSessionActivate": "onGameSessionActivate received",
	"GameSessionTerminate":       "Handling game session terminate event",
	"BackfillMatchmakingRequest": "BackfillMatchmakingRequest received",
	"StopMatchmakingRequest":     "StopMatchmakingRequest received",
}

// A request is one of a game server, over a socket or by HTTP.
type request struct {
	name string // short
	message
	from link // nil: by HTTP without a socket
}

// handle carries out a request. answered is called once, with the text of a successful answer, from a goroutine that
// must not be blocked.
func (s *server) handle(name string, data []byte, from link, answered func(text string, err error)) {
	began := s.endpoint.Clock.Now()
	short, m, err := parseRequest(name, data)
	r := &request{short, m, from}
	done := s.count(r, began, answered)
	if err != nil {
		done("", fault.New(fault.InvalidRequest, "%s", err.Error()))
		return
	}
	s.log(r)
	if !s.take() {
		done("", fault.New(fault.Throttling, "%d requests of this game server are pending.", maxPending))
		return
	}
	s.carryOut(r, func(text string, err error) {
		s.give()
		done(text, err)
	})
}

// count records a request for reports and metrics, and returns answered with what records its outcome.
func (s *server) count(r *request, began time.Time, answered func(string, error)) func(string, error) {
	s.mu.Lock()
	s.requests[r.name]++
	s.lastRequest, s.lastAt = r.name, began
	if r.name == "ReportHealth" {
		s.healthAt = began
	}
	if r.from != nil {
		if s.asking == nil {
			s.asking = map[link]bool{}
		}
		s.asking[r.from] = true
	}
	s.mu.Unlock()
	return func(text string, err error) {
		status := 200
		if err != nil {
			status = 400
			if serviceFailed(fault.Of(err)) {
				status = 500
			}
			s.mu.Lock()
			s.lastError = r.name + ": " + fault.Of(err).Message
			s.mu.Unlock()
			s.endpoint.say("request of an old game server rejected", "process", s.processID(), "request", r.name,
				"error", fault.Of(err).Message)
		}
		s.endpoint.Metrics.Replied(actionOf(r.name), status, s.endpoint.Clock.Since(began))
		answered(text, err)
	}
}

func (s *server) log(r *request) {
	said := words[r.name]
	if said == "" {
		said = r.name + " received"
	}
	if r.name == "ReportHealth" {
		said += " with health status: unhealthy"
		if r.Healthy {
			said = strings.Replace(said, "unhealthy", "healthy", 1)
		}
	}
	s.endpoint.say(said, "pid", s.key.pid, "address", s.key.address)
}

// take counts a pending request, unless there are too many.
func (s *server) take() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending >= maxPending {
		return false
	}
	s.pending++
	return true
}

func (s *server) give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending--
}

// carryOut passes a request to the control plane.
func (s *server) carryOut(r *request, done func(string, error)) {
	if r.name == "ProcessReady" {
		s.processReady(r, done)
		return
	}
	s.mu.Lock()
	conn, ended := s.conn, s.ended
	if r.name == "ProcessEnding" {
		s.ended = true
	}
	s.mu.Unlock()
	plain := func(err error) { done("", err) }
	switch {
	case r.name == "GetInstanceCertificate":
		s.certificate(done)
	case conn == nil:
		plain(errLost)
	case ended && (r.name == "ReportHealth" || r.name == "ProcessEnding"):
		plain(nil) // some SDKs report their health until they exit
	case conn.Before().Ended && s.readyCame() == nil:
		s.terminate(s.endpoint.Clock.Now()) // it does not know that its process has ended
		plain(fault.New(fault.InvalidRequest, "The process was disconnected for too long, and has ended."))
	default:
		s.onConnection(conn, r, done, plain)
	}
}

func (s *server) readyCame() link {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.readyOver
}

func (s *server) onConnection(conn processes.LegacyConnection, r *request,
	done func(string, error), plain func(error)) {
	switch r.name {
	case "ProcessEnding":
		conn.Terminate(func(err error) { s.terminated(err, plain) })
	case "ReportHealth":
		conn.Heartbeat(r.Healthy, plain)
	case "GameSessionActivate":
		conn.ActivateGameSession(r.GameSession, func(err error) { s.activatedNow(conn, r.GameSession, err, plain) })
	case "GameSessionTerminate":
		s.forgetSession()
		conn.Release(r.GameSession, func(err error) { s.released(conn, err, plain) })
	case "UpdatePlayerSessionCreationPolicy":
		conn.UpdatePlayerSessionCreationPolicy(r.GameSession, r.Policy, plain)
	case "AcceptPlayerSession":
		conn.AcceptPlayerSession(r.GameSession, r.PlayerSession, plain)
	case "RemovePlayerSession":
		conn.RemovePlayerSession(r.GameSession, r.PlayerSession, plain)
	case "DescribePlayerSessionsRequest":
		conn.DescribePlayerSessions(r.playerSessionQuery(), func(page processes.PlayerSessionPage, err error) {
			done(textOf(playerSessionsOf(page)), err)
		})
	case "BackfillMatchmakingRequest":
		conn.StartMatchBackfill(processes.MatchBackfill{
			GameSessionArn: r.GameSession, ConfigurationArn: r.Configuration, TicketID: r.Ticket, Players: r.Players,
		}, func(ticket string, err error) { done(textOf(backfillTicket{ticket}), err) })
	case "StopMatchmakingRequest":
		conn.StopMatchBackfill(r.GameSession, r.Configuration, r.Ticket, plain)
	}
}

// processReady carries out ProcessReady. It may have to connect a new process, which waits.
func (s *server) processReady(r *request, done func(string, error)) {
	of := s
	activate := func() {
		conn := of.connection()
		if conn == nil {
			of.readied(r.from, errLost, done)
			return
		}
		about := of.sdk()
		conn.Activate(processes.ProcessReady{SDKVersion: about.version, SDKLanguage: about.language, Port: r.Port,
			LogPaths: r.LogPaths}, func(err error) { of.readied(r.from, err, done) })
	}
	what := firstReady
	if r.from == nil {
		done("", fault.New(fault.InvalidRequest, "The game server has no WebSocket for pushes. Call InitSDK first."))
		return
	}
	switch what = s.readiness(r.from); what {
	case firstReady:
		activate()
	case readyAgain:
		s.endpoint.Log.Warn("ProcessReady called again: was it called more than once?", "process", s.processID())
		done("", nil)
	case newRun, otherProcess:
		s.inBackground(func(ctx context.Context) {
			var err error
			if other, ok := r.from.(*socket); ok && what == otherProcess {
				of, err = s.split(ctx, other)
			} else {
				err = s.begin(ctx, r.from)
			}
			if err != nil {
				done("", err)
				return
			}
			activate()
		})
	}
}

// readied completes a ProcessReady. After a failure the game server may call it again.
func (s *server) readied(over link, err error, done func(string, error)) {
	if err != nil {
		s.mu.Lock()
		if s.readyOver == over {
			s.readyOver = nil
		}
		s.mu.Unlock()
	}
	done("", err)
}

// inBackground calls f in a goroutine that Close waits for.
func (s *server) inBackground(f func(ctx context.Context)) {
	s.endpoint.sockets.Running.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), connectLimit)
		defer cancel()
		f(ctx)
	})
}

// activatedNow completes GameSessionActivate, which shows that the game server has accepted the game session.
func (s *server) activatedNow(conn processes.LegacyConnection, id string, err error, plain func(error)) {
	if err == nil {
		s.mu.Lock()
		s.accepted, s.activated = id, id
		s.mu.Unlock()
		conn.Started(id, nil)
	}
	plain(err)
}

// terminated completes ProcessEnding. After a failure the process runs.
func (s *server) terminated(err error, plain func(error)) {
	if err != nil {
		s.mu.Lock()
		s.ended = false
		s.mu.Unlock()
	}
	plain(err)
}

// released completes GameSessionTerminate. A process without a socket for pushes can host no other game session.
func (s *server) released(conn processes.LegacyConnection, err error, plain func(error)) {
	s.mu.Lock()
	deaf := len(s.links) == 0
	if deaf && s.conn == conn {
		s.conn = nil
	}
	s.mu.Unlock()
	if err == nil && deaf {
		conn.Disconnected()
	}
	plain(err)
}

// playerSessionQuery converts a DescribePlayerSessionsRequest. The SDKs send 0 for no limit.
func (r *request) playerSessionQuery() processes.PlayerSessionQuery {
	return processes.PlayerSessionQuery{
		GameSessionID: r.GameSession, PlayerSessionID: r.PlayerSession, PlayerID: r.Player,
		StatusFilter: r.StatusFilter, NextToken: r.NextToken, Limit: max(0, int(r.Limit)),
	}
}

// certificate answers GetInstanceCertificate with files of this machine.
func (s *server) certificate(done func(string, error)) {
	if s.endpoint.Certificate == nil || s.key.address != "127.0.0.1" {
		done("", fault.New(fault.InvalidRequest,
			"There is a certificate for game servers on the service's machine only."))
		return
	}
	c, err := s.endpoint.Certificate()
	done(textOf(c), err)
}
