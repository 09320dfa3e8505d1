package gamenet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// A sender is a script that hears OnSent too.
type sender struct {
	script
	sent func(*Session, int)
}

func (h *sender) OnSent(s *Session, n int) { h.sent(s, n) }

// TestPanicEndsOneSession: whichever callback panics, its session ends with the
// panic as the cause, and another one goes on.
func TestPanicEndsOneSession(t *testing.T) {
	boom := func(s *Session) {
		if s.ID() == 2 {
			panic("boom")
		}
	}
	for name, break_ := range map[string]func(h *sender){
		"OnConnected": func(h *sender) { h.connected = boom },
		"OnPacket":    func(h *sender) { h.packet = func(s *Session, p Packet) { boom(s); _ = s.Send(p) } },
		"OnSent":      func(h *sender) { h.sent = func(s *Session, _ int) { boom(s) } },
		"after Disconnect": func(h *sender) {
			h.packet = func(s *Session, p Packet) {
				if s.ID() == 2 {
					defer boom(s)
					s.Disconnect(Reason{})
				}
				_ = s.Send(p)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			seen := newDiary()
			h := &sender{script{packet: echo.packet, disconnected: seen.OnDisconnected}, func(*Session, int) {}}
			break_(h)
			var handler Handler = h
			if name != "OnSent" {
				handler = &h.script
			}
			server := startServer(t, ServerConfig{Config: Config{NewHandler: always(handler)}})
			other := dial(t, server)
			roundTrip(t, other)
			conn := dial(t, server)
			write(t, conn, encode(t, Packet{1, []byte("a")}, Packet{1, []byte("b")}))
			_, _ = io.Copy(io.Discard, conn) // until it is cut
			conn.Close()
			cause := await(t, "the end", seen.onClose)
			var panicked *PanicError
			switch {
			case name == "after Disconnect":
				wantCause(t, cause, ErrDisconnected)
			case !errors.As(cause, &panicked) || panicked.Value != "boom" ||
				!bytes.Contains(panicked.Stack, []byte("faults_test.go")):
				t.Errorf("ended because of %v", cause)
			}
			roundTrip(t, other)
			eventually(t, "its place to be free", func() bool { return server.Count() == 1 })
			if _, closed := seen.lives(); closed != 1 {
				t.Errorf("OnDisconnected was called %d times", closed)
			}
		})
	}
}

// TestPanicOnDisconnected: the place is free all the same, and the cause that is
// counted is what ended the session.
func TestPanicOnDisconnected(t *testing.T) {
	causes := new(closings)
	h := &script{packet: echo.packet, disconnected: func(*Session, error) { panic("boom") }}
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(h), Metrics: causes}})
	other := dial(t, server)
	roundTrip(t, other)
	conn := dial(t, server)
	roundTrip(t, conn)
	closeWrite(t, conn)
	eventually(t, "its place to be free", func() bool { return server.Count() == 1 && len(causes.all()) == 1 })
	wantCause(t, causes.all()[0], ErrPeerClosed)
	roundTrip(t, other)
}

// TestPanicInClosing: a handler that panics on closing does not hold up Close.
func TestPanicInClosing(t *testing.T) {
	seen := newDiary()
	h := &panickyCloser{script{connected: seen.OnConnected, disconnected: seen.OnDisconnected}}
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(h)}})
	conn := dial(t, server)
	await(t, "the session", seen.onOpen)
	closeWithin(t, server)
	var panicked *PanicError
	if cause := await(t, "the end", seen.onClose); !errors.As(cause, &panicked) {
		t.Errorf("ended because of %v", cause)
	}
	_, _ = io.Copy(io.Discard, conn)
}

type panickyCloser struct{ script }

func (*panickyCloser) OnClosing(*Session) { panic("boom") }

