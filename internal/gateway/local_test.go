package gateway

import (
	"net/http"
	"strings"
	"testing"
)

func TestLocalIDs(t *testing.T) {
	w := newWorld()
	d := openGateway(t, w, func(c *Config) { c.LegacyIDs = true })
	r := d.ask(http.MethodPost, "/create_session_local", createBody("n", "ada", 5)).wantStatus(t, 200)
	id := r.field("GameSessionId")
	if !strings.HasPrefix(id, "arn:aws:gamelift:local::gamesession/fleet-123/gsess-") ||
		r.field("FleetId") != "fleet-123" || r.field("FleetArn") != "" {
		t.Fatalf("created %s", r.text)
	}
	found := d.ask(http.MethodGet, "/find_session_local", "").list(t)[0].(map[string]any)
	if found["GameSessionId"] != id || found["FleetId"] != "fleet-123" || found["FleetArn"] != nil {
		t.Errorf("found %v", found)
	}
	anyFleet := strings.Replace(id, "fleet-123", "fleet-Any_thing.else", 1)
	for i, join := range []string{id, anyFleet, w.sessions[0].GameSessionId} {
		r := d.ask(http.MethodPost, "/join_session_local", joinBody(join, string(rune('a'+i)))).wantStatus(t, 200)
		if r.field("GameSessionId") != id {
			t.Errorf("joined %s", r.text)
		}
	}
	real := d.ask(http.MethodPost, "/join_session", joinBody(w.sessions[0].GameSessionId, "z")).wantStatus(t, 200)
	if real.field("GameSessionId") != w.sessions[0].GameSessionId {
		t.Errorf("the other path answers %s", real.text)
	}
	if got := d.ask(http.MethodGet, "/find_session", "").text; strings.Contains(got, "local::") {
		t.Errorf("the other path answers %s", got)
	}
}

func TestLocalPathsWithRealIDs(t *testing.T) {
	w := newWorld()
	d := openGateway(t, w)
	r := d.ask(http.MethodPost, "/create_session_local", createBody("n", "ada", 5)).wantStatus(t, 200)
	if r.field("GameSessionId") != w.sessions[0].GameSessionId || r.field("FleetArn") == "" {
		t.Fatalf("created %s", r.text)
	}
	d.ask(http.MethodPost, "/join_session_local", joinBody(r.field("GameSessionId"), "bob")).wantStatus(t, 200)
}

func TestLocalIDOnAlias(t *testing.T) {
	w := newWorld()
	d := openGateway(t, w, func(c *Config) {
		c.LegacyIDs, c.Default, c.LocalFleet = true, Target{AliasID: testAlias}, "fleet-mine"
	})
	id := d.ask(http.MethodPost, "/create_session_local", createBody("n", "ada", 5)).wantStatus(t,
		200).field("GameSessionId")
	if !strings.Contains(id, "/fleet-mine/") {
		t.Errorf("id %s", id)
	}
	d.ask(http.MethodPost, "/join_session_local", joinBody(id, "bob")).wantStatus(t, 200)
}
