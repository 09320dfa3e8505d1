package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/serversdk/legacy"
)

var (
	doctorTime = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	addresses  = []string{"127.0.0.1:5757", "127.0.0.1:5758", "127.0.0.1:5759"}
	listening  = `{"addresses":["127.0.0.1:5757","127.0.0.1:5758","127.0.0.1:5759"],"fleet":"fleet-1","servers":[%s]}`
)

// Owners of the ports 5757, 5758 and 5759 in the tests.
type owners map[int][]portOwner

func ownedBy(o portOwner) owners {
	all := owners{}
	for i, port := range []int{5757, 5758, 5759} {
		o.Address = addresses[i]
		all[port] = []portOwner{o}
	}
	return all
}

var (
	asService = ownedBy(portOwner{PID: 7, Process: "muster"})
	asLocal   = ownedBy(portOwner{PID: 9, Process: "java", Local: true})
)

// examine runs the command with these owners of the ports.
func examine(t *testing.T, ports owners, environ []string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	d := &doctor{
		operatorCall: &operatorCall{app: &app{environ: environ, stdout: &stdout, stderr: &stderr}},
		probes:       probes{owners: func(context.Context, []int) map[int][]portOwner { return ports }},
		now:          func() time.Time { return doctorTime },
	}
	root := &cobra.Command{Use: "muster", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(d.command())
	root.SetArgs(append([]string{"doctor"}, args...))
	err := root.ExecuteContext(t.Context())
	status := exitOK
	if _, misuse := errors.AsType[*misuseError](err); misuse {
		status = exitMisuse
	} else if err != nil {
		status = exitFailure
	}
	if err != nil {
		fmt.Fprint(&stderr, err)
	}
	return result{status, stdout.String(), stderr.String()}
}

// serveReport starts a service with the answer to GET /v1/legacy, and returns the environment for it.
func serveReport(t *testing.T, status int, body string) []string {
	t.Helper()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method+" "+r.URL.Path != "GET /v1/legacy" ||
			!strings.Contains(r.Header.Get("Authorization"), "Credential=local/") {
			t.Errorf("called %s %s with %v", r.Method, r.URL.Path, r.Header)
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(service.Close)
	return []string{"AWS_ENDPOINT_URL=" + service.URL}
}

const brokenServer = `{"address":"127.0.0.1","pid":"4242","sdk_language":"CSharp","sdk_version":"4.0.2",` +
	`"protocol":"http","sockets":1,"status":"CONNECTED","last_request":"ReportHealth",` +
	`"last_at":"2026-01-31T11:58:30Z","last_error":"no such player\u001b[2J",` +
	`"missing":["Call ProcessReady.","Call ReportHealth within 60 s, again and again, until the process ends."]}`

const goodServer = `{"address":"127.0.0.1","pid":"4343","sdk_language":"Cpp","sdk_version":"3.4.1",` +
	`"protocol":"socket.io","sockets":2,"status":"ACTIVE","game_session":"gsess-1","missing":[]}`

func TestDoctor(t *testing.T) {
	mixed := ownedBy(portOwner{PID: 7, Process: "muster"})
	mixed[5758] = append(mixed[5758], portOwner{Address: "[::1]:5758", PID: 12, Process: "nginx"})
	for _, test := range []struct {
		name   string
		ports  owners
		status int // of the service's answer
		report string
		want   int
		parts  []string // of standard output, with its line breaks
		err    string
	}{
		{"service without game servers", asService, 200, fmt.Sprintf(listening, ""), exitOK,
			[]string{"  5757 (socket.io): this Muster service, muster (pid 7) at 127.0.0.1:5757\n",
				"  Legacy is on, at 127.0.0.1:5757, 127.0.0.1:5758, 127.0.0.1:5759. New game\n" +
					"  servers join fleet fleet-1.\n",
				"Game servers:\n  No game server is connected. The SDK dials 127.0.0.1 in InitSDK: the game\n" +
					"  server must run on this machine, as a process or in a container with host\n"}, ""},
		{"game servers", asService, 200, fmt.Sprintf(listening, goodServer+","+brokenServer), exitFailure,
			[]string{`
Game servers:
  127.0.0.1 pid 4343: SDK Cpp 3.4.1, socket.io, 2 sockets, ACTIVE, game session
      gsess-1
    last request: none
  127.0.0.1 pid 4242: SDK CSharp 4.0.2, http, 1 socket, CONNECTED, no game
      session
    last request: ReportHealth at 2026-01-31T11:58:30Z, 1m30s ago
    last error: no such player?[2J
    missing: Call ProcessReady.
    missing: Call ReportHealth within 60 s, again and again, until the process
      ends.
`}, "game server 127.0.0.1 pid 4242 misses 2 steps"},
		{"legacy off", owners{}, 404, `{"error":"UnknownOperationException","message":"Unknown."}`, exitFailure,
			[]string{"  5759 (WebSocket): free\n", "  Legacy is off: it has no ports for old game servers.\n",
				"To do:\n  - Start \"muster local\", or set legacy=on for \"muster serve\" or \"muster dev\".\n"},
			"has no ports for old game servers"},
		{"GameLift Local has the ports", asLocal, 200, `{"addresses":[],"servers":[]}`, exitFailure,
			[]string{"  5758 (HTTP): taken by GameLift Local (java, pid 9) at 127.0.0.1:5758\n",
				"  Legacy is on.\n",
				"  - Stop GameLift Local (pid 9), then start the Muster service again: it\n" +
					"    replaces GameLift Local on ports 5757, 5758, 5759.\n"},
			"port 5757 is taken by GameLift Local (java, pid 9); port 5758"},
		{"GameLift Local, and a remote service", asLocal, 200, fmt.Sprintf(listening, ""), exitFailure,
			[]string{"taken by GameLift Local"}, "port 5757 is taken by GameLift Local"},
		{"another process has one address", mixed, 200, fmt.Sprintf(listening, goodServer), exitFailure,
			[]string{"  5758 (HTTP): this Muster service, muster (pid 7) at 127.0.0.1:5758; taken by\n" +
				"    nginx (pid 12) at [::1]:5758\n",
				"  - Stop nginx (pid 12) or change its port: old game servers need port 5758."},
			"port 5758 is taken by nginx (pid 12)"},
		{"hidden process", ownedBy(portOwner{User: "ada"}), 404, `{"error":"NotFoundException","message":""}`,
			exitFailure, []string{"taken by another user's process (of ada)",
				"To do:\n  - Find out what listens on ports 5757, 5758, 5759: run"},
			"port 5759 is taken by another user's process (of ada)"},
		{"unknown process", ownedBy(portOwner{}), 404, `{"error":"NotFoundException","message":""}`, exitFailure,
			[]string{"taken by another process at"}, "port 5759 is taken by another process"},
		{"service in a container with mapped ports", ownedBy(portOwner{User: "root"}), 200,
			`{"addresses":["[::]:5757","[::]:5758","[::]:5759"]}`, exitOK, []string{"5757 (socket.io): this Muster " +
				"service at 127.0.0.1:5757\n"}, ""},
		{"service without mapped ports", owners{}, 200, fmt.Sprintf(listening, ""), exitOK,
			[]string{"  5757 (socket.io): free here; the service listens on 127.0.0.1:5757\n",
				"  - The service has its ports on another machine or in a container, not at"}, ""},
		{"service without one port", owners{}, 200, `{"addresses":["127.0.0.1:5757"]}`, exitOK,
			[]string{"  - The service does not listen on port 5758: read its log, then start it again.\n"}, ""},
		{"refused call", asService, 403, `{"error":"UnrecognizedClientException","message":"Unknown key."}`,
			exitFailure, []string{"  No report: UnrecognizedClientException: Unknown key.\n",
				"  - If muster (pid 7) is your service, name its API with --endpoint; otherwise\n    stop it.\n",
				"  - If the service runs already, name its API with --endpoint, and set the\n"}, "gave no report"},
		{"another program's page", owners{}, 404, "<html>", exitFailure,
			[]string{"  No report: the service answered 404 Not Found: check that the endpoint is that\n"}, ""},
		{"another program's answer", owners{}, 200, "<html>", exitFailure,
			[]string{"  No report: decode the answer: "}, "gave no report"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := examine(t, test.ports, serveReport(t, test.status, test.report), "--legacy")
			if got.status != test.want || !strings.Contains(got.stderr, test.err) ||
				(got.stderr == "") != (test.want == exitOK) {
				t.Errorf("status %d: %s", got.status, got.stderr)
			}
			for _, part := range test.parts {
				if !strings.Contains(got.stdout, part) {
					t.Errorf("no %q in\n%s", part, got.stdout)
				}
			}
			for line := range strings.Lines(got.stdout) {
				if len(strings.TrimSuffix(line, "\n")) > terminalWidth {
					t.Errorf("long line %q", line)
				}
			}
		})
	}
}

func TestDoctorWithoutService(t *testing.T) {
	service := httptest.NewServer(nil)
	service.Close() // nothing listens there any more
	got := examine(t, owners{}, nil, "--legacy", "--endpoint", service.URL)
	if got.status != exitFailure || got.stderr != "the service at "+service.URL+" gave no report" {
		t.Errorf("got %+v", got)
	}
	for _, part := range []string{"  5757 (socket.io): free\n", "  No report: dial tcp 127.0.0.1:",
		`  - Start "muster local", or set legacy=on`} {
		if !strings.Contains(got.stdout, part) {
			t.Errorf("no %q in\n%s", part, got.stdout)
		}
	}
}

func TestDoctorJSON(t *testing.T) {
	environ := serveReport(t, 200, fmt.Sprintf(listening, brokenServer))
	got := examine(t, asLocal, environ, "--legacy", "--json", "--ports", "5758,6000")
	var found diagnosis
	if err := json.Unmarshal([]byte(got.stdout), &found); err != nil {
		t.Fatal(err, got)
	}
	ports := found.Ports
	if len(ports) != 2 || ports[0].Protocol != "HTTP" || ports[0].Service != "127.0.0.1:5758" ||
		len(ports[0].Owners) != 1 || !ports[0].Owners[0].Local || ports[0].Owners[0].Service || ports[1].Port != 6000 {
		t.Errorf("ports %+v", ports)
	}
	if s := found.Service; !s.Reachable || !s.Legacy || "AWS_ENDPOINT_URL="+s.Endpoint != environ[0] {
		t.Errorf("service %+v", s)
	}
	if found.Report == nil || len(found.Report.Servers) != 1 || found.Report.Servers[0].PID != "4242" {
		t.Errorf("report %+v", found.Report)
	}
	if got.status != exitFailure || len(found.Problems) != 2 || got.stderr != strings.Join(found.Problems, "; ") ||
		len(found.Advice) != 2 {
		t.Errorf("got %+v", got)
	}
	free := examine(t, owners{}, serveReport(t, 200, `{"servers":[]}`), "--legacy", "--json")
	if free.status != exitOK || !strings.Contains(free.stdout, `"owners":[]`) ||
		!strings.Contains(free.stdout, `"problems":[]`) {
		t.Errorf("got %+v", free)
	}
}

func TestDoctorMisuse(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--legacy", "--data", "d"}, "cannot be combined with --legacy"},
		{[]string{"--legacy", "--ports", "5757,70000"}, "--ports has 70000: must be 1 to 65535"},
		{[]string{"--legacy", "--access-key", "id"}, "needs an access key, its secret and a region"},
	} {
		if got := examine(t, nil, nil, test.args...); got.status != exitMisuse || got.stdout != "" ||
			!strings.Contains(got.stderr, test.want) {
			t.Errorf("%v: %+v", test.args, got)
		}
	}
}

