package gateway

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/muster-gg/muster/session"
)

// A sessionCreation is the body of POST /v1/sessions.
type sessionCreation struct {
	Name       string            `json:"name"`
	MaxPlayers int               `json:"maxPlayers"`
	BuildID    int32             `json:"buildId,omitzero"`
	Properties map[string]string `json:"properties,omitempty"`
	Player     *newPlayer        `json:"player,omitempty"`
	Target     target            `json:"target,omitzero"`
	Wait       *bool             `json:"wait,omitempty"`
}

type newPlayer struct {
	ID   string `json:"id"`
	Data string `json:"data,omitempty"`
}

type target struct {
	FleetID  string `json:"fleetId,omitempty"`
	AliasID  string `json:"aliasId,omitempty"`
	Queue    string `json:"queue,omitempty"`
	Location string `json:"location,omitempty"`
}

// noName is sent for a session without a name: the gateway requires one.
const noName = "Session"

// A sessionObject is a session, a playerObject a player session, an endpoint its address.
type (
	sessionObject struct {
		ID           string            `json:"id"`
		Name         string            `json:"name"`
		Status       string            `json:"status"`
		StatusReason string            `json:"statusReason"`
		Players      number            `json:"players"`
		MaxPlayers   number            `json:"maxPlayers"`
		Properties   map[string]string `json:"properties"`
		FleetID      string            `json:"fleetId"`
		Location     string            `json:"location"`
		CreatedAt    time.Time         `json:"createdAt"`
		EndedAt      time.Time         `json:"endedAt"`
	}
	playerObject struct {
		ID        string   `json:"id"`
		PlayerID  string   `json:"playerId"`
		SessionID string   `json:"sessionId"`
		Endpoint  endpoint `json:"endpoint"`
	}
	endpoint struct {
		IPAddress string `json:"ipAddress"`
		DNSName   string `json:"dnsName"`
		Port      number `json:"port"`
	}
)

func (o playerObject) reservation(op string) (session.Reservation, error) {
	return complete(op, session.Reservation{
		SessionID: o.SessionID, PlayerID: o.PlayerID, PlayerSessionID: o.ID,
		DNSName: o.Endpoint.DNSName, IPAddress: o.Endpoint.IPAddress, Port: int(o.Endpoint.Port),
	})
}

// A created is the answer to a sessionCreation.
type created struct {
	Session   sessionObject   `json:"session"`
	Player    playerObject    `json:"player"`
	Placement placementObject `json:"placement"`
}

func (p *provider) create(ctx context.Context, op, key string, body sessionCreation) (created, error) {
	got, err := do(ctx, p, request{op: op, method: http.MethodPost, uri: "/v1/sessions", body: body, key: key},
		decodeObject[created])
	if e, ok := errors.AsType[*session.Error](err); ok && e.Code == forbidden && body.Target != (target{}) {
		e.Message += " The target is FleetID, AliasID, Location or QueueName of the request."
	}
	return got, err
}

// forbidden is the code of a gateway that does not allow callers to choose the target.
const forbidden = "forbidden"

// CreateSession implements session.Provider. Without FleetID and AliasID the gateway chooses the fleet; to name one it
// must allow callers to choose. It answers when the session is ACTIVE, which is later than the interface requires. The
// creator is not sent: a gateway identifies its callers by their credentials.
func (p *provider) CreateSession(ctx context.Context, r session.CreateSessionRequest) (string, error) {
	const op = "CreateSession"
	got, err := p.create(ctx, op, r.IdempotencyToken, sessionCreation{
		Name: cmp.Or(r.SessionName, noName), MaxPlayers: r.MaxPlayer, Properties: r.SessionProperties,
		Target: target{FleetID: r.FleetID, AliasID: r.AliasID, Location: r.Location},
	})
	if err == nil && got.Session.ID == "" {
		err = incomplete(op, "a session id")
	}
	return got.Session.ID, err
}

// CreateSessionOnQueue implements session.Provider. Without QueueName the gateway uses its own queue, if it has one; to
// name another it must allow callers to choose. It also chooses the placement's id; the id in the request is the
// idempotency key.
func (p *provider) CreateSessionOnQueue(ctx context.Context, r session.CreateSessionOnQueueRequest) (string, error) {
	const op = "CreateSessionOnQueue"
	got, err := p.create(ctx, op, r.PlacementID, sessionCreation{
		Name: cmp.Or(r.SessionName, noName), MaxPlayers: r.MaxPlayer, Properties: r.SessionProperties,
		Target: target{Queue: r.QueueName}, Wait: new(bool),
	})
	if err == nil && got.Placement.ID == "" {
		err = incomplete(op, "a placement id")
	}
	if e, ok := errors.AsType[*session.Error](err); ok && r.QueueName == "" && strings.HasPrefix(e.Message, "wait ") {
		e.Message = "the gateway has no queue of its own: give QueueName, or call CreateSession"
	}
	return got.Placement.ID, err
}

