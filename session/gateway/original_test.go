package gateway_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/gateway"
)

// playerSession is an answer of the original gateway, word for word.
const playerSession = `{"PlayerSessionId": "psess-1", "PlayerId": "ada", "GameSessionId": "` + gsess + `",
 "FleetId": "fleet-1", "FleetArn": "arn:aws:gamelift:eu-central-1:111122223333:fleet/fleet-1",
 "CreationTime": "2025-12-17 10:48:17.441000+00:00", "Status": "RESERVED", "IpAddress": "203.0.113.7", "Port": 7777}`

var place = session.Reservation{SessionID: gsess, PlayerID: "ada", PlayerSessionID: "psess-1", IPAddress: "203.0.113.7",
	Port: 7777}

var hostRequest = session.HostRequest{SessionName: "ada's Session", OwnerID: "ada", BuildID: -7, Connections: 4}

func local(c *gateway.Config) {
	c.CreateURI, c.FindURI, c.JoinURI = "/create_session_local", "/find_session_local", "/join_session_local"
}

func TestHost(t *testing.T) {
	t.Parallel()
	s := answer(t, 200, playerSession)
	got, err := s.provider(t).Host(t.Context(), hostRequest)
	if err != nil || got != place {
		t.Errorf("%+v, %v", got, err)
	}
	sent := s.last(t)
	if sent.line != "POST /create_session" ||
		sent.body != `{"session_name":"ada's Session","build_id":-7,"uuid":"ada","num_connections":4}` {
		t.Errorf("sent %+v", sent)
	}
	if sent.header.Get("Content-Type") != "application/json" || sent.header.Get("Authorization") != "" {
		t.Errorf("sent %v", sent.header)
	}
}

func TestReserve(t *testing.T) {
	t.Parallel()
	s := answer(t, 200, strings.Replace(playerSession, "7777", `"7777"`, 1))
	got, err := s.provider(t).Reserve(t.Context(), session.JoinSessionRequest{SessionID: gsess, PlayerID: "ada"})
	if err != nil || got != place {
		t.Errorf("%+v, %v", got, err)
	}
	if sent := s.last(t); sent.line != "POST /join_session" ||
		sent.body != `{"GameSessionId":"`+gsess+`","uuid":"ada"}` {
		t.Errorf("sent %+v", sent)
	}
}

