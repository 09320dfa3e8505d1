package gateway

import (
	"context"
	"net/http"
	"net/url"

	"github.com/muster-gg/muster/session"
)

// A placementObject is a placement.
type placementObject struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Match  match  `json:"match"`
}

// A match is where to play, of a placement or a ticket that has come to something.
type match struct {
	SessionID string   `json:"sessionId"`
	Endpoint  endpoint `json:"endpoint"`
	Players   []struct {
		ID              string `json:"id"`
		PlayerSessionID string `json:"playerSessionId"`
	} `json:"players"`
}

// Placement implements session.Provider.
func (p *Provider) Placement(ctx context.Context, placementID string) (session.Placement, error) {
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