// TestFactoryFails: a factory that panics or makes nothing costs its connection,
// and the handler that was not made hears nothing.
func TestFactoryFails(t *testing.T) {
	for name, bad := range map[string]func(*Session) Handler{
		"panic":       func(*Session) Handler { panic("boom") },
		"nil":         func(*Session) Handler { return nil },
		"disconnects": func(s *Session) Handler { s.Disconnect(Reason{Text: "no"}); return newDiary() },
		"sends": func(s *Session) Handler {
			if err := s.Send(Packet{}); !errors.Is(err, ErrClosed) {
				t.Errorf("send in the factory: %v", err)
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			causes := new(closings)
			var calls atomic.Int32
			server := startServer(t, ServerConfig{Config: Config{Metrics: causes, NewHandler: func(s *Session) Handler {
				if calls.Add(1) == 2 {
					return bad(s)
				}
				return echo
			}}})
			other := dial(t, server)
			roundTrip(t, other)
			conn := dial(t, server)
			if _, err := conn.Read(make([]byte, 1)); err == nil {
				t.Error("something came")
			}
			eventually(t, "its place to be free", func() bool { return server.Count() == 1 && len(causes.all()) == 1 })
			var panicked *PanicError
			if name == "panic" && !errors.As(causes.all()[0], &panicked) {
				t.Errorf("ended because of %v", causes.all()[0])
			}
			if name == "disconnects" {
				wantCause(t, causes.all()[0], ErrDisconnected)
			}
			roundTrip(t, other)
		})
	}
}

// TestSendInCallbacks: what OnConnected sends comes first; in OnDisconnected
// nothing can be sent any more.
func TestSendInCallbacks(t *testing.T) {
	results := make(chan error, 8)
	h := &script{
		connected:    func(s *Session) { results <- s.Send(Packet{1, []byte("welcome")}) },
		packet:       func(s *Session, p Packet) { results <- s.Send(Packet{2, p.Payload}) },
		disconnected: func(s *Session, _ error) { results <- s.Send(Packet{3, nil}); results <- s.Flush() },
	}
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(h)}})
	conn := dial(t, server)
	write(t, conn, encode(t, Packet{9, []byte("hello")}))
	want := encode(t, Packet{1, []byte("welcome")}, Packet{2, []byte("hello")})
	if got := read(t, conn, len(want)); !bytes.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	closeWrite(t, conn)
	for i, wanted := range []error{nil, nil, ErrClosed, ErrClosed} {
		if err := await(t, "a send", results); !errors.Is(err, wanted) {
			t.Errorf("send %d: %v, want %v", i, err, wanted)
		}
	}
	if rest, err := io.ReadAll(conn); err != nil || len(rest) > 0 {
		t.Errorf("then came %q, %v", rest, err)
	}
}

