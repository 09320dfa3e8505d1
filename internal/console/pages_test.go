package console

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/matcher"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// shows checks the status of a page and its texts.
func (w *world) shows(method, path string, form url.Values, status int, texts ...string) string {
	w.Helper()
	out := w.do(method, path, form)
	body := out.Body.String()
	if out.Code != status {
		w.Errorf("%s %s: status %d, want %d: %s", method, path, out.Code, status, body)
	}
	for _, text := range texts {
		if !strings.Contains(body, text) {
			w.Errorf("%s %s has no %s: %s", method, path, text, body)
		}
	}
	return body
}

// leads checks where a form leads to.
func (w *world) leads(path string, form url.Values, to string) {
	w.Helper()
	out := w.do("POST", path, form)
	if out.Code != http.StatusSeeOther || out.Header().Get("Location") != to {
		w.Errorf("POST %s %v: %d to %q, want %q: %s", path, form, out.Code, out.Header().Get("Location"), to, out.Body)
	}
}

var denied = fault.New(fault.AccessDenied, "denied")

// TestConsoleUse: without the permission no page is shown, and nothing is asked.
func TestConsoleUse(t *testing.T) {
	w := newWorld(t)
	w.fails["muster:ConsoleUse"] = denied
	for _, path := range []string{"/console/", "/console/live", "/console/users"} {
		body := w.shows("GET", path, nil, 403, "AccessDenied")
		if strings.Contains(body, "data-watch") {
			t.Errorf("%s is live", path)
		}
	}
	if len(w.calls) > 0 {
		t.Errorf("calls %v", w.calls)
	}
}

// TestReaders (§3.10): forms that a reader may not post are absent, and so are pages that a reader may not see.
func TestReaders(t *testing.T) {
	w := newWorld(t)
	w.answers["ListLocations"] = &wire.ListLocationsOutput{
		Locations: []wire.LocationModel{{LocationName: "custom-home", LocationArn: "arn:l"}}}
	forms := []string{`action="/console/locations"`, `action="/console/locations/custom-home/delete"`}
	w.shows("GET", "/console/locations", nil, 200, append(forms, `href="/console/users"`)...)
	for _, action := range []string{"gamelift:CreateLocation", "gamelift:DeleteLocation", "muster:UserRead"} {
		w.fails[action] = denied
	}
	body := w.shows("GET", "/console/locations", nil, 200, "custom-home")
	for _, absent := range append(forms, `href="/console/users"`) {
		if strings.Contains(body, absent) {
			t.Errorf("the page of a reader has %s", absent)
		}
	}
	if got := w.inputs["gamelift:DeleteLocation"]; len(got.([]string)) != 1 || got.([]string)[0] != "arn:l" {
		t.Errorf("asked for %v", got)
	}
}

// TestLook keeps colours and the zone in a cookie, and returns to the page, never to another site.
func TestLook(t *testing.T) {
	w := newWorld(t)
	for returned, want := range map[string]string{
		"/console/queues?next=x": "/console/queues?next=x", "https://evil.example/console/": "/console/",
		"//evil.example/console/": "/console/", "/signin/": "/console/", "": "/console/",
		"\\\\evil/console/": "/console/",
	} {
		w.leads("/console/look", url.Values{"theme": {"dark"}, "return": {returned}}, want)
	}
	w.answers["ListLocations"] = &wire.ListLocationsOutput{}
	cookie := ""
	for _, step := range []struct {
		form  url.Values
		want  string
		plain bool
	}{
		{url.Values{"theme": {"dark"}}, `data-theme="dark"`, false},
		{url.Values{"times": {"local"}}, `data-theme="dark" data-times="local"`, false},
		{url.Values{"theme": {"system"}}, `<html lang="en" data-times="local">`, false},
		{url.Values{"density": {"compact"}}, `<html lang="en" data-times="local" data-density="compact">`, false},
		{url.Values{"times": {"utc"}}, `<html lang="en" data-density="compact">`, false},
		{url.Values{"density": {"comfortable"}}, `<html lang="en">`, false},
		{url.Values{"times": {"utc"}}, `<html lang="en">`, false},
		{url.Values{"theme": {`"><script>`}}, `<html lang="en">`, false},
	} {
		send := func(r *http.Request) { r.Header.Set("Cookie", cookie) }
		made := w.do("POST", "/console/look", step.form, send).Result().Cookies()
		if len(made) != 1 || !made[0].HttpOnly || made[0].SameSite != http.SameSiteStrictMode {
			t.Fatalf("cookies %v", made)
		}
		cookie = made[0].Name + "=" + made[0].Value
		if body := w.do("GET", "/console/locations", nil, send).Body.String(); !strings.Contains(body, step.want) {
			t.Errorf("after %v: no %s", step.form, step.want)
		}
	}
}

