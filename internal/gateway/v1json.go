package gateway

import (
	"time"

	"github.com/muster-gg/muster/internal/wire"
)

// The objects of /v1/, as in openapi.yaml.

// A sessionView is a game session. It has no endpoint, which only its players receive.
type sessionView struct {
	ID           string                       `json:"id"`
	Name         string                       `json:"name"`
	Status       wire.GameSessionStatus       `json:"status"`
	StatusReason wire.GameSessionStatusReason `json:"statusReason,omitempty"`
	Players      int32                        `json:"players"`
	MaxPlayers   int32                        `json:"maxPlayers"`
	Open         bool                         `json:"open"`
	BuildID      *int32                       `json:"buildId,omitempty"`
	Properties   map[string]string            `json:"properties"`
	FleetID      string                       `json:"fleetId,omitempty"`
	Location     string                       `json:"location,omitempty"`
	CreatedAt    time.Time                    `json:"createdAt"`
	EndedAt      *time.Time                   `json:"endedAt,omitempty"`
}

func viewSession(s *wire.GameSession) *sessionView {
	v := &sessionView{
		ID: s.GameSessionId, Name: s.Name, Status: s.Status, StatusReason: s.StatusReason,
		Players: s.CurrentPlayerSessionCount.Or(0), MaxPlayers: s.MaximumPlayerSessionCount.Or(0), Open: open(s),
		Properties: make(map[string]string, len(s.GameProperties)), FleetID: s.FleetId, Location: s.Location,
		CreatedAt: s.CreationTime.UTC(), EndedAt: moment(s.TerminationTime),
	}
	if build, ok := buildOf(s); ok {
		n := build.Or(0)
		v.BuildID = &n
	}
	for _, p := range s.GameProperties {
		if p.Key != marker {
			v.Properties[p.Key] = p.Value
		}
	}
	return v
}

// moment returns nil for the zero time.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// An endpointView is the address of a game server.
type endpointView struct {
	IPAddress string `json:"ipAddress"`
	DNSName   string `json:"dnsName,omitempty"`
	Port      int32  `json:"port"`
}

// A playerView is a player session.
type playerView struct {
	ID        string                   `json:"id"`
	PlayerID  string                   `json:"playerId"`
	SessionID string                   `json:"sessionId"`
	Status    wire.PlayerSessionStatus `json:"status"`
	CreatedAt time.Time                `json:"createdAt"`
	Endpoint  endpointView             `json:"endpoint"`
	Data      string                   `json:"data,omitempty"`
}

func viewPlayer(p *wire.PlayerSession) *playerView {
	return &playerView{
		ID: p.PlayerSessionId, PlayerID: p.PlayerId, SessionID: p.GameSessionId, Status: p.Status,
		CreatedAt: p.CreationTime.UTC(),
		Endpoint:  endpointView{p.IpAddress, p.DnsName, p.Port.Or(0)}, Data: p.PlayerData,
	}
}

// A matchView is the game session of a match, and its player sessions.
type matchView struct {
	SessionID string          `json:"sessionId"`
	Endpoint  endpointView    `json:"endpoint"`
	Players   []matchedPlayer `json:"players"`
}

type matchedPlayer struct {
	ID              string `json:"id"`
	PlayerSessionID string `json:"playerSessionId"`
}

// add adds a player to a match if subject may see its player session id, which admits to the game.
func (m *matchView) add(subject, player, playerSession string) {
	if subject == "" || subject == player {
		m.Players = append(m.Players, matchedPlayer{player, playerSession})
	}
}

type ticketView struct {
	ID            string                              `json:"id"`
	Configuration string                              `json:"configuration"`
	Status        wire.MatchmakingConfigurationStatus `json:"status"`
	StatusReason  string                              `json:"statusReason,omitempty"`
	StatusMessage string                              `json:"statusMessage,omitempty"`
	StartedAt     *time.Time                          `json:"startedAt,omitempty"`
	EndedAt       *time.Time                          `json:"endedAt,omitempty"`
	EstimatedWait *int32                              `json:"estimatedWaitSeconds,omitempty"`
	Players       []ticketPlayer                      `json:"players"`
	Match         *matchView                          `json:"match,omitempty"`
}

type ticketPlayer struct {
	ID   string `json:"id"`
	Team string `json:"team,omitempty"`
}

// viewTicket returns a ticket for subject; with all players if that is "".
func viewTicket(t *wire.MatchmakingTicket, subject string) *ticketView {
	v := &ticketView{
		ID: t.TicketId, Configuration: t.ConfigurationName, Status: t.Status, StatusReason: t.StatusReason,
		StatusMessage: t.StatusMessage,
		StartedAt:     moment(t.StartTime), EndedAt: moment(t.EndTime), Players: make([]ticketPlayer, len(t.Players)),
	}
	if n, ok := t.EstimatedWaitTime.Get(); ok {
		v.EstimatedWait = &n
	}
	for i, p := range t.Players {
		v.Players[i] = ticketPlayer{p.PlayerId, p.Team}
	}
	if c := t.GameSessionConnectionInfo; c != nil && t.Status == wire.MatchmakingConfigurationStatusCompleted {
		v.Match = &matchView{SessionID: c.GameSessionArn, Endpoint: endpointView{c.IpAddress, c.DnsName, c.Port.Or(0)},
			Players: []matchedPlayer{}}
		for _, p := range c.MatchedPlayerSessions {
			v.Match.add(subject, p.PlayerId, p.PlayerSessionId)
		}
	}
	return v
}

type placementView struct {
	ID        string                         `json:"id"`
	Queue     string                         `json:"queue"`
	Status    wire.GameSessionPlacementState `json:"status"`
	StartedAt *time.Time                     `json:"startedAt,omitempty"`
	EndedAt   *time.Time                     `json:"endedAt,omitempty"`
	Match     *matchView                     `json:"match,omitempty"`
}

// viewPlacement returns a placement for subject; with all players if that is "".
func viewPlacement(p *wire.GameSessionPlacement, subject string) *placementView {
	v := &placementView{ID: p.PlacementId, Queue: p.GameSessionQueueName, Status: p.Status,
		StartedAt: moment(p.StartTime), EndedAt: moment(p.EndTime)}
	if p.Status == wire.GameSessionPlacementStateFulfilled {
		v.Match = &matchView{SessionID: p.GameSessionArn, Endpoint: endpointView{p.IpAddress, p.DnsName, p.Port.Or(0)},
			Players: []matchedPlayer{}}
		for _, placed := range p.PlacedPlayerSessions {
			v.Match.add(subject, placed.PlayerId, placed.PlayerSessionId)
		}
	}
	return v
}
