package gameserver_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/muster-gg/muster/gameserver"
)

func TestReconnectsAndRepeatsTheRequest(t *testing.T) {
	s := newService(t)
	server, c := hosting(t, s, gameserver.ProcessParameters{})
	s.set(func() { s.mute["AcceptPlayerSession"] = true })
	result := make(chan error, 1)
	go func() { result <- server.AcceptPlayerSession(t.Context(), "psess-1") }()
	s.await("the request", func() bool { return s.requests["AcceptPlayerSession"] == 1 })
	s.set(func() { delete(s.mute, "AcceptPlayerSession") })
	c.NetConn().Close()
	s.next()
	if err := receive(t, "the reply", result); err != nil {
		t.Fatal(err)
	}
	s.set(func() {
		if s.requests["AcceptPlayerSession"] != 2 || len(s.ids["AcceptPlayerSession"]) != 1 {
			t.Errorf("sent %d times with the ids %v, want twice with one", s.requests["AcceptPlayerSession"],
				s.ids["AcceptPlayerSession"])
		}
		if s.requests["ActivateServerProcess"] != 1 {
			t.Error("activated again")
		}
		if first, second := s.queries[0], s.queries[1]; first.Encode() != second.Encode() {
			t.Errorf("came back as %v, was %v", second, first)
		}
	})
}

func TestReconnectsWhateverTheClose(t *testing.T) {
	for _, code := range []int{websocket.CloseNormalClosure, websocket.CloseGoingAway, websocket.CloseServiceRestart} {
		s := newService(t)
		server, _ := connect(t, s, nil)
		c := s.next()
		_ = c.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""), time.Time{})
		c.NetConn().Close()
		s.next()
		if _, err := server.GetComputeCertificate(t.Context()); err != nil {
			t.Errorf("after Close %d: %v", code, err)
		}
	}
}

func TestReconnectsThroughALongOutage(t *testing.T) {
	s := newService(t)
	server, clock := connect(t, s, nil)
	c := s.next()
	s.set(func() { s.statuses = []int{500, 503, 429, 500, 500, 500, 500, 500, 500, 500, 500, 500} })
	begin := clock.Now()
	c.NetConn().Close()
	advance(t, s, clock, time.Second, "the service to be back", func() bool { return len(s.queries) == 14 })
	s.next()
	if _, err := server.GetComputeCertificate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if outage := clock.Since(begin); outage < 60*time.Second {
		t.Errorf("12 failed attempts took %v: no back-off", outage)
	}
}

func TestReconnectLimit(t *testing.T) {
	s := newService(t)
	server, clock := connect(t, s, func(cfg *gameserver.Config) { cfg.ReconnectLimit = time.Minute })
	c := s.next()
	s.http.Listener.Close()
	c.NetConn().Close()
	advance(t, s, clock, time.Second, "the end", func() bool { return server.Err() != nil })
	receive(t, "Done", server.Done())
	if err := server.Err(); !errors.Is(err, gameserver.ErrConnectionEnd) {
		t.Errorf("Err: %v", err)
	}
}

func TestRefusedWhenComingBack(t *testing.T) {
	s := newService(t)
	server, clock := connect(t, s, nil)
	c := s.next()
	s.set(func() {
		for range 100 {
			s.statuses = append(s.statuses, 403)
		}
	})
	begin := clock.Now()
	c.NetConn().Close()
	advance(t, s, clock, time.Second, "the end", func() bool { return server.Err() != nil })
	if took := clock.Since(begin); took < 2*time.Minute {
		t.Errorf("gave up after %v, want two minutes at least", took)
	}
	var e *gameserver.Error
	if err := server.Err(); !errors.Is(err, gameserver.ErrConnectionEnd) || !errors.As(err, &e) ||
		!strings.Contains(e.Message, "403") {
		t.Errorf("Err: %v", err)
	}
}

