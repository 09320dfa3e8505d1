package operator

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/muster-gg/muster/internal/control/access"
)

func TestGameSessions(t *testing.T) {
	w := newWorld(t)
	for query, want := range map[string]string{
		"": "Limit:100 ",
		"?fleet=f&location=l&status=ACTIVE&q=maximumSessions%3D4&sort=gameSessionName&limit=7&after=t": "{FleetID:f " +
			"Location:l Status:ACTIVE Filter:maximumSessions=4 Sort:gameSessionName Since:0001-01-01 00:00:00 +0000 " +
			"UTC Hidden:\\u003cnil\\u003e Limit:7 NextToken:t}",
		"?since=2026-01-31T12:00:00Z": "Since:2026-01-31 12:00:00",
		"?since=yesterday":            "Parameter since is \\\"yesterday\\\": it must be a time",
		"?since=0001-01-01T00:00:01Z": "from 1970",
		"?limit=101":                  "from 1 to 100",
		"?limit=0":                    "from 1 to 100",
		"?limit=1&limit=2":            "given 2 times",
		"?name=x":                     "Unknown parameter",
	} {
		if _, body := w.get("/v1/game-sessions" + query); !strings.Contains(body, want) {
			t.Errorf("%s: %s, want %s", query, body, want)
		}
	}
}

// keyFor makes a key with the statements of a policy, and returns its id.
func (w *world) keyFor(name, statements string) string {
	w.t.Helper()
	key, err := w.access.CreateKey(w.t.Context(), nil, access.KeyInput{Service: name,
		Document: json.RawMessage(`{"Version":"2012-10-17","Statement":[` + statements + `]}`)})
	if err != nil {
		w.t.Fatal(err)
	}
	w.keys[key.ID] = aws.Credentials{AccessKeyID: key.ID, SecretAccessKey: key.Secret}
	return key.ID
}

// TestHiddenFleets: a policy for one fleet does not list the others, and one that denies a fleet hides it.
func TestHiddenFleets(t *testing.T) {
	w := newWorld(t)
	const fleets = "arn:aws:muster:us-west-2:111122223333:fleet/"
	statement := func(effect, name string) string {
		return `{"Effect":"` + effect + `","Action":"muster:GameSessionRead","Resource":"` + fleets + name + `"}`
	}
	one := w.keyFor("one", statement("Allow", timelineFleet))
	most := w.keyFor("most", statement("Allow", "*")+","+statement("Deny", timelineFleet))
	all := w.keyFor("all", statement("Allow", "*"))
	for _, c := range []struct {
		key, query string
		status     int
		text       string
	}{
		{one, "", 403, "AccessDenied"},
		{one, "?fleet=" + timelineFleet, 200, "hides false"},
		{one, "?fleet=fleet-2", 403, "AccessDenied"},
		{most, "", 200, "hides true"},
		{most, "?fleet=" + timelineFleet, 403, "AccessDenied"},
		{all, "", 200, "hides false"},
		{one, "/v1/fleets/" + timelineFleet + "/computes?limit=7&after=t", 200, "Limit:7 NextToken:t}"},
		{one, "/v1/fleets/" + timelineFleet + "/computes?limit=101", 400, "from 1 to 100"},
		{one, "/v1/fleets/fleet-2/computes", 403, "AccessDenied"},
		{most, "/v1/fleets/" + timelineFleet + "/computes", 403, "AccessDenied"},
		{all, "/v1/fleets/fleet-2/computes", 200, "{FleetID:fleet-2 Limit:100"},
	} {
		path := c.query
		if !strings.HasPrefix(path, "/") {
			path = "/v1/game-sessions" + path
		}
		status, body := w.ask("GET", path, c.key)
		if status != c.status || !strings.Contains(body, c.text) {
			t.Errorf("%s%s: %d %s", c.key, c.query, status, body)
		}
	}
}

func TestPlayerAndRows(t *testing.T) {
	w := newWorld(t)
	for path, want := range map[string]string{
		"/v1/players/anna":                        `"nextToken":"100false"`,
		"/v1/players/a%2Fb?limit=3&after=x":       `"playerId":"a/b"`,
		"/v1/players/anna?limit=1000":             "from 1 to 100",
		"/v1/players/anna?fleet=f":                "Unknown parameter",
		"/v1/queues/q/placements?status=FAILED":   "{Name:q Status:FAILED Limit:100 NextToken:}",
		"/v1/queues/q/placements?limit=x":         "from 1 to 100",
		"/v1/configurations/c/tickets?after=t":    "{Name:c Status: Limit:100 NextToken:t}",
		"/v1/configurations/c/tickets?state=DONE": "The parameters are status, after, limit.",
		"/v1/builds?status=READY&limit=3&after=x": `{"builds":[],"nextToken":"READY3x"}`,
		"/v1/builds?name=x":                       "The parameters are status, after, limit.",
		"/v1/builds/build-1":                      `"reason":"it is no zip"`,
	} {
		if _, body := w.get(path); !strings.Contains(body, want) {
			t.Errorf("%s: %s, want %s", path, body, want)
		}
	}
	const path = "/v1/players/anna/sessions/psess-1"
	if status, body := w.ask("DELETE", path, "AKID"); status != 200 || !strings.Contains(body, "psess-1") {
		t.Errorf("%d %s", status, body)
	}
	reader := w.keyFor("reader", `{"Effect":"Allow","Action":"muster:*Read","Resource":"*"}`)
	if status, _ := w.ask("DELETE", path, reader); status != 403 {
		t.Errorf("a reader: %d", status)
	}
	if status, _ := w.ask("GET", "/v1/players/anna", reader); status != 200 {
		t.Errorf("a reader: %d", status)
	}
}

// TestLatency: a policy for one queue shows the latencies of that queue alone.
func TestLatency(t *testing.T) {
	w := newWorld(t)
	one := w.keyFor("one", `{"Effect":"Allow","Action":"muster:PlacementRead",`+
		`"Resource":"arn:aws:muster:us-west-2:111122223333:queue/ranked"}`)
	for _, c := range []struct {
		key, query string
		status     int
		want       string
	}{
		{one, "?queue=ranked", 200, `{"locations":[{"location":"of ranked","reports":1,"p50Ms":0,"p90Ms":0}]}`},
		{one, "?queue=other", 403, "AccessDenied"},
		{one, "", 403, "AccessDenied"},
		{"AKID", "", 200, `"of "`},
		{"AKID", "?name=x", 400, "Unknown parameter"},
	} {
		if status, text := w.ask("GET", "/v1/latency"+c.query, c.key); status != c.status ||
			!strings.Contains(text, c.want) {
			t.Errorf("%s: %d %s, want %d %s", c.query, status, text, c.status, c.want)
		}
	}
}
