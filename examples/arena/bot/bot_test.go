package bot

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/examples/arena/protocol"
	"github.com/muster-gg/muster/gamenet"
	"github.com/muster-gg/muster/gamenet/handshake"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const patience = 20 * time.Second

// A script is a server that lets everybody in and then sends some packets; nil is
// the end.
type script []protocol.Message

func (script) OnPacket(*gamenet.Session, gamenet.Packet) {}
func (script) OnDisconnected(*gamenet.Session, error)    {}
func (messages script) OnConnected(s *gamenet.Session) {
	for _, m := range messages {
		if m == nil {
			s.Disconnect(gamenet.Reason{Text: "that is all"})
			return
		}
		_ = s.Send(gamenet.Packet{ID: m.ID(), Payload: m.Append(nil)})
	}
}

// seven welcomes player 7.
var seven = protocol.Welcome{Number: 7, TickRate: 30}

// play7 runs a script for player 7 until the end of the test.
func play7(t *testing.T, messages ...protocol.Message) (address string) {
	t.Helper()
	return serve(t, func(context.Context) (handshake.Admission, error) {
		return handshake.Admission{Handler: script(messages), Data: seven.Append(nil)}, nil
	})
}

// serve runs a server that answers everybody alike, until the end of the test.
func serve(t *testing.T, answer func(context.Context) (handshake.Admission, error)) (address string) {
	t.Helper()
	entry, err := handshake.NewServer(handshake.ServerConfig{
		Version: protocol.Version, Unticketed: true,
		Admit: func(ctx context.Context, _ *gamenet.Session, _ handshake.Hello) (handshake.Admission, error) {
			return answer(ctx)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	server, err := gamenet.NewServer(gamenet.ServerConfig{Config: gamenet.Config{Address: "127.0.0.1:0",
		NewHandler: entry.NewHandler}})
	if err == nil {
		err = server.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		entry.StopAdmitting()
		if err := server.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return server.Addr().String()
}

func TestWorld(t *testing.T) {
	address := play7(t,
		protocol.State{Tick: 8, Places: []protocol.Place{{Number: 2, X: 1, Y: 1}}}, // before Joined: not there yet
		protocol.Joined{Number: 2, Name: "bob"},
		protocol.State{Tick: 10, Places: []protocol.Place{{Number: 2, X: 5, Y: 5}}},
		protocol.State{Tick: 10, Places: []protocol.Place{{Number: 3, X: 5, Y: 5}}}, // the other part; nobody is 3
		protocol.State{Tick: 9, Places: []protocol.Place{{Number: 2, X: 4, Y: 4}}},  // overtaken
		protocol.Said{Number: 2, Text: "hi"},
		protocol.Joined{Number: 4},
		protocol.Left{Number: 4},
		protocol.State{Tick: 11, Places: []protocol.Place{{Number: 4}}}, // left already
		protocol.Notice{Text: "closing time"},
	)
	var mu sync.Mutex
	observed := 0
	b, err := Join(t.Context(), Config{Server: address, Name: "ada", Observe: func(protocol.Message) {
		mu.Lock()
		defer mu.Unlock()
		observed++
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := b.Until(ctx, func(w World) bool { return len(w.Notices) == 1 }); err != nil {
		t.Fatal(err)
	}
	w := b.World()
	bob := w.Players[2]
	if b.Number() != 7 || w.Tick != 11 || w.Ticks != 3 || len(w.Players) != 1 || len(w.Said) != 1 ||
		w.Notices[0] != "closing time" ||
		bob.Name != "bob" || bob.Tick != 10 || bob.Place != (protocol.Place{Number: 2, X: 5, Y: 5}) || bob.Moved {
		t.Errorf("number %d, world %+v", b.Number(), w)
	}
	if err := errors.Join(b.Leave(), b.Leave()); err != nil {
		t.Error(err)
	}
	if b.Err() == nil || observed != 10 {
		t.Errorf("after the end: %v, %d messages observed", b.Err(), observed)
	}
	if err := b.Run(t.Context()); err == nil {
		t.Error("a bot without a connection runs")
	}
}

func TestRefused(t *testing.T) {
	for _, test := range []struct {
		name    string
		answer  handshake.Admission
		err     error
		refused bool
		what    string
	}{
		{"refused", handshake.Admission{}, &handshake.RefusedError{Code: handshake.Full, Text: "the game is full"},
			true, "refused: the game is full"},
		{"welcomed as nobody", handshake.Admission{Handler: script{}, Data: protocol.Welcome{TickRate: 30}.Append(nil)},
			nil, false, "the number of the player or the tick rate is 0"},
		{"welcomed to another game", handshake.Admission{Handler: script{}, Data: []byte("chess")}, nil, false,
			"invalid message: Welcome"},
	} {
		t.Run(test.name, func(t *testing.T) {
			address := serve(t, func(context.Context) (handshake.Admission, error) { return test.answer, test.err })
			_, err := Join(t.Context(), Config{Server: address})
			if err == nil {
				t.Fatal("the bot has joined")
			}
			refused, ok := errors.AsType[*RefusedError](err)
			if ok != test.refused || ok && refused.Code != handshake.Full || !strings.Contains(err.Error(), test.what) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestDisconnected joins and is disconnected at once: whoever waits hears why.
func TestDisconnected(t *testing.T) {
	b, err := Join(t.Context(), Config{Server: play7(t, nil)})
	if err != nil {
		t.Fatal(err)
	}
	err = b.Until(t.Context(), func(World) bool { return false })
	if told, ok := errors.AsType[*gamenet.PeerError](err); !ok || told.Text != "that is all" {
		t.Errorf("got %v", err)
	}
	if err := b.Leave(); err != nil {
		t.Error(err)
	}
}

// TestNonsense hears what no server of this game says.
func TestNonsense(t *testing.T) {
	b, err := Join(t.Context(), Config{Server: play7(t, protocol.Leave{})})
	if err != nil {
		t.Fatal(err)
	}
	<-b.Done()
	if err := b.Err(); !errors.Is(err, gamenet.ErrDisconnected) ||
		!strings.Contains(err.Error(), "does not send packets of id 4") {
		t.Errorf("ended because of %v", err)
	}
	if err := b.Leave(); err != nil {
		t.Error(err)
	}
}

func TestNoAnswer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	address := serve(t, func(ctx context.Context) (handshake.Admission, error) {
		cancel()
		<-ctx.Done()
		return handshake.Admission{}, ctx.Err()
	})
	if _, err := Join(ctx, Config{Server: address}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestHelp prints the usage, and no error.
func TestHelp(t *testing.T) {
	var out, complaints strings.Builder
	if status := Main(t.Context(), []string{"-h"}, nil, &out, &complaints); status != ExitOK ||
		out.String() != Usage+"\n" || complaints.Len() != 0 {
		t.Errorf("status %d:\n%s%s", status, &out, &complaints)
	}
}

func TestReporter(t *testing.T) {
	var out strings.Builder
	r := &reporter{to: &out}
	r.welcomed(protocol.Welcome{Number: 1, TickRate: 2})
	for _, m := range []protocol.Message{
		protocol.Joined{Number: 1}, protocol.Joined{Number: 2, Name: "bob"}, protocol.Joined{Number: 3},
		protocol.State{Tick: 1, Places: []protocol.Place{{Number: 1}, {Number: 2, X: 150, Y: -1}}},
		protocol.State{Tick: 2, Places: []protocol.Place{{Number: 1}, {Number: 2, X: 200}}},
		protocol.State{Tick: 3, Places: []protocol.Place{{Number: 1}, {Number: 2, X: 250}}},
		protocol.Said{Number: 2, Text: "hello"},
		protocol.Notice{Text: "be quiet"},
		protocol.Left{Number: 2}, protocol.Left{Number: 3},
		protocol.State{Tick: 9, Places: []protocol.Place{{Number: 2}}},
	} {
		r.observe(m)
	}
	r.at = r.from.Add(2 * time.Second)
	r.summary(1500 * time.Microsecond)
	const want = `joined as player 1
sees player 2 (bob) at 1.50,-0.01
sees player 2 (bob) at 2.50,0.00
player 2 (bob) says: hello
the server says: be quiet
player 2 (bob) left
player 3 left
received 1.5 ticks/s, round trip 1.50 ms
`
	if out.String() != want {
		t.Errorf("printed\n%s", out.String())
	}
}
