package console

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/wire"
)

// TestExportPlayer: a file has all pages of a player, whatever the player is called.
func TestExportPlayer(t *testing.T) {
	for _, id := range []string{"ada", "a/b", hostile, "ä\r\nX: y", strings.Repeat("n", 200)} {
		w := newWorld(t)
		w.answers["GET /v1/players/"+id] = func(r *http.Request) any {
			p := control.Player{PlayerID: id, Tickets: []control.TicketRow{{TicketID: "t"}},
				PlayerSessions: []control.PlayerSessionRow{{PlayerSessionID: "1"}, {PlayerSessionID: "2"}}}
			if p.NextToken = "n"; r.URL.Query().Get("after") == "n" {
				p = control.Player{PlayerSessions: []control.PlayerSessionRow{{PlayerSessionID: "3"}}}
			}
			return p
		}
		out := w.do("GET", "/console/players/"+url.PathEscape(id)+"/export", nil)
		var file struct {
			PlayerID       string
			Tickets        []control.TicketRow
			PlayerSessions []control.PlayerSessionRow
		}
		if err := json.Unmarshal(out.Body.Bytes(), &file); err != nil || file.PlayerID != id ||
			len(file.Tickets) != 1 || len(file.PlayerSessions) != 3 || file.PlayerSessions[2].PlayerSessionID != "3" {
			t.Errorf("%q: %v, %s", id, err, out.Body)
		}
		name := out.Header().Get("Content-Disposition")
		name, ok := strings.CutPrefix(name, `attachment; filename="player-`)
		name = strings.TrimSuffix(name, `.json"`)
		if unsafe := strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_-XSRC0123456789"); !ok || len(name) == 0 ||
			len(name) > 64 || unsafe != "" {
			t.Errorf("%q: file %s", id, out.Header().Get("Content-Disposition"))
		}
	}
}

// TestExportPlayerRefused: without the permission there is no link, and no file.
func TestExportPlayerRefused(t *testing.T) {
	w := newWorld(t)
	w.answers["DescribePlayerSessions"] = &wire.DescribePlayerSessionsOutput{}
	w.shows("GET", "/console/players/ada", nil, 200, `href="/console/players/ada/export"`)
	w.fails["muster:PlayerRead"], w.fails["GET /v1/players/ada"] = denied, denied
	if body := w.shows("GET", "/console/players/ada", nil, 200); strings.Contains(body, "/export") {
		t.Error("the page has the link")
	}
	w.shows("GET", "/console/players/ada/export", nil, 403, "AccessDenied")
	delete(w.fails, "GET /v1/players/ada")
	w.answers["GET /v1/players/ada"] = control.Player{}
	if body := w.do("GET", "/console/players/ada/export", nil).Body; !json.Valid(body.Bytes()) {
		t.Errorf("no JSON: %s", body)
	}
}