// TestPlacement shows a trail in sentences.
func TestPlacement(t *testing.T) {
	w := newWorld(t)
	begin := w.clock.Now().Add(-1300 * time.Millisecond)
	at := func(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }
	end := at(1300)
	w.answers["GET /v1/placements/first"] = control.PlacementTrail{PlacementID: "first", Queue: "ranked",
		Status: placement.Fulfilled, StartTime: begin, EndTime: &end, GameSessionArn: "arn:gs/x/gsess-1",
		Candidates: []control.PlacementCandidate{{FleetID: "fleet-1", Location: "custom-lon", AverageLatencyMS: 44},
			{FleetID: "fleet-1", Location: "custom-iad", AverageLatencyMS: 95, Dropped: "over 60 ms"}},
		Steps: []control.PlacementStep{
			{Time: at(0), Kind: placement.StepAttempt, FleetID: "fleet-1", Location: "custom-fra"},
			{Time: at(8), Kind: placement.StepRefused, FleetID: "fleet-1", Location: "custom-fra"},
			{Time: at(1300), Kind: placement.StepFulfilled, FleetID: "fleet-1", Location: "custom-lon"}}}
	body := w.shows("GET", "/console/placements/first", nil, 200, "FULFILLED", "in 1.3 s",
		"Refused: no server process was free.", "The game session is ACTIVE.", "over 60 ms", "44 ms", "8 ms",
		`href="/console/queues/ranked"`)
	if strings.Contains(body, "Cancel placement") {
		t.Error("a placement that has ended can be cancelled")
	}
	w.answers["StopGameSessionPlacement"] = &wire.StopGameSessionPlacementOutput{}
	w.leads("/console/placements/first/stop", nil, "/console/placements/first?done=placement-stopped")
}

// TestTicket says why a ticket has no match, unless the reader may not see that, or it has ended meanwhile.
func TestTicket(t *testing.T) {
	w := newWorld(t)
	w.answers["DescribeMatchmaking"] = &wire.DescribeMatchmakingOutput{TicketList: []wire.MatchmakingTicket{{
		TicketId: "ken", ConfigurationName: "duel", Status: "SEARCHING", StartTime: w.clock.Now(),
		Players: []wire.Player{{PlayerId: "ken", PlayerAttributes: map[string]wire.AttributeValue{
			"skill": {N: wire.Some(12.5)}, "maps": {SL: []string{"a", "b"}},
			"weights": {SDM: map[string]float64{"x": 2}},
			"role":    {S: "tank"}}, LatencyInMs: map[string]int32{"custom-fra": 31}}}}}}
	w.answers["GET /v1/tickets/ken/explain"] = control.TicketExplanation{Ticket: "ken", Status: "SEARCHING",
		AgeSeconds: 18.4, TimeoutSeconds: 41.6,
		Explanation: &matcher.Explanation{Pool: 42, Largest: 5, Missing: "red lacks 3", Candidates: 41,
			Rejections: []matcher.Rejection{{Rule: "FairSkill", Candidates: 41,
				Example: "t-9: distance 22, at most 10"}},
			Next: &matcher.Expansion{Seconds: 12, Admits: 9, Changes: []matcher.Change{{Target: "t", To: "20"}}}}}
	w.shows("GET", "/console/tickets/ken", nil, 200, "The largest match found with it has 5 players: red lacks 3.",
		"41 other tickets were checked; 41 do not fit:",
		"<li>41 fail FairSkill, such as t-9: distance 22, at most 10.</li>",
		"In 12.0 s t is set to 20, which admits 9 of the tickets above.", "12.5",
		`<progress max="100" value="30" aria-label="Age of 18 s, time-out at 1 m 0 s">`, "18 s of 1 m 0 s", ">in 41 s<",
		`<dd>at 30 s <span class="muted">· <time datetime="2026-11-25T12:00:12Z"`, ": t 20</dd>",
		"a, b", "x 2", "tank", "31 ms")
	w.fails["GET /v1/tickets/ken/explain"] = fault.New(fault.InvalidRequest, "It has ended.")
	w.shows("GET", "/console/tickets/ken", nil, 200, "It has just ended.")
	w.fails["muster:TicketExplain"] = denied
	w.shows("GET", "/console/tickets/ken", nil, 200, "you need the permission")
}

