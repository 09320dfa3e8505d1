package gateway

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A listener is a client of an event stream.
type listener struct {
	t      *testing.T
	res    *http.Response
	lines  *bufio.Reader
	cancel context.CancelFunc
}

func (d *testGateway) listen(path string, header ...string) *listener {
	d.t.Helper()
	ctx, cancel := context.WithCancel(d.t.Context())
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, d.server.URL+path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := d.client.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { cancel(); res.Body.Close() })
	if got := res.Header.Get("Content-Type"); res.StatusCode == 200 && got != "text/event-stream" {
		d.t.Errorf("Content-Type %s", got)
	}
	return &listener{d.t, res, bufio.NewReader(res.Body), cancel}
}

// next reads up to the next empty line; "" at the end of the stream.
func (l *listener) next() string {
	l.t.Helper()
	var b strings.Builder
	for {
		line, err := l.lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		if err != nil {
			l.t.Fatal(err)
		}
		if line == "\n" {
			return b.String()
		}
		b.WriteString(line)
	}
}

// want reads the next event and checks its beginning and a part of its data.
func (l *listener) want(begin, part string) {
	l.t.Helper()
	if got := l.next(); !strings.HasPrefix(got, begin) || !strings.Contains(got, part) {
		l.t.Fatalf("event %q, want %q with %q", got, begin, part)
	}
}

func TestSessionEvents(t *testing.T) {
	w := newWorld()
	d := openGateway(t, w)
	id := d.ask("POST", "/v1/sessions", `{"name":"n","maxPlayers":9}`).wantStatus(t, 201).field("session", "id")
	l := d.listen("/v1/sessions/"+escape(id)+"/events", "Last-Event-ID", "41")
	l.want("retry: 3000\nid: 42\nevent: session\ndata: {", `"players":0`)
	d.ask("POST", "/v1/sessions/"+escape(id)+"/players", `{"players":[{"id":"ada"}]}`).wantStatus(t, 201)
	l.want("id: 43\nevent: session\n", `"players":1`)
	w.do(func() { w.sessions[0].Status = wire.GameSessionStatusTerminating })
	l.want("id: 44\nevent: session\n", `"status":"TERMINATING"`)
	w.do(func() { w.sessions[0].Status = wire.GameSessionStatusTerminated })
	l.want("id: 45\nevent: session\n", `"status":"TERMINATED"`)
	l.want("id: 46\nevent: end\n", `"status":"TERMINATED"`)
	if got := l.next(); got != "" {
		t.Errorf("behind the end: %q", got)
	}
	// The connection serves other requests.
	d.ask("GET", "/v1/sessions/"+escape(id), "").wantStatus(t, 200)
}

func TestTicketEvents(t *testing.T) {
	w := newWorld()
	d := openGateway(t, w, func(c *Config) { c.Matchmaking = w })
	d.ask("POST", "/v1/tickets", `{"id":"t","configuration":"duel","players":[{"id":"ada"}]}`).wantStatus(t, 201)
	l := d.listen("/v1/tickets/t/events", "Last-Event-ID", "none of ours")
	l.want("retry: 3000\nid: 1\nevent: ticket\n", `"status":"QUEUED"`)
	w.do(func() { w.tickets["t"].Status = wire.MatchmakingConfigurationStatusSearching })
	l.want("id: 2\nevent: ticket\n", `"status":"SEARCHING"`)
	d.ask("DELETE", "/v1/tickets/t", "").wantStatus(t, 200)
	l.want("id: 3\nevent: ticket\n", `"status":"CANCELLED"`)
	l.want("id: 4\nevent: end\n", `"status":"CANCELLED"`)
}

func TestHeartbeat(t *testing.T) {
	w, clock := newWorld(), clockwork.NewFakeClock()
	d := openGateway(t, w, func(c *Config) { c.Clock = clock })
	id := d.ask("POST", "/v1/sessions", `{"name":"n","maxPlayers":9}`).wantStatus(t, 201).field("session", "id")
	l := d.listen("/v1/sessions/" + escape(id) + "/events")
	l.want("retry", "session")
	for range 2 {
		clock.Advance(heartbeat)
		l.want(": ", "")
	}
}