// TestDisconnectInCallbacks: Disconnect works in each callback; what was sent
// before arrives, then the reason, then the end; and OnDisconnected comes once.
func TestDisconnectInCallbacks(t *testing.T) {
	for _, name := range []string{"OnConnected", "OnPacket", "OnSent", "OnDisconnected"} {
		t.Run(name, func(t *testing.T) {
			seen := newDiary()
			leave := func(s *Session, where string) {
				if where == name {
					_ = s.Send(Packet{7, []byte("last")})
					s.Disconnect(Reason{Text: "enough"})
					s.Disconnect(Reason{Text: "twice"})
					if err := s.Send(Packet{8, nil}); !errors.Is(err, ErrClosed) {
						t.Errorf("send after it: %v", err)
					}
				}
			}
			h := &sender{script{
				connected: func(s *Session) { leave(s, "OnConnected") },
				packet:    func(s *Session, p Packet) { seen.OnPacket(s, p); _ = s.Send(p); leave(s, "OnPacket") },
				disconnected: func(s *Session, cause error) {
					leave(s, "OnDisconnected")
					seen.OnDisconnected(s, cause)
				},
			}, func(s *Session, _ int) { leave(s, "OnSent") }}
			var handler Handler = h
			if name != "OnSent" {
				handler = &h.script
			}
			server := startServer(t, ServerConfig{Config: Config{NewHandler: always(handler)}})
			conn := dial(t, server)
			if name == "OnConnected" {
				// Bytes that nobody reads would turn the end into a reset.
				got, want := readAll(t, conn), encode(t, Packet{7, []byte("last")}, bye(Reason{Text: "enough"}))
				if !bytes.Equal(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
				conn.Close()
				wantCause(t, await(t, "the end", seen.onClose), ErrDisconnected)
				return
			}
			write(t, conn, encode(t, Packet{1, []byte("a")}, Packet{2, []byte("b")}, Packet{3, []byte("c")}))
			want := ErrDisconnected
			if name == "OnDisconnected" {
				want = ErrPeerClosed
				closeWrite(t, conn)
			}
			got := readAll(t, conn)
			conn.Close()
			cause := await(t, "the end", seen.onClose)
			wantCause(t, cause, want)
			switch name {
			case "OnPacket":
				all := encode(t, Packet{1, []byte("a")}, Packet{7, []byte("last")}, bye(Reason{Text: "enough"}))
				if !bytes.Equal(got, all) {
					t.Errorf("got %q, want %q", got, all)
				}
				if seen.count() != 1 {
					t.Errorf("%d packets were delivered, the first disconnected", seen.count())
				}
			case "OnSent":
				end := encode(t, Packet{7, []byte("last")}, bye(Reason{Text: "enough"}))
				if !bytes.HasSuffix(got, end) {
					t.Errorf("got %q, want %q at the end", got, end)
				}
			}
			if want == ErrDisconnected && cause.Error() != `gamenet: disconnected: "enough"` {
				t.Errorf("the cause is %v", cause)
			}
			eventually(t, "the place to be free", func() bool { return server.Count() == 0 })
			if _, closed := seen.lives(); closed != 1 {
				t.Errorf("OnDisconnected was called %d times", closed)
			}
		})
	}
}

// readAll reads until the other side has stopped writing.
func readAll(t testing.TB, conn io.Reader) []byte {
	t.Helper()
	b, err := io.ReadAll(conn)
	if err != nil {
		t.Errorf("after %d bytes: %v", len(b), err)
	}
	return b
}

// TestCloseDuringSend: many goroutines send to sessions that end meanwhile, in
// every way that there is. Each send says what became of it, nobody waits for
// ever, and every session ends once.
func TestCloseDuringSend(t *testing.T) {
	for name, end := range map[string]func(*Session){
		"disconnect": func(s *Session) { s.Disconnect(Reason{Text: "now"}) },
		"cut":        func(s *Session) { s.cut(ErrLost) },
	} {
		for policy := FullDisconnect; policy <= FullBlock; policy++ {
			t.Run(fmt.Sprint(name, "/", policy), func(t *testing.T) {
				const sessions, senders, packets = 4, 8, 200
				seen := newDiary()
				server := startServer(t, ServerConfig{Config: Config{NewHandler: always(seen), WhenFull: policy,
					QueuePackets: 64}})
				for range sessions {
					conn := dial(t, server)
					go func() { _, _ = io.Copy(io.Discard, conn); conn.Close() }()
				}
				var sending sync.WaitGroup
				for range sessions {
					s := await(t, "a session", seen.onOpen)
					begun := make(chan struct{}, senders)
					for range senders {
						sending.Go(func() {
							begun <- struct{}{}
							sendUntilClosed(t, s, packets)
						})
					}
					sending.Go(func() { <-begun; end(s) })
				}
				sending.Wait()
				for range sessions {
					await(t, "an end", seen.onClose)
				}
				eventually(t, "no session", func() bool { return server.Count() == 0 })
				if opened, closed := seen.lives(); opened != sessions || closed != sessions {
					t.Errorf("%d opened, %d closed", opened, closed)
				}
			})
		}
	}
}

// sendUntilClosed sends at least so many packets, and on until the session has
// ended.
func sendUntilClosed(t *testing.T, s *Session, packets int) {
	for i := 0; ; i++ {
		err := s.Send(Packet{ID: 1, Payload: make([]byte, 500)})
		switch {
		case errors.Is(err, ErrClosed):
			if i >= packets {
				return
			}
		case err != nil && !errors.Is(err, ErrDropped) && !errors.Is(err, ErrSlowConsumer):
			t.Errorf("send: %v", err)
			return
		}
	}
}

// TestCallbackDoesNotHoldUpCut: ending a session whose callback does not return
// holds up nobody but the session.
func TestCallbackDoesNotHoldUpCut(t *testing.T) {
	seen, blocked, release := newDiary(), make(chan *Session), make(chan struct{})
	h := &script{packet: func(s *Session, _ Packet) { blocked <- s; <-release }, disconnected: seen.OnDisconnected}
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(h)}})
	write(t, dial(t, server), encode(t, Packet{ID: 1}))
	s := await(t, "the callback", blocked)
	done := make(chan struct{})
	go func() { defer close(done); s.cut(ErrIdle) }()
	await(t, "cut to return", done)
	close(release)
	wantCause(t, await(t, "the end", seen.onClose), ErrIdle)
}