// TestPathsAndKeys checks where calls go and what they carry.
func TestPathsAndKeys(t *testing.T) {
	t.Parallel()
	s := answer(t, 200, `[]`)
	for _, test := range []struct {
		name, url, want string
		change          func(*gateway.Config)
	}{
		{"plain", "", "GET /find_session", func(*gateway.Config) {}},
		{"stage", "/Prod/", "GET /Prod/find_session", func(*gateway.Config) {}},
		{"local", "", "GET /find_session_local", local},
		{"no slash, own query", "", "GET /find?a=b", func(c *gateway.Config) { c.FindURI = "find?a=b" }},
	} {
		p := s.provider(t, func(c *gateway.Config) {
			c.URL += test.url
			c.BearerToken, c.APIKey = "token", "key"
			test.change(c)
		})
		_, err := p.Find(t.Context(), session.FindRequest{})
		sent := s.last(t)
		if err != nil || sent.line != test.want {
			t.Errorf("%s: %s, %v; want %s", test.name, sent.line, err, test.want)
		}
		if sent.header.Get("Authorization") != "Bearer token" || sent.header.Get("X-Api-Key") != "key" {
			t.Errorf("%s: sent %v", test.name, sent.header)
		}
	}
	p := s.provider(t, local)
	_, err := p.Find(t.Context(), session.FindRequest{BuildID: -7})
	if sent := s.last(t); err != nil || sent.line != "GET /find_session_local?build_id=-7" {
		t.Errorf("%s, %v", sent.line, err)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	s := answer(t, 200, ` [
	{"GameSessionId": "minimal", "Name": "a", "CurrentPlayerSessionCount": 1, "MaximumPlayerSessionCount": 4},
	{"GameSessionId": "rich", "Name": "b", "CurrentPlayerSessionCount": 0, "MaximumPlayerSessionCount": 2.0,
			"Status": "ACTIVE",
	 "CreationTime": "2025-12-17 10:48:17+00:00",
			"GameProperties": [{"Key": "build_id", "Value": "7"}, {"Key": "mode", "Value": "ctf"}],
	 "IpAddress": "203.0.113.7", "Port": 7777, "PlayerSessionCreationPolicy": "ACCEPT_ALL", "Location": "custom-attic"},
	{"GameSessionId": "other build", "CurrentPlayerSessionCount": 0, "MaximumPlayerSessionCount": 2,
			"GameProperties": [{"Key": "build_id", "Value": "8"}]},
	{"GameSessionId": "full", "CurrentPlayerSessionCount": 2, "MaximumPlayerSessionCount": 2},
	{"GameSessionId": "over", "CurrentPlayerSessionCount": 0, "MaximumPlayerSessionCount": 2, "Status": "TERMINATED"},
	{"GameSessionId": "closed", "CurrentPlayerSessionCount": 0, "MaximumPlayerSessionCount": 2,
			"PlayerSessionCreationPolicy": "DENY_ALL"},
	{"Name": "no id", "MaximumPlayerSessionCount": 2}, null, {}]`)
	p := s.provider(t)
	found, err := p.Find(t.Context(), session.FindRequest{BuildID: 7})
	want := []session.SearchResult{
		{SessionID: "minimal", Name: "a", Connections: 4, OpenConnections: 3},
		{
			SessionID: "rich", Name: "b", IPAddress: "203.0.113.7", Port: 7777, BuildID: 7, Connections: 2,
			OpenConnections: 2,
			Properties:      map[string]string{"mode": "ctf"},
		},
	}
	if err != nil || !reflect.DeepEqual(found, want) {
		t.Errorf("%+v, %v, want %+v", found, err, want)
	}
	for limit, want := range map[int]int{0: 3, 1: 1, 2: 2, 9: 3} {
		if found, err := p.Find(t.Context(), session.FindRequest{Limit: limit}); err != nil || len(found) != want {
			t.Errorf("limit %d: %d, %v, want %d", limit, len(found), err, want)
		}
	}
}

// TestUnusableSuccess are answers with status 200 that are none.
func TestUnusableSuccess(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		body string
		kind error
		code string
	}{
		"empty":           {``, session.ErrTransport, ""},
		"no JSON":         {`<html>`, session.ErrTransport, ""},
		"string":          {`"full"`, session.ErrTransport, ""},
		"null":            {`null`, session.ErrTransport, ""},
		"array":           {`[1]`, session.ErrTransport, ""},
		"cut off":         {playerSession[:50], session.ErrTransport, ""},
		"two":             {playerSession + playerSession, session.ErrTransport, ""},
		"without ticket":  {strings.Replace(playerSession, `"psess-1"`, `""`, 1), session.ErrTransport, ""},
		"without address": {strings.Replace(playerSession, `"203.0.113.7"`, `null`, 1), session.ErrTransport, ""},
		"without port":    {strings.Replace(playerSession, `"Port"`, `"port no"`, 1), session.ErrTransport, ""},
		"port is empty":   {strings.Replace(playerSession, `7777`, `""`, 1), session.ErrTransport, ""},
		"port is a word":  {strings.Replace(playerSession, `7777`, `"http"`, 1), session.ErrTransport, ""},
		"port too large":  {strings.Replace(playerSession, `7777`, `70000`, 1), session.ErrTransport, ""},
		"port is broken":  {strings.Replace(playerSession, `7777`, `7777.5`, 1), session.ErrTransport, ""},
		"error object": {`{"error": "full", "code": "session_full", "requestId": "r"}`, session.ErrFull,
			"session_full"},
		"error alone": {`{"error": {"a": 1}}`, session.ErrTransport, ""},
		"too large":   {`{"PlayerId":"` + strings.Repeat("x", 4<<20) + `"}`, session.ErrTransport, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := answer(t, 200, test.body).provider(t)
			_, err := p.Host(t.Context(), hostRequest)
			wantError(t, err, test.kind, test.code)
			_, err = p.Reserve(t.Context(), session.JoinSessionRequest{SessionID: gsess, PlayerID: "ada"})
			wantError(t, err, test.kind, test.code)
			_, err = p.Find(t.Context(), session.FindRequest{})
			wantError(t, err, test.kind, test.code)
		})
	}
}
