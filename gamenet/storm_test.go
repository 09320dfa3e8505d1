package gamenet

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestStorm connects ten thousand players, half of them at one time so that a
// process with 20,000 files can do it, and disconnects them at once, in every way
// that there is. Each is one OnConnected and one OnDisconnected, and every place
// is free in the end.
func TestStorm(t *testing.T) {
	const rounds, players, dialers = 2, 5_000, 64
	var mu sync.Mutex
	lives := make(map[uint64][2]int) // connected, disconnected
	var opened, closed atomic.Int64
	note := func(s *Session, what int) {
		mu.Lock()
		defer mu.Unlock()
		life := lives[s.ID()]
		life[what]++
		lives[s.ID()] = life
	}
	h := &script{
		connected:    func(s *Session) { note(s, 0); opened.Add(1) },
		packet:       echo.packet,
		disconnected: func(s *Session, _ error) { note(s, 1); closed.Add(1) },
	}
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(h), CloseTimeout: time.Second},
		MaxSessions: players})
	for round := range int64(rounds) {
		conns := make([]net.Conn, players)
		each(dialers, players, func(i int) {
			conn, err := net.Dial("tcp", server.Addr().String())
			if err != nil {
				t.Errorf("player %d: %v", i, err)
				return
			}
			conns[i] = conn
		})
		if t.Failed() {
			return
		}
		eventually(t, "all to be connected", func() bool { return opened.Load() == (round+1)*players })
		if got := server.Count(); got != players {
			t.Errorf("%d sessions", got)
		}
		data := encode(t, Packet{1, []byte("bye")})
		each(dialers, players, func(i int) {
			switch conn := conns[i].(*net.TCPConn); i % 4 {
			case 0:
				conn.Close()
			case 1:
				_ = conn.SetLinger(0) // an RST
				conn.Close()
			case 2:
				_, _ = conn.Write(data) // answered into the void
				conn.Close()
			case 3:
				if s, ok := server.Session(uint64(i)); ok {
					s.Disconnect(Reason{})
				}
				_, _ = conn.Write(data[:3]) // half a packet
				conn.Close()
			}
		})
		eventually(t, "all to be gone",
			func() bool { return closed.Load() == (round+1)*players && server.Count() == 0 })
	}
	mu.Lock()
	defer mu.Unlock()
	if len(lives) != rounds*players {
		t.Errorf("%d sessions lived", len(lives))
	}
	for id, life := range lives {
		if life != [2]int{1, 1} {
			t.Errorf("session %d: connected %d times, disconnected %d times", id, life[0], life[1])
		}
	}
}

// each calls f for 0 to n-1 from several goroutines.
func each(goroutines, n int, f func(i int)) {
	var running sync.WaitGroup
	var next atomic.Int64
	for range goroutines {
		running.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	running.Wait()
}

// TestInstantDisconnects: connections that end before anybody has looked at them
// leave nothing behind, whichever side of OnConnected it catches them on; over
// TLS they never finish the handshake.
func TestInstantDisconnects(t *testing.T) {
	serverTLS, _ := certificate(t)
	for name, transport := range map[string]Transport{"tcp": TCP, "tls": TLS(serverTLS)} {
		t.Run(name, func(t *testing.T) {
			const players = 1_000
			causes := new(closings)
			var opened, closed atomic.Int64
			h := &script{connected: func(*Session) { opened.Add(1) },
				disconnected: func(*Session, error) { closed.Add(1) }}
			server := startServer(t, ServerConfig{Config: Config{NewHandler: always(h), Transport: transport,
				Metrics: causes}, MaxSessions: players})
			each(16, players, func(i int) {
				conn, err := net.Dial("tcp", server.Addr().String())
				if err != nil {
					t.Errorf("player %d: %v", i, err)
					return
				}
				if i%2 == 0 {
					_ = conn.(*net.TCPConn).SetLinger(0) // an RST
				}
				conn.Close()
			})
			// A connection that was reset before it was accepted may never have come.
			eventually(t, "all to be gone", func() bool {
				return server.Count() == 0 && causes.get("opened") >= players/2 &&
					len(causes.all()) == causes.get("opened")
			})
			conn := dial(t, server)
			conn.Close()
			eventually(t, "all to be gone",
				func() bool { return server.Count() == 0 && len(causes.all()) == causes.get("opened") })
			if opened.Load() != closed.Load() {
				t.Errorf("%d connected, %d disconnected", opened.Load(), closed.Load())
			}
			if name == "tls" && opened.Load() != 0 {
				t.Errorf("%d connected without a handshake", opened.Load())
			}
		})
	}
}

// TestCloseInStorm: the service closes while players come and go.
func TestCloseInStorm(t *testing.T) {
	var opened, closed atomic.Int64
	h := &script{connected: func(s *Session) {
		opened.Add(1)
		_ = s.Send(Packet{ID: 1})
	}, disconnected: func(*Session, error) { closed.Add(1) }}
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(h)}})
	address := server.Addr().String()
	var players sync.WaitGroup
	for range 8 {
		players.Go(func() {
			for {
				conn, err := net.Dial("tcp", address)
				if err != nil {
					return // closed
				}
				_ = conn.SetReadDeadline(time.Now().Add(patience))
				_, _ = io.ReadFull(conn, make([]byte, 4))
				conn.Close()
			}
		})
	}
	eventually(t, "some players", func() bool { return closed.Load() > 100 })
	closeWithin(t, server)
	players.Wait()
	if opened.Load() != closed.Load() || server.Count() != 0 {
		t.Errorf("%d connected, %d disconnected, %d sessions left", opened.Load(), closed.Load(), server.Count())
	}
}