// TestDisconnectLongGone: a session that has ended stays so.
func TestDisconnectLongGone(t *testing.T) {
	seen := newDiary()
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(seen)}})
	conn := dial(t, server)
	s := await(t, "the session", seen.onOpen)
	conn.Close()
	await(t, "the end", seen.onClose)
	eventually(t, "no session", func() bool { return server.Count() == 0 })
	for range 3 {
		s.Disconnect(Reason{Text: "late"})
		if err := s.Send(Packet{ID: 1}); !errors.Is(err, ErrClosed) {
			t.Errorf("send: %v", err)
		}
		if err := s.SendContext(t.Context(), Packet{ID: 1}); !errors.Is(err, ErrClosed) {
			t.Errorf("send with a context: %v", err)
		}
		f := server.NewFrame()
		if err := f.Append(Packet{ID: 1}); err != nil {
			t.Fatal(err)
		}
		if err := s.SendFrame(f); !errors.Is(err, ErrClosed) {
			t.Errorf("send a frame: %v", err)
		}
		f.Release()
	}
	if _, ok := server.Session(s.ID()); ok {
		t.Error("it is still found")
	}
	if got := s.Stats(); got.QueuedBytes != 0 || got.QueuedPackets != 0 {
		t.Errorf("%+v", got)
	}
}

// TestGoexitInCallback: a callback that ends its goroutine, as FailNow of a test
// does, ends its session in order.
func TestGoexitInCallback(t *testing.T) {
	seen := newDiary()
	h := &script{packet: func(*Session, Packet) { runtime.Goexit() }, disconnected: seen.OnDisconnected}
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(h)}})
	conn := dial(t, server)
	write(t, conn, encode(t, Packet{ID: 1}))
	if cause := await(t, "the end", seen.onClose); cause == nil {
		t.Error("ended for no cause")
	}
	eventually(t, "its place to be free", func() bool { return server.Count() == 0 })
}

// TestReasonOfPanic: the other side of a session whose handler panicked hears that
// something went wrong, and not what; what was sent before arrives.
func TestReasonOfPanic(t *testing.T) {
	for name, use := range transports(t) {
		t.Run(name, func(t *testing.T) {
			here, there := newDiary(), newDiary()
			sc, cc := ServerConfig{}, ClientConfig{}
			use(&sc.Config, &cc.Config)
			sc.NewHandler = always(&script{packet: func(s *Session, p Packet) {
				_ = s.Send(p)
				panic("secret")
			}, disconnected: here.OnDisconnected})
			cc.NewHandler = always(there)
			startClient(t, startServer(t, sc), cc)
			if err := await(t, "the session", there.onOpen).Send(Packet{1, []byte("echo")}); err != nil {
				t.Fatal(err)
			}
			var said *PeerError
			if cause := await(t, "the end there", there.onClose); !errors.As(cause, &said) ||
				said.Text != "internal error" {
				t.Errorf("the client heard %v", cause)
			}
			var panicked *PanicError
			if cause := await(t, "the end here", here.onClose); !errors.As(cause, &panicked) ||
				panicked.Value != "secret" {
				t.Errorf("the server heard %v", cause)
			}
			if there.count() != 1 {
				t.Errorf("%d packets came before it", there.count())
			}
		})
	}
}

// TestPanicIsLogged: a recovered panic goes to slog's default logger if the configuration has none that takes it.
func TestPanicIsLogged(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	factory := func(*Session) Handler { panic("boom in the factory") }
	callback := always(&script{connected: func(*Session) { panic("boom in a callback") }})
	for _, cfg := range []Config{{NewHandler: factory}, {NewHandler: callback, Log: slog.New(slog.DiscardHandler)}} {
		server := startServer(t, ServerConfig{Config: cfg})
		_, _ = io.Copy(io.Discard, dial(t, server)) // until the session has ended
		closeWithin(t, server)
	}
	jobs := NewExecutor(ExecutorConfig{Log: slog.New(slog.DiscardHandler)})
	if err := jobs.Post(func() { panic("boom in a job") }); err != nil {
		t.Fatal(err)
	}
	closeWithin(t, jobs)
	for _, where := range []string{"the factory", "a callback", "a job"} {
		if !strings.Contains(log.String(), `panic="boom in `+where+`" stack="goroutine`) {
			t.Errorf("the panic in %s is not in the log:\n%s", where, &log)
		}
	}
}
