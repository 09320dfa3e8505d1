package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

func TestParse(t *testing.T) {
	for line, want := range map[string]sample{
		"server.up:1|g":       {name: "server.up", kind: gauge, values: []float64{1}, weight: 1},
		"hits:2|c|@0.5":       {name: "hits", kind: counter, values: []float64{2}, weight: 2},
		"tick:1.5:2.5|ms":     {name: "tick", kind: timing, values: []float64{1.5, 2.5}, weight: 1},
		"tick:-3e2|d|c:ab|T1": {name: "tick", kind: timing, values: []float64{-300}, weight: 1},
		"who:anna|s":          {name: "who", kind: set, member: "anna", weight: 1},
		"a:1|h|#z,b:x:y,b:z,,": {name: "a", kind: timing, values: []float64{1}, weight: 1,
			tags: []tag{{"b", "x:y"}, {"z", ""}}},
	} {
		if got, err := parse(line); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is read as %+v, %v", line, got, err)
		}
	}
	for _, line := range []string{"", "a", "a:1", ":1|g", "a:|g", "a:x|g", "a:1|q", "a:NaN|g", "a:Inf|c", "a:1|c|@0",
		"a:1|c|@2", "a:1|c|@x", "a:1|c|@1e-400", "a:1|c|@5e-324", "a:1|g|#" + strings.Repeat("t:v,u", 1000),
		strings.Repeat("n", maxLength+1) + ":1|g", "a" + strings.Repeat(":1", maxValues+1) + "|g",
		"a:" + strings.Repeat("m", maxLength+1) + "|s"} {
		if got, err := parse(line); err == nil {
			t.Errorf("%.40q is read as %+v", line, got)
		}
	}
}

// FuzzReceive: any datagram is added, or counted as dropped.
func FuzzReceive(f *testing.F) {
	f.Add("server.up:1|g|#gamelift_process_id:p,session_id:s\nx:1:2|h|@0.1\n_e{1,2}:a|bb")
	f.Add("a:\xff|s|#gamelift_process_id:p,\xff:\xff")
	f.Fuzz(func(t *testing.T, datagram string) {
		r := &Receiver{processes: map[string]*process{}}
		r.Began("p", 1)
		r.receive(datagram)
		registry := prometheus.NewRegistry()
		registry.MustRegister(r)
		if _, err := registry.Gather(); err != nil && len(r.processes["p"].series) < 2 {
			t.Errorf("%q: %v", datagram, err)
		}
	})
}

