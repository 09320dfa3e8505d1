package console

import (
	"net/url"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// TestPermalinks: pages of game sessions and players have short addresses, to which those of earlier releases lead.
func TestPermalinks(t *testing.T) {
	w := newWorld(t)
	const id = "arn:aws:gamelift:eu-west-1::gamesession/fleet-1/custom-fra/gsess-1"
	const old = "/console/game-session?id="
	for from, want := range map[string]string{
		old + url.QueryEscape(id): "/console/game-sessions/gsess-1?fleet=fleet-1&location=custom-fra",
		old + url.QueryEscape(id) + "&next=n": "/console/game-sessions/gsess-1?fleet=fleet-1&location=custom-fra" +
			"&next=n",
		"/console/players?id=ada&next=n":   "/console/players/ada?next=n",
		"/console/players/ada?id=ada":      "",
		"/console/players?id=..":           "",
		"/console/players?id=%C3%A9%2Fb+c": "/console/players/%C3%A9%2Fb%20c",
	} {
		w.answers["DescribePlayerSessions"] = &wire.DescribePlayerSessionsOutput{}
		out := w.do("GET", from, nil)
		if got := out.Header().Get("Location"); got != want {
			t.Errorf("%s leads to %q, want %q: %d %s", from, got, want, out.Code, out.Body)
		}
	}
}

// TestPlayerPermalink shows the player of the address, whatever the id is made of.
func TestPlayerPermalink(t *testing.T) {
	w := newWorld(t)
	w.answers["DescribePlayerSessions"] = &wire.DescribePlayerSessionsOutput{NextToken: "n n"}
	for _, id := range []string{"ada", "a/b", "a?b#c", "é %2F", "..", hostile} {
		body := w.shows("GET", playerPath(id), nil, 200, "No player session")
		if got := w.inputs["DescribePlayerSessions"].(*wire.DescribePlayerSessionsInput).PlayerId; got != id {
			t.Errorf("%s shows %q, want %q", playerPath(id), got, id)
		}
		if !strings.Contains(body, `href="?id=`) || !strings.Contains(body, "&amp;next=n&#43;n") {
			t.Errorf("no next page of %q in %s", id, body)
		}
	}
}

// TestGameSessionPermalink finds the location of a game session if the address has none.
func TestGameSessionPermalink(t *testing.T) {
	w := newWorld(t)
	w.answers["DescribePlayerSessions"] = &wire.DescribePlayerSessionsOutput{}
	w.answers["DescribeGameSessions"] = &wire.DescribeGameSessionsOutput{GameSessions: []wire.GameSession{{
		GameSessionId: "g", FleetId: "fleet-1", Name: "Evening cup"}}}
	w.answers["Timeline"] = played()
	w.answers["DescribeFleetAttributes"] = &wire.DescribeFleetAttributesOutput{
		FleetAttributes: []wire.FleetAttributes{{FleetId: "fleet-1", Name: "arena"}}}
	asked := func() string {
		return w.inputs["DescribeGameSessions"].(*wire.DescribeGameSessionsInput).GameSessionId
	}
	w.shows("GET", "/console/game-sessions/g-1?fleet=fleet-1&location=custom-fra", nil, 200, "Evening cup",
		`<a href="/console/fleets/fleet-1">arena</a>`)
	if want := "arn:aws:gamelift:eu-west-1::gamesession/fleet-1/custom-fra/g-1"; asked() != want {
		t.Errorf("asked for %s, want %s", asked(), want)
	}
	w.fails["gamelift:DescribeFleetAttributes"] = denied
	w.shows("GET", "/console/game-sessions/g-1?fleet=fleet-1", nil, 200, "Evening cup",
		`<a href="/console/fleets/fleet-1">fleet-1</a>`)
	if want := "arn:aws:gamelift:eu-west-1::gamesession/fleet-1/g-1"; asked() != want {
		t.Errorf("asked for %s, want %s", asked(), want)
	}
	w.fails["DescribeGameSessions"] = fault.New(fault.NotFound, "There is none.")
	w.answers["DescribeFleetLocationAttributes"] = &wire.DescribeFleetLocationAttributesOutput{
		LocationAttributes: []wire.LocationAttributes{{LocationState: &wire.LocationState{Location: "custom-fra"}},
			{LocationState: &wire.LocationState{Location: "custom-lon"}}}}
	w.shows("GET", "/console/game-sessions/g-1?fleet=fleet-1", nil, 404, "There is none.")
	if want := "arn:aws:gamelift:eu-west-1::gamesession/fleet-1/custom-lon/g-1"; asked() != want {
		t.Errorf("asked for %s at last, want %s", asked(), want)
	}
	w.shows("GET", "/console/game-sessions/g-1", nil, 400, "add ?fleet=")
	w.shows("GET", "/console/game-session?id=lan-7", nil, 404, "There is none.")
	if asked() != "lan-7" {
		t.Errorf("asked for %s", asked())
	}
}
