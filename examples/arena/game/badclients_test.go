package game

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/muster-gg/muster/examples/arena/link"
	"github.com/muster-gg/muster/examples/arena/protocol"
	"github.com/muster-gg/muster/gamenet"
	"github.com/muster-gg/muster/gamenet/handshake"
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
		if told, ok := errors.AsType[*gamenet.PeerError](cause); !ok || told.Text != reason {
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

// hello is a Hello of somebody without a name.
func hello(version byte, ticket string) gamenet.Packet {
	return helloWith(version, ticket, string(protocol.Join{}.Append(nil)))
}

// helloWith is a Hello: format 1, version, nonce, ticket and data.
func helloWith(version byte, ticket, data string) gamenet.Packet {
	head := []byte{1, version, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, byte(len(ticket))}
	return gamenet.Packet{ID: handshake.FirstID, Payload: append(head, ticket+data...)}
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
			{"wrong version", []gamenet.Packet{hello(protocol.Version+1, "psess-2")},
				"this server speaks version 2 of the protocol, not 3"},
			{"no Hello first", []gamenet.Packet{packet(protocol.Say{Text: "hi"})},
				"handshake: invalid packet: the first one must be Hello"},
			{"half a Hello", []gamenet.Packet{{ID: handshake.FirstID, Payload: []byte{1, 2, 0, 0, 0, 1}}},
				"handshake: invalid packet: Hello is too short"},
			{"half a name", []gamenet.Packet{helloWith(protocol.Version, "psess-2", "\x05hi")},
				"invalid message: Join: too short"},
			{"too large", []gamenet.Packet{{ID: handshake.FirstID, Payload: make([]byte, protocol.MaxPacket)}},
				"invalid packet"},
		} {
			t.Log(test.name)
			m.connect(test.packets...).hearsWhy(test.reason)
		}
		if n := m.count("accept psess-2"); n != 0 {
			t.Error("somebody who was not let in has used up the reservation")
		}
		bob := m.join("psess-2")
		bob.sees(1, true)
		ada.goesOn()
		m.connect(hello(protocol.Version, "psess-2")).hearsWhy("this player session is in use")
		bob.goesOn()
	})
}

// TestBadPlayers lets players in who then send what no player should: that is the
// end of the connection, and the player has left.
func TestBadPlayers(t *testing.T) {
	for _, test := range []struct {
		second gamenet.Packet
		reason string
	}{
		{hello(protocol.Version, "psess-2"), "the handshake is over"},
		{packet(protocol.Left{Number: 1}), "invalid message: a player does not send packets of id 19"},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			m := begin(t, newService(), link.TCP).ready()
			m.connect(hello(protocol.Version, "psess-1"), test.second).hearsWhy(test.reason)
			m.endWell()
		})
	}
}

// TestSilentConnection waits for as long as a connection may be silent.
func TestSilentConnection(t *testing.T) {
	t.Parallel()
	m := beginWith(t, newService(), link.TCP, 50*time.Millisecond).ready()
	m.connect().hearsWhy("no Hello within 50ms")
}