// TestQueue shows what is free, also if a destination cannot be read, and tests placements.
func TestQueue(t *testing.T) {
	w := newWorld(t)
	w.answers["DescribeGameSessionQueues"] = &wire.DescribeGameSessionQueuesOutput{
		GameSessionQueues: []wire.GameSessionQueue{{Name: "ranked", Destinations: []wire.GameSessionQueueDestination{
			{DestinationArn: "arn:aws:gamelift:eu-west-1:1:fleet/fleet-1"},
			{DestinationArn: "arn:aws:gamelift:eu-west-1::alias/alias-1"}}}}}
	w.fails["ResolveAlias"] = fault.New(fault.NotFound, "Alias alias-1 does not exist.")
	w.answers["DescribeFleetAttributes"] = &wire.DescribeFleetAttributesOutput{
		FleetAttributes: []wire.FleetAttributes{{FleetId: "fleet-1", Name: "arena", Status: "ACTIVE"}}}
	w.answers["DescribeFleetUtilization"] = &wire.DescribeFleetUtilizationOutput{
		FleetUtilization: []wire.FleetUtilization{{FleetId: "fleet-1",
			ActiveServerProcessCount: wire.Some[int32](24), ActiveGameSessionCount: wire.Some[int32](18)}}}
	w.answers["DescribeFleetLocationAttributes"] = &wire.DescribeFleetLocationAttributesOutput{
		LocationAttributes: []wire.LocationAttributes{{LocationState: &wire.LocationState{Location: "custom-fra"}}}}
	w.shows("GET", "/console/queues/ranked", nil, 200, "<strong>6</strong>", "Alias alias-1 does not exist.",
		`name="latency-custom-fra"`)
	w.answers["GET /v1/queues/ranked/placements"] = func(r *http.Request) any {
		ended := w.clock.Now()
		row := control.PlacementRow{StartTime: ended, EndTime: &ended}
		list := control.PlacementList{}
		switch r.FormValue("status") {
		case "":
			list.Placements = []control.PlacementRow{{Status: placement.Pending}, {Status: placement.Cancelled}}
			list.NextToken = "more"
		case "FULFILLED":
			row.Status = placement.Fulfilled
			for i := range 100 {
				row.AgeMS = int64(1000 + 10*i)
				list.Placements = append(list.Placements, row)
			}
			list.NextToken = "more"
		case "FAILED,TIMED_OUT,CANCELLED":
			row.Status, row.PlacementID, row.Reason = placement.Failed, "broken", "the queue was deleted"
			late := control.PlacementRow{PlacementID: "late", Status: placement.TimedOut,
				LastStep: &control.PlacementStep{Kind: placement.StepWaiting, Text: "fleet-1 is full"}}
			list.Placements = []control.PlacementRow{row, late, {Status: placement.Cancelled}, row}
		}
		return list
	}
	w.calls = nil
	w.shows("GET", "/console/queues/ranked", nil, 200, "<dd>100 <small>or more</small></dd>", "<dd>1.4 s</dd>",
		"<dd>1.9 s</dd>", "Why the last 3 failed", `<td>The queue was deleted.</td><td class="n">2</td>`,
		`<td>It timed out. Before: It waits: fleet-1 is full.</td><td class="n">1</td>`,
		`data-sets="l-0"`, `href="/console/placements/late"`, "<dd>1</dd>", "<dd>2</dd>")
	if n := requestsIn(w.calls); n > 3 {
		t.Errorf("the page makes %d requests: %v", n, w.calls)
	}
	w.calls = nil
	page := w.shows("GET", "/console/queues/ranked?next=more", nil, 200, `id="placements"`)
	if n := requestsIn(w.calls); n > 1 || strings.Contains(page, "How placements go") {
		t.Errorf("the second page makes %d requests: %v", n, w.calls)
	}
	form := url.Values{"placement": {"p-1"}, "max-players": {"4"}, "players": {"ada, bob"}, "latency-custom-fra": {"x"}}
	w.shows("POST", "/console/queues/ranked/placements", form, 400, "is not a number of milliseconds", `value="p-1"`)
	form.Set("latency-custom-fra", "31")
	w.answers["StartGameSessionPlacement"] = &wire.StartGameSessionPlacementOutput{}
	w.leads("/console/queues/ranked/placements", form, "/console/placements/p-1?done=placement-started")
	in := w.inputs["StartGameSessionPlacement"].(*wire.StartGameSessionPlacementInput)
	if len(in.DesiredPlayerSessions) != 2 || len(in.PlayerLatencies) != 2 || in.PlayerLatencies[1].PlayerId != "bob" ||
		in.MaximumPlayerSessionCount.Or(0) != 4 {
		t.Errorf("started %+v", in)
	}
}

