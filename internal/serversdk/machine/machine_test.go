package machine

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/jonboulle/clockwork"

	client "github.com/muster-gg/muster/internal/agent/machine"
	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/machines"
	"github.com/muster-gg/muster/internal/mustertest/catalogtest"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
	"github.com/muster-gg/muster/internal/serversdk"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const (
	patience = 30 * time.Second
	regionID = "us-west-2/01"
	location = "us-west-2"
)

var offer = protocol.Offer{MilliCPUs: 2000, MemoryMiB: 4096, IP: "192.0.2.7"}

// A world is an endpoint with the machines of one node.
type world struct {
	t        testing.TB
	store    *catalogtest.Store
	machines *machines.Machines
	endpoint *Endpoint
	server   *httptest.Server
	url      string // of the service
	tokens   int    // made so far
}

func newWorld(t testing.TB, metrics serversdk.Metrics) *world {
	t.Helper()
	clock, log := clockwork.NewRealClock(), slog.New(slog.DiscardHandler)
	w := &world{t: t, store: catalogtest.New(clock)}
	w.machines = machines.New(machines.Config{Catalog: w.store, RegionID: regionID, Clock: clock, Log: log})
	w.endpoint = New(Config{Machines: w.machines, Log: log, Metrics: metrics})
	w.server = httptest.NewServer(w.endpoint)
	w.url = "ws" + strings.TrimPrefix(w.server.URL, "http")
	t.Cleanup(func() {
		w.server.Close()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := w.endpoint.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return w
}

// token makes a join token.
func (w *world) token() string {
	w.t.Helper()
	w.tokens++
	token := fmt.Sprint("mjt_", w.tokens)
	err := w.store.Change(w.t.Context(), catalog.CreateMachineToken{Hash: machines.TokenHash(token), Location: location,
		Expires: event.At(time.Now().Add(time.Hour))})
	if err != nil {
		w.t.Fatal(err)
	}
	return token
}

// online returns how many machines are connected.
func (w *world) online() (n int) {
	for _, m := range w.machines.List(w.t.Context()) {
		if m.Status == machines.Online {
			n++
		}
	}
	return n
}

func (w *world) eventually(what string, ok func() bool) {
	w.t.Helper()
	limit, tick := time.NewTimer(patience), time.NewTicker(5*time.Millisecond)
	defer limit.Stop()
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit.C:
			w.t.Fatalf("never happened: %s", what)
		}
	}
}

// dial opens a socket, and receives the challenge.
func (w *world) dial() (*websocket.Conn, *protocol.Challenge) {
	w.t.Helper()
	conn, _, err := websocket.DefaultDialer.Dial(w.url+protocol.Path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.Close() })
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	return conn, receive[protocol.Challenge](w.t, conn)
}

func receive[M any](t testing.TB, conn *websocket.Conn) *M {
	t.Helper()
	_, data, err := conn.ReadMessage()
	if err != nil {
		t.Fatal(err)
	}
	message, err := protocol.DecodeFromService(data)
	m, ok := message.(*M)
	if err != nil || !ok {
		t.Fatalf("received %s, %v", data, err)
	}
	return m
}

func send(t testing.TB, conn *websocket.Conn, message any) {
	t.Helper()
	if err := conn.WriteMessage(websocket.TextMessage, protocol.Encode(message)); err != nil {
		t.Fatal(err)
	}
}

func key(n byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
}

func joinOf(c *protocol.Challenge, name string, with ed25519.PrivateKey, token string) *protocol.Join {
	return &protocol.Join{Name: name, PublicKey: with.Public().(ed25519.PublicKey), Token: token, Offer: offer,
		Signature: ed25519.Sign(with, protocol.SignedText(*c, name))}
}