func TestNoWayBackAfterEnding(t *testing.T) {
	s := newService(t)
	server, c := hosting(t, s, gameserver.ProcessParameters{})
	if err := server.ProcessEnding(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.NetConn().Close()
	receive(t, "Done", server.Done())
	if len(s.queries) != 1 || server.Err() != nil {
		t.Errorf("connected %d times, Err %v", len(s.queries), server.Err())
	}
}

// The service has ended the process, its reply got lost, and it does not take the
// process back.
func TestEndingWithoutAReply(t *testing.T) {
	s := newService(t)
	server, c := hosting(t, s, gameserver.ProcessParameters{})
	s.set(func() {
		s.mute["TerminateServerProcess"] = true
		s.statuses = []int{403}
	})
	result := make(chan error, 1)
	go func() { result <- server.ProcessEnding(t.Context()) }()
	s.await("the request", func() bool { return s.requests["TerminateServerProcess"] == 1 })
	c.NetConn().Close()
	if err := receive(t, "the end", result); err != nil {
		t.Errorf("ProcessEnding: %v", err)
	}
	receive(t, "Done", server.Done())
	if err := server.Err(); err != nil {
		t.Errorf("Err: %v", err)
	}
}

func TestRequestsTimeOutAndADeadLineIsLeft(t *testing.T) {
	s := newService(t)
	server, clock := connect(t, s, nil)
	s.next()
	s.set(func() { s.mute["GetComputeCertificate"] = true })
	for n := range 2 {
		result := make(chan error, 1)
		go func() {
			_, err := server.GetComputeCertificate(t.Context())
			result <- err
		}()
		s.await("the request", func() bool { return s.requests["GetComputeCertificate"] == n+1 })
		clock.Advance(20 * time.Second)
		if err := receive(t, "the failure", result); !errors.Is(err, gameserver.ErrTimeout) {
			t.Errorf("got %v", err)
		}
	}
	s.next() // nothing was heard during two requests: connected anew
}

func TestRefreshConnection(t *testing.T) {
	s, other := newService(t), newService(t)
	traced := make(chan string, 64)
	server, clock := connect(t, s, func(cfg *gameserver.Config) {
		cfg.Trace = func(m gameserver.Message) {
			if !m.Sent {
				traced <- m.Text
			}
		}
	})
	old := s.next()
	if err := old.write(`{"Action":"RefreshConnection","RefreshConnectionEndpoint":"` + other.url() + `/x",` +
		`"AuthToken":"b7d7c1f2"}`); err != nil {
		t.Fatal(err)
	}
	if text := receive(t, "a trace", traced); strings.Contains(text, "b7d7c1f2") {
		t.Errorf("the trace tells the token: %s", text)
	}
	other.next()
	if got := other.queries[0].Get("Authorization"); got != "b7d7c1f2" {
		t.Errorf("refreshed with the token %q", got)
	}
	if other.queries[0].Get("IdempotencyToken") == s.queries[0].Get("IdempotencyToken") {
		t.Error("refreshed under the old idempotency token")
	}
	if err := clock.BlockUntilContext(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := server.GetComputeCertificate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if other.requests["GetComputeCertificate"] != 1 {
		t.Error("the request did not go over the new connection")
	}
	clock.Advance(5 * time.Second)
	if _, err := server.GetComputeCertificate(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestFailedRefreshKeepsTheConnection(t *testing.T) {
	s := newService(t)
	warned := make(chan struct{}, 4)
	server, _ := connect(t, s, func(cfg *gameserver.Config) { cfg.Log = slog.New(warnings{cfg.Log.Handler(), warned}) })
	c := s.next()
	s.set(func() { s.statuses = []int{403} })
	for endpoint, attempts := range map[string]int{"https://x": 0, s.url(): 1} {
		if err := c.write(`{"Action":"RefreshConnection","RefreshConnectionEndpoint":"` + endpoint + `",` +
			`"AuthToken":"b7d7c1f2"}`); err != nil {
			t.Fatal(err)
		}
		s.await("the attempt", func() bool { return len(s.queries) >= 1+attempts })
		if attempts == 0 {
			receive(t, "the refusal of a senseless address", warned)
		}
	}
	if _, err := server.GetComputeCertificate(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestHealth(t *testing.T) {
	s := newService(t)
	server, clock := connect(t, s, nil)
	s.next()
	block := make(chan struct{})
	defer close(block)
	calls := make(chan struct{}, 8)
	results := []func() bool{
		func() bool { return true }, func() bool { return false }, func() bool { <-block; return true },
	}
	i := 0
	healthy := func() bool {
		f := results[i]
		i++
		calls <- struct{}{}
		return f()
	}
	start := func(gameserver.GameSession) {}
	p := gameserver.ProcessParameters{Port: 1, OnStartGameSession: start, OnHealthCheck: healthy}
	if err := server.ProcessReady(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	s.await("the first report, at once", func() bool { return s.requests["HeartbeatServerProcess"] == 1 })
	begin := clock.Now()
	for n := 2; n <= 3; n++ {
		advance(t, s, clock, time.Second, "a report", func() bool { return s.requests["HeartbeatServerProcess"] >= n })
	}
	if took := clock.Since(begin); took < 100*time.Second || took > 200*time.Second {
		t.Errorf("two reports and a hanging check took %v", took)
	}
	advance(t, s, clock, time.Second, "a report", func() bool { return s.requests["HeartbeatServerProcess"] >= 4 })
	if n := len(calls); n != 3 {
		t.Errorf("the callback was called %d times: once more while it was hanging", n)
	}
}

func TestSenselessMessages(t *testing.T) {
	s := newService(t)
	server, c := hosting(t, s, gameserver.ProcessParameters{})
	for _, text := range []string{
		``, `[]`, `{`, `{"Action":"Dance"}`, `{"RequestId":"nobody","StatusCode":200}`,
		`{"Action":"TerminateProcess","TerminationTime":"soon"}`,
		`{"Action":"CreateGameSession","GameSessionId":"another"}`, `{"Action":"UpdateGameSession","GameSession":{}}`,
	} {
		if err := c.write(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := server.AcceptPlayerSession(t.Context(), "p"); err != nil {
		t.Fatal(err)
	}
	if server.GameSessionID() != gameSession {
		t.Errorf("hosts %q", server.GameSessionID())
	}
}

// warnings passes the log on and tells of each warning.
type warnings struct {
	slog.Handler
	told chan<- struct{}
}

func (w warnings) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		w.told <- struct{}{}
	}
	return w.Handler.Handle(ctx, r)
}