// requestsIn returns how many of the calls are requests of operators.
func requestsIn(calls []string) (n int) {
	for _, c := range calls {
		if strings.HasPrefix(c, "GET /v1/") {
			n++
		}
	}
	return n
}

// TestEditor says at which line a rule set is wrong, and stores a valid one.
func TestEditor(t *testing.T) {
	w := newWorld(t)
	broken := strings.Replace(example, `"minPlayers": 1, "maxPlayers": 1},`, `"minPlayers": "x", "maxPlayers": 1},`, 1)
	w.fails["ValidateMatchmakingRuleSet"] = fault.New(fault.InvalidRequest, "It is wrong.")
	form := url.Values{"body": {strings.ReplaceAll(broken, "\n", "\r\n")}, "rule-set-name": {"duel"}, "to": {"save"}}
	w.shows("POST", "/console/rule-sets/check", form, 200, `"line":6`, `"problem":"teams[0].minPlayers`)
	w.shows("POST", "/console/rule-sets/create", form, 200, "Line 6: teams[0].minPlayers", `data-line="6"`)
	delete(w.fails, "ValidateMatchmakingRuleSet")
	w.answers["ValidateMatchmakingRuleSet"] = &wire.ValidateMatchmakingRuleSetOutput{}
	w.answers["CreateMatchmakingRuleSet"] = &wire.CreateMatchmakingRuleSetOutput{}
	form.Set("body", example)
	w.shows("POST", "/console/rule-sets/check", form, 200, "Valid: 2 teams, at most 2 players, 1 rule.")
	w.leads("/console/rule-sets/create", form, "/console/rule-sets/duel?done=rule-set-created")
}

// TestAccessPages: forms make the requests of operators, and secrets are shown once.
func TestAccessPages(t *testing.T) {
	w := newWorld(t)
	w.answers["GET /v1/users"] = map[string]any{"users": []access.UserView{{Name: "ada"}}}
	w.answers["GET /v1/groups"] = map[string]any{}
	w.answers["GET /v1/keys"] = map[string]any{"keys": []access.KeyView{{ID: "AKIA1", Owner: "ada", Status: "Active"}}}
	w.answers["GET /v1/policies"] = map[string]any{}
	w.answers["POST /v1/users"] = access.UserCreated{UserView: access.UserView{Name: "bob"},
		Invite: "https://h/i?token=1"}
	w.shows("POST", "/console/users", url.Values{"user-name": {"bob"}, "kind": {"invite"}}, 200, "https://h/i?token=1")
	if got := w.inputs["POST /v1/users"].(string); !strings.Contains(got, `"invite":true`) ||
		!strings.Contains(got, `"name":"bob"`) {
		t.Errorf("created %s", got)
	}
	w.answers["POST /v1/keys"] = access.KeyCreated{KeyView: access.KeyView{ID: "AKIA2"}, Secret: "hush"}
	w.shows("POST", "/console/keys", url.Values{"user": {"backend"}, "service": {"yes"},
		"expires": {"2026-12-31"}}, 200, "AWS_SECRET_ACCESS_KEY=hush")
	if got := w.inputs["POST /v1/keys"].(string); !strings.Contains(got, `"service":"backend"`) ||
		!strings.Contains(got, `"expires":"2026-12-31T00:00:00Z"`) {
		t.Errorf("created %s", got)
	}
	if body := w.shows("GET", "/console/keys", nil, 200, "AKIA1"); strings.Contains(body, "hush") {
		t.Error("the secret is shown twice")
	}
	w.answers["PATCH /v1/keys/AKIA1"] = map[string]any{}
	w.leads("/console/keys/AKIA1", url.Values{"to": {"deactivate"}}, "/console/keys?done=key-changed")
	if got := w.inputs["PATCH /v1/keys/AKIA1"]; got != `{"status":"Inactive"}` {
		t.Errorf("changed %s", got)
	}
	w.answers["GET /v1/users/ada"] = access.UserView{Name: "ada", Roles: []string{"operator"}}
	w.answers["GET /v1/users/ada/sign-ins"] = map[string]any{"signIns": []access.SignInView{{Client: "aws-cli"}}}
	w.answers["GET /v1/roles"] = map[string]any{"roles": []access.RoleView{{Name: "operator"}, {Name: "read-only"}}}
	w.shows("GET", "/console/users/ada", nil, 200, "aws-cli", "<option>read-only</option>", "AKIA1")
	w.shows("POST", "/console/users/ada", url.Values{"to": {"delete"}, "confirm": {"bob"}}, 400, "Type the name")
	w.answers["DELETE /v1/users/ada"] = map[string]any{}
	w.leads("/console/users/ada", url.Values{"to": {"delete"}, "confirm": {"ada"}}, "/console/users?done=user-deleted")
	w.answers["DELETE /v1/assignments/operator/ada"] = map[string]any{}
	w.leads("/console/users/ada", url.Values{"to": {"unassign"}, "role": {"operator"}},
		"/console/users/ada?done=user-changed")
}

