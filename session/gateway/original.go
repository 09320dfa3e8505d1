package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/muster-gg/muster/session"
)

// This file has the three original calls. Source: the session gateway of the AWS-SAMUEL project: handlers
// create_session, find_session and join_session.

// A creation is the body of create_session.
type creation struct {
	SessionName    string `json:"session_name"`
	BuildID        int32  `json:"build_id"`
	UUID           string `json:"uuid"`
	NumConnections int    `json:"num_connections"`
}

// Host implements session.Provider with create_session, or with /v1/sessions if there are properties, which
// create_session lacks. The gateway waits until the session is active, whatever becomes of its caller: a canceled Host
// waits for the answer for up to 5 s, and ends the session by Release.
func (p *provider) Host(ctx context.Context, r session.HostRequest) (session.Reservation, error) {
	const op = "Host"
	if ctx.Err() != nil {
		return session.Reservation{}, lost(ctx, op, ctx.Err())
	}
	longer, cancel := p.outlast(ctx)
	defer cancel()
	place, err := p.createFor(longer, op, r)
	if ctx.Err() == nil {
		return place, err
	}
	if err == nil {
		_ = p.Release(longer, place, true) // without it the gateway ends the session later
	}
	return session.Reservation{}, lost(ctx, op, ctx.Err())
}

// createFor creates a session with a slot for its owner.
func (p *provider) createFor(ctx context.Context, op string, r session.HostRequest) (session.Reservation, error) {
	if len(r.Properties) > 0 {
		return p.hostWithProperties(ctx, op, r)
	}
	return p.place(ctx, op, p.cfg.CreateURI, creation{r.SessionName, r.BuildID, r.OwnerID, r.Connections})
}

// grace is how long Host may continue after its context has ended, to receive the answer and to undo it.
const grace = 5 * time.Second

// outlast returns a context that ends a little after ctx.
func (p *provider) outlast(ctx context.Context) (context.Context, func()) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { p.clock.AfterFunc(grace, cancel) })
	return longer, func() { stop(); cancel() }
}

// Release implements session.Releaser for sessions of Host, which it ends unless another player is in them. A gateway
// cannot release other reservations, and gateways without /v1/ cannot end sessions: the reservations expire after about
// a minute.
func (p *provider) Release(ctx context.Context, r session.Reservation, hosted bool) error {
	if !hosted {
		return nil
	}
	query := url.Values{"playerSession": {r.PlayerSessionID}}
	_, err := do(ctx, p, request{op: "Release", method: http.MethodDelete,
		uri: "/v1/sessions/" + url.PathEscape(r.SessionID) + "?" + query.Encode()}, ignore)
	if errors.Is(err, session.ErrUnsupported) || errors.Is(err, session.ErrNotFound) {
		return nil
	}
	return err
}

// A joining is the body of join_session.
type joining struct {
	GameSessionID string `json:"GameSessionId"`
	UUID          string `json:"uuid"`
}

// Reserve implements session.Provider with join_session, or with /v1/sessions/{id}/players if there is data for the
// game server, which join_session lacks.
func (p *provider) Reserve(ctx context.Context, r session.JoinSessionRequest) (session.Reservation, error) {
	const op = "Reserve"
	if r.PlayerData != "" {
		return p.reserveWithData(ctx, op, r)
	}
	return p.place(ctx, op, p.cfg.JoinURI, joining{r.SessionID, r.PlayerID})
}

// A playerSession is the answer to the original calls, as far as it is used.
type playerSession struct {
	PlayerSessionID string `json:"PlayerSessionId"`
	PlayerID        string `json:"PlayerId"`
	GameSessionID   string `json:"GameSessionId"`
	IPAddress       string `json:"IpAddress"`
	DNSName         string `json:"DnsName"`
	Port            number
}

// place makes a call whose answer is a player session.
func (p *provider) place(ctx context.Context, op, uri string, body any) (session.Reservation, error) {
	got, err := do(ctx, p, request{op: op, method: http.MethodPost, uri: uri, body: body}, decodeObject[playerSession])
	if err != nil {
		return session.Reservation{}, err
	}
	return complete(op, session.Reservation{
		SessionID: got.GameSessionID, PlayerID: got.PlayerID, PlayerSessionID: got.PlayerSessionID,
		DNSName: got.DNSName, IPAddress: got.IPAddress, Port: int(got.Port),
	})
}

