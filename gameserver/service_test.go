package gameserver_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/gameserver"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const token = "3c1b6f0e-5f0a-4c55-9b0e-2f1f6f2b7a10"

// A service is the other side: a real WebSocket endpoint that answers 200 to
// everything, unless told otherwise.
type service struct {
	t     *testing.T
	http  *httptest.Server
	conns chan *conn

	mu       sync.Mutex
	statuses []int                      // of the next handshakes, in order; then 101
	replies  map[string]string          // more members of the reply, by action
	mute     map[string]bool            // actions without a reply
	requests map[string]int             // how many of each action
	queries  []url.Values               // of all handshakes
	notify   chan struct{}              // has one when something came
	ids      map[string]map[string]bool // request ids by action
	bodies   map[string][]string        // the requests by action, with "ID" for their ids
	respond  map[string]func(body string) string
	events   []string // the requests but heartbeats, and what note has added, in order
}

// A conn is one socket of the service.
type conn struct {
	*websocket.Conn
	mu sync.Mutex
}

func (c *conn) write(text string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.WriteMessage(websocket.TextMessage, []byte(text))
}

func newService(t *testing.T) *service {
	s := &service{
		t: t, conns: make(chan *conn, 64), replies: map[string]string{}, mute: map[string]bool{},
		requests: map[string]int{},
		notify:   make(chan struct{}, 1), ids: map[string]map[string]bool{}, bodies: map[string][]string{},
		respond: map[string]func(string) string{},
	}
	s.http = httptest.NewServer(s)
	t.Cleanup(s.http.Close)
	return s
}

func (s *service) url() string { return "ws" + strings.TrimPrefix(s.http.URL, "http") }

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.queries = append(s.queries, r.URL.Query())
	status := 101
	if len(s.statuses) > 0 {
		status, s.statuses = s.statuses[0], s.statuses[1:]
	}
	s.mu.Unlock()
	s.wake()
	if status != 101 {
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"Action":"$connect","RequestId":"$connect","StatusCode":%d,"ErrorMessage":"Refused: %d"}`,
			status, status)
		return
	}
	ws, err := new(websocket.Upgrader).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	c := &conn{Conn: ws}
	s.conns <- c
	defer ws.Close()
	for {
		_, data, err := ws.ReadMessage()
		if err != nil {
			return
		}
		s.answer(c, data)
	}
}

func (s *service) answer(c *conn, data []byte) {
	var m struct{ Action, RequestId string }
	if err := json.Unmarshal(data, &m); err != nil {
		s.t.Errorf("received %q: %v", data, err)
	}
	s.mu.Lock()
	s.requests[m.Action]++
	if s.ids[m.Action] == nil {
		s.ids[m.Action] = map[string]bool{}
	}
	s.ids[m.Action][m.RequestId] = true
	body := strings.Replace(string(data), m.RequestId, "ID", 1)
	s.bodies[m.Action] = append(s.bodies[m.Action], body)
	if m.Action != "HeartbeatServerProcess" {
		s.events = append(s.events, m.Action)
	}
	more, given := s.replies[m.Action]
	if respond := s.respond[m.Action]; respond != nil {
		more, given = respond(body), true
	}
	mute := s.mute[m.Action]
	s.mu.Unlock()
	s.wake()
	if mute {
		return
	}
	if !given {
		more = `"StatusCode":200`
	}
	_ = c.write(fmt.Sprintf(`{"Action":%q,"RequestId":%q,%s}`, m.Action, m.RequestId, more))
}

func (s *service) wake() {
	select {
	case s.notify <- struct{}{}:
	default:
	}
}

// sent is the requests of an action so far, with "ID" for their ids.
func (s *service) sent(action string) (bodies []string) {
	s.set(func() { bodies = slices.Clone(s.bodies[action]) })
	return bodies
}

// note adds to the events, beside the requests.
func (s *service) note(event string) {
	s.set(func() { s.events = append(s.events, event) })
	s.wake()
}

// happened counts an event.
func (s *service) happened(event string) (n int) {
	s.set(func() {
		for _, e := range s.events {
			if e == event {
				n++
			}
		}
	})
	return n
}

// has reports whether an event has happened. It is for await and advance, under
// the lock.
func (s *service) has(event string) func() bool {
	return func() bool { return slices.Contains(s.events, event) }
}

func (s *service) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// await waits until the condition holds; it is asked under the lock.
func (s *service) await(what string, condition func() bool) {
	s.t.Helper()
	limit := time.After(20 * time.Second)
	for {
		s.mu.Lock()
		ok := condition()
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-s.notify:
		case <-limit:
			s.t.Fatalf("still waiting: %s", what)
		}
	}
}

func (s *service) next() *conn {
	s.t.Helper()
	return receive(s.t, "a connection", s.conns)
}

// receive takes one value of a channel.
func receive[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(20 * time.Second):
		t.Fatalf("still waiting: %s", what)
		panic("unreachable")
	}
}

func (s *service) parameters() gameserver.ServerParameters {
	return gameserver.ServerParameters{WebSocketURL: s.url() + "/base", ProcessID: "proc-7", HostID: "host-1",
		FleetID: "fleet-1", AuthToken: token}
}

// noEnvironment is an empty environment.
func noEnvironment(string) string { return "" }

type logBuffer struct {
	mu sync.Mutex
	strings.Builder
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Builder.Write(p)
}

// connect makes a Server that is connected to the service, on a fake clock.
func connect(t *testing.T, s *service, change func(*gameserver.Config)) (*gameserver.Server, *clockwork.FakeClock) {
	t.Helper()
	clock := clockwork.NewFakeClock()
	log := new(logBuffer)
	cfg := gameserver.Config{
		Getenv: noEnvironment,
		Log:    slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}.WithClock(clock)
	if change != nil {
		change(&cfg)
	}
	server := gameserver.New(cfg)
	t.Cleanup(func() {
		server.Close()
		server.Wait()
		log.mu.Lock()
		defer log.mu.Unlock()
		if strings.Contains(log.String(), token) || strings.Contains(log.String(), "Authorization") {
			t.Errorf("the log tells secrets:\n%s", log.String())
		}
	})
	if err := server.Connect(t.Context(), s.parameters()); err != nil {
		t.Fatal(err)
	}
	return server, clock
}

// advance moves the clock until the condition holds.
func advance(
	t *testing.T, s *service, clock *clockwork.FakeClock, by time.Duration, what string, condition func() bool,
) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(20 * time.Second)
	for {
		s.mu.Lock()
		ok := condition()
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-tick.C:
			clock.Advance(by)
		case <-limit:
			t.Fatalf("still waiting: %s", what)
		}
	}
}