// TestRedirected: a request whose path is cleaned, and leads elsewhere, was not made.
func TestRedirected(t *testing.T) {
	w := newWorld(t)
	w.redirects = true
	w.shows("POST", "/console/roles/operator", url.Values{"to": {"assign"}, "subject": {".."}}, 404, "NotFound")
}

// TestRegionPages shows the cluster, the settings, the events and the audit trail.
func TestRegionPages(t *testing.T) {
	w := newWorld(t)
	w.answers["ListFleets"] = &wire.ListFleetsOutput{}
	w.fails["GET /v1/nodes"] = fault.New(fault.InvalidRequest, "This service is not part of a cluster.")
	w.answers["GET /v1/shards"] = `{"nodes":[{"version":"v1","engineVersion":"2.15","diskUsedBytes":1500000,` +
		`"diskFreeBytes":40000000000,"diskSizeBytes":100000000000}],"shards":[{"shard":0,"last":4711,"lag":0,` +
		`"journalBytes":999,"append":{"p50Ms":0.416,"p99Ms":12.3},"snapshot":{"last":4000,"bytes":23456,` +
		`"time":"2026-11-25T11:58:00Z"}}]}`
	w.shows("GET", "/console/cluster", nil, 200, "This service runs alone", "this service", "NATS 2.15", ">1.5 MB<",
		"40 GB of 100 GB", ">4711<", ">999 B<", ">0.42 ms<", ">12 ms<", "2 m 0 s ago", ">4000<", ">23 kB<")
	delete(w.fails, "GET /v1/nodes")
	w.answers["GET /v1/nodes"] = `{"level":6,"nodes":[{"node":"a","up":true,"ready":true,"shards":4},{"node":"b"}]}`
	w.answers["GET /v1/shards"] = `{"node":"c","nodes":[{"node":"a","version":"v1","lag":3},{"node":"c",` +
		`"problem":"It did not answer."}],"shards":[{"shard":0,"owner":"a","last":9},{"shard":1,"problem":"Not now."}]}`
	w.shows("GET", "/console/cluster", nil, 200, "READY", "DOWN", "Remove b", "Feature level in force: 6",
		`<td class="n">3</td>`, "It did not answer.", "Its state is not known now.", "<td>a</td>", "Not now.",
		"Lag is of c, which shows this page")
	w.fails["GET /v1/shards"] = fault.New(fault.ServiceUnavailable, "Later.")
	w.shows("GET", "/console/cluster", nil, 200, "READY", "Shards: Later.", "did not answer in time")
	w.fails["GET /v1/nodes"] = w.fails["GET /v1/shards"]
	w.shows("GET", "/console/cluster", nil, 200, "Nodes: Later. Shards: Later.", "Game sessions")
	delete(w.fails, "GET /v1/nodes")
	delete(w.fails, "GET /v1/shards")
	w.shows("POST", "/console/cluster/remove", url.Values{"node": {"b"}, "confirm": {"a"}}, 400, "Type the name")
	w.answers["DELETE /v1/nodes/b"] = `{}`
	w.leads("/console/cluster/remove", url.Values{"node": {"b"}, "confirm": {"b"}},
		"/console/cluster?done=node-removed")
	w.answers["GET /v1/backup"] = "the region"
	out := w.do("POST", "/console/cluster/backup", nil)
	if out.Body.String() != "the region" || !strings.Contains(out.Header().Get("Content-Disposition"),
		"muster-eu-west-1-20261125-120000.backup") {
		t.Errorf("%v %s", out.Header(), out.Body)
	}
	w.fails["GET /v1/backup"] = denied
	w.shows("POST", "/console/cluster/backup", nil, 403, "AccessDenied")

	w.answers["GET /v1/settings"] = `{"settings":[{"name":"listen","group":"Network","value":":80",` +
		`"source":"flag --listen"},{"name":"data","group":"Storage","value":"d","source":"default"}]}`
	w.shows("GET", "/console/settings", nil, 200, "flag --listen", "Storage")
	if strings.Contains(w.shows("GET", "/console/settings?show=changed", nil, 200, ":80"), "Storage") {
		t.Error("defaults are shown")
	}
	w.answers["GET /v1/events"] = `{"position":"1.1","event":{"time":"2026-11-25T11:00:00Z",` +
		`"resources":["arn:q/ranked"],"detail":{"type":"PlacementTimedOut","placementId":"p-1"}}}` + "\n" +
		`{"position":"2.1","event":{"time":` +
		`"2026-11-25T11:30:00Z","detail":{"type":"MatchmakingSearching","tickets":[{"ticketId":"ken"}]}}}` + "\n"
	body := w.shows("GET", "/console/events", nil, 200, `href="/console/placements/p-1"`, `href="/console/tickets/ken"`)
	if strings.Index(body, "MatchmakingSearching") > strings.Index(body, "PlacementTimedOut") {
		t.Error("the newest event is not the first")
	}
	if strings.Contains(w.shows("GET", "/console/events?filter=timedout", nil, 200, "p-1"), "ken") {
		t.Error("the filter shows another event")
	}
	w.answers["GET /v1/audit"] = `{"position":"1","eventTime":"2026-11-25T11:00:00Z","eventName":"CreateFleet",` +
		`"userIdentity":{"type":"IAMUser","userName":"ada"},"errorCode":"ConflictException",` +
		`"resources":[{"ARN":"a/b"}]}` + "\n"
	w.shows("GET", "/console/audit?errors=true&user=ada", nil, 200, "CreateFleet", "ada", "ConflictException")
}

