package console

import (
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/control"
)

// titlesOf returns the titles of the columns of a page's list.
func titlesOf(w *world, address string) string {
	var titles []string
	for _, m := range headers.FindAllStringSubmatch(w.shows("GET", address, nil, 200), -1) {
		titles = append(titles, m[1])
	}
	return strings.TrimSuffix(strings.Join(titles, "|"), "|Key|Does") // the list of keys
}

// TestSessionColumns: both lists of game sessions have the columns that were chosen, or the usual ones.
func TestSessionColumns(t *testing.T) {
	now := newWorld(t).clock.Now()
	w, _ := endedWorld(t, control.SessionList{GameSessions: []control.ListedSession{
		endedSession(now, "fleet-1", "gsess-0123456789abcdef")}})
	const running = "Name|Status|Fleet|Location|Address|Players|Age"
	const ended = "Name|Ended|Reason|Fleet|Location|Address|Lasted"
	for query, want := range map[string]string{
		"":                              running,
		"show=ended":                    ended,
		"columns=players,id,lasted":     "Name|Id|Players",
		"columns=players,id&show=ended": "Name|Id",
		"columns=matchmaker,creator":    "Name|Creator|Matchmaker",
		"columns=ended,nothing":         running, // none of this list
	} {
		got := strings.TrimPrefix(titlesOf(w, "/console/game-sessions?"+query), "Attribute|Example|")
		if got != want {
			t.Errorf("%q has the columns %s, want %s", query, got, want)
		}
	}
	w.shows("GET", "/console/game-sessions?columns=id,creator,matchmaker", nil, 200, ">gsess-0123456…<",
		`<a href="/console/matchmaking/duel">`, "<td>ada</td>", `value="creator" checked`,
		`/console/game-sessions.csv?columns=id%2Ccreator%2Cmatchmaker"`)
}

// TestSessionColumnsForm: the form leads to a short address. It keeps the columns of the other list.
func TestSessionColumnsForm(t *testing.T) {
	w, _ := endedWorld(t, control.SessionList{})
	w.shows("GET", "/console/game-sessions?columns=id,lasted", nil, 200,
		`<input type="hidden" name="columns" value="lasted">`, `value="id" checked`)
	const usual = "columns=status&columns=ended&columns=reason&columns=fleet&columns=location&columns=address" +
		"&columns=players&columns=age&columns=lasted"
	for query, want := range map[string]string{
		usual + "&filter=": "/console/game-sessions",
		usual + "&columns=id": "/console/game-sessions?columns=" +
			"status%2Cended%2Creason%2Cfleet%2Clocation%2Caddress%2Cplayers%2Cage%2Clasted%2Cid",
		"columns=id&columns=lasted&show=ended&next=2": "/console/game-sessions?columns=id%2Clasted&show=ended",
	} {
		out := w.do("GET", "/console/game-sessions?"+query, nil)
		if to := out.Header().Get("Location"); out.Code != 303 || to != want {
			t.Errorf("%s leads to %d %s, want %s", query, out.Code, to, want)
		}
	}
}
