package console

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// TestParts: a page shows what was answered, and names what was not.
func TestParts(t *testing.T) {
	late := fault.Internal(fmt.Errorf("look: %w", context.DeadlineExceeded))
	away := fault.New(fault.ServiceUnavailable, "The service is recovering. Try again.")
	for name, c := range map[string]struct {
		path   string
		fails  map[string]error
		status int
		has    []string
		hasNot string
	}{
		"all": {"/console/game-sessions/g", nil, 200, []string{"No player has a place yet"}, "The page shows"},
		"a part": {"/console/game-sessions/g", map[string]error{"DescribePlayerSessions": late}, 200,
			[]string{"Players: no answer within 2 s. The page shows what was answered.", "the game",
				`<a href="/console/game-session?id=g">Reload</a>`}, "No player has a place yet"},
		"a part of several": {"/console/players/ada", map[string]error{"DescribePlayerSessions": away}, 200,
			[]string{"Player sessions: The service is recovering. Try again. The page shows"}, "No player session<"},
		"all parts": {"/console/players/ada",
			map[string]error{"DescribePlayerSessions": late, "GET /v1/players/ada": late}, 503,
			[]string{"No answer within 2 s. Reload the page."}, "The page shows"},
		"the numbers of a list": {"/console/fleets", map[string]error{"DescribeFleetUtilization": late}, 200,
			[]string{"arena", "Use of the fleets: no answer", "did not answer in time"}, "0 of 0"},
		"what the page is about": {"/console/fleets", map[string]error{"ListFleets": late}, 503,
			[]string{"No answer within 2 s. Reload the page."}, "No fleet yet"},
		"another error": {"/console/game-sessions/g",
			map[string]error{"DescribePlayerSessions": fault.New(fault.AccessDenied, "no")}, 403,
			[]string{"AccessDeniedException"}, "The page shows"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.answers["DescribeGameSessions"] = &wire.DescribeGameSessionsOutput{
				GameSessions: []wire.GameSession{{GameSessionId: "g", Name: "the game"}}}
			w.answers["DescribePlayerSessions"] = &wire.DescribePlayerSessionsOutput{}
			w.answers["DescribeFleetUtilization"] = &wire.DescribeFleetUtilizationOutput{}
			w.answers["ListFleets"] = &wire.ListFleetsOutput{FleetIds: []string{"fleet-1"}}
			w.answers["DescribeFleetAttributes"] = &wire.DescribeFleetAttributesOutput{
				FleetAttributes: []wire.FleetAttributes{{FleetId: "fleet-1", Name: "arena"}}}
			w.fails["muster:GameSessionRead"] = fault.New(fault.AccessDenied, "no")
			for what, err := range c.fails {
				w.fails[what] = err
			}
			path := c.path
			if path == "/console/game-sessions/g" {
				path = "/console/game-session?id=g"
			}
			out := w.do("GET", path, nil)
			text := out.Body.String()
			if out.Code != c.status || strings.Contains(text, c.hasNot) {
				t.Errorf("status %d, %q in %s", out.Code, c.hasNot, text)
			}
			for _, want := range c.has {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in %s", want, text)
				}
			}
		})
	}
}

// TestMissingShards names the shards that a list lacks.
func TestMissingShards(t *testing.T) {
	w := newWorld(t)
	w.answers["ListFleets"] = &wire.ListFleetsOutput{}
	w.answers["GET /v1/overview"] = `{"gameSessions":5,"missingShards":[3]}`
	out := w.do("GET", "/console/", nil)
	const want = "State of the region: shard 3 did not answer, so what it has is missing. The page shows"
	if text := out.Body.String(); out.Code != 200 || !strings.Contains(text, want) ||
		!strings.Contains(text, "<dd>5</dd>") {
		t.Errorf("%d %s", out.Code, text)
	}
}

// TestClosedBrowser: a page whose browser has gone is no error of the service.
func TestClosedBrowser(t *testing.T) {
	var log strings.Builder
	w := newWorld(t, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	w.fails["ListLocations"] = fault.Internal(fmt.Errorf("look: %w", context.Canceled))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	w.do("GET", "/console/locations", nil, func(r *http.Request) { *r = *r.WithContext(gone) })
	if log.Len() > 0 {
		t.Errorf("logged: %s", &log)
	}
	w.do("GET", "/console/locations", nil)
	if !strings.Contains(log.String(), "level=ERROR msg=\"page failed\"") {
		t.Errorf("logged: %s", &log)
	}
}

// TestDeadlines: a page waits for 2 s, a change for 10 s, and a file for as long as it takes.
func TestDeadlines(t *testing.T) {
	w := newWorld(t)
	w.answers["ListLocations"] = &wire.ListLocationsOutput{}
	w.answers["ListFleets"] = &wire.ListFleetsOutput{}
	w.answers["CreateLocation"] = &wire.CreateLocationOutput{}
	for _, c := range []struct {
		method, path string
		limit        time.Duration // 0: none
	}{
		{"GET", "/console/locations", pageLimit}, {"GET", "/console/fleets.csv", 0},
		{"POST", "/console/locations", changeLimit},
	} {
		begin := time.Now()
		w.do(c.method, c.path, url.Values{"location-name": {"custom-x"}})
		if left := w.until.Sub(begin); c.limit == 0 != w.until.IsZero() ||
			c.limit > 0 && (left < c.limit || left > c.limit+time.Second) {
			t.Errorf("%s %s: until %s after the begin", c.method, c.path, left)
		}
	}
}
