package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/mustertest"
)

// TestGet lists a region with each form of output.
func TestGet(t *testing.T) {
	s := mustertest.Start(t)
	environ := rootEnviron(s)
	const location = "custom-home"
	fleet := s.Fleet(location)
	on := s.Compute(fleet, location, "pc-a")
	on.ProcessID = "p-0"
	s.Launch(on, 7770)
	mustertest.Call(s, s.Client.CreateGameSession, &gamelift.CreateGameSessionInput{FleetId: &fleet,
		Location: new(location), MaximumPlayerSessionCount: new(int32(4))})
	on.ProcessID = "p-1"
	s.Launch(on, 7777)
	queue := mustertest.Call(s, s.Client.CreateGameSessionQueue, &gamelift.CreateGameSessionQueueInput{
		Name: new("ranked"), TimeoutInSeconds: new(int32(90)),
		Destinations: []types.GameSessionQueueDestination{
			{DestinationArn: new("arn:aws:gamelift:" + s.Region + "::fleet/" + fleet)}},
	}).GameSessionQueue
	for _, test := range []struct {
		line   string
		status int
		want   []string // parts of both outputs
		not    string
	}{
		{"get fleets", exitOK, []string{"SESSIONS", fleet, "ACTIVE", "0/4"}, "arn:aws:gamelift"},
		{"get fleets -o wide", exitOK, []string{"CREATED", fleet, "ANYWHERE", "PROCESSES", "arn:aws:gamelift"}, "{"},
		{"get fleets -o json", exitOK, []string{`{"fleets":[{"fleetId":"` + fleet + `"`}, "PROCESSES"},
		{"get computes", exitOK, []string{"pc-a", fleet, location}, "arn:aws:gamelift"},
		{"get computes -o wide --fleet " + fleet, exitOK, []string{"SDK ENDPOINT", "pc-a", ":compute/"}, "{"},
		{"get computes --output json --location " + location, exitOK, []string{`"computeName":"pc-a"`}, "STATUS"},
		{"get computes --fleet fleet-none", exitFailure, []string{"NotFoundException: "}, "operation error"},
		{"get processes " + fleet, exitOK, []string{"HEALTH", "pc-a", "p-1", "IDLE"}, "7777"},
		{"get processes -o wide " + fleet, exitOK, []string{"SDK", "7777", "p-1"}, "{"},
		{"get processes -o json " + fleet, exitOK, []string{`"processId":"p-1"`, `"state":"IDLE"`}, "COMPUTE"},
		{"get processes fleet-none", exitFailure, []string{"NotFoundException: "}, "COMPUTE"},
		{"get locations", exitOK, []string{"LOCATION", location}, "ARN"},
		{"get locations -o wide", exitOK, []string{"ARN", location, ":location/"}, "{"},
		{"get locations --json", exitOK, []string{`"locationName":"` + location + `"`}, "ARN"},
		{"get queues", exitOK, []string{"ranked", "1 m 30 s", "1"}, "fleet/"},
		{"get queues -o wide", exitOK, []string{"ranked", *queue.GameSessionQueueArn, "fleet/" + fleet}, "{"},
		{"get queues -o json", exitOK, []string{`"timeoutInSeconds":90,"destinations":["arn:`}, "TIMEOUT"},
		{"get overview -o json", exitOK, []string{`"region":"`}, "server processes"},
		{"get sessions -o wide", exitOK, []string{"CREATED", "PLACEMENT"}, "{"},
		{"get sessions -o table", exitOK, []string{"0/4", "gsess-", ":7770"}, "arn:aws"},
		{"get sessions -o json", exitOK, []string{`"gameSessionArn":"arn:aws`}, "STATUS"},
		{"get session --limit 0", exitMisuse, []string{"--limit is 0: must be at least 1"}, "STATUS"},
		{"get sessions --since -1h", exitMisuse, []string{"--since is -1h0m0s"}, "STATUS"},
		{"get players anna", exitOK, []string{"GAME SESSION OR TICKET"}, "ARN"},
		{"get process " + fleet, exitOK, []string{"HOSTING", "gsess-"}, "arn:aws"},
		{"get sesions", exitMisuse, []string{`unknown command "sesions" for "muster get": use sessions`}, "Usage:"},
		{"get everything", exitMisuse, []string{"use builds, computes, find, fleets, instances"}, "Usage:"},
		{"get placements ranked -o wide", exitOK, []string{"ATTEMPT"}, "{"},
		{"get player anna -o wide", exitOK, []string{"ACCEPTED"}, "{"},
		{"get nodes", exitOK, []string{"VERSION", "FREE MIB"}, "NATS"},
		{"get nodes -o wide", exitOK, []string{"NATS", "2."}, "{"},
		{"get nodes -o json", exitOK, []string{`{"nodes":[{"version":"`, `"diskUsedBytes":`, `"ownedShards":`}, "FREE"},
		{"get shards", exitOK, []string{"OWNER", "ms"}, "JOURNAL"},
		{"get shards -o wide", exitOK, []string{"JOURNAL BYTES"}, "{"},
		{"get shards -o json", exitOK, []string{`{"shards":[{"shard":0,"last":`, `"p99Ms":`}, "OWNER"},
		{"get find ranked -o wide", exitOK, []string{"CONSOLE", "/queues/"}, "{"},
		{"get fleets -o yaml", exitMisuse, []string{"must be table, wide or json"}, "FLEET"},
		{"get fleets --endpoint http://127.0.0.1:1", exitFailure, []string{"http://127.0.0.1:1/", "dial",
			"correct --endpoint"}, "FLEET"},
		{"get nodes --endpoint http://127.0.0.1:1", exitFailure, []string{"http://127.0.0.1:1/v1/shards",
			"correct --endpoint"}, "NODE"},
		{"get nodes --endpoint 127.0.0.1:9080", exitMisuse, []string{`the endpoint is "127.0.0.1:9080": must be a URL`},
			"NODE"},
		{"get nodes --endpoint " + s.Gateway, exitFailure, []string{"404 Not Found", "check that the"}, "NODE"},
		{"get fleets --endpoint " + s.Gateway, exitFailure, []string{"check that the endpoint"}, "FLEET"},
		{"get nodes --endpoint " + s.WSS, exitMisuse, []string{"must be a URL"}, "NODE"},
		{"get nodes --endpoint " + strings.Replace(s.WSS, "wss", "https", 1), exitFailure,
			[]string{"--ca-file"}, "NODE"},
		{"get fleets --access-key AKNONE --secret-key x", exitFailure,
			[]string{"UnrecognizedClientException"}, "FLEET"},
	} {
		r := execute(t, environ, strings.Fields(test.line)...)
		out := r.stdout + r.stderr
		if r.status != test.status || strings.Contains(r.stdout, test.not) {
			t.Errorf("%s: status %d, want %d, without %q:\n%s", test.line, r.status, test.status, test.not, out)
		}
		for _, want := range test.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in\n%s", test.line, want, out)
			}
		}
	}
}