// TestDoctorDefaults calls muster local if nothing else is set.
func TestDoctorDefaults(t *testing.T) {
	for _, test := range []struct {
		environ                       []string
		endpoint, key, secret, region string
	}{
		{nil, "http://127.0.0.1:8080", "local", "local", "local"},
		{[]string{"AWS_ENDPOINT_URL=https://a", "AWS_DEFAULT_REGION=us-west-2"}, "https://a", "local", "local",
			"us-west-2"},
		{[]string{"AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=s"}, "http://127.0.0.1:8080", "id", "s", "local"},
	} {
		d := &doctor{operatorCall: &operatorCall{app: &app{environ: test.environ}}, legacy: true}
		if err := d.complete(t.Context()); err != nil || d.service != test.endpoint || d.keys.AccessKey != test.key ||
			d.keys.SecretKey != test.secret || d.keys.Region != test.region {
			t.Errorf("%v: %s, %+v, %v", test.environ, d.service, d.keys, err)
		}
	}
}

func TestDoctorLastRequest(t *testing.T) {
	for _, test := range []struct {
		name string
		at   time.Time
		want string
	}{
		{"", doctorTime, "none"},
		{"ProcessReady", time.Time{}, "ProcessReady"},
		{"ProcessReady", doctorTime.Add(time.Minute), "ProcessReady at 2026-01-31T12:01:00Z"},
		{"ProcessReady", doctorTime.Add(-time.Hour), "ProcessReady at 2026-01-31T11:00:00Z, 1h0m0s ago"},
	} {
		got := lastRequest(legacy.ServerReport{LastRequest: test.name, LastAt: test.at}, doctorTime)
		if got != test.want {
			t.Errorf("%+v gave %q", test, got)
		}
	}
}

