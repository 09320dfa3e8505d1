package bench

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
)

func TestAppendRequest(t *testing.T) {
	for _, test := range []struct {
		number  uint64
		message string
		want    string
	}{
		{1, "ProcessReady",
			`451-1["com.amazon.whitewater.auxproxy.pbuffer.ProcessReady",{"_placeholder":true,"num":0}]`},
		{12345, "AcceptPlayerSession",
			`451-12345["com.amazon.whitewater.auxproxy.pbuffer.AcceptPlayerSession",{"_placeholder":true,"num":0}]`},
	} {
		if got := string(appendRequest(nil, test.number, test.message)); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

func TestEscapedMember(t *testing.T) {
	// The second argument is JSON in a JSON string.
	args := func(text string) string { return `["StartGameSession",` + strconv.Quote(text) + `]` }
	for text, want := range map[string]string{
		args(`{"gameSession":{"gameSessionId":"arn:1","fleetId":"f"}}`):      "arn:1",
		args(`{"gameSession": {"fleetId": "f", "gameSessionId": "arn:1" }}`): "arn:1",
		args(`{"gameSession":{"gameSessionId":""}}`):                         "",
		args(`{"gameSession":{"gameSessionId":7}}`):                          "",
		args(`{"gameSession":{}}`):                                           "",
		`["StartGameSession","{\"gameSessionId\":\"arn:1`:                    "",
		`["StartGameSession"]`:                                               "",
		``:                                                                   "",
	} {
		if got := escapedMember([]byte(text), "gameSessionId"); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// A legacyScript is the service's part in a conversation by socket.io.
type legacyScript struct {
	script
	last string // id of the last request
}

// next receives a request and checks its attachment.
func (s *legacyScript) next(message, attachment string) {
	s.t.Helper()
	want := `["` + messagePrefix + message + `",{"_placeholder":true,"num":0}]`
	kind, text, err := s.ws.ReadMessage()
	id, ok := strings.CutSuffix(strings.TrimPrefix(string(text), "451-"), want)
	if err != nil || kind != websocket.TextMessage || !ok {
		s.t.Errorf("%s: %s, %v", message, text, err)
		return
	}
	s.last = id
	kind, data, err := s.ws.ReadMessage()
	if got := hex.EncodeToString(data); err != nil || kind != websocket.BinaryMessage || got != attachment {
		s.t.Errorf("%s: attachment %s, want %s, %v", message, got, attachment, err)
	}
}

// text receives a text frame.
func (s *legacyScript) text(want string) {
	s.t.Helper()
	if kind, text, err := s.ws.ReadMessage(); err != nil || kind != websocket.TextMessage || string(text) != want {
		s.t.Errorf("got %s, want %s, %v", text, want, err)
	}
}

func (s *legacyScript) grant() { s.say(`43%s[true,""]`, s.last) }

// converseLegacy starts a process with a service that plays its part.
func converseLegacy(t *testing.T, part func(*legacyScript)) (*legacyProcess, error) {
	t.Helper()
	service, wait := newService(t, httptest.NewServer, func(ws *websocket.Conn) {
		part(&legacyScript{script: script{t, ws}})
	})
	socket, err := dialService(t, service, url.Values{"pID": {"1"}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := newLegacyProcess(t.Context(), socket)
	t.Cleanup(func() {
		if err == nil {
			p.disconnect()
		}
		wait()
	})
	return p, err
}

func TestLegacyProcessLife(t *testing.T) {
	pushed := make(chan struct{})
	p, err := converseLegacy(t, func(s *legacyScript) {
		s.say(`0{"sid":"a1","upgrades":[],"pingInterval":25000,"pingTimeout":60000}`)
		s.say("40")
		s.next("ProcessReady", "0410e13c")
		s.grant()
		s.next("ReportHealth", "040801") // its acknowledgement is not awaited
		push := `["StartGameSession","{\"gameSession\":{\"gameSessionId\":\"arn:1\",\"fleetId\":\"fleet-123\"}}"]`
		for id := range 2 { // after a reconnect the service may repeat it
			s.say("42%d%s", id, push)
			s.text(fmt.Sprintf("43%d[true]", id))
		}
		s.say(`422["UpdateGameSession","{\"gameSession\":{\"gameSessionId\":\"arn:2\"}}"]`)
		s.text("432[true]")
		s.say(`42["TerminateProcess","{\"terminationTime\":1}"]`)
		for _, ignored := range []string{"3", "4", "", "6", "43", `4399[true,""]`, `430[true,""]`} {
			s.say("%s", ignored)
		}
		close(pushed)
		s.next("GameSessionActivate", "040a0561726e3a31")
		s.grant()
		for _, status := range []string{"ERROR_400", "ERROR_500"} {
			s.next("AcceptPlayerSession", "040a0561726e3a31120870736573732d6232")
			s.say(`43%s[false,"{\"status\":\"%s\",\"responseData\":\"\",\"errorMessage\":\"taken\"}"]`, s.last, status)
		}
		s.next("ProcessEnding", "04")
		s.grant()
		s.text("41")
	})
	if err != nil {
		t.Fatal(err)
	}
	begun := make(chan string, 2)
	if err := p.ready(t.Context(), func(id string) { begun <- id }); err != nil {
		t.Fatal(err)
	}
	if id := <-begun; id != "arn:1" {
		t.Errorf("game session %q", id)
	}
	<-pushed // so that requests come after the acknowledgements
	if err := p.activate(t.Context()); err != nil {
		t.Error(err)
	}
	var refused []string
	for range 2 {
		err := p.accept(t.Context(), "psess-b2")
		if r, ok := errors.AsType[*refusal](err); !ok || r.message != "taken" {
			t.Errorf("accepted: %v", err)
			continue
		}
		refused = append(refused, nameOf(err))
	}
	if want := []string{"AcceptPlayerSession 400", "AcceptPlayerSession 500"}; !slices.Equal(refused, want) {
		t.Errorf("refused %q, want %q", refused, want)
	}
	if err := p.end(t.Context()); err != nil {
		t.Error(err)
	}
	if len(begun) != 0 {
		t.Error("a game session was started twice")
	}
	if err := p.accept(context.Background(), "late"); err == nil {
		t.Error("a process that has ended sends a request")
	}
}

func TestLegacyProcessIsNotConnected(t *testing.T) {
	_, err := converseLegacy(t, func(s *legacyScript) { s.say(`0{"sid":"a1"}`) })
	if err == nil || nameOf(err) != "connection lost" {
		t.Errorf("connected: %v", err)
	}
}
