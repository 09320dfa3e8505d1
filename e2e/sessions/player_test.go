package sessions

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/examples/arena/protocol"
	"github.com/muster-gg/muster/gamenet"
	"github.com/muster-gg/muster/gamenet/handshake"
	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/direct"
	"github.com/muster-gg/muster/session/gateway"
)

// A wire is what a client's HTTP requests go over. It counts them.
type wire struct {
	http.Transport
	mu       sync.Mutex
	requests []string
	hold     func() // called before a request is sent; nil for none
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	w.requests = append(w.requests, r.Method+" "+r.URL.Path)
	hold := w.hold
	w.mu.Unlock()
	if hold != nil {
		hold()
	}
	return w.Transport.RoundTrip(r)
}

// holdUp has hold called before each further request.
func (w *wire) holdUp(hold func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hold = hold
}

// want checks which requests there were.
func (w *wire) want(t *testing.T, requests ...string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(w.requests, requests) {
		t.Errorf("the requests are %q, want %q", w.requests, requests)
	}
}

// count is how many requests there were for an operation of the API.
func (w *wire) count(operation string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.requests {
		if strings.HasSuffix(r, "/"+operation) {
			n++
		}
	}
	return n
}

// newWire makes a wire that is cut when the test ends.
func newWire(t *testing.T) *wire {
	w := new(wire)
	t.Cleanup(w.CloseIdleConnections)
	return w
}

func (w *wire) client() *http.Client { return &http.Client{Transport: w} }

// A player is a session client of a test, and what it was told.
type player struct {
	*session.Client
	t     *testing.T
	wire  *wire
	close func() // returns when all events are heard

	mu    sync.Mutex
	heard []session.Event
}

// newPlayer makes a client, which is closed when the test ends.
func newPlayer(t *testing.T, w *wire, cfg session.Config) *player {
	t.Helper()
	p := &player{Client: session.New(cfg), t: t, wire: w}
	p.Subscribe(func(e session.Event) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.heard = append(p.heard, e)
	})
	p.close = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := p.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(p.close)
	return p
}

// events are those heard so far.
func (p *player) events() []session.Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.heard)
}

// heardOf waits for an event of a type.
func heardOf[E session.Event](p *player) (event E) {
	p.t.Helper()
	eventually(p.t, fmt.Sprintf("an event %T", event), func() bool {
		for _, e := range p.events() {
			if of, ok := e.(E); ok {
				event = of
				return true
			}
		}
		return false
	})
	return event
}

// count is how many events of a type were heard.
func count[E session.Event](p *player) (n int) {
	for _, e := range p.events() {
		if _, ok := e.(E); ok {
			n++
		}
	}
	return n
}

// complete makes a call without waiting and returns its one event.
func (p *player) complete(ctx context.Context, call func(context.Context) error) session.Complete {
	p.t.Helper()
	return p.wait(p.Async(ctx, call))
}

// wait waits for a call of Async and returns its one event.
func (p *player) wait(op *session.Op) (event session.Complete) {
	p.t.Helper()
	receive(p.t, "the end of a call", op.Done())
	eventually(p.t, "the event of a call", func() bool {
		for _, e := range p.events() {
			if done, ok := e.(session.Complete); ok && done.Op == op.ID() {
				event = done
				return true
			}
		}
		return false
	})
	return event
}

// completions are how the call with an id was completed.
func (p *player) completions(id session.OpID) (all []error) {
	for _, e := range p.events() {
		if done, ok := e.(session.Complete); ok && done.Op == id {
			all = append(all, done.Err)
		}
	}
	return all
}

// connector takes a player to arenas, and to the rooms of this package.
func connector(name string) session.Gamenet {
	return session.Gamenet{Config: handshake.Config{
		Config: gamenet.Config{
			MaxPacket:  protocol.MaxPacket,
			NewHandler: func(*gamenet.Session) gamenet.Handler { return spectator{} },
		},
		Version: protocol.Version, Data: protocol.Join{Name: name}.Append(nil),
	}}
}

// A spectator is in the game, and does not care.
type spectator struct{}

func (spectator) OnConnected(*gamenet.Session)              {}
func (spectator) OnPacket(*gamenet.Session, gamenet.Packet) {}
func (spectator) OnDisconnected(*gamenet.Session, error)    {}

// gatewayPlayer makes a client of the gateway.
func (w *world) gatewayPlayer(id string) *player {
	w.Helper()
	wire := newWire(w.T)
	p := newPlayer(w.T, wire, session.Config{
		Remote: gateway.New(gateway.Config{URL: w.Gateway, HTTPClient: wire.client()}), Connector: connector(id),
		PlayerID: id,
	})
	must(w.T, p.Configure(w.Context(), ""))
	return p
}

// apiPlayer makes a client of the API at a URL.
func (w *world) apiPlayer(url, id string) *player {
	w.Helper()
	p := w.stranger(url, id)
	must(w.T, p.Configure(w.Context(), w.Region))
	return p
}

// stranger is an apiPlayer before Configure.
func (w *world) stranger(url, id string) *player {
	w.Helper()
	wire := newWire(w.T)
	return newPlayer(w.T, wire, session.Config{
		Remote:    direct.New(direct.Config{Endpoint: url, Credentials: w.keys(), HTTPClient: wire.client()}),
		Connector: connector(id), PlayerID: id, PollInterval: 20 * time.Millisecond,
	})
}
