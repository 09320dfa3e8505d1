package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/url"

	"github.com/muster-gg/muster/session"
)

// A ticketStart is the body of POST /v1/tickets.
type ticketStart struct {
	ID            string         `json:"id,omitempty"`
	Configuration string         `json:"configuration"`
	Players       []ticketPlayer `json:"players"`
}

type ticketPlayer struct {
	ID         string         `json:"id"`
	Team       string         `json:"team,omitempty"`
	Attributes map[string]any `json:"attributes,omitempty"`
	Latencies  map[string]int `json:"latencies,omitempty"`
}

type ticketObject struct {
	ID            string `json:"id"`
	Status        string `json:"status"`
	StatusReason  string `json:"statusReason"`
	StatusMessage string `json:"statusMessage"`
	Players       []struct {
		Team string `json:"team"`
	} `json:"players"`
	Match match `json:"match"`
}

// StartMatchmaking implements session.Matchmaker.
func (p *provider) StartMatchmaking(ctx context.Context, r session.StartMatchmakingRequest) (string, error) {
	const op = "StartMatchmaking"
	body := ticketStart{ID: r.TicketID, Configuration: r.ConfigurationName}
	for _, player := range r.Players {
		attributes, err := plainAttributes(op, player)
		if err != nil {
			return "", err
		}
		body.Players = append(body.Players, ticketPlayer{player.PlayerID, player.Team, attributes, player.LatencyInMS})
	}
	got, err := do(ctx, p, request{op: op, method: http.MethodPost, uri: "/v1/tickets", body: body},
		decodeObject[ticketObject])
	if err == nil && got.ID == "" {
		err = incomplete(op, "a ticket id")
	}
	return got.ID, err
}

// StopMatchmaking implements session.Matchmaker.
func (p *provider) StopMatchmaking(ctx context.Context, r session.StopMatchmakingRequest) error {
	_, err := do(ctx, p,
		request{op: "StopMatchmaking", method: http.MethodDelete, uri: ticketURI(r.TicketID, "")}, ignore)
	return err
}

// AcceptMatch implements session.Matchmaker.
func (p *provider) AcceptMatch(ctx context.Context, r session.AcceptMatchRequest) error {
	body := struct {
		Accept  bool     `json:"accept"`
		Players []string `json:"players"`
	}{r.AcceptMatch, r.PlayerIDs}
	_, err := do(ctx, p, request{op: "AcceptMatch", method: http.MethodPost, uri: ticketURI(r.TicketID, "/acceptance"),
		body: body}, ignore)
	return err
}

// Ticket implements session.Matchmaker. See WatchTicket for its MatchID.
func (p *provider) Ticket(ctx context.Context, ticketID string) (session.Ticket, error) {
	const op = "Ticket"
	got, err := do(ctx, p, request{op: op, method: http.MethodGet, uri: ticketURI(ticketID, "")},
		decodeObject[ticketObject])
	if err != nil {
		return session.Ticket{}, err
	}
	return got.ticket(op, ticketID)
}

func ticketURI(id, after string) string { return "/v1/tickets/" + url.PathEscape(id) + after }

func (o ticketObject) ticket(op, id string) (session.Ticket, error) {
	if o.Status == "" {
		return session.Ticket{}, incomplete(op, "the ticket's status")
	}
	t := session.Ticket{
		TicketID: id, Status: session.TicketStatus(o.Status), StatusReason: o.StatusReason,
		StatusMessage: o.StatusMessage, MatchID: o.matchID(id),
	}
	for _, player := range o.Match.Players {
		place, err := complete(op, session.Reservation{
			SessionID: o.Match.SessionID, PlayerID: player.ID, PlayerSessionID: player.PlayerSessionID,
			DNSName: o.Match.Endpoint.DNSName, IPAddress: o.Match.Endpoint.IPAddress, Port: int(o.Match.Endpoint.Port),
		})
		if err != nil {
			return session.Ticket{}, err
		}
		if t.Reservations == nil {
			t.Reservations = map[string]session.Reservation{}
		}
		t.Reservations[player.ID] = place
	}
	return t, nil
}

// matchID returns an id for a proposed match. The service has no match ids, so it is computed from the fields that
// differ between proposals: the reason why the last one failed, and the teams.
func (o ticketObject) matchID(id string) string {
	if session.TicketStatus(o.Status) != session.TicketRequiresAcceptance {
		return ""
	}
	sum := fnv.New32a()
	fmt.Fprintf(sum, "%q %q", o.StatusReason, o.StatusMessage)
	for _, player := range o.Players {
		fmt.Fprintf(sum, " %q", player.Team)
	}
	return fmt.Sprintf("%s/%08x", id, sum.Sum32())
}

type placementObject struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Match  match  `json:"match"`
}

// A match is the game session of a fulfilled placement or a completed ticket.
type match struct {
	SessionID string   `json:"sessionId"`
	Endpoint  endpoint `json:"endpoint"`
	Players   []struct {
		ID              string `json:"id"`
		PlayerSessionID string `json:"playerSessionId"`
	} `json:"players"`
}

// Placement implements session.Provider.
func (p *provider) Placement(ctx context.Context, placementID string) (session.Placement, error) {
	const op = "Placement"
	got, err := do(ctx, p, request{op: op, method: http.MethodGet,
		uri: "/v1/placements/" + url.PathEscape(placementID)}, decodeObject[placementObject])
	if err != nil {
		return session.Placement{}, err
	}
	if got.Status == "" {
		return session.Placement{}, incomplete(op, "the placement's status")
	}
	return session.Placement{
		PlacementID: placementID, Status: got.Status, SessionID: got.Match.SessionID,
		IPAddress: got.Match.Endpoint.IPAddress, DNSName: got.Match.Endpoint.DNSName,
		Port: int(got.Match.Endpoint.Port),
	}, nil
}

// plainAttributes returns a player's attributes in the gateway's form: the values without their types.
func plainAttributes(op string, player session.Player) (map[string]any, error) {
	plain := make(map[string]any, len(player.PlayerAttributes))
	for name, data := range player.PlayerAttributes {
		value, err := plainAttribute(data)
		if err != nil {
			return nil, session.Errorf(op, session.ErrInvalid, "player %q, attribute %q: %v",
				player.PlayerID, name, err)
		}
		plain[name] = value
	}
	return plain, nil
}

// errAttribute reports JSON that is not an attribute object.
var errAttribute = errors.New(`want an object with exactly one of "S", "N", "SL" and "SDM", as in {"N": 23}`)

// plainAttribute returns the value in {"N": 23}.
func plainAttribute(data []byte) (any, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil || len(members) != 1 {
		return nil, errAttribute
	}
	for key, value := range members {
		var into any
		switch key {
		case "S":
			into = new(string)
		case "N":
			into = new(float64)
		case "SL":
			into = new([]string)
		case "SDM":
			into = new(map[string]float64)
		default:
			return nil, errAttribute
		}
		if string(value) == "null" {
			return nil, errAttribute
		}
		if err := json.Unmarshal(value, into); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		return into, nil
	}
	return nil, errAttribute
}
