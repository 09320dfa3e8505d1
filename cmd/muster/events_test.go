package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/publish"
)

// TestEventsCommand filters the feed, and prints it as a table, and as it is.
func TestEventsCommand(t *testing.T) {
	const placed = `{"position":"1.1","event":{"time":"2026-11-22T09:00:34Z","resources":["arn:aws:gamelift:::` +
		`gamesessionqueue/arena"],"detail":{"type":"PlacementFulfilled","placementId":"p\u001b[2J",` +
		`"gameSessionArn":"arn:aws:gamelift:us-west-2::gamesession/fleet-1/custom-local/g",` +
		`"ipAddress":"127.0.0.1","port":"7070"}}}`
	const searching = `{"position":"2.1","event":{"time":"2026-11-22T09:00:35Z","resources":["arn:aws:gamelift:::` +
		`matchmakingconfiguration/duel"],"detail":{"type":"MatchmakingSearching","tickets":[{"ticketId":"t1"}]}}}`
	const succeeded = `{"position":"2.2","event":{"time":"2026-11-22T09:00:36Z","resources":["arn:aws:gamelift:::` +
		`matchmakingconfiguration/duel"],"detail":{"type":"MatchmakingSucceeded","tickets":[{"ticketId":"t1"},` +
		`{"ticketId":"t2"}],"gameSessionInfo":{"ipAddress":"127.0.0.1","port":7777,` +
		`"gameSessionArn":"arn:aws:gamelift:us-west-2::gamesession/fleet-1/custom-local/g"}}}}`
	const timedOut = `{"position":"2.3","event":{"time":"2026-11-22T09:00:37Z","resources":["arn:aws:gamelift:::` +
		`matchmakingconfiguration/duel"],"detail":{"type":"MatchmakingTimedOut","reason":"TimedOut",` +
		`"message":"Removed from matchmaking due to timing out.","tickets":[{"ticketId":"t3"}]}}}`
	const short = `{"position":"3.1","event":{"time":"2026-11-22T09:00:38Z","resources":["arn:aws:gamelift:::` +
		`fleet/fleet-258fdacc-d660-4507-b250-cf543af92e1d"],"detail":{"type":"muster.capacity.short",` +
		`"fleetId":"fleet-258fdacc-d660-4507-b250-cf543af92e1d","location":"here","reason":"No machine is free."}}}`
	var asked string
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/v1/events" && !strings.Contains(r.URL.Path, "fleet-none"):
			fmt.Fprint(w, "{}")
		case r.URL.Path != "/v1/events":
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"error":"NotFoundException","message":"Fleet not found."}`)
		case strings.Contains(r.Header.Get("Authorization"), "Credential=denied/"):
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"error":"AccessDeniedException","message":"No."}`)
		default:
			asked = r.URL.RawQuery
			fmt.Fprintln(w, strings.Join([]string{placed, searching, succeeded, timedOut, short}, "\n"))
		}
	}))
	defer service.Close()
	environ := []string{"AWS_ENDPOINT_URL=" + service.URL, "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret",
		"AWS_REGION=us-west-2"}
	for _, c := range []struct{ args, query, stdout string }{
		{"events --json --code PlacementFulfilled", "last=1000&limit=1000", placed + "\n"},
		{"events --json --fleet fleet-1", "last=1000&limit=1000", placed + "\n" + succeeded + "\n"},
		{"events --json --last 5 --fleet fleet", "last=5&limit=5", ""},
		{"events --json --code MatchmakingSearching", "last=1000&limit=1000", searching + "\n"},
	} {
		if got := expect(t, environ, exitOK, strings.Fields(c.args)); got.stdout != c.stdout || asked != c.query {
			t.Errorf("%s: asked %s, printed %s", c.args, asked, got.stdout)
		}
	}
	const table = `TIME                  EVENT                  OF          DETAILS
2026-11-22T09:00:34Z  PlacementFulfilled     arena       p [2J: g  127.0.0.1:7070
2026-11-22T09:00:35Z  MatchmakingSearching   duel        ticket t1
2026-11-22T09:00:36Z  MatchmakingSucceeded   duel        tickets t1, t2: g  127.0.0.1:7777
2026-11-22T09:00:37Z  MatchmakingTimedOut    duel        ticket t3: removed from matchmaking due to timing out
2026-11-22T09:00:38Z  muster.capacity.short  fleet-258fdacc…  here: no machine is free
`
	if got := expect(t, environ, exitOK, []string{"events"}); got.stdout != table {
		t.Errorf("printed %s", got.stdout)
	}
	expect(t, environ, exitMisuse, []string{"events", "--last", "-1"}, "must be a number from 1")
	expect(t, environ, exitMisuse, []string{"events", "--code", "Nonsense", "-f"}, `--code is "Nonsense"`,
		"PlacementFulfilled, PlacementCancelled", "muster.capacity.restored")
	for _, args := range []string{"events --fleet fleet-none", "events --fleet fleet-none -f"} {
		expect(t, environ, exitFailure, strings.Fields(args), "NotFoundException: Fleet not found.")
	}
	for _, args := range []string{"events", "events -f"} {
		denied := append([]string{"AWS_ACCESS_KEY_ID=denied"}, environ...)
		got := expect(t, denied, exitFailure, strings.Fields(args), "Denied")
		if got.stdout != "" {
			t.Errorf("%s: printed %s", args, got.stdout)
		}
	}
}

// TestEventTypes: the page about events names those that --code accepts.
func TestEventTypes(t *testing.T) {
	page, err := os.ReadFile("../../docs/how-to/follow-events.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range publish.Types {
		if !strings.Contains(string(page), name) {
			t.Errorf("the page lacks %s", name)
		}
	}
}

func TestAsClause(t *testing.T) {
	for sentence, want := range map[string]string{
		"Removed from matchmaking.": "removed from matchmaking", "Cancelled": "cancelled",
		"ARN is wrong.": "ARN is wrong", "GameLift failed": "GameLift failed",
		"": "", " x": " x", "A b": "A b",
	} {
		if got := asClause(sentence); got != want {
			t.Errorf("%q: %q, want %q", sentence, got, want)
		}
	}
}
