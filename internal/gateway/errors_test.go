package gateway

import (
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestUnknownRoute(t *testing.T) {
	d := openGateway(t, newWorld())
	for _, r := range [][2]string{
		{"GET", "/"}, {"POST", "/find_session"}, {"GET", "/create_session"}, {"HEAD", "/nothing"},
		{"PUT", "/join_session_local"}, {"POST", "/create_session/"},
		{"GET", "/v1"}, {"OPTIONS", "/create_session"}, {"GET", "//find_session"}, {"GET", "/x/../find_session"},
	} {
		got := d.raw(r[0], r[1], "")
		if got.status != http.StatusForbidden || r[0] != "HEAD" &&
			got.text != `{"message": "Missing Authentication Token"}` {
			t.Errorf("%s %s: %d %s", r[0], r[1], got.status, got.text)
		}
	}
	d.ask("GET", "/v1/nothing", "").wantCode(t, NotFound)
	d.ask("GET", "/v1/sessions/", "").wantCode(t, NotFound)
	r := d.ask("PUT", "/v1/sessions", "")
	r.wantCode(t, MethodNotAllowed)
	if got := r.header.Get("Allow"); got != "POST, GET" {
		t.Errorf("Allow: %s", got)
	}
	d.ask("DELETE", "/v1/sessions/arn%3Ax%2Fy/players", "").wantCode(t, MethodNotAllowed)
	d.ask("GET", "/v1/sessions/arn%3Ax%2Fy/players", "").wantCode(t, MethodNotAllowed)
}

// Each failure of the contract, and how it comes about.
func TestErrorContract(t *testing.T) {
	unknown := "arn:aws:gamelift:eu-west-1::gamesession/" + testFleet + "/custom-lab/gsess-none"
	tests := []struct {
		name string
		make func(*world) // before the request
		conf func(*Config)
		path string
		body func(id string) string // of a game session that ada has created
		code Code
	}{
		{name: "bad input", path: "/create_session", body: func(string) string { return "{" }, code: InvalidRequest},
		{name: "another player", conf: func(c *Config) { c.Subject = func(*http.Request) string { return "ada" } },
			path: "/join_session",
			body: func(id string) string { return joinBody(id, "bob") }, code: WrongPlayer},
		{name: "another player creates",
			conf: func(c *Config) { c.Subject = func(*http.Request) string { return "ada" } }, path: "/create_session",
			body: func(string) string { return createBody("n", "bob", 1) }, code: WrongPlayer},
		{name: "unknown game session", path: "/join_session",
			body: func(string) string { return joinBody(unknown, "bob") }, code: SessionNotFound},
		{name: "unknown local id", path: "/join_session_local",
			body: func(string) string {
				return joinBody("arn:aws:gamelift:local::gamesession/fleet-1/gsess-none", "bob")
			}, code: SessionNotFound},
		{name: "full", make: func(w *world) { w.sessions[0].MaximumPlayerSessionCount = wire.Some[int32](1) },
			path: "/join_session",
			body: func(id string) string { return joinBody(id, "bob") }, code: SessionFull},
		{name: "not active", make: func(w *world) { w.sessions[0].Status = wire.GameSessionStatusTerminated },
			path: "/join_session",
			body: func(id string) string { return joinBody(id, "bob") }, code: SessionNotJoinable},
		{name: "closed", make: func(w *world) {
			w.sessions[0].PlayerSessionCreationPolicy = wire.PlayerSessionCreationPolicyDenyAll
		}, path: "/join_session",
			body: func(id string) string { return joinBody(id, "bob") }, code: SessionNotJoinable},
		{name: "limited", make: func(w *world) {
			w.fails["CreatePlayerSessions"] = fault.New(fault.Throttling, "slow down")
		}, path: "/join_session",
			body: func(id string) string { return joinBody(id, "bob") }, code: RateLimited},
		{name: "no capacity", make: func(w *world) { w.idle[testFleet]["custom-lab"] = 0 }, path: "/create_session",
			body: func(string) string { return createBody("m", "bob", 1) }, code: NoCapacity},
		{name: "no fleet", conf: func(c *Config) { c.Default = Target{FleetID: "fleet-gone"} }, path: "/create_session",
			body: func(string) string { return createBody("m", "bob", 1) }, code: NoFleet},
		{name: "panic", make: func(w *world) { w.panics = "CreatePlayerSessions" }, path: "/join_session",
			body: func(id string) string { return joinBody(id, "bob") }, code: Internal},
		{name: "panic while creating", make: func(w *world) { w.panics = "CreateGameSession" }, path: "/create_session",
			body: func(string) string { return createBody("m", "bob", 1) }, code: Internal},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld()
			id := openGateway(t, w).ask(http.MethodPost, "/create_session", createBody("n", "ada", 2)).wantStatus(t,
				200).field("GameSessionId")
			if tt.make != nil {
				w.do(func() { tt.make(w) })
			}
			if tt.conf == nil {
				tt.conf = func(*Config) {}
			}
			openGateway(t, w, tt.conf).ask(http.MethodPost, tt.path, tt.body(id)).wantCode(t, tt.code)
		})
	}
}

