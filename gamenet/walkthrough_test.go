package gamenet

import (
	"iter"
	"net"
	"testing"
)

// A printer is the handler of the walk-through's samples: it tells what it is
// called with.
type printer struct {
	greets       bool // says hello when it is connected
	opened       chan *Session
	recv, sent   chan int
	disconnected chan error
}

func newPrinter(greets bool) *printer {
	return &printer{greets, make(chan *Session, 8), make(chan int, 8), make(chan int, 8), make(chan error, 8)}
}

const hello = "Hello World\x00"

func (p *printer) OnConnected(s *Session) {
	if p.greets {
		_ = s.Send(Packet{Payload: []byte(hello)})
	}
	p.opened <- s
}

func (p *printer) OnPacket(s *Session, packet Packet) {
	if !p.greets {
		_ = s.Send(packet)
	}
	p.recv <- len(packet.Payload)
}

func (p *printer) OnSent(_ *Session, n int)               { p.sent <- n }
func (p *printer) OnDisconnected(_ *Session, cause error) { p.disconnected <- cause }

// samples starts the server sample (at most 100 sessions) and the client sample
// (one connection) of the walk-through, with bytes as they come.
func samples(t *testing.T) (server *ServerService, client *ClientService, here, there *printer) {
	t.Helper()
	here, there = newPrinter(false), newPrinter(true)
	server = startServer(t, ServerConfig{Config: Config{NewHandler: always(here), Codec: Raw}, MaxSessions: 100})
	client = startClient(t, server, ClientConfig{Config: Config{NewHandler: always(there), Codec: Raw}})
	return server, client, here, there
}

// TestHelloWorld is item 55 of the walk-through: twelve bytes there and back, each
// counted on both sides, once a second or as often as one likes.
func TestHelloWorld(t *testing.T) {
	server, client, here, there := samples(t)
	session := await(t, "Connected To Server", there.opened)
	for round := range 5 {
		if round > 0 {
			if err := session.Send(Packet{Payload: []byte(hello)}); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range []struct {
			what string
			from <-chan int
		}{{"the client's OnSend", there.sent}, {"the server's OnRecv", here.recv}, {"the server's " +
			"OnSend", here.sent}, {"the client's OnRecv", there.recv}} {
			if got := await(t, c.what, c.from); got != 12 {
				t.Errorf("%s Len = %d", c.what, got)
			}
		}
	}
	if server.Count() != 1 || server.MaxSessions() != 100 || client.Count() != 1 || client.MaxSessions() != 1 {
		t.Errorf("%d of %d and %d of %d sessions", server.Count(), server.MaxSessions(), client.Count(),
			client.MaxSessions())
	}
}

// TestClientKilled is item 56 of the walk-through: the server tells of one
// disconnect, with its cause, and lets the session go.
func TestClientKilled(t *testing.T) {
	server, client, here, there := samples(t)
	await(t, "the session", here.opened)
	await(t, "Connected To Server", there.opened)
	await(t, "the answer", there.recv)
	kill(t, client.Sessions)
	wantCause(t, await(t, "the server's OnDisconnected", here.disconnected), ErrLost)
	eventually(t, "the session to be released", func() bool { return server.Count() == 0 })
	if len(here.disconnected) > 0 {
		t.Error("OnDisconnected came again")
	}
}

// TestServerKilled is item 57 of the walk-through: the client tells of it once.
func TestServerKilled(t *testing.T) {
	server, client, here, there := samples(t)
	await(t, "the session", here.opened)
	await(t, "Connected To Server", there.opened)
	await(t, "the answer", there.recv)
	kill(t, server.Sessions)
	wantCause(t, await(t, "the client's OnDisconnected", there.disconnected), ErrLost)
	eventually(t, "the session to be released", func() bool { return client.Count() == 0 })
	if len(there.disconnected) > 0 {
		t.Error("OnDisconnected came again")
	}
}

// kill does to the connections of one side what the end of its process can do: it
// resets them, without a word.
func kill(t *testing.T, sessions func() iter.Seq[*Session]) {
	t.Helper()
	for s := range sessions() {
		conn := s.Conn().(*net.TCPConn)
		if err := conn.SetLinger(0); err != nil {
			t.Error(err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}