// complete returns a reservation, or an error if it lacks a required field.
func complete(op string, r session.Reservation) (session.Reservation, error) {
	switch {
	case r.PlayerSessionID == "":
		return session.Reservation{}, incomplete(op, "a player session id")
	case r.IPAddress == "":
		return session.Reservation{}, incomplete(op, "an IP address")
	case r.Port < 1 || r.Port > 65535:
		return session.Reservation{}, incomplete(op, "a valid port")
	}
	return r, nil
}

// A gameSession is an element of find_session's answer, as far as it is used.
type gameSession struct {
	GameSessionID  string `json:"GameSessionId"`
	Name           string
	Status         string
	Current        number `json:"CurrentPlayerSessionCount"`
	Maximum        number `json:"MaximumPlayerSessionCount"`
	GameProperties []struct{ Key, Value string }
	IPAddress      string `json:"IpAddress"`
	Port           number
	Policy         string `json:"PlayerSessionCreationPolicy"`
}

// defaultFound is the default limit of Find.
const defaultFound = 100

// Find implements session.Provider with find_session. It omits sessions that cannot be joined or are known to be of
// another build: the original calls do not filter them.
func (p *provider) Find(ctx context.Context, r session.FindRequest) ([]session.SearchResult, error) {
	const op = "Find"
	uri, err := findURI(p.cfg.FindURI, r.BuildID)
	if err != nil {
		return nil, &session.Error{Op: op, Kind: session.ErrInvalid,
			Message: "Config.FindURI: " + err.Error(), Err: err}
	}
	list, err := do(ctx, p, request{op: op, method: http.MethodGet, uri: uri}, decodeList[gameSession])
	if err != nil {
		return nil, err
	}
	var found []session.SearchResult
	for _, g := range list {
		result := g.result()
		other := r.BuildID != 0 && result.BuildID != 0 && result.BuildID != r.BuildID
		if !g.joinable() || other || len(found) == cmp.Or(r.Limit, defaultFound) {
			continue
		}
		found = append(found, result)
	}
	return found, nil
}

// findURI returns the path to search for a build, 0 for any.
func findURI(uri string, build int32) (string, error) {
	if build == 0 {
		return uri, nil
	}
	u, err := url.Parse(uri)
	if err != nil {
		return "", err
	}
	query := u.Query()
	query.Set("build_id", strconv.Itoa(int(build)))
	u.RawQuery = query.Encode()
	return u.String(), nil
}

// joinable reports whether a session accepts players, as far as its fields are set.
func (g gameSession) joinable() bool {
	return g.GameSessionID != "" && g.Current < g.Maximum && (g.Status == "" || g.Status == "ACTIVE") &&
		g.Policy != "DENY_ALL"
}

// buildProperty is the game property that holds the build id.
const buildProperty = "build_id"

func (g gameSession) result() session.SearchResult {
	out := session.SearchResult{
		SessionID: g.GameSessionID, Name: g.Name, IPAddress: g.IPAddress, Port: int(g.Port),
		Connections: int(g.Maximum), OpenConnections: int(max(g.Maximum-g.Current, 0)),
	}
	for _, property := range g.GameProperties {
		if build, err := strconv.ParseInt(property.Value, 10, 32); err == nil && property.Key == buildProperty {
			out.BuildID = int32(build)
			continue
		}
		if out.Properties == nil {
			out.Properties = map[string]string{}
		}
		out.Properties[property.Key] = property.Value
	}
	return out
}

// number is an integer that may be encoded as a string or as 4.0: clients of the original gateway accept all of these.
type number int32

func (n *number) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) != nil {
		s = string(data)
	}
	if s == "null" || s == "" {
		return nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != float64(int32(f)) {
		return fmt.Errorf("%s is no whole number", s)
	}
	*n = number(f)
	return nil
}