// TestLogPage shows the newest lines first, as text, and what is wrong with a filter.
func TestLogPage(t *testing.T) {
	w := newWorld(t)
	w.answers["GET /v1/logs"] = ""
	w.shows("GET", "/console/log", nil, 200, "has logged nothing")
	w.shows("GET", "/console/log?level=error", nil, 200, "None of the lines", `<option value="error" selected>`)
	w.answers["GET /v1/logs"] = `{"position":"1","time":"2026-11-25T11:00:00Z","level":"INFO","msg":"begun"}` + "\n" +
		`{"position":"2","time":"2026-11-25T11:00:01Z","level":"WARN","msg":"slow <b>","shard":3}` + "\n"
	body := w.shows("GET", "/console/log?shard=3", nil, 200, "slow &lt;b&gt;", "shard=3", `chip wait">WARN`)
	if strings.Index(body, "slow") > strings.Index(body, "begun") || strings.Contains(body, "Older ones") {
		t.Error("the newest line is not the first, or there are others")
	}
	w.answers["GET /v1/logs"] = strings.Repeat(`{"level":"INFO","msg":"again"}`+"\n", maxRecords+1)
	body = w.shows("GET", "/console/log", nil, 200, "Older ones match")
	if n := strings.Count(body, "again"); n != maxRecords {
		t.Errorf("%d lines are shown", n)
	}
	w.fails["GET /v1/logs"] = fault.New(fault.InvalidRequest, "Parameter shard is \"x\".")
	w.shows("GET", "/console/log?shard=x", nil, 400, "Parameter shard is")
}

