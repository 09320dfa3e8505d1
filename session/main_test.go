package session_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/mustertest/leaktest"
	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/sessiontest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// A world is a client with all that it can reach.
type world struct {
	*session.Client
	service   *sessiontest.Service
	connector *sessiontest.Connector
	lan       *sessiontest.LAN
	heard     *heard
}

// newWorld makes a client that is configured and closed at the end of the test,
// when nothing may be left of it.
func newWorld(t *testing.T, change ...func(*session.Config)) *world {
	t.Helper()
	w := &world{service: new(sessiontest.Service), lan: new(sessiontest.LAN),
		heard: &heard{changed: make(chan struct{})}}
	w.connector = &sessiontest.Connector{Service: w.service}
	cfg := session.Config{Remote: w.service.Remote(), LAN: w.lan, Connector: w.connector, PlayerID: "ada",
		PlayerName: "Ada", ListenIP: "10.0.0.1"}
	for _, c := range change {
		c(&cfg)
	}
	w.Client = session.New(cfg)
	w.Subscribe(w.heard.hear)
	if cfg.Remote != nil {
		if err := w.Configure(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { w.end(t) })
	return w
}

// end closes the client and looks for what may be left.
func (w *world) end(t *testing.T) {
	t.Helper()
	if err := w.Close(context.Background()); err != nil {
		t.Error("Close:", err)
	}
	if all := w.Named().All(); len(all) != 0 {
		t.Errorf("sessions are left: %v", all)
	}
	if n := len(w.connector.Open()); n != 0 {
		t.Errorf("%d connections are left", n)
	}
	if places := w.service.Places(); len(places) != 0 {
		t.Errorf("places are left: %v", places)
	}
	if adverts := w.lan.Adverts(); len(adverts) != 0 {
		t.Errorf("announcements are left: %v", adverts)
	}
}

// heard are the events that a subscriber has heard.
type heard struct {
	mu      sync.Mutex
	events  []session.Event
	changed chan struct{}
}

func (h *heard) hear(e session.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
	close(h.changed)
	h.changed = make(chan struct{})
}

func (h *heard) all() ([]session.Event, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.events[:len(h.events):len(h.events)], h.changed
}

// await waits for the n-th event of a type, from 1.
func await[E session.Event](t *testing.T, h *heard, n int) E {
	t.Helper()
	for {
		events, changed := h.all()
		if found := only[E](events); len(found) >= n {
			return found[n-1]
		}
		waitFor(t, changed)
	}
}

// only picks the events of a type.
func only[E session.Event](events []session.Event) (found []E) {
	for _, e := range events {
		if e, ok := e.(E); ok {
			found = append(found, e)
		}
	}
	return found
}

// held blocks the calls of an operation until their contexts are done.
func held(f *sessiontest.Faults, op string) (reached <-chan struct{}) {
	reached, _ = f.Hold(op)
	return reached
}

// waitFor waits for something that must happen.
func waitFor(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(30 * time.Second):
		t.Fatal("it does not happen")
	}
}

// settled waits for an Op.
func settled(t *testing.T, op *session.Op) error {
	t.Helper()
	waitFor(t, op.Done())
	return op.Err()
}

// completed waits for the n-th event of calls of a method, from 1.
func completed(t *testing.T, h *heard, method string, n int) session.Complete {
	t.Helper()
	for {
		events, changed := h.all()
		if found := completions(events, method); len(found) >= n {
			return found[n-1]
		}
		waitFor(t, changed)
	}
}

// completions picks the completions of calls of a method.
func completions(events []session.Event, method string) (found []session.Complete) {
	for _, e := range only[session.Complete](events) {
		if e.Call == method {
			found = append(found, e)
		}
	}
	return found
}

// active makes a session that can be joined.
func (w *world) active(t *testing.T) string {
	t.Helper()
	id, err := w.CreateSession(t.Context(), session.CreateSessionRequest{FleetID: "fleet-1", MaxPlayer: 2})
	if err != nil {
		t.Fatal(err)
	}
	return id
}
