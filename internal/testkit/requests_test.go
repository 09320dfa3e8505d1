package testkit

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// attached returns a kit whose service refuses all calls.
func attached() *Kit {
	k := New()
	nothing := func(context.Context) error { return nil }
	k.Attach(Service{Settle: nothing, ReportHealth: nothing,
		Invoke: func(context.Context, string, []byte) ([]byte, error) { return []byte(`{}`), nil }})
	return k
}

func ask(k *Kit, method, path, body string, change ...func(*http.Request)) (status int, answer string) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.RemoteAddr = "127.0.0.1:1234"
	for _, f := range change {
		f(r)
	}
	w := httptest.NewRecorder()
	k.Handler().ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// What is wrong with a request is in its answer, and nothing changes.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "/v1/test/advance", `{"seconds":0}`, 400, "cannot advance by 0s"},
		{"POST", "/v1/test/advance", `{"seconds":-1}`, 400, "cannot advance by -1s"},
		{"POST", "/v1/test/advance", `{"seconds":1e300}`, 400, "cannot advance"},
		{"POST", "/v1/test/advance", `{"seconds":"1m"}`, 400, "takes: seconds must not be a JSON string; use a number"},
		{"POST", "/v1/test/advance", `"60"`, 400, "takes: it must be a JSON object, not a string."},
		{"POST", "/v1/test/advance", `{"minutes":1}`, 400, `unknown field \"minutes\"`},
		{"POST", "/v1/test/advance", ``, 400, "cannot advance by 0s"},
		{"POST", "/v1/test/faults", `{}`, 400, "exactly one of exception, loseAnswer and delay"},
		{"POST", "/v1/test/faults", `{"loseAnswer":true,"delay":1}`, 400, "exactly one of"},
		{"POST", "/v1/test/faults", `{"exception":"Throttling"}`, 400, "such as ThrottlingException"},
		{"POST", "/v1/test/faults", `{"exception":"FullException"}`, 400, "the API never returns: use an exception"},
		{"POST", "/v1/test/faults", `{"operation":"POST /join_session","exception":"FullException"}`, 400, "never"},
		{"POST", "/v1/test/faults", `{"operation":"StopMatchmaking","exception":"GameSessionFullException"}`, 400,
			"StopMatchmaking never returns: use NotFoundException, UnsupportedRegionException, or an exception of"},
		{"POST", "/v1/test/faults", `{"operation":4}`, 400, "operation must not be a JSON number; use a string"},
		{"POST", "/v1/test/faults", `{"delay":-1}`, 400, "delay is -1 seconds"},
		{"POST", "/v1/test/faults", `{"loseAnswer":true,"times":-1}`, 400, "times is -1"},
		{"POST", "/v1/test/fleets", `{"servers":1001}`, 400, "servers is 1001"},
		{"POST", "/v1/test/processes/kill", `{"processId":"p-1"}`, 404, "No game server of /v1/test/fleets"},
		{"POST", "/v1/test/processes/kill", `{}`, 404, "No game server of /v1/test/fleets"},
		{"POST", "/v1/test/game-sessions/fill", `{}`, 404, "No game server of /v1/test/fleets"},
		{"POST", "/v1/test/player-sessions/psess-1/connect", ``, 404, `\"psess-1\" is not known`},
		{"GET", "/v1/test/advance", ``, 404, "POST /v1/test/advance"},
		{"POST", "/v1/test/advance", strings.Repeat(" ", maxBody+1), 400, "too large"},
	} {
		k := attached()
		status, answer := ask(k, c.method, c.path, c.body)
		if status != c.status || !strings.Contains(answer, c.want) {
			t.Errorf("%s %s %.60s: %d %s, want %d and %q", c.method, c.path, c.body, status, answer, c.status, c.want)
		}
		if k.Clock.Ahead() != 0 || len(k.faults.list()) != 0 {
			t.Errorf("%s %s %.60s has changed something", c.method, c.path, c.body)
		}
	}
}

