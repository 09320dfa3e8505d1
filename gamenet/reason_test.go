package gamenet

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// bye returns the packet that carries a reason.
func bye(r Reason) Packet { return Packet{idBye, r.append(nil, maxReason)} }

// TestReason: both sides receive why a session ended, and a long text is truncated.
func TestReason(t *testing.T) {
	for _, c := range []struct {
		reason      Reason
		text        string // received
		here, there string // the texts of the causes
	}{
		{Reason{}, "", "gamenet: disconnected", "gamenet: ended by the other side"},
		{Reason{7, "kicked", false}, "kicked", `gamenet: disconnected: "kicked" (code 7)`,
			`gamenet: ended by the other side: "kicked" (code 7)`},
		{Reason{0xFEFF, "", true}, "", "gamenet: disconnected (code 65279)",
			"gamenet: ended by the other side (code 65279)"},
		{Reason{1, strings.Repeat("ä", 200), true}, strings.Repeat("ä", 128), "", ""},
		{Reason{1, "x" + strings.Repeat("ä", 200), true}, "x" + strings.Repeat("ä", 127), "", ""},
	} {
		t.Run(fmt.Sprint(c.reason.Code, len(c.reason.Text)), func(t *testing.T) {
			here, there := newDiary(), newDiary()
			server := startServer(t, ServerConfig{Config: Config{NewHandler: always(here)}})
			startClient(t, server, ClientConfig{Config: Config{NewHandler: always(there)}})
			session := await(t, "the session", here.onOpen)
			await(t, "the client's", there.onOpen)
			session.Disconnect(c.reason)
			ours, theirs := await(t, "the end here", here.onClose), await(t, "the end there", there.onClose)
			wantCause(t, ours, ErrDisconnected)
			wantCause(t, theirs, ErrPeerClosed)
			want := c.reason
			want.Text = c.text
			if e, ok := errors.AsType[*PeerError](theirs); !ok || e.Reason != want {
				t.Errorf("the client received %v", theirs)
			}
			if c.here != "" && (ours.Error() != c.here || theirs.Error() != c.there) {
				t.Errorf("the causes are %q and %q", ours, theirs)
			}
		})
	}
}

// TestReasonWithSmallPackets: a reason is truncated to what a packet holds.
func TestReasonWithSmallPackets(t *testing.T) {
	here, seen := newDiary(), newDiary()
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(here), MaxPacket: 12}})
	startClient(t, server, ClientConfig{Config: Config{NewHandler: always(seen)}})
	await(t, "the session", here.onOpen)
	await(t, "the client's", seen.onOpen)
	closeWithin(t, server)
	cause := await(t, "the end", seen.onClose)
	if e, ok := errors.AsType[*PeerError](cause); !ok || e.Reason != (Reason{CodeClosing, "the s", true}) {
		t.Errorf("the client received %v", cause)
	}
}

// TestReconnectByReason: a client connects again when the server has closed for a restart, and not when its player was
// kicked.
func TestReconnectByReason(t *testing.T) {
	backoff := &Backoff{Initial: time.Millisecond, Max: 10 * time.Millisecond}
	here, seen := newDiary(), newDiary()
	first := startServer(t, ServerConfig{Config: Config{NewHandler: always(here)}})
	client := startClient(t, first, ClientConfig{Config: Config{NewHandler: always(seen)}, Reconnect: backoff})
	await(t, "a connection", seen.onOpen)
	await(t, "the session of it", here.onOpen)
	closeWithin(t, first)
	if e, ok := errors.AsType[*PeerError](await(t, "the end", seen.onClose)); !ok || e.Code != CodeClosing {
		t.Errorf("the client received %v", e)
	}
	joined := make(chan *Session, 1)
	startServer(t, ServerConfig{Config: Config{Address: first.Addr().String(),
		NewHandler: always(&script{connected: func(s *Session) { joined <- s }})}})
	await(t, "the next connection", seen.onOpen)
	kicked := await(t, "the session", joined)
	dials := client.lastID.Load()
	kicked.Disconnect(Reason{Code: 7, Text: "kicked"})
	if e, ok := errors.AsType[*PeerError](await(t, "the end", seen.onClose)); !ok || e.Code != 7 {
		t.Errorf("the client received %v", e)
	}
	eventually(t, "the end of the only goroutine but the watch", func() bool { return client.Count() == 0 })
	closeWithin(t, client)
	if n := client.lastID.Load(); n != dials {
		t.Errorf("%d sessions after the kick", n-dials)
	}
}

func FuzzReason(f *testing.F) {
	for _, payload := range []string{"", "\x07", "\x07\x00", "\x07\x00\x01", "\x07\x00\xffkicked", "\x00\x00\x00\xc3",
		"\x00\xff\x01" + strings.Repeat("ä", 300)} {
		f.Add([]byte(payload))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		r := readReason(payload)
		if len(r.Text) > maxReason || !utf8.ValidString(r.Text) || len(payload) < reasonHead && r != (Reason{}) {
			t.Errorf("%q is %+v", payload, r)
		}
		if again := readReason(r.append(nil, maxReason)); again != r {
			t.Errorf("%+v became %+v", r, again)
		}
	})
}