func TestStreamsEnd(t *testing.T) {
	w := newWorld()
	seen := make(chan Observation, 100)
	d := openGateway(t, w, func(c *Config) {
		c.MaxStreams, c.Observe = 1, func(o Observation) {
			if strings.HasSuffix(o.Route, "/events") {
				seen <- o
			}
		}
	})
	id := d.ask("POST", "/v1/sessions", `{"name":"n","maxPlayers":9}`).wantStatus(t, 201).field("session", "id")
	path := "/v1/sessions/" + escape(id) + "/events"
	l := d.listen(path)
	l.want("retry", "session")
	d.ask("GET", path, "").wantCode(t, TooManyStreams)
	if o := <-seen; o.Code != TooManyStreams {
		t.Errorf("observed %+v", o)
	}
	l.cancel() // the client goes
	if o := <-seen; o.Code != ClientGone {
		t.Errorf("observed %+v", o)
	}
	d.ask("GET", "/v1/sessions/none/events", "").wantCode(t, SessionNotFound)
	<-seen
	l = d.listen(path)
	l.want("retry", "session")
	if err := d.g.Close(t.Context()); err != nil { // the gateway goes
		t.Error(err)
	}
	if got := l.next(); got != "" {
		t.Errorf("event %q when the gateway closes", got)
	}
}

// deadlines is a writer that records the deadlines that a server's writer would receive.
type deadlines struct {
	*httptest.ResponseRecorder
	read, write []time.Time
}

func (d *deadlines) SetReadDeadline(at time.Time) error  { d.read = append(d.read, at); return nil }
func (d *deadlines) SetWriteDeadline(at time.Time) error { d.write = append(d.write, at); return nil }

// A server's limits on requests do not end a stream, and those of the stream do
// not outlive it.
func TestStreamDeadlines(t *testing.T) {
	w := newWorld()
	w.do(func() { w.begin("arn:x", testFleet, "custom-lab").Status = wire.GameSessionStatusTerminated })
	g, rec := newGateway(t, w), &deadlines{ResponseRecorder: httptest.NewRecorder()}
	g.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/v1/sessions/arn%3Ax/events", nil))
	if !strings.Contains(rec.Body.String(), "event: end\n") || !rec.Flushed {
		t.Fatalf("stream %q", rec.Body)
	}
	if len(rec.read) != 1 || !rec.read[0].IsZero() {
		t.Errorf("read deadlines %v", rec.read)
	}
	if n := len(rec.write); n != 3 || rec.write[0].IsZero() || !rec.write[n-1].IsZero() {
		t.Errorf("write deadlines %v", rec.write)
	}
}

// A watch that says nothing does not hold its client up.
func TestStreamThatDoesNotBegin(t *testing.T) {
	w, clock := newWorld(), clockwork.NewFakeClock()
	w.hangs = "WatchGameSession"
	d := openGateway(t, w, func(c *Config) { c.Clock = clock })
	done := make(chan reply, 2)
	ask := func(n int) {
		go func() { done <- d.ask("GET", "/v1/sessions/arn%3Ax/events", "") }()
		if err := w.await(t.Context(), func() bool { return w.calls["WatchGameSession"] == n }); err != nil {
			t.Fatal(err)
		}
	}
	ask(1)
	clock.Advance(DefaultDeadline)
	(<-done).wantCode(t, Timeout)
	ask(2)
	if err := d.g.Close(t.Context()); err != nil {
		t.Error(err)
	}
	(<-done).wantCode(t, Stopping)
}

// brokenWatch follows a game session until fails says otherwise.
type brokenWatch struct {
	*world
	fails chan error
}

func (b *brokenWatch) WatchGameSession(ctx context.Context, id string, changed func(*wire.GameSession) error) error {
	s, err := b.describe(id)
	if err == nil {
		err = changed(s)
	}
	if err != nil {
		return err
	}
	select {
	case err := <-b.fails:
		if err == nil {
			panic("as the test wants")
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestWatchBreaks(t *testing.T) {
	w := &brokenWatch{newWorld(), make(chan error, 1)}
	d := openGateway(t, w.world, func(c *Config) { c.Service = w })
	id := d.ask("POST", "/v1/sessions", `{"name":"n","maxPlayers":9}`).wantStatus(t, 201).field("session", "id")
	for _, tt := range []struct {
		err  error
		code Code
	}{{fault.New(fault.ServiceUnavailable, "gone"), Unavailable}, {nil, Internal}} {
		l := d.listen("/v1/sessions/" + escape(id) + "/events")
		l.want("retry", "session")
		w.fails <- tt.err
		l.want("id: 2\nevent: error\n", `"code":"`+string(tt.code)+`"`)
		if got := l.next(); got != "" {
			t.Errorf("behind the error: %q", got)
		}
	}
}