func TestJoin(t *testing.T) {
	w := newWorld(t, serversdk.Metrics{})
	token := w.token()
	var last *protocol.Join
	for _, c := range []struct {
		name   string
		join   func(c *protocol.Challenge) any
		refuse string // the text of the refusal; "": accepted
		final  bool
	}{
		{"a wrong key", func(c *protocol.Challenge) any {
			j := joinOf(c, "box", key(1), token)
			j.PublicKey = key(2).Public().(ed25519.PublicKey)
			return j
		}, "the signature is not valid", true},
		{"a signature for another region", func(c *protocol.Challenge) any {
			return joinOf(&protocol.Challenge{Nonce: c.Nonce, Region: "other"}, "box", key(1), token)
		}, "the signature is not valid", true},
		{"no token", func(c *protocol.Challenge) any { return joinOf(c, "box", key(1), "") },
			"Start it with a join token", true},
		{"a report first", func(*protocol.Challenge) any { return &protocol.Observed{Offer: offer} },
			"the first message must be a join", true},
		{"a join", func(c *protocol.Challenge) any {
			last = joinOf(c, "box", key(1), token)
			return last
		}, "", false},
		{"a replay", func(*protocol.Challenge) any { return last }, "the signature is not valid", true},
		{"again, without a token", func(c *protocol.Challenge) any { return joinOf(c, "box", key(1), "") }, "", false},
		{"a used token", func(c *protocol.Challenge) any { return joinOf(c, "other", key(2), token) },
			"The join token is not valid", true},
		{"another key", func(c *protocol.Challenge) any { return joinOf(c, "box", key(2), token) },
			"has joined with another key", true},
		{"no offer", func(c *protocol.Challenge) any {
			j := joinOf(c, "box", key(1), "")
			j.Offer.MilliCPUs = 0
			return j
		}, "cpus must be", true},
	} {
		conn, challenge := w.dial()
		send(t, conn, c.join(challenge))
		if c.refuse == "" {
			if got := receive[protocol.Wanted](t, conn); got.Generation != 1 || got.Instances == nil || got.Drain {
				t.Errorf("%s: %+v", c.name, got)
			}
			continue
		}
		got := receive[protocol.Refused](t, conn)
		if !strings.Contains(got.Message, c.refuse) || got.Final != c.final {
			t.Errorf("%s: refused with %+v, want %q", c.name, got, c.refuse)
		}
		if _, _, err := conn.ReadMessage(); err == nil {
			t.Errorf("%s: the socket stays open", c.name)
		}
	}
}

// TestReplaced: the newest connection of a machine counts.
func TestReplaced(t *testing.T) {
	w := newWorld(t, serversdk.Metrics{})
	first, challenge := w.dial()
	send(t, first, joinOf(challenge, "box", key(1), w.token()))
	receive[protocol.Wanted](t, first)
	second, challenge := w.dial()
	send(t, second, joinOf(challenge, "box", key(1), ""))
	receive[protocol.Wanted](t, second)
	if got := receive[protocol.Refused](t, first); got.Final {
		t.Errorf("the first connection ends with %+v", got)
	}
	send(t, second, &protocol.Observed{Generation: 1, Offer: offer, Load: new(0.5)})
	w.eventually("the report of the second", func() bool {
		list := w.machines.List(t.Context())
		return list[0].Status == machines.Online && list[0].Load != nil && list[0].Generation == 1
	})
	second.Close()
	w.eventually("the end of the second", func() bool {
		return w.machines.List(t.Context())[0].Status == machines.Reconnecting
	})
}

