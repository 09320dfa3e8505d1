package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"
)

// newService is a service of which only the sockets work. wait waits until they
// are closed.
func newService(t *testing.T, over func(http.Handler) *httptest.Server, serve func(*websocket.Conn)) (
	s *httptest.Server, wait func(),
) {
	t.Helper()
	var serving sync.WaitGroup
	s = over(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("pID") == "" || r.URL.Path != "/sdk" {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"Action":"$connect","StatusCode":403,"ErrorMessage":"AccessDenied: go away"}`)
			return
		}
		ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			t.Errorf("the handshake is not that of a WebSocket: %v", err)
			return
		}
		serving.Go(func() {
			defer func() { _ = ws.Close() }()
			serve(ws)
		})
	}))
	t.Cleanup(s.Close)
	return s, serving.Wait
}

// dialService connects to it.
func dialService(t *testing.T, s *httptest.Server, query url.Values) (*gameSocket, error) {
	t.Helper()
	trust := s.Client().Transport.(*http.Transport).TLSClientConfig
	at, path, err := parseSocketURL("ws"+strings.TrimPrefix(s.URL, "http")+"/sdk", trust)
	if err != nil {
		t.Fatal(err)
	}
	return dialSocket(t.Context(), at, path, query)
}

var someone = url.Values{"pID": {"p&1"}}

func TestSocketTalks(t *testing.T) {
	for name, over := range map[string]func(http.Handler) *httptest.Server{
		"plain": httptest.NewServer, "TLS": httptest.NewTLSServer,
	} {
		t.Run(name, func(t *testing.T) {
			pong := ""
			service, wait := newService(t, over, func(ws *websocket.Conn) {
				ws.SetPongHandler(func(data string) error {
					pong = data
					return nil
				})
				for {
					kind, data, err := ws.ReadMessage()
					if err != nil {
						return
					}
					ping := ws.WriteMessage(websocket.PingMessage, []byte("well?"))
					if err := errors.Join(ping, ws.WriteMessage(kind, data)); err != nil {
						t.Error(err)
					}
				}
			})
			s, err := dialService(t, service, someone)
			if err != nil {
				t.Fatal(err)
			}
			defer s.close()
			sizes := []int{0, 1, 7, 8, 125, 126, socketBuffer, socketBuffer + 1, 1 << 16, 1<<16 + 3}
			message := func(size int) []byte { return bytes.Repeat([]byte("abcdefg"), size/7+1)[:size] }
			if err := s.write(opText, message(sizes[0])); err != nil {
				t.Fatal(err)
			}
			received := 0
			err = s.read(func(got []byte) {
				if !bytes.Equal(got, message(sizes[received])) {
					t.Errorf("a message of %d bytes came back as one of %d", sizes[received], len(got))
				}
				if received++; received == len(sizes) {
					s.close()
				} else if err := s.write(opText, message(sizes[received])); err != nil {
					t.Error(err)
				}
			})
			if !errors.Is(err, net.ErrClosed) || received != len(sizes) {
				t.Errorf("%d messages, then %v", received, err)
			}
			wait()
			if pong != "well?" {
				t.Errorf("pong %q", pong)
			}
		})
	}
}

func TestSocketIsRefused(t *testing.T) {
	service, _ := newService(t, httptest.NewServer, func(*websocket.Conn) {})
	_, err := dialService(t, service, url.Values{"pID": {""}})
	r, refused := errors.AsType[*refusal](err)
	if !refused || r.status != http.StatusForbidden || r.message != "AccessDenied: go away" {
		t.Errorf("refused: %v", err)
	}
	if name := nameOf(err); name != "connecting 403" {
		t.Errorf("counted as %q", name)
	}
}

func TestSocketURLs(t *testing.T) {
	for _, raw := range []string{"", "http://h", "ws://", "ws//h"} {
		if _, _, err := parseSocketURL(raw, nil); err == nil {
			t.Errorf("%q is taken", raw)
		}
	}
	at, path, err := parseSocketURL("wss://h/a%20b?x=y", nil)
	if err != nil || at.address != "h:443" || at.tls == nil || path != "/a%20b" {
		t.Errorf("%+v %s %v", at, path, err)
	}
	if at, path, err = parseSocketURL("ws://h:80", nil); err != nil || at.address != "h:80" || at.tls != nil ||
		path != "/" {
		t.Errorf("%+v %s %v", at, path, err)
	}
}

// What comes from the service is bounded, whatever it is.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("\x81\x02hi\x89\x00\x8a\x00\x88\x00"))
	f.Add([]byte("\x01\x02hi"))
	f.Add([]byte("\x81\x82hi"))
	f.Add([]byte("\x81\x7e\x00\x01x\x81\x7f\x00\x00\x00\x00\x00\x00\x00\x01x"))
	f.Add([]byte("\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		near, far := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, far) }()
		defer func() { _ = errors.Join(near.Close(), far.Close()) }()
		s := &gameSocket{conn: near, in: bufio.NewReaderSize(bytes.NewReader(data), 16)}
		total := 0
		if err := s.read(func(message []byte) { total += len(message) }); err == nil || total > len(data) {
			t.Errorf("%d of %d bytes, then %v", total, len(data), err)
		}
	})
}

// A script is the service's part in a conversation.
type script struct {
	t  *testing.T
	ws *websocket.Conn
}

type sent struct {
	Action, RequestId, GameSessionId, PlayerSessionId string
	HealthStatus                                      bool
}

func (s script) next(action string) sent {
	var m sent
	_, data, err := s.ws.ReadMessage()
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil || m.Action != action || len(m.RequestId) != idSize {
		s.t.Errorf("%s: %+v, %v", action, m, err)
	}
	return m
}

func (s script) say(format string, args ...any) {
	if err := s.ws.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, format, args...)); err != nil {
		s.t.Error(err)
	}
}

func (s script) grant(m sent) {
	s.say(`{ "StatusCode" : 200, "RequestId" : %q, "Action" : %q }`, m.RequestId, m.Action)
}

// converse starts a process with a service that plays its part.
func converse(t *testing.T, part func(script)) *process {
	t.Helper()
	service, _ := newService(t, httptest.NewServer, func(ws *websocket.Conn) { part(script{t, ws}) })
	socket, err := dialService(t, service, someone)
	if err != nil {
		t.Fatal(err)
	}
	p := newProcess(socket)
	t.Cleanup(func() {
		p.fail(errEnded)
		<-p.gone
	})
	return p
}

func TestProcessLife(t *testing.T) {
	p := converse(t, func(s script) {
		s.grant(s.next("ActivateServerProcess"))
		if !s.next("HeartbeatServerProcess").HealthStatus { // its reply is not waited for
			t.Error("not healthy")
		}
		for range 2 { // the service says it again until it is answered
			s.say(`{"Action":"CreateGameSession","GameSessionId":"arn:1","MaximumPlayerSessionCount":200}`)
		}
		s.say(`{"Action":"RefreshConnection"}`)
		s.say(`{"RequestId":"of somebody else","StatusCode":200}`)
		if m := s.next("ActivateGameSession"); m.GameSessionId != "arn:1" {
			t.Errorf("%+v", m)
		} else {
			s.grant(m)
		}
		var guests []sent
		for range 3 {
			guests = append(guests, s.next("AcceptPlayerSession"))
		}
		slices.Reverse(guests) // replies may come in any order
		for _, m := range guests {
			if m.PlayerSessionId == "psess-1" {
				s.say(`{"Action":%q,"RequestId":%q,"StatusCode":409,"ErrorMessage":"taken"}`, m.Action, m.RequestId)
				continue
			}
			s.grant(m)
		}
		s.grant(s.next("TerminateServerProcess"))
	})
	begun := make(chan string, 2)
	if err := p.ready(t.Context(), func(id string) { begun <- id }); err != nil {
		t.Fatal(err)
	}
	if id := <-begun; id != "arn:1" {
		t.Errorf("game session %q", id)
	}
	if err := p.ask(t.Context(), activateGameSession, p.inSession); err != nil {
		t.Error(err)
	}
	results := make(chan error)
	for i := range 3 {
		go func() { results <- p.accept(t.Context(), fmt.Sprint("psess-", i)) }()
	}
	var refused []string
	for range 3 {
		if err := <-results; err != nil {
			refused = append(refused, nameOf(err))
		}
	}
	if !slices.Equal(refused, []string{"AcceptPlayerSession 409"}) {
		t.Errorf("refused: %q", refused)
	}
	if err := p.end(t.Context()); err != nil {
		t.Error(err)
	}
	if len(begun) != 0 {
		t.Error("the game session was started twice")
	}
	if err := p.accept(t.Context(), "late"); err == nil {
		t.Error("a process that has ended asks")
	}
}

func TestProcessLosesItsSocket(t *testing.T) {
	p := converse(t, func(s script) { s.next("AcceptPlayerSession") })
	if err := p.accept(t.Context(), "psess-1"); err == nil || nameOf(err) != "connection lost" {
		t.Errorf("while it waited: %v", err)
	}
	if err := p.accept(t.Context(), "psess-2"); err == nil || nameOf(err) != "connection lost" {
		t.Errorf("afterwards: %v", err)
	}
}

func TestRequestIsGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := converse(t, func(s script) {
		m := s.next("AcceptPlayerSession")
		cancel()
		s.grant(m) // nobody waits for it any more
		s.grant(s.next("TerminateServerProcess"))
	})
	if err := p.accept(ctx, "psess-1"); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := p.end(t.Context()); err != nil {
		t.Error(err)
	}
}
