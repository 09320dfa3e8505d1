package gateway

import (
	"net/http"
	"testing"
)

func TestWalkThrough(t *testing.T) {
	for _, suffix := range []string{"", "_local"} {
		t.Run("suffix="+suffix, func(t *testing.T) {
			w := newWorld()
			d := openGateway(t, w, func(c *Config) { c.LegacyIDs = true })
			if r := d.ask(http.MethodGet, "/find_session"+suffix, ""); r.status != 200 || r.text != "[]" {
				t.Fatalf("find before all: %d %s", r.status, r.text)
			}
			first := d.ask(http.MethodPost, "/create_session"+suffix,
				createBody("Ada's Session", "ada", 2)).wantStatus(t, 200)
			id := first.field("GameSessionId")
			found := d.ask(http.MethodGet, "/find_session"+suffix, "").wantStatus(t, 200).list(t)
			if len(found) != 1 || found[0].(map[string]any)["GameSessionId"] != id ||
				found[0].(map[string]any)["CurrentPlayerSessionCount"] != 1.0 {
				t.Fatalf("find after create: %v", found)
			}
			second := d.ask(http.MethodPost, "/join_session"+suffix, joinBody(id, "bob")).wantStatus(t, 200)
			if second.field("GameSessionId") != id ||
				second.field("PlayerSessionId") == first.field("PlayerSessionId") || second.field("PlayerId") != "bob" {
				t.Fatalf("joined %s after %s", second.text, first.text)
			}
			if r := d.ask(http.MethodGet, "/find_session"+suffix, ""); r.text != "[]" {
				t.Fatalf("find when full: %s", r.text)
			}
			d.ask(http.MethodPost, "/join_session"+suffix, joinBody(id, "eve")).wantCode(t, SessionFull)
		})
	}
}