// TestReports: an offer that has changed is stored, though not at once, a deleted machine is refused, and what is not
// understood ends the socket or is ignored.
func TestReports(t *testing.T) {
	w := newWorld(t, serversdk.Metrics{})
	conn, challenge := w.dial()
	send(t, conn, joinOf(challenge, "box", key(1), w.token()))
	receive[protocol.Wanted](t, conn)
	if err := conn.WriteMessage(websocket.TextMessage, []byte(`{"type":"greeting"}`)); err != nil {
		t.Fatal(err)
	}
	larger := offer
	larger.MilliCPUs = 4000
	send(t, conn, &protocol.Observed{Offer: larger})
	if err := w.store.Change(t.Context(), catalog.DrainMachine{Name: "box", Drained: true}); err != nil {
		t.Fatal(err)
	}
	send(t, conn, &protocol.Observed{Generation: 1, Offer: offer})
	if got := receive[protocol.Wanted](t, conn); got.Generation != 2 || !got.Drain {
		t.Errorf("after a drain: %+v", got)
	}
	if m, _ := w.store.Catalog().Machine("box"); m.Offer.MilliCPUs != 2000 {
		t.Errorf("an offer was stored within the pause: %+v", m.Offer)
	}
	if err := w.store.Change(t.Context(), catalog.DeleteMachine{Name: "box"}); err != nil {
		t.Fatal(err)
	}
	send(t, conn, &protocol.Observed{Generation: 2, Offer: offer})
	if got := receive[protocol.Refused](t, conn); !got.Final || !strings.Contains(got.Message, "was deleted") {
		t.Errorf("after the deletion: %+v", got)
	}

	for name, data := range map[string]string{
		"binary":    string(protocol.Encode(&protocol.Observed{Offer: offer})),
		"no JSON":   "{",
		"too long":  `{"type":"observed","offer":{"os":"` + strings.Repeat("x", protocol.MaxFromMachine) + `"}}`,
		"a join":    string(protocol.Encode(joinOf(challenge, "box", key(1), ""))),
		"negative":  `{"type":"observed","load":-1}`,
		"not words": "\xff\xfe",
	} {
		conn, challenge := w.dial()
		send(t, conn, joinOf(challenge, "box-2", key(2), w.token()))
		receive[protocol.Wanted](t, conn)
		kind := websocket.TextMessage
		if name == "binary" {
			kind = websocket.BinaryMessage
		}
		if err := conn.WriteMessage(kind, []byte(data)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := conn.ReadMessage(); err == nil { // the refusal
			_, _, err = conn.ReadMessage()
			if err == nil {
				t.Errorf("%s: the socket stays open", name)
			}
		}
	}
}

// TestHandshake: what is no handshake is refused, and so are too many that do not answer.
func TestHandshake(t *testing.T) {
	refused := make(chan int, 4)
	w := newWorld(t, serversdk.Metrics{Refused: func(status int) { refused <- status }})
	answer, err := http.Get(w.server.URL + protocol.Path)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != 400 || <-refused != 400 {
		t.Errorf("a plain GET: %s", answer.Status)
	}
	w.endpoint.joining.Store(maxJoining)
	_, answer, err = websocket.DefaultDialer.Dial(w.url+protocol.Path, nil)
	if err == nil || answer.StatusCode != 503 || answer.Header.Get("Retry-After") == "" || <-refused != 503 {
		t.Errorf("one too many: %v", err)
	}
	w.endpoint.joining.Store(0)
	conn, _ := w.dial()
	if n := w.endpoint.joining.Load(); n != 1 {
		t.Errorf("%d sockets join", n)
	}
	conn.Close()
	w.eventually("the end of the socket", func() bool { return w.endpoint.joining.Load() == 0 })
}

func TestMatches(t *testing.T) {
	for url, want := range map[string]bool{
		"/agent/machine": true, "/agent/machine/": true, "/base/agent/machine?x=1": true,
		"/agent": false, "/": false, "/agent/machines": false, "/base/agent/machine?pID=p": false,
	} {
		if got := Matches(httptest.NewRequest(http.MethodGet, url, nil)); got != want {
			t.Errorf("%s: %v", url, got)
		}
	}
	if Matches(httptest.NewRequest(http.MethodPost, "/agent/machine", nil)) {
		t.Error("a POST matches")
	}
}

// TestManyMachines connects machines, and again after all their sockets were closed at once.
func TestManyMachines(t *testing.T) {
	const many = 100
	w := newWorld(t, serversdk.Metrics{})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	for i := range many {
		token := w.token()
		m, err := client.Open(client.Config{Service: w.url, Name: fmt.Sprint("box-", i), Data: t.TempDir(),
			Offer: offer, Token: func() (string, error) { return token, nil }, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			if err := m.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	w.eventually("all machines join", func() bool { return w.online() == many })
	if n := len(w.store.Catalog().MachineTokens()); n != 0 {
		t.Errorf("%d tokens are left", n)
	}
	w.endpoint.CloseSockets()
	w.eventually("all sockets are closed", func() bool { return w.online() < many/2 })
	w.eventually("all machines return", func() bool { return w.online() == many && w.endpoint.sockets.Len() == many })
}