// TestGetPages requests pages until there are enough rows, and reports that there are more.
func TestGetPages(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		after := r.FormValue("after") // "", 1, 2
		next := map[string]string{"": "1", "1": "2"}[after]
		fmt.Fprintf(w, `{"placements":[{"placementId":"a%s"},{"placementId":"b%[1]s"}],"nextToken":%q}`, after, next)
	}))
	defer service.Close()
	for _, c := range []struct{ limit, last, without, note string }{
		{"3", "a1", "b1", "There are more than 3: give --limit.\n"},
		{"4", "b1", "a2", "There are more than 4: give --limit.\n"},
		{"6", "b2", "?", ""},
		{"100", "b2", "?", ""},
	} {
		args := []string{"get", "placements", "q", "--limit", c.limit}
		got := expect(t, topEnviron(service.URL), exitOK, args, c.last)
		if got.stderr != c.note || strings.Contains(got.stdout, c.without) {
			t.Errorf("--limit %s: %+v", c.limit, got)
		}
	}
}

// TestGetOfAll lists the tickets, placements and processes of all configurations, queues and fleets.
func TestGetOfAll(t *testing.T) {
	s := mustertest.Start(t)
	environ := rootEnviron(s)
	for _, name := range []string{"pc-a", "pc-b"} {
		on := s.Compute(s.Fleet("custom-"+name), "custom-"+name, name)
		on.ProcessID = "p-" + name
		s.Launch(on, 7777)
	}
	for _, queue := range []string{"duel", "ranked"} {
		mustertest.Call(s, s.Client.CreateGameSessionQueue, &gamelift.CreateGameSessionQueueInput{Name: &queue})
		mustertest.Call(s, s.Client.StartGameSessionPlacement, &gamelift.StartGameSessionPlacementInput{
			PlacementId: new("of-" + queue), GameSessionQueueName: &queue, MaximumPlayerSessionCount: new(int32(2))})
	}
	expect(t, environ, exitOK, []string{"get", "processes"}, "p-pc-a", "p-pc-b")
	expect(t, environ, exitOK, []string{"get", "processes", "-o", "json"}, `{"computes":[{"fleetId":"fleet-`)
	expect(t, environ, exitOK, []string{"get", "placements"}, "of-duel", "of-ranked")
	got := expect(t, environ, exitOK, []string{"get", "placements", "--limit", "1"}, "of-duel")
	if strings.Contains(got.stdout, "of-ranked") || got.stderr != "There are more than 1: give --limit.\n" {
		t.Errorf("%+v", got)
	}
	expect(t, environ, exitOK, []string{"get", "tickets", "-o", "json"}, `{"tickets":[]}`)
	expect(t, environ, exitFailure, []string{"get", "sessions", "--fleet", "fleet-none"}, "NotFoundException: ")
}

// TestGetOfAnEmptyRegion: lists are empty, not null.
func TestGetOfAnEmptyRegion(t *testing.T) {
	s := mustertest.Start(t)
	for _, kind := range []string{"fleets", "computes", "queues"} {
		r := execute(t, rootEnviron(s), "get", kind, "-o", "json")
		var list map[string][]any
		if err := json.Unmarshal([]byte(r.stdout), &list); err != nil || list[kind] == nil || len(list[kind]) != 0 {
			t.Errorf("%s: %s%s, %v", kind, r.stdout, r.stderr, err)
		}
	}
}
