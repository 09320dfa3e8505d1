package gateway

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/wire"
)

// beginCreation starts a creation that waits for its game server.
func beginCreation(t *testing.T, w *world, d *testGateway) <-chan reply {
	t.Helper()
	done := make(chan reply, 1)
	go func() { done <- d.ask(http.MethodPost, "/create_session", createBody("n", "ada", 2)) }()
	if err := w.await(t.Context(), func() bool { return w.calls["AwaitGameSession"] == 1 }); err != nil {
		t.Fatal(err)
	}
	return done
}

func TestCloseLetsCreationsFinish(t *testing.T) {
	w := newWorld()
	w.behaves = lingers
	d := openGateway(t, w)
	done := beginCreation(t, w, d)
	closed := make(chan error, 1)
	go func() { closed <- d.g.Close(t.Context()) }()
	<-d.g.closing
	d.ask(http.MethodGet, "/find_session", "").wantCode(t, Stopping)
	if d.g.InFlight() != 1 {
		t.Errorf("%d in flight", d.g.InFlight())
	}
	w.do(func() { w.sessions[0].Status = wire.GameSessionStatusActive })
	(<-done).wantStatus(t, 200)
	if err := <-closed; err != nil || len(w.alive()) != 1 || len(w.confirmed) != 1 {
		t.Errorf("closed with %v, alive %d, confirmed over %d", err, len(w.alive()), len(w.confirmed))
	}
}

func TestCloseCancelsInTheEnd(t *testing.T) {
	w := newWorld()
	w.behaves = lingers
	d := openGateway(t, w)
	done := beginCreation(t, w, d)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.g.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("closed with %v", err)
	}
	(<-done).wantCode(t, Stopping)
	if len(w.alive()) != 0 {
		t.Error("a game session was left behind")
	}
}

func TestNewRefuses(t *testing.T) {
	w := newWorld()
	tests := map[string]func(*Config){
		"Service is missing":   func(c *Config) { c.Service = nil },
		"Region is":            func(c *Config) { c.Region = "" },
		"must not be negative": func(c *Config) { c.Deadline = -1 },
		"Fields is":            func(c *Config) { c.Fields = "some" },
		"BuildCheck is":        func(c *Config) { c.BuildCheck = "maybe" },
		"LocalFleet is":        func(c *Config) { c.LocalFleet = "123" },
		"Default: a target needs exactly one": func(c *Config) {
			c.Default = Target{FleetID: testFleet, AliasID: testAlias}
		},
		"Routes, build 7: fleet is no fleet": func(c *Config) { c.Routes = map[int32]Target{7: {FleetID: "fleet"}} },
		"Search[0]: a queue cannot":          func(c *Config) { c.Queues, c.Search = w, []Target{{Queue: "q"}} },
		"a queue chooses the location": func(c *Config) {
			c.Queues, c.Default = w, Target{Queue: "q", Location: "l"}
		},
		"there are no queues":     func(c *Config) { c.Default = Target{Queue: "q"} },
		"is no alias id or ARN":   func(c *Config) { c.Default = Target{AliasID: "a"} },
		"is no queue name or ARN": func(c *Config) { c.Queues, c.Default = w, Target{Queue: "q q"} },
	}
	for want, change := range tests {
		c := Config{Service: w, Region: testRegion}
		change(&c)
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestObserve(t *testing.T) {
	w := newWorld()
	w.idle[testFleet] = map[string]int{"custom-a": 9, "custom-b": 1}
	seen := make(chan Observation, 10)
	d := openGateway(t, w, func(c *Config) { c.Observe = func(o Observation) { seen <- o } })
	tests := []struct {
		method, path, body string
		want               Observation
	}{
		{"POST", "/create_session", createBody("n", "ada", 2), Observation{Route: "POST /create_session", Status: 200}},
		{"POST", "/create_session", createBody("n", "ada", 2),
			Observation{Route: "POST /create_session", Status: 200, Replayed: true}},
		{"GET", "/find_session", "", Observation{Route: "GET /find_session", Status: 200}},
		{"GET", "/x", "", Observation{Route: "unknown", Status: 403, Code: UnknownRoute}},
		{"POST", "/join_session", "", Observation{Route: "POST /join_session", Status: 400, Code: InvalidRequest}},
		{"GET", "/v1/sessions/a", "", Observation{Route: "GET /v1/sessions/{id}", Status: 404, Code: SessionNotFound}},
	}
	for i, tt := range tests {
		d.ask(tt.method, tt.path, tt.body)
		got := <-seen
		if got.Latency <= 0 || (got.Waited > 0) != (i == 0) {
			t.Errorf("%s: %+v", tt.path, got)
		}
		got.Latency, got.Waited = 0, 0
		if got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.path, got, tt.want)
		}
	}
	if d.g.InFlight() != 0 {
		t.Errorf("%d in flight", d.g.InFlight())
	}
}
