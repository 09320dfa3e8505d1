package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestEventsCommand filters the feed, and prints it as a table, and as it is.
func TestEventsCommand(t *testing.T) {
	const placed = `{"position":"1.1","event":{"time":"2026-11-22T09:00:34Z","resources":["arn:aws:gamelift:::` +
		`gamesessionqueue/arena"],"detail":{"type":"PlacementFulfilled","placementId":"p\u001b[2J",` +
		`"gameSessionArn":"arn:aws:gamelift:us-west-2::gamesession/fleet-1/custom-local/g"}}}`
	const searching = `{"position":"2.1","event":{"time":"2026-11-22T09:00:35Z","resources":["arn:aws:gamelift:::` +
		`matchmakingconfiguration/duel"],"detail":{"type":"MatchmakingSearching","tickets":[{"ticketId":"t1"}]}}}`
	var asked string
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.RawQuery
		fmt.Fprintln(w, placed)
		fmt.Fprintln(w, searching)
	}))
	defer service.Close()
	environ := []string{"AWS_ENDPOINT_URL=" + service.URL, "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret",
		"AWS_REGION=us-west-2"}
	for _, c := range []struct{ args, query, stdout string }{
		{"events --json", "last=1000&limit=1000000", placed + "\n" + searching + "\n"},
		{"events --json --fleet fleet-1", "last=1000&limit=1000000", placed + "\n"},
		{"events --json --last 5 --fleet fleet", "last=5&limit=1000000", ""},
		{"events --json --code MatchmakingSearching", "last=1000&limit=1000000", searching + "\n"},
	} {
		if got := expect(t, environ, exitOK, strings.Fields(c.args)); got.stdout != c.stdout || asked != c.query {
			t.Errorf("%s: asked %s, printed %s", c.args, asked, got.stdout)
		}
	}
	got := expect(t, environ, exitOK, []string{"events"}, "TIME", "2026-11-22T09:00:34Z  PlacementFulfilled", "arena",
		"p [2J, arn:aws:gamelift:us-west-2::gamesession/fleet-1/custom-local/g", "duel", "ticket t1")
	if strings.Contains(got.stdout, "\x1b") {
		t.Error("a control character reaches the terminal")
	}
	expect(t, environ, exitMisuse, []string{"events", "--last", "-1"}, "must be a number from 1")
}
