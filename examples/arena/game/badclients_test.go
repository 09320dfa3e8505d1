package game

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/muster-gg/muster/examples/arena/link"
	"github.com/muster-gg/muster/examples/arena/protocol"
	"github.com/muster-gg/muster/gamenet"
)

// A gossip is a connection that says what a test wants.
type gossip struct {
	t      *testing.T
	client *gamenet.ClientService
	ended  chan error
}

// connect connects and sends packets, whether they make sense or not.
func (m *match) connect(packets ...gamenet.Packet) *gossip {
	m.t.Helper()
	g := &gossip{t: m.t, ended: make(chan error, 1)}
	var err error
	g.client, err = gamenet.NewClient(gamenet.ClientConfig{Config: gamenet.Config{
		Address: m.address(), Transport: m.dial(),
		NewHandler: func(*gamenet.Session) gamenet.Handler { return gossipHandler{g, packets} },
	}})
	if err == nil {
		err = g.client.Start(m.t.Context())
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		if err := g.client.Close(context.Background()); err != nil {
			m.t.Error(err)
		}
	})
	return g
}

// hearsWhy waits until the server has ended the connection and said why.
func (g *gossip) hearsWhy(reason string) {
	g.t.Helper()
	select {
	case cause := <-g.ended:
		if told, ok := errors.AsType[*gamenet.PeerError](cause); !ok || told.Reason != reason {
			g.t.Errorf("disconnected because of %v, want %q", cause, reason)
		}
	case <-time.After(patience):
		g.t.Fatalf("not disconnected: %s", reason)
	}
}

type gossipHandler struct {
	*gossip
	packets []gamenet.Packet
}

func (g gossipHandler) OnConnected(s *gamenet.Session) {
	for _, p := range g.packets {
		_ = s.Send(p)
	}
}
func (g gossipHandler) OnPacket(*gamenet.Session, gamenet.Packet)      {}
func (g gossipHandler) OnDisconnected(_ *gamenet.Session, cause error) { g.ended <- cause }

// packet encodes a message.
func packet(m protocol.Message) gamenet.Packet {
	return gamenet.Packet{ID: m.ID(), Payload: m.Append(nil)}
}

// join is a Join of some version of the protocol.
func join(version uint16, ticket string) gamenet.Packet {
	return packet(protocol.Join{Version: version, PlayerSession: ticket})
}

// TestBadClients sends what no player should: each is told why it is
// disconnected, nothing is asked of the service, and who plays plays on.
func TestBadClients(t *testing.T) {
	overAll(t, func(t *testing.T, transport string) {
		m := begin(t, newService(), transport).ready()
		ada := m.join("psess-1")
		for _, test := range []struct {
			name    string
			packets []gamenet.Packet
			reason  string
		}{
			{"wrong version", []gamenet.Packet{join(2, "psess-2")}, "this server speaks version 1 of the protocol, not 2"},
			{"no Join first", []gamenet.Packet{packet(protocol.Say{Text: "hi"})}, "invalid message: the first one must be Join"},
			{"half a Join", []gamenet.Packet{{ID: protocol.IDJoin, Payload: []byte{1, 0, 1}}}, "invalid message: packet 1: too short"},
			{"a message of servers", []gamenet.Packet{packet(protocol.Left{Number: 1})}, "invalid message: a player does not send packets of id 19"},
			{"too large", []gamenet.Packet{{ID: protocol.IDJoin, Payload: make([]byte, protocol.MaxPacket)}}, "invalid packet"},
		} {
			t.Log(test.name)
			m.connect(test.packets...).hearsWhy(test.reason)
		}
		if n := m.count("accept psess-2"); n != 0 {
			t.Error("a wrong version has used up the reservation")
		}
		bob := m.join("psess-2")
		bob.sees(1, true)
		ada.goesOn()
		m.connect(join(1, "psess-2")).hearsWhy("this player session is in use")
		bob.goesOn()
	})
}

// TestJoinTwice sends a second Join on one connection, which ends it: the player
// has left.
func TestJoinTwice(t *testing.T) {
	t.Parallel()
	m := begin(t, newService(), link.TCP).ready()
	m.connect(join(1, "psess-1"), join(1, "psess-2")).hearsWhy("invalid message: Join was sent before")
	m.endWell()
}

// TestSilentConnection waits the five seconds that a connection may be silent.
func TestSilentConnection(t *testing.T) {
	t.Parallel()
	m := begin(t, newService(), link.TCP).ready()
	began := time.Now()
	m.connect().hearsWhy("no first packet in time")
	if d := time.Since(began); d < protocol.JoinLimit {
		t.Errorf("disconnected after %v", d)
	}
}