// TestExplorer runs operations, and asks before dangerous ones.
func TestExplorer(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Operations = []OperationGroup{{"Fleets", []string{"ListFleets"}}} })
	w.shows("GET", "/console/api", nil, 200, `href="/console/api/ListFleets"`)
	w.shows("GET", "/console/api/CreateFleet", nil, 200, "aws gamelift create-fleet --cli-input-json",
		"X-Amz-Target: GameLift.CreateFleet")
	w.shows("GET", "/console/api/Nothing", nil, 404, "NotFound")
	for body, want := range map[string][]string{
		`{"Name": "é ` + strings.ReplaceAll(hostile, `"`, `\"`) + `"}`: {"answer = gamelift.create_fleet(",
			`client.CreateFleet(ctx, &amp;gamelift.CreateFleetInput{`, `\u202e&#39;{{.}}&#34;`},
		`{"Locations": [{"Location": "custom-a"}]}`: {"service/gamelift/types&#34;\n)",
			"[]types.LocationConfiguration{"},
		`{"Nom": "x"}`: {`There is no member &#34;Nom&#34; in CreateFleetInput.`},
		`[`:            {"The input is not a JSON object."},
		`{"Name": "` + strings.Repeat("x", 4096) + `"}`: {strings.Repeat("x", 4096) + "&#34;),"},
	} {
		page := w.shows("GET", "/console/api/CreateFleet?body="+url.QueryEscape(body), nil, 200, want...)
		if strings.Contains(page, "<script>alert") {
			t.Errorf("%s is markup", body)
		}
	}
	w.answers["ListFleets"] = `{"FleetIds":["fleet-1"]}`
	w.shows("POST", "/console/api/ListFleets", url.Values{"body": {`{"Limit": 1}`}}, 200, "fleet-1", "It succeeded",
		"POST /service/GameLift/operation/ListFleets", "{&#34;Limit&#34;: 1}", "00000000  ", "HTTP/1.1 200",
		"<span class=\"muted\">24 bytes</span>", "{&#34;FleetIds&#34;: [&#34;fleet-1&#34;]}")
	if w.inputs["ListFleets"] != `{"Limit": 1}` {
		t.Errorf("called with %v", w.inputs["ListFleets"])
	}
	form := url.Values{"body": {`{"FleetId": "fleet-1"}`}}
	w.shows("POST", "/console/api/DeleteFleet", form, 200, "This cannot be undone")
	if w.inputs["DeleteFleet"] != nil {
		t.Error("it did not ask")
	}
	form.Set("confirm", "DeleteFleet")
	w.fails["DeleteFleet"] = fault.New(fault.NotFound, "Fleet fleet-1 does not exist.")
	w.shows("POST", "/console/api/DeleteFleet", form, 200, "NotFoundException", "Fleet fleet-1 does not exist.")
}

// TestCommands: commands of the AWS CLI have its names.
func TestCommands(t *testing.T) {
	for operation, want := range map[string]string{"CreateFleet": "create-fleet",
		"DescribeEC2InstanceLimits": "describe-ec2-instance-limits",
		"GetGameSessionLogUrl":      "get-game-session-log-url"} {
		if got := commandOf(operation); got != want {
			t.Errorf("%s is %s", operation, got)
		}
	}
}

// TestCSV: a file has all rows, page by page, in RFC 4180, and no cell is a formula.
func TestCSV(t *testing.T) {
	w := newWorld(t)
	for name, cell := range map[string]string{"": "", "=cmd": "'=cmd", "+1": "'+1", "-1": "'-1", "@a": "'@a",
		"\tx": "'\tx", "a=b": "a=b", "ü": "ü"} {
		if got := defused(name); got != cell {
			t.Errorf("%q is %q", name, got)
		}
	}
	w.answers["DescribePlayerSessions"] = &wire.DescribePlayerSessionsOutput{PlayerSessions: []wire.PlayerSession{
		{PlayerId: "=cmd|' /C calc'!A0", PlayerSessionId: "psess-1", Status: "ACTIVE", CreationTime: w.clock.Now()},
		{PlayerId: "a \"quoted\", line\nbreak", PlayerSessionId: "psess-2", Status: "RESERVED",
			Port: wire.Some[int32](7777)}}}
	out := w.do("GET", "/console/players.csv?id=ada", nil)
	const want = "player,player_session,status,game_session,address,port,reserved_utc,ended_utc\r\n" +
		"'=cmd|' /C calc'!A0,psess-1,ACTIVE,,,0,2026-11-25 12:00:00,\r\n" +
		"\"a \"\"quoted\"\", line\r\nbreak\",psess-2,RESERVED,,,7777,,\r\n"
	if out.Body.String() != want || !strings.HasPrefix(out.Header().Get("Content-Type"), "text/csv") {
		t.Errorf("%v %q", out.Header(), out.Body)
	}
	w.fails["DescribePlayerSessions"] = denied
	w.shows("GET", "/console/players.csv?id=ada", nil, 403, "AccessDenied")
}

// A pipeWriter is an answer that is written only as fast as it is read.
type pipeWriter struct {
	*io.PipeWriter
	header http.Header
}

func (p *pipeWriter) Header() http.Header { return p.header }
func (p *pipeWriter) WriteHeader(int)     {}

