package gameserver

import (
	"context"
	"encoding/json"
	"time"
)

// The methods whose requests have other names on the wire.
const (
	processReady  = "ProcessReady"
	processEnding = "ProcessEnding"
)

// The actions, by their names on the wire, which are also those of their methods.
const (
	activateProcess     = "ActivateServerProcess"
	heartbeat           = "HeartbeatServerProcess"
	activateGameSession = "ActivateGameSession"
	acceptPlayer        = "AcceptPlayerSession"
	removePlayer        = "RemovePlayerSession"
	updatePolicy        = "UpdatePlayerSessionCreationPolicy"
	describePlayers     = "DescribePlayerSessions"
	getCertificate      = "GetComputeCertificate"
	terminateProcess    = "TerminateServerProcess"
)

// ProcessReady reports that the process can host a game session, and starts the health reports. The callbacks may be
// called before it returns. It may be repeated after a failure; after a success it returns ErrReady.
func (s *Server) ProcessReady(ctx context.Context, p ProcessParameters) error {
	if err := p.validate(); err != nil {
		return err
	}
	// A game session may follow the reply at once, so the callbacks come first.
	if err := s.setProcess(&p); err != nil {
		return err
	}
	_, err := s.call(ctx, activateProcess, activateLimit, struct {
		SdkVersion, SdkLanguage     string
		SdkToolName, SdkToolVersion string `json:",omitempty"`
		Port                        int
		LogPaths                    []string
	}{
		sdkVersion, sdkLanguage, s.cfg.Getenv("GAMELIFT_SDK_TOOL_NAME"), s.cfg.Getenv("GAMELIFT_SDK_TOOL_VERSION"),
		p.Port, append([]string{}, p.LogPaths...),
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.process = nil
		return as(processReady, err)
	}
	if s.closed {
		return failed(processReady, ErrClosed)
	}
	s.running.Go(func() { s.reportHealth(p.OnHealthCheck) })
	return nil
}

// setProcess stores the parameters, once.
func (s *Server) setProcess(p *ProcessParameters) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.begun:
		return failed(processReady, ErrNotConnected)
	case s.process != nil:
		return failed(processReady, ErrReady)
	}
	s.process = p
	return nil
}

// ActivateGameSession reports that the game session of OnStartGameSession is ready for players.
func (s *Server) ActivateGameSession(ctx context.Context) error {
	return s.callInSession(ctx, activateGameSession, inSession{})
}

// AcceptPlayerSession checks the reservation of a player who has connected: the player session becomes ACTIVE. Code 404
// or 409 means that the player must be rejected.
func (s *Server) AcceptPlayerSession(ctx context.Context, playerSessionID string) error {
	return s.callForPlayer(ctx, acceptPlayer, playerSessionID)
}

// RemovePlayerSession reports that a player has left.
func (s *Server) RemovePlayerSession(ctx context.Context, playerSessionID string) error {
	return s.callForPlayer(ctx, removePlayer, playerSessionID)
}

// UpdatePlayerSessionCreationPolicy allows or denies reservations for further players.
func (s *Server) UpdatePlayerSessionCreationPolicy(ctx context.Context, policy PlayerSessionCreationPolicy) error {
	return s.callInSession(ctx, updatePolicy, inSession{PlayerSessionPolicy: policy})
}

// inSession are the fields of the requests about the process's game session.
type inSession struct {
	GameSessionId       string
	PlayerSessionId     string                      `json:",omitempty"`
	PlayerSessionPolicy PlayerSessionCreationPolicy `json:",omitempty"`
}

func (s *Server) callForPlayer(ctx context.Context, action, playerSessionID string) error {
	if playerSessionID == "" {
		return invalid(action, "the player session id must be given")
	}
	return s.callInSession(ctx, action, inSession{PlayerSessionId: playerSessionID})
}

// callInSession sends a request about the game session that the process hosts.
func (s *Server) callInSession(ctx context.Context, action string, fields inSession) error {
	fields.GameSessionId = s.GameSessionID()
	if fields.GameSessionId == "" {
		return failed(action, ErrNoGameSession)
	}
	_, err := s.call(ctx, action, requestLimit, fields)
	return err
}

// DescribePlayerSessions finds player sessions, a page at a time.
func (s *Server) DescribePlayerSessions(ctx context.Context, q PlayerSessionQuery) (PlayerSessions, error) {
	data, err := s.call(ctx, describePlayers, requestLimit, struct {
		GameSessionId, PlayerSessionId, PlayerId string              `json:",omitempty"`
		PlayerSessionStatusFilter                PlayerSessionStatus `json:",omitempty"`
		NextToken                                string              `json:",omitempty"`
		Limit                                    int                 `json:",omitempty"`
	}{q.GameSessionID, q.PlayerSessionID, q.PlayerID, q.Status, q.NextToken, q.Limit})
	if err != nil {
		return PlayerSessions{}, err
	}
	return decodePlayerSessions(data)
}

func decodePlayerSessions(data []byte) (PlayerSessions, error) {
	var r struct {
		NextToken      string
		PlayerSessions []struct {
			PlayerId, PlayerSessionId, GameSessionId, FleetId, PlayerData, IpAddress, DnsName string
			Port                                                                              int
			CreationTime, TerminationTime                                                     int64
			Status                                                                            PlayerSessionStatus
		}
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return PlayerSessions{}, failed(describePlayers, err)
	}
	page := PlayerSessions{NextToken: r.NextToken, PlayerSessions: make([]PlayerSession, len(r.PlayerSessions))}
	for i, ps := range r.PlayerSessions {
		page.PlayerSessions[i] = PlayerSession{
			PlayerID: ps.PlayerId, PlayerSessionID: ps.PlayerSessionId, GameSessionID: ps.GameSessionId,
			FleetID:    ps.FleetId,
			PlayerData: ps.PlayerData, IPAddress: ps.IpAddress, Port: ps.Port, DNSName: ps.DnsName, Status: ps.Status,
			CreationTime: milliseconds(ps.CreationTime), TerminationTime: milliseconds(ps.TerminationTime),
		}
	}
	return page, nil
}

// milliseconds reads a time on the wire; 0 is none.
func milliseconds(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// GetComputeCertificate asks where the compute's TLS certificate is.
func (s *Server) GetComputeCertificate(ctx context.Context) (ComputeCertificate, error) {
	var c ComputeCertificate
	data, err := s.call(ctx, getCertificate, requestLimit, nil)
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return c, failed(getCertificate, err)
	}
	return c, nil
}

// ProcessEnding reports that the process is about to exit. Call Close after it. A repeat after a success does nothing.
// If the connection drops before the reply, and the service does not accept the process again, the service has ended
// it: that is a success, too.
func (s *Server) ProcessEnding(ctx context.Context) error {
	if s.isEnding() {
		return nil
	}
	s.setLeaving(true)
	defer s.setLeaving(false)
	_, err := s.call(ctx, terminateProcess, requestLimit, nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && !s.ended {
		return as(processEnding, err)
	}
	s.ended = true
	return nil
}

func (s *Server) setLeaving(leaving bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaving = leaving
}

// hasLeft notes that the service rejects this process, and reports whether that is because the process has reported its
// end.
func (s *Server) hasLeft() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = s.ended || s.leaving
	return s.ended
}