func (p *provider) hostWithProperties(ctx context.Context, op string,
	r session.HostRequest) (session.Reservation, error) {
	got, err := p.create(ctx, op, "", sessionCreation{
		Name: r.SessionName, MaxPlayers: r.Connections, BuildID: r.BuildID, Properties: r.Properties,
		Player: &newPlayer{ID: r.OwnerID},
	})
	if err != nil {
		return session.Reservation{}, err
	}
	return got.Player.reservation(op)
}

func (p *provider) reserveWithData(ctx context.Context, op string,
	r session.JoinSessionRequest) (session.Reservation, error) {
	type players[T any] struct {
		Players []T `json:"players"`
	}
	got, err := do(ctx, p, request{
		op: op, method: http.MethodPost, uri: "/v1/sessions/" + url.PathEscape(r.SessionID) + "/players",
		body: players[newPlayer]{[]newPlayer{{r.PlayerID, r.PlayerData}}},
	}, decodeObject[players[playerObject]])
	if err != nil {
		return session.Reservation{}, err
	}
	if len(got.Players) == 0 {
		return session.Reservation{}, incomplete(op, "the player's place")
	}
	return got.Players[0].reservation(op)
}

// SearchSessions implements session.Provider. The gateway searches the fleets on which it creates sessions. Sessions of
// other fleets and locations than the request names are omitted, so that a page may be empty and yet not the last.
// Results have no addresses: a gateway returns them only with a reservation.
func (p *provider) SearchSessions(ctx context.Context,
	r session.SearchSessionsRequest) (session.SearchSessionsResponse, error) {
	const op = "SearchSessions"
	if r.AliasID != "" {
		return session.SearchSessionsResponse{}, session.Errorf(op, session.ErrUnsupported,
			"gateways cannot search by alias: give a FleetID, or neither for all fleets of the gateway")
	}
	type page struct {
		Sessions []sessionObject `json:"sessions"`
		Cursor   string          `json:"cursor"`
	}
	got, err := do(ctx, p, request{op: op, method: http.MethodGet, uri: "/v1/sessions?" + searchQuery(r).Encode()},
		decodeObject[page])
	if err != nil {
		return session.SearchSessionsResponse{}, err
	}
	answer := session.SearchSessionsResponse{NextToken: got.Cursor}
	for _, s := range got.Sessions {
		fleet := r.FleetID == "" || r.FleetID == s.FleetID || strings.HasSuffix(r.FleetID, "fleet/"+s.FleetID)
		if s.ID != "" && fleet && (r.Location == "" || r.Location == s.Location) {
			answer.SessionConfigs = append(answer.SessionConfigs, s.config())
		}
	}
	return answer, nil
}

func searchQuery(r session.SearchSessionsRequest) url.Values {
	query := url.Values{"open": {"false"}}
	for name, value := range map[string]string{
		"filter": r.FilterExpression, "sort": r.SortExpression, "cursor": r.NextToken,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if r.MaxResult > 0 {
		query.Set("limit", strconv.Itoa(r.MaxResult))
	}
	return query
}

// statuses maps the gateway's statuses to those of the session interface.
var statuses = map[string]session.Status{
	"ACTIVATING": session.StatusActivating, "ACTIVE": session.StatusActive, "TERMINATING": session.StatusTerminating,
	"TERMINATED": session.StatusTerminated, "ERROR": session.StatusError,
}

// reasons maps the status reasons that have a name of their own in the session interface. Source: O3DE AWSGameLift Gem,
// status reasons.
var reasons = map[string]string{"": "NotSet", "INTERRUPTED": "Interrupted"}

func (o sessionObject) config() session.SessionConfig {
	status, known := statuses[o.Status]
	if !known {
		status = session.StatusNotSet
	}
	reason, known := reasons[o.StatusReason]
	if !known {
		reason = o.StatusReason
	}
	return session.SessionConfig{
		SessionID: o.ID, SessionName: o.Name, SessionProperties: o.Properties, CreationTime: o.CreatedAt,
		TerminationTime: o.EndedAt,
		MaxPlayer:       int(o.MaxPlayers), CurrentPlayer: int(o.Players), Status: status, StatusReason: reason,
		Location: o.Location, FleetID: o.FleetID,
	}
}

// incomplete returns the error for an answer that lacks a required part.
func incomplete(op, what string) error {
	return session.Errorf(op, session.ErrTransport, "the gateway's answer lacks %s", what)
}