func TestNoFleetAtAll(t *testing.T) {
	w := newWorld()
	w.idle = map[string]map[string]int{}
	d := openGateway(t, w)
	d.ask(http.MethodPost, "/create_session", createBody("n", "ada", 1)).wantCode(t, NoFleet)
	d.ask(http.MethodGet, "/find_session", "").wantCode(t, NoFleet)
}

// A success never lacks what the oldest clients wait for.
func TestIncompletePlayerSession(t *testing.T) {
	for name, spoil := range map[string]func(*wire.GameSession){
		"address": func(s *wire.GameSession) { s.IpAddress = "" },
		"port":    func(s *wire.GameSession) { s.Port = wire.Opt[int32]{} },
		"port 0":  func(s *wire.GameSession) { s.Port = wire.Some[int32](0) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			d := openGateway(t, w)
			id := d.ask(http.MethodPost, "/create_session", createBody("n", "ada", 5)).field("GameSessionId")
			w.do(func() { spoil(w.sessions[0]) })
			d.ask(http.MethodPost, "/join_session", joinBody(id, "bob")).wantCode(t, Internal)
			d.ask(http.MethodPost, "/v1/sessions/"+escape(id)+"/players", `{"players":[{"id":"cid"}]}`).wantCode(t,
				Internal)
		})
	}
}

// The older interface's own errors, byte for byte.
func TestCompatErrors(t *testing.T) {
	w := newWorld()
	d := openGateway(t, w, func(c *Config) { c.CompatErrors = true })
	id := d.ask(http.MethodPost, "/create_session", createBody("“n”", "ada", 1)).wantStatus(t,
		200).field("GameSessionId")
	const broken = `{"message": "Internal server error"}`
	tests := []struct {
		method, path, body string
		status             int
		text               string
	}{
		{"POST", "/join_session", joinBody(id, "bob"), 500, `"Game session \u201c\u201cn\u201d\u201d is full"`},
		{"POST", "/join_session", "", 502, broken},
		{"POST", "/join_session", `{"uuid":"x"}`, 502, broken},
		{"POST", "/create_session", "no", 502, broken},
		{"GET", "/nothing", "", 403, `{"message": "Missing Authentication Token"}`},
	}
	for _, tt := range tests {
		if r := d.raw(tt.method, tt.path, tt.body); r.status != tt.status || r.text != tt.text {
			t.Errorf("%s %s: %d %s, want %d %s", tt.method, tt.path, r.status, r.text, tt.status, tt.text)
		}
	}
	w.do(func() {
		w.fails["SearchGameSessions"] = fault.New(fault.InternalService, "x")
		w.fails["CreateGameSession"] = fault.New(fault.FleetCapacityExceeded, "x")
	})
	for _, r := range []reply{
		d.raw("GET", "/find_session", ""), d.raw("POST", "/create_session", createBody("m", "ada", 1)),
	} {
		if r.status != 502 || r.text != broken {
			t.Errorf("answer %d %s", r.status, r.text)
		}
	}
	d.ask("GET", "/v1/sessions", "").wantCode(t, Internal)
}

func TestPythonString(t *testing.T) {
	got := pythonString("a\"\\\n\r\t\b\f\x01é\U0001F600\x7f<&>")
	if want := `"a\"\\\n\r\t\b\f\u0001\u00e9\ud83d\ude00` + "\x7f" + `<&>"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The description's table of codes is the program's.
func TestCodesAreDescribed(t *testing.T) {
	text, err := os.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	described := map[string]int{}
	row := regexp.MustCompile(`(?m)^ +\| ([a-z_]+) \| (\d+) \| \S.* \|$`)
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		described[m[1]], _ = strconv.Atoi(m[2])
	}
	for code, m := range meanings {
		if code == UnknownRoute || code == ClientGone {
			continue
		}
		if described[string(code)] != m.status || strings.Count(string(text), "- "+string(code)+"\n") != 1 {
			t.Errorf("%s is %d in the program, %d in the description", code, m.status, described[string(code)])
		}
		delete(described, string(code))
	}
	if len(described) != 0 {
		t.Errorf("described only: %v", described)
	}
	if Code("x").Status() != http.StatusInternalServerError {
		t.Error("a code that is none has a status of its own")
	}
}

func TestWriteError(t *testing.T) {
	w := httptest.NewRecorder()
	w.Header().Set(requestIDHeader, "outer")
	w.Header().Set(retryAfterHeader, "30")
	WriteError(w, RateLimited, "")
	if got := w.Body.String(); w.Code != 429 ||
		got != `{"error":"Too many requests. Try again later.","code":"rate_limited",`+
			`"requestId":"outer"}` || w.Header().Get(retryAfterHeader) != "30" {
		t.Errorf("%d %s %v", w.Code, got, w.Header())
	}
}