// TestLargeCSV: a file of 20,000 game sessions is written while they are read: no more than a page of them
// is in memory. Formulas are defused.
func TestLargeCSV(t *testing.T) {
	const total = 20_000
	w := newWorld(t)
	var asked atomic.Int64 // rows
	w.answers["DescribeGameSessions"] = func(in any) any {
		from, _ := strconv.Atoi(in.(*wire.DescribeGameSessionsInput).NextToken)
		out := &wire.DescribeGameSessionsOutput{}
		for i := from; i < from+csvPage; i++ {
			out.GameSessions = append(out.GameSessions, wire.GameSession{GameSessionId: fmt.Sprint("gsess-", i),
				Name: "=cmd|' /C calc'!A0\n" + hostile})
		}
		if from += csvPage; from < total {
			out.NextToken = strconv.Itoa(from)
		}
		asked.Add(csvPage)
		return out
	}
	reading, writing := io.Pipe()
	go func() {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/console/game-sessions.csv?fleet=fleet-1", nil)
		r.Host, r.RemoteAddr = "127.0.0.1:9080", "127.0.0.1:4711"
		w.h.ServeHTTP(&pipeWriter{writing, http.Header{}}, r)
		_ = writing.Close()
	}()
	rows := csv.NewReader(reading)
	if _, err := rows.Read(); err != nil {
		t.Fatal(err)
	}
	for n := range int64(total) {
		row, err := rows.Read()
		if err != nil || row[0] != fmt.Sprint("gsess-", n) || row[1] != "'=cmd|' /C calc'!A0\n"+hostile {
			t.Fatalf("row %d: %q, %v", n, row, err)
		}
		if ahead := asked.Load() - n; ahead > 3*csvPage { // of which two pages are those of buffers
			t.Fatalf("%d rows were read before row %d was written", asked.Load(), n)
		}
	}
	if row, err := rows.Read(); !errors.Is(err, io.EOF) {
		t.Errorf("after the last row: %q, %v", row, err)
	}
}

// TestRowsCSV: the files of tickets and placements have the rows of all pages of their lists.
func TestRowsCSV(t *testing.T) {
	long := strings.Repeat("\u202eй", 1024)
	begin := time.Date(2026, 11, 25, 11, 0, 0, 0, time.UTC)
	end := begin.Add(90 * time.Second)
	for path, c := range map[string]struct {
		list   string
		pages  []any
		status string
		want   string
	}{
		"/console/matchmaking/duel/tickets.csv": {"configurations/duel/tickets", []any{
			control.TicketList{NextToken: "a b", Tickets: []control.TicketRow{{TicketID: "=cmd", Status: "SEARCHING",
				StartTime: begin, AgeMS: 1500, Players: []string{"@ada", hostile, long}}}},
			control.TicketList{NextToken: "end"}, // a page can be empty before the last
			control.TicketList{Tickets: []control.TicketRow{{TicketID: "t-2", Status: "COMPLETED", StartTime: begin,
				EndTime: &end, Players: []string{"bob"}, Message: "+1", Backfill: true, Match: "m"}}}}, "",
			"id,status,started_utc,ended_utc,age_ms,reason,message,players,backfill,automatic,match,game_session\r\n" +
				"'=cmd,SEARCHING,2026-11-25 11:00:00,,1500,,,\"'@ada " + strings.ReplaceAll(hostile, `"`, `""`) + " " +
				long + "\",false,false,,\r\n" +
				"t-2,COMPLETED,2026-11-25 11:00:00,2026-11-25 11:01:30,0,,'+1,bob,true,false,m,\r\n"},
		"/console/queues/ranked/placements.csv?status=FAILED": {"queues/ranked/placements", []any{
			control.PlacementList{NextToken: "end", Placements: []control.PlacementRow{{PlacementID: "-p",
				Status: "FAILED", StartTime: begin, EndTime: &end, AgeMS: 90_000, Reason: "=1+1", Attempt: 3}}},
			control.PlacementList{}}, "FAILED",
			"id,status,started_utc,ended_utc,age_ms,reason,attempts,fleet,location,game_session,match\r\n" +
				"'-p,FAILED,2026-11-25 11:00:00,2026-11-25 11:01:30,90000,'=1+1,3,,,,\r\n"},
	} {
		w := newWorld(t)
		list := "GET /v1/" + c.list
		var asked []url.Values
		w.answers[list] = func(r *http.Request) any {
			asked = append(asked, r.URL.Query())
			return c.pages[len(asked)-1]
		}
		if out := w.do("GET", path, nil); out.Body.String() != c.want {
			t.Errorf("%s: %q, want %q", path, out.Body, c.want)
		}
		for i, q := range asked {
			if q.Get("status") != c.status || q.Get("limit") != "100" || (q.Get("after") == "") != (i == 0) {
				t.Errorf("%s: page %d was asked for with %v", path, i+1, q)
			}
		}
		w.fails[list] = denied
		w.shows("GET", path, nil, 403, "AccessDenied")
	}
}
