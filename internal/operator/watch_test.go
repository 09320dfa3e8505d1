package operator

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
)

// A changing region has a number of fleets that changes, and placements that get older.
type changing struct {
	region
	signal chan struct{}
	fleets int
	clock  interface{ Now() time.Time }
}

func (c *changing) Changes() (changed <-chan struct{}, end func()) { return c.signal, func() {} }

func (c *changing) Overview(context.Context, func(string) bool) (*control.Overview, error) {
	return &control.Overview{Fleets: c.fleets, Time: c.clock.Now(), OldestTicketMS: c.clock.Now().UnixMilli()}, nil
}

// A watching client reads a stream.
type watching struct {
	*world
	answer *http.Response
	lines  *bufio.Reader
	change *changing
}

func newWatching(t *testing.T) *watching {
	change := &changing{signal: make(chan struct{}, 1), fleets: 3}
	w := newWorld(t, func(c *Config) { c.Region, change.clock = change, c.Clock })
	return &watching{world: w, change: change}
}

// open opens a stream.
func (w *watching) open(topic, key, last string) {
	w.t.Helper()
	r := w.newRequest(w.t.Context(), http.MethodGet, "/v1/watch?topic="+topic, key, "")
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	w.answer = w.do(r)
	w.t.Cleanup(func() { _ = w.answer.Body.Close() })
	w.lines = bufio.NewReader(w.answer.Body)
	if got := w.answer.Header.Get("Content-Type"); w.answer.StatusCode != 200 || got != "text/event-stream" {
		w.t.Fatalf("%s: %d, %s", topic, w.answer.StatusCode, got)
	}
	w.next(": GET /v1/")
}

// next reads an event or a comment, which must begin with a text, and returns its id and data.
func (w *watching) next(want string) (id, data string) {
	w.t.Helper()
	var text strings.Builder
	for {
		line, err := w.lines.ReadString('\n')
		if err != nil {
			w.t.Fatalf("read %q, %v; want %q", text.String()+line, err, want)
		}
		if line == "\n" {
			break
		}
		text.WriteString(line)
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "id":
			id = value
		case "data":
			data = value
		}
	}
	if !strings.HasPrefix(text.String(), want) {
		w.t.Fatalf("read %q, want %q", &text, want)
	}
	return id, data
}

// pass lets time go by when the stream waits for it. After a change it waits for the pause and the beat.
func (w *watching) pass(timers int, d time.Duration) {
	w.t.Helper()
	if err := w.clock.BlockUntilContext(w.t.Context(), timers); err != nil {
		w.t.Fatal(err)
	}
	w.clock.Advance(d)
}

// changes changes the region, and waits until the stream looks again.
func (w *watching) changes(change func()) {
	w.t.Helper()
	w.pass(1, 0) // it waits
	change()
	w.change.signal <- struct{}{}
	w.pass(2, watchPause)
}

func TestWatch(t *testing.T) {
	defer leaktest.Check(t)()
	w := newWatching(t)
	defer w.Close()
	w.open("overview", "AKID", "")
	first, data := w.next("event: snapshot\nid: ")
	var o Overview
	if err := json.Unmarshal([]byte(data), &o); err != nil || o.Fleets != 3 || len(o.Nodes) != 2 {
		t.Errorf("%s: %v", data, err)
	}
	w.changes(func() { w.change.fleets = 4 })
	second, data := w.next("event: snapshot\n")
	if first == second || !strings.Contains(data, `"fleets":4`) {
		t.Errorf("%s after %s: %s", second, first, data)
	}
	for range int(keepAlive/(watchBeat+watchPause)) + 1 { // the time of the answer changes, which is no news
		w.pass(1, watchBeat)
		w.pass(1, watchPause)
	}
	w.next(": keep-alive")
	w.changes(func() { w.change.fleets = 3 })
	if again, _ := w.next("event: snapshot\n"); again != first {
		t.Errorf("the same content has the ids %s and %s", first, again)
	}
	w.door.Stop()
	if rest, err := io.ReadAll(w.lines); err != nil || len(rest) > 0 {
		t.Errorf("after the end: %q, %v", rest, err)
	}
}

