package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jonboulle/clockwork"
)

const topRegion = `{"region":"us-west-2","time":"2026-11-22T09:00:34Z","gameSessions":7,"activatingGameSessions":2,` +
	`"playerSessions":20,"maximumPlayerSessions":56,"serverProcesses":9,"freeServerProcesses":2,` +
	`"pendingPlacements":3,"oldestPlacementMs":12000,` +
	`"attention":[{"text":"queue \u001b[2Ja"},{"text":"b"},{"text":"c"},{"text":"d"},{"text":"e"},{"text":"f"}],` +
	`"events":[{"time":"2026-11-22T09:00:30Z","fleetId":"fleet-1","code":"SERVER_PROCESS_CRASHED","message":"why"},` +
	`{"time":"2026-11-22T09:00:29Z","fleetId":"fleet-258fdacc-d660-4507-b250-cf543af92e1d","code":"FLEET_CREATED",` +
	`"message":"Fleet fleet-258fdacc-d660-4507-b250-cf543af92e1d was created"}]}`

const topFleetList = `{"fleets":[{"fleetId":"fleet-1","name":"arena","playerSessions":20,"maximumPlayerSessions":56,` +
	`"gameSessions":7,"serverProcesses":9,"freeServerProcesses":2},` +
	`{"fleetId":"fleet-258fdacc-d660-4507-b250-cf543af92e1d"}]}`

const topText = `region us-west-2 at 2026-11-22T09:00:34Z

game sessions   7, of which 2 ACTIVATING
players         20 of 56
free processes  2 of 9
placements      3 waiting, the oldest for 12.0 s
tickets         none waits

ATTENTION
queue  [2Ja
b
c
d
e
and 1 more

NAME   PLAYERS   GAME SESSIONS  FREE PROCESSES  FLEET
arena  20 of 56  7              2 of 9          fleet-1
-      0 of 0    0              0 of 0          fleet-258fdacc…

FLEET EVENTS
TIME       EVENT                   MESSAGE
09:00:30Z  SERVER_PROCESS_CRASHED  fleet-1: why
09:00:29Z  FLEET_CREATED           Fleet fleet-258fdacc… was created
`

func topEnviron(url string) []string {
	return []string{"AWS_ENDPOINT_URL=" + url, "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret",
		"AWS_REGION=us-west-2"}
}

// TestTopOnce prints the state once where there is no terminal.
func TestTopOnce(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, map[string]string{"/v1/overview": topRegion, "/v1/fleets": topFleetList}[r.URL.Path])
	}))
	defer service.Close()
	if got := expect(t, topEnviron(service.URL), exitOK, []string{"top"}); got.stdout != topText {
		t.Errorf("printed %s", got.stdout)
	}
}

// A terminal reacts to texts that are written to it, one after the other.
type terminal struct {
	mu   sync.Mutex
	text bytes.Buffer
	then []reaction
}

type reaction struct {
	text string
	do   func()
}

func (w *terminal) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(p)
	if len(w.then) > 0 && strings.Contains(string(p), w.then[0].text) {
		go w.then[0].do()
		w.then = w.then[1:]
	}
	return len(p), nil
}

// TestTopScreen draws snapshots, opens a stream again that has ended, and ends at q.
func TestTopScreen(t *testing.T) {
	var opened atomic.Int32
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("topic") == "fleets" {
			fmt.Fprintf(w, ": fleets\n\nevent: snapshot\nid: 1\ndata: %s\n\n", topFleetList)
		} else {
			fmt.Fprintf(w, "event: snapshot\nid: 1\ndata: {\"region\":\"run-%d\"}\n\n", opened.Add(1))
			if opened.Load() == 1 {
				fmt.Fprint(w, "event: error\ndata: {\"error\":\"Unavailable\",\"message\":\"Later.\"}\n\n")
				return
			}
		}
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer service.Close()
	input, enter := io.Pipe()
	defer enter.Close()
	clock := clockwork.NewFakeClock()
	screen := &terminal{then: []reaction{
		{"NOT CONNECTED: Unavailable: Later.", func() {
			if err := clock.BlockUntilContext(t.Context(), 1); err != nil {
				t.Error(err)
			}
			clock.Advance(topRetry)
		}},
		{"run-2", func() { fmt.Fprintln(enter, "q") }},
	}}
	o := &operatorCall{app: &app{stdin: input, stdout: screen, clock: clock}, service: service.URL}
	o.keys.AccessKey, o.keys.SecretKey, o.keys.Region = "id", "secret", "us-west-2"
	if err := o.topScreen(t.Context()); err != nil {
		t.Fatal(err)
	}
	text := screen.text.String()
	if !strings.HasPrefix(text, enterScreen+"\x1b[Hregion ") || !strings.HasSuffix(text, leaveScreen) {
		t.Errorf("%q", text)
	}
}

// TestTopRefused fails with the fault if there is nothing to show.
func TestTopRefused(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"error":"AccessDeniedException","message":"No."}`)
	}))
	defer service.Close()
	expect(t, topEnviron(service.URL), exitFailure, []string{"top"}, "AccessDeniedException: No.")
	screen := &terminal{}
	o := &operatorCall{app: &app{stdin: strings.NewReader(""), stdout: screen}, service: service.URL}
	if err := o.topScreen(t.Context()); err == nil || !strings.Contains(err.Error(), "AccessDeniedException: No.") {
		t.Errorf("%v", err)
	}
}
