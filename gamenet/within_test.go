package gamenet

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"
)

// A quitter is a Handler that calls leave in the callback with a name.
type quitter struct {
	in    string
	leave func()
}

func (q *quitter) at(callback string) {
	if q.in == callback {
		q.leave()
	}
}

func (q *quitter) OnConnected(s *Session)         { q.at("OnConnected"); _ = s.Send(Packet{ID: 1}) }
func (q *quitter) OnPacket(*Session, Packet)      { q.at("OnPacket") }
func (q *quitter) OnSent(*Session, int)           { q.at("OnSent") }
func (q *quitter) OnClosing(*Session)             { q.at("OnClosing") }
func (q *quitter) OnDisconnected(*Session, error) { q.at("OnDisconnected") }

// TestCloseWithin closes a server and a client in each of their callbacks: it begins the end and does not wait.
func TestCloseWithin(t *testing.T) {
	type service interface{ Close(context.Context) error }
	for _, in := range []string{
		"NewHandler", "OnConnected", "OnPacket", "OnSent", "OnClosing", "OnDisconnected", "job",
	} {
		t.Run(in, func(t *testing.T) {
			for _, side := range []string{"server", "client"} {
				t.Run(side, func(t *testing.T) {
					closes := make(chan error, 100)
					var own service // set before the first callback
					jobs := NewExecutor(ExecutorConfig{})
					q := &quitter{in: in, leave: func() { closes <- own.Close(context.Background()) }}
					factory := func(*Session) Handler {
						q.at("NewHandler")
						if in == "job" {
							_ = jobs.Post(q.leave)
						}
						return q
					}
					other := always(&script{connected: func(s *Session) { _ = s.Send(Packet{ID: 1}) }})
					sc, cc := ServerConfig{Config: Config{Address: "127.0.0.1:0", NewHandler: other}},
						ClientConfig{Config: Config{NewHandler: other}}
					if side == "server" {
						sc.NewHandler = factory
					} else {
						cc.NewHandler = factory
					}
					server, err := NewServer(sc)
					if err != nil {
						t.Fatal(err)
					}
					own = server
					if err := server.Start(t.Context()); err != nil {
						t.Fatal(err)
					}
					defer closeWithin(t, server)
					cc.Address = server.Addr().String()
					client, err := NewClient(cc)
					if err != nil {
						t.Fatal(err)
					}
					if side == "client" {
						own = client
					}
					if err := client.Start(t.Context()); err != nil {
						t.Fatal(err)
					}
					defer closeWithin(t, client)
					if in == "OnClosing" || in == "OnDisconnected" {
						eventually(t, "both sessions", func() bool {
							return len(server.appendSessions(nil)) == 1 && len(client.appendSessions(nil)) == 1
						})
						closeWithin(t, own)
					}
					if err := await(t, "Close to return in the callback", closes); err != nil {
						t.Errorf("close: %v", err)
					}
					closeWithin(t, own)
				})
			}
		})
	}
}

// TestCloseOfBlockedCallback: Close returns when its context is done, and again when the callback has returned.
func TestCloseOfBlockedCallback(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(&script{
		connected: func(*Session) { close(entered); <-release },
	})}})
	dial(t, server)
	await(t, "the callback", entered)
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		if err := server.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("close: %v", err)
		}
		cancel()
	}
	if server.Count() != 1 {
		t.Errorf("%d sessions while the callback runs", server.Count())
	}
	close(release)
	closeWithin(t, server)
	if server.Count() != 0 {
		t.Errorf("%d sessions are left", server.Count())
	}
}

// TestCloseWithinContext: the deadline of the context limits the end that a callback has begun, and so does a context
// that is done, but not a cancellation after Close has returned.
func TestCloseWithinContext(t *testing.T) {
	const packets, size = 400, 60_000 // more than the buffers of the operating system hold
	for _, c := range []struct {
		name    string
		context func() (context.Context, context.CancelFunc)
		want    error
		whole   bool
	}{
		{"canceled after", func() (context.Context, context.CancelFunc) {
			return context.WithCancel(context.Background())
		}, nil, true},
		{"deadline after", func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(context.Background(), 10*time.Millisecond)
		}, context.DeadlineExceeded, false},
		{"canceled before", func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			return ctx, cancel
		}, context.Canceled, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			closes, ended := make(chan error, 1), make(chan error, 1)
			var server *ServerService
			server = startServer(t, ServerConfig{Config: Config{
				QueueBytes: 2 * packets * size, CloseTimeout: time.Hour, WriteTimeout: time.Hour,
				NewHandler: always(&script{
					packet: func(s *Session, _ Packet) {
						for range packets {
							_ = s.Send(Packet{ID: 1, Payload: make([]byte, size)})
						}
						ctx, cancel := c.context()
						closes <- server.Close(ctx)
						cancel()
					},
					disconnected: func(_ *Session, cause error) { ended <- cause },
				}),
			}})
			conn := dial(t, server)
			write(t, conn, encode(t, Packet{ID: 1}))
			// A short deadline may have passed before the call.
			if err := await(t, "Close", closes); err != nil && !errors.Is(err, c.want) {
				t.Errorf("close: %v", err)
			}
			if !c.whole {
				wantCause(t, await(t, "the end", ended), ErrServiceClosed)
			}
			n, err := io.Copy(io.Discard, conn)
			if whole := n > packets*size; whole != c.whole {
				t.Errorf("%d bytes of %d arrived (%v)", n, packets*size, err)
			}
			conn.Close()
			closeWithin(t, server)
		})
	}
}