// run starts a receiver on free ports.
func run(t *testing.T) *Receiver {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := Listen(ctx, "127.0.0.1", 0, 0, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		if err := r.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return r
}

// address returns an address by the variables that a game server gets.
func address(t *testing.T, r *Receiver, name string) string {
	t.Helper()
	vars := map[string]string{}
	for _, v := range r.Environ() {
		key, value, _ := strings.Cut(v, "=")
		vars[key] = value
	}
	host, port := vars["GAMELIFT_"+name+"_HOST"], vars["GAMELIFT_"+name+"_PORT"]
	if host != "127.0.0.1" || port == "" {
		t.Fatalf("the variables are %v", vars)
	}
	return net.JoinHostPort(host, port)
}

// TestMetrics: values of a process are shown with the process and the game session, and those of others are dropped.
func TestMetrics(t *testing.T) {
	r := run(t)
	r.Began("p-1", 4711)
	conn, err := net.Dial("udp", address(t, r, "STATSD"))
	if err != nil {
		t.Fatal(err)
	}
	tags := "|#process_pid:4711,gamelift_process_id:p-1"
	send := func(text string) {
		if _, err := conn.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	send("server.up:1|g" + tags + "\nplayers.joined:1|c|@0.5" + tags + ",session_id:gs-1\n")
	send("players.joined:2|c" + tags + ",session_id:gs-1\ntick:5:7|ms" + tags + "\nnames:x|s" + tags)
	send("server.up:1|g|#gamelift_process_id:p-2\nbroken")
	want := `# HELP game_names_distinct Sent by a game server.
# TYPE game_names_distinct gauge
game_names_distinct{game_session="",process="p-1",tag_process_pid="4711"} 1
# HELP game_players_joined_total Sent by a game server.
# TYPE game_players_joined_total counter
game_players_joined_total{game_session="gs-1",process="p-1",tag_process_pid="4711"} 4
# HELP game_server_up Sent by a game server.
# TYPE game_server_up gauge
game_server_up{game_session="",process="p-1",tag_process_pid="4711"} 1
# HELP game_tick_values Sent by a game server.
# TYPE game_tick_values summary
game_tick_values_sum{game_session="",process="p-1",tag_process_pid="4711"} 12
game_tick_values_count{game_session="",process="p-1",tag_process_pid="4711"} 2
# HELP muster_agent_crashes_total Game servers that ended without deregistering from the crash reporter.
# TYPE muster_agent_crashes_total counter
muster_agent_crashes_total 0
# HELP muster_agent_dropped_values_total Lines of metrics that are malformed, of unknown processes or out of bounds.
# TYPE muster_agent_dropped_values_total counter
muster_agent_dropped_values_total 2
# HELP muster_agent_processes Game servers that run.
# TYPE muster_agent_processes gauge
muster_agent_processes 1
`
	await(t, func() error {
		if got := shown(r); got != want {
			return fmt.Errorf("shown\n%s\nwant\n%s", got, want)
		}
		return nil
	})
	r.Ended("p-1")
	if got := shown(r); strings.Contains(got, "game_") {
		t.Errorf("of a process that has ended is left: %s", got)
	}
}

// shown returns what Prometheus receives.
func shown(r *Receiver) string {
	registry := prometheus.NewRegistry()
	registry.MustRegister(r)
	w := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	return w.Body.String()
}

// await waits for what another goroutine does.
func await(t *testing.T, check func() error) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for err := check(); err != nil; err = check() {
		select {
		case <-deadline:
			t.Fatal(err)
		case <-time.After(time.Millisecond):
		}
	}
}

// TestBounds: a process has a bounded number of series, and one that exists goes on.
func TestBounds(t *testing.T) {
	r := &Receiver{processes: map[string]*process{}}
	r.Began("p", 1)
	for i := range maxSeries + 5 {
		r.receive(fmt.Sprintf("m%d:1|c|#gamelift_process_id:p", i))
	}
	r.receive("m0:1|c|#gamelift_process_id:p")
	if len(r.processes["p"].series) != maxSeries || r.dropped != 5 || r.processes["p"].series["cm0"].sum != 2 {
		t.Errorf("%d series, %d lines dropped", len(r.processes["p"].series), r.dropped)
	}
	for i := range maxMembers + 5 {
		r.receive(fmt.Sprintf("m:%d|s|#gamelift_process_id:p", i))
	}
}

// TestCrashReporter: a process that ends without deregistering has crashed, once, with the game session that it named.
func TestCrashReporter(t *testing.T) {
	r := run(t)
	base := "http://" + address(t, r, "CRASH_REPORTER")
	get := func(path string) int {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if err := answer.Body.Close(); err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode
	}
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	for _, c := range []struct {
		id      string
		paths   []string
		session string
		crashed bool
	}{
		{"crashes", []string{"/register?process_pid=PID", "/update?process_pid=PID&session_id=gs-1"}, "gs-1", true},
		{"ends", []string{"/register?process_pid=PID", "/update?process_pid=PID&session_id=gs-2",
			"/deregister?process_pid=PID"}, "gs-2", false},
		{"silent", nil, "", false},
	} {
		r.Began(c.id, os.Getpid())
		for _, path := range c.paths {
			if status := get(strings.ReplaceAll(path, "PID", fmt.Sprint(os.Getpid()))); status != http.StatusOK {
				t.Errorf("%s: %d", path, status)
			}
		}
		if session, crashed := r.Ended(c.id); session != c.session || crashed != c.crashed {
			t.Errorf("%s: session %q, crashed %v", c.id, session, crashed)
		}
		if _, crashed := r.Ended(c.id); crashed {
			t.Errorf("%s has crashed twice", c.id)
		}
	}
	if r.crashes != 1 {
		t.Errorf("%d crashes", r.crashes)
	}
	r.Began("p", 99999999)
	for path, want := range map[string]int{
		"/register": http.StatusBadRequest, "/register?process_pid=x": http.StatusBadRequest,
		"/other?process_pid=99999999": http.StatusNotFound,
		"/update?process_pid=99999999&session_id=" + strings.Repeat("s", maxSession+1): http.StatusBadRequest,
	} {
		if got := get(path); got != want {
			t.Errorf("%.40s: %d instead of %d", path, got, want)
		}
	}
}

// TestEarly: a process may register before the agent knows its PID. Other programs are forgotten.
func TestEarly(t *testing.T) {
	r := run(t)
	r.Began("p", 0)
	for pid := 1; pid <= 3*maxEarly; pid++ {
		_, registered := r.known(pid)
		*registered = true
	}
	session, _ := r.known(3 * maxEarly)
	*session = "gs-1"
	if len(r.early) != maxEarly {
		t.Errorf("%d processes are remembered", len(r.early))
	}
	r.Began("p", 3*maxEarly)
	if session, crashed := r.Ended("p"); session != "gs-1" || !crashed {
		t.Errorf("session %q, crashed %v", session, crashed)
	}
}

// TestPortsInUse: a port that another program has is an error that says which, and leaves nothing open.
func TestPortsInUse(t *testing.T) {
	r := run(t)
	port := r.http.Addr().(*net.TCPAddr).Port
	if _, err := Listen(t.Context(), "127.0.0.1", 0, port, slog.New(slog.DiscardHandler)); err == nil ||
		!strings.Contains(err.Error(), "crash reporter") {
		t.Error(err)
	}
	if _, err := Listen(t.Context(), "127.0.0.1", r.udp.LocalAddr().(*net.UDPAddr).Port, 0,
		slog.New(slog.DiscardHandler)); err == nil || errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}