// Only programs on this machine are answered.
func TestCallers(t *testing.T) {
	for name, change := range map[string]func(*http.Request){
		"another machine": func(r *http.Request) { r.RemoteAddr = "192.0.2.1:1234" },
		"a proxy":         func(r *http.Request) { r.Header.Set("X-Forwarded-For", "127.0.0.1") },
		"a web page":      func(r *http.Request) { r.Header.Set("Origin", "http://example.com") },
	} {
		k := attached()
		status, _ := ask(k, "POST", "/v1/test/advance", `{"seconds":1}`, change)
		if status != http.StatusForbidden || k.Clock.Ahead() != 0 {
			t.Errorf("%s: %d, and the clock is %s ahead", name, status, k.Clock.Ahead())
		}
	}
}

// Before the service is ready, requests that need it are refused as such.
func TestStarting(t *testing.T) {
	for _, q := range requests {
		method, path, _ := strings.Cut(q.pattern, " ")
		status, answer := ask(New(), method, path, `{"seconds":1}`)
		if status >= 500 && status != http.StatusServiceUnavailable {
			t.Errorf("%s: %d %s", q.pattern, status, answer)
		}
	}
}

// The state has the faults that no call has met yet.
func TestState(t *testing.T) {
	k := attached()
	ask(k, "POST", "/v1/test/faults", `{"operation":"CreateFleet","delay":0.5,"times":2}`)
	ask(k, "POST", "/v1/test/faults", `{"exception":"NotFoundException"}`)
	ask(k, "POST", "/v1/test/advance", `{"seconds":1.5}`)
	if _, err := k.Call(t.Context(), "ListFleets"); err == nil || !strings.Contains(err.Error(), "NotFoundException") {
		t.Errorf("the call has %v", err)
	}
	_, answer := ask(k, "GET", "/v1/test", "")
	var s state
	if err := json.Unmarshal([]byte(answer), &s); err != nil {
		t.Fatal(err)
	}
	if len(s.Faults) != 1 || s.Faults[0] != (Fault{Operation: "CreateFleet", Delay: 0.5, Times: 2}) || s.Ahead != 1.5 {
		t.Errorf("the state is %s", answer)
	}
	if _, answer = ask(k, "DELETE", "/v1/test/faults", ""); !strings.Contains(answer, `"faults":[]`) {
		t.Errorf("the state is %s", answer)
	}
}

// While the clock advances, the state has the rest, and another request to advance is refused.
func TestAdvancing(t *testing.T) {
	k := attached()
	step, finish := make(chan struct{}), make(chan struct{})
	k.service.Settle = func(context.Context) error { step <- struct{}{}; <-finish; return nil }
	ended := make(chan error, 1)
	go func() { ended <- k.Advance(context.WithoutCancel(t.Context()), 2*time.Second) }()
	for _, want := range []string{`"advancing":2,`, `"advancing":1,`} {
		<-step
		if _, answer := ask(k, "GET", "/v1/test", ""); !strings.Contains(answer, want) {
			t.Errorf("the state is %s, want %s", answer, want)
		}
		status, answer := ask(k, "POST", "/v1/test/advance", `{"seconds":1}`)
		if status != 400 || !strings.Contains(answer, "ConflictException") || !strings.Contains(answer, "until ") {
			t.Errorf("another request: %d %s", status, answer)
		}
		finish <- struct{}{}
	}
	if err := <-ended; err != nil || k.Clock.Ahead() != 2*time.Second {
		t.Errorf("the clock is %s ahead: %v", k.Clock.Ahead(), err)
	}
	if _, answer := ask(k, "GET", "/v1/test", ""); !strings.Contains(answer, `"advancing":0,`) {
		t.Errorf("the state is %s", answer)
	}
}

// FuzzRequests holds that no body has a request panic, or fail as a fault of the service.
func FuzzRequests(f *testing.F) {
	for i := range requests {
		f.Add(i, `{"seconds":1,"operation":"a","exception":"bException","servers":2,"processId":"p"}`)
		f.Add(i, `{"times":1,"loseAnswer":true}`)
	}
	f.Fuzz(func(t *testing.T, i int, body string) {
		k := attached()
		defer k.Close()
		q := requests[uint(i)%uint(len(requests))]
		method, path, _ := strings.Cut(q.pattern, " ")
		k.service.Settle = func(context.Context) error { return context.Canceled } // a week would take minutes
		if status, answer := ask(k, method, path, body); !json.Valid([]byte(answer)) || status == 0 {
			t.Errorf("%s %q: %d %s", q.pattern, body, status, answer)
		}
	})
}