// TestDoctorPortOwners finds this process itself.
func TestDoctorPortOwners(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:0", "[::1]:0"} {
		listener, err := net.Listen("tcp", listen)
		if err != nil && listen == "[::1]:0" {
			continue // a machine without IPv6
		}
		if err != nil {
			t.Fatal(err)
		}
		address := listener.Addr().String()
		want := portOwner{Address: address}
		port := listener.Addr().(*net.TCPAddr).Port
		if got := dialOwners(t.Context(), []int{port})[port]; len(got) != 1 || got[0] != want {
			t.Errorf("dialing %s found %+v", address, got)
		}
		if runtime.GOOS == "linux" {
			want.PID, want.Process = os.Getpid(), filepath.Base(os.Args[0])
		}
		if got := portOwners(t.Context(), []int{port})[port]; len(got) != 1 || got[0] != want {
			t.Errorf("%s has owners %+v, want %+v", address, got, want)
		}
		listener.Close()
		if got := portOwners(t.Context(), []int{port})[port]; len(got) != 0 {
			t.Errorf("%s is closed and has owners %+v", address, got)
		}
	}
}

// TestDoctorPortOwnersOfAllAddresses is a listener like those of Java, which take IPv4 and IPv6 with one socket.
func TestDoctorPortOwnersOfAllAddresses(t *testing.T) {
	listener, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	got := portOwners(t.Context(), []int{port})[port]
	if len(got) == 0 || !strings.HasSuffix(got[0].Address, ":"+strconv.Itoa(port)) {
		t.Errorf("found %+v", got)
	}
	if runtime.GOOS == "linux" && (len(got) != 1 || got[0].PID != os.Getpid()) {
		t.Errorf("found %+v", got)
	}
}

func TestDoctorEndpointOnLoopback(t *testing.T) {
	for endpoint, want := range map[string]bool{"http://127.0.0.1:8080": true, "http://localhost:1": true,
		"https://[::1]": true, "https://games.example.com:9080": false, "http://10.0.0.1": false, "::": false} {
		if got := onLoopback(endpoint); got != want {
			t.Errorf("%s: %t", endpoint, got)
		}
	}
}
