package legacy

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/processes"
)

// TestOddFrames reads frames that the SDKs do not send, but other clients may.
func TestOddFrames(t *testing.T) {
	for _, tt := range []struct {
		text string
		want frame
		bad  bool
	}{
		{"2\r\n", frame{kind: pingFrame, data: []byte("\r\n")}, false},
		{"40{\"token\":1}", frame{kind: connectFrame}, false},
		{"41/,", frame{kind: leaveFrame}, false},
		{"5", frame{}, false},
		{"44{\"message\":\"x\"}", frame{}, false},
		{"451-/,\r\n[ \"a\" , {} ]\r\n", frame{kind: requestFrame, id: -1, event: "a", attached: true}, false},
		{"451-0[\n\t\"a\\u0041\"\n]", frame{kind: requestFrame, event: "aA", attached: true}, false},
		{`42["a",{"_placeholder":true,"num":0}]`, frame{kind: requestFrame, id: -1, event: "a"}, false},
		{`42999999999999999["a"]`, frame{kind: requestFrame, id: 999999999999999, event: "a"}, false},
		{`43/,7[true]`, frame{kind: ackFrame, id: 7, accepted: true}, false},
		{"430[\r\n  true\r\n]", frame{kind: ackFrame, accepted: true}, false},
		{`430[ false , "x" ]`, frame{kind: ackFrame}, false},
		{`430[null]`, frame{kind: ackFrame}, false},
		{`43[true]`, frame{kind: ackFrame, id: -1, accepted: true}, false},
		{text: "430", bad: true}, {text: "430true", bad: true}, {text: `430{"0":true}`, bad: true},
		{text: "430[true", bad: true}, {text: "430[true]x", bad: true}, {text: "461-0[]", bad: true},
		{text: "450-0[]", bad: true}, {text: `451-0[{"_placeholder":true}]`, bad: true}, {text: "451-", bad: true},
		{text: "45", bad: true}, {text: `451-/0["a"]`, bad: true}, {text: `451-/a["a"]`, bad: true},
		{text: `421["a"]["b"]`, bad: true}, {text: "42-1[\"a\"]", bad: true}, {text: "\x04", bad: true},
		{text: "42[[\"a\"]]", bad: true}, {text: "42" + strings.Repeat("[", 20000), bad: true},
	} {
		got, err := parseFrame([]byte(tt.text))
		if (err != nil) != tt.bad {
			t.Errorf("%.50q: got %+v, %v", tt.text, got, err)
			continue
		}
		want := tt.want
		if !tt.bad && (got.kind != want.kind || got.id != want.id || got.event != want.event ||
			got.attached != want.attached || got.accepted != want.accepted || string(got.data) != string(want.data)) {
			t.Errorf("%.50q: got %+v, want %+v", tt.text, got, want)
		}
	}
}

// FuzzSession passes frames to a socket, the text frames divided by zero bytes, each with the same attachment. Every
// request is answered once.
func FuzzSession(f *testing.F) {
	const event = `451-1["` + messagePrefix
	f.Add("40\x00"+event+`ProcessReady",{"_placeholder":true,"num":0}]`, varint(nil, 2, 7777))
	f.Add(event+"ReportHealth\"]\x002\x00430[true]\x0041", []byte{4, 8, 1})
	f.Add(event+"ProcessEnding\"]\x00"+event+"ProcessReady\"]\x00430[]", []byte{})
	f.Add(event+"BackfillMatchmakingRequest\"]", within(nil, 4, within(text(nil, 1, "ada"), 2, text(nil, 1, "elo"))))
	f.Add("42[\"DescribePlayerSessionsRequest\"]\x004x", varint(nil, 6, 10))
	f.Fuzz(func(t *testing.T, texts string, data []byte) {

		calls := make(chan string)
		ended := make(chan struct{})
		servers := &control{calls: calls}
		go func() {
			defer close(ended)
			for range calls { //nolint:revive // they do not matter
			}
		}()
		e := New(Config{Servers: servers, Clock: clockwork.NewFakeClock(), Log: slog.New(slog.DiscardHandler)})
		s := e.join(serverKey{address: "127.0.0.1", pid: "1"}, about{protocol: socketIO})
		if err := s.connect(context.Background(), false); err != nil {
			t.Fatal(err)
		}
		k := &socket{endpoint: e, server: s}
		k.out.Init(&e.sockets.Writers, k.slow)
		s.open(k)
		s.push(game("g"))
		s.push(processes.TerminateProcessPush{})
		var asked, answered atomic.Int64
		for frame := range strings.SplitSeq(texts, "\x00") {
			f, err := parseFrame([]byte(frame))
			if err == nil && f.attached { // the attachment would be read from the network
				asked.Add(1)
				k.of().handle(f.event, attachment(data), k, func(string, error) { answered.Add(1) })
				continue
			}
			if got := k.receive(websocket.TextMessage, []byte(frame)); (got != nil) != (err != nil) {
				t.Errorf("%q: receive returns %v, parseFrame %v", frame, got, err)
			}
		}
		if k.receive(websocket.BinaryMessage, data) == nil {
			t.Error("a binary frame without a request is accepted")
		}
		e.sockets.Running.Wait()
		k.left()
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
		close(calls)
		<-ended
		if asked.Load() != answered.Load() {
			t.Errorf("%d requests were answered %d times", asked.Load(), answered.Load())
		}
	})
}