// TestWatchAgain sends what a client has not seen.
func TestWatchAgain(t *testing.T) {
	w := newWatching(t)
	w.open("overview", "AKID", "")
	id, _ := w.next("event: snapshot\n")
	w.open("overview", "AKID", "other")
	w.next("event: snapshot\nid: " + id)
	w.answer.Body.Close()
	w.open("overview", "AKID", id)
	w.door.Stop()
	if rest, err := io.ReadAll(w.lines); err != nil || len(rest) > 0 {
		t.Errorf("a client that has the state gets %q, %v", rest, err)
	}
}

// TestWatchTopics: a topic is the answer of its request, whose permission decides.
func TestWatchTopics(t *testing.T) {
	w := newWatching(t)
	for topic, path := range map[string]string{
		"fleets": "/v1/fleets", "fleet:" + timelineFleet: "/v1/game-sessions?fleet=" + timelineFleet,
		"session:g": "/v1/game-sessions/g/timeline", "session:" + timelineARN: "/v1/game-sessions/g/timeline",
		"queue:a%2F..%2Fb": "/v1/queues/a%2F..%2Fb/placements", "queue:ranked": "/v1/queues/ranked/placements",
		"configuration:duel": "/v1/configurations/duel/tickets", "nodes": "/v1/nodes",
	} {
		w.open(topic, "AKID", "")
		_, data := w.next("event: snapshot\n")
		if _, want := w.get(path); data+"\n" != want {
			t.Errorf("%s: %s, want %s", topic, data, want)
		}
		w.answer.Body.Close()
	}
	const all = "The topics are overview, fleets, fleet:{fleet}, session:{id}, queue:{name}, configuration:{name}, " +
		"nodes."
	for _, c := range []struct {
		query, key string
		status     int
		body       string // part of it
	}{
		{"", "AKID", 400, all}, {"?topic=none", "AKID", 400, `\"none\". ` + all}, {"?topic=queue:", "AKID", 400, all},
		{"?topic=queue", "AKID", 400, all}, {"?topic=nodes:n1", "AKID", 400, all},
		{"?topic=nodes&topic=nodes", "AKID", 400, "given 2 times"}, {"?fleet=f", "AKID", 400, "Unknown parameter"},
		{"?topic=session:none", "AKID", 404, "NotFoundException"},
		{"?topic=overview", "AKGUEST", 403, "muster:OverviewRead"},
		{"?topic=fleet:f", "AKGUEST", 403, "arn:aws:muster:us-west-2:111122223333:fleet/f"},
		{"?topic=nodes", "", 403, "MissingAuthenticationTokenException"},
	} {
		if status, body := w.ask("GET", "/v1/watch"+c.query, c.key); status != c.status ||
			!strings.Contains(body, c.body) {
			t.Errorf("%s with %s: %d %s; want %d with %s", c.query, c.key, status, body, c.status, c.body)
		}
	}
}

// TestWatchEnds: a key that is revoked, or may no longer read, gets no more of a stream.
func TestWatchEnds(t *testing.T) {
	for name, c := range map[string]struct{ method, path, body, want string }{
		"revoked": {"DELETE", "/v1/keys/", "", `{"error":"UnrecognizedClientException",`},
		"denied": {"PUT", "/v1/users/guest/policies/none", `{"document":` + denyAll + `}`,
			`{"error":"AccessDeniedException",`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatching(t)
			w.open("nodes", "AKGUEST", "")
			w.next("event: snapshot\n")
			w.changes(func() {
				if c.body == "" {
					c.path += w.keys["AKGUEST"].AccessKeyID
				}
				if status, body := w.send(c.method, c.path, "AKID", c.body); status != 200 {
					t.Fatalf("%d %s", status, body)
				}
			})
			if _, data := w.next("event: error\n"); !strings.HasPrefix(data, c.want) {
				t.Errorf("%s, want %s", data, c.want)
			}
			if rest, err := io.ReadAll(w.lines); err != nil || len(rest) > 0 {
				t.Errorf("after the end: %q, %v", rest, err)
			}
		})
	}
}

const denyAll = `{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Action":"*","Resource":"*"}]}`
