package session_test

import (
	"context"
	"math/rand/v2"
	"net"
	"testing"

	"github.com/muster-gg/muster/gamenet"
	"github.com/muster-gg/muster/gamenet/handshake"
	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/lan"
)

// newNetwork makes a local network of this machine alone, for this test alone.
func newNetwork(t *testing.T) *lan.Network {
	t.Helper()
	all, err := net.Interfaces()
	must(t, err)
	for _, i := range all {
		if i.Flags&net.FlagLoopback != 0 {
			n, err := lan.New(lan.Config{Port: freePort(t), AppID: rand.Uint32N(1<<30) + 1,
				Interfaces: []string{i.Name}})
			must(t, err)
			return n
		}
	}
	t.Fatal("this machine has no loopback interface")
	return nil
}

func freePort(t *testing.T) int {
	t.Helper()
	c, err := net.ListenPacket("udp4", "127.0.0.1:0")
	must(t, err)
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).Port
}

// One hosts, the other finds the session, over sockets, and plays there.
func TestPlayOnTheLAN(t *testing.T) {
	network := newNetwork(t)
	door, err := handshake.NewServer(handshake.ServerConfig{
		Version: 1, Unticketed: true,
		Admit: func(context.Context, *gamenet.Session, handshake.Hello) (handshake.Admission, error) {
			return handshake.Admission{Handler: silent{}}, nil
		},
	})
	must(t, err)
	server, err := gamenet.NewServer(gamenet.ServerConfig{Config: gamenet.Config{Address: "127.0.0.1:0",
		NewHandler: door.NewHandler}})
	must(t, err)
	must(t, server.Start(t.Context()))
	defer func() { must(t, server.Close(context.Background())) }()
	place := reservationAt(t, server.Addr())

	host := newWorld(t, func(c *session.Config) {
		c.LAN, c.ListenIP, c.ListenPort = network, place.IPAddress, place.Port
	})
	guest := newWorld(t, func(c *session.Config) {
		c.LAN, c.Connector, c.PlayerID, c.Remote = network, speaking(1), "bob", nil
	})
	settings := onLAN()
	settings.Properties = map[string]string{session.PropertyName: "Friday", "map": "arena"}
	must(t, host.Named().Create(t.Context(), "mine", settings))
	results, err := guest.Named().Find(t.Context(),
		session.FindRequest{LAN: true, Stop: 1})
	must(t, err)
	if len(results) != 1 || results[0].Name != "Friday" || results[0].OwnerID != "ada" ||
		results[0].Properties["map"] != "arena" {
		t.Fatalf("found %+v", results)
	}
	must(t, guest.Named().Join(t.Context(), "theirs", results[0]))
	must(t, host.Named().Start(t.Context(), "mine"))
	theirs, err := guest.Named().ConnectString("theirs")
	must(t, err)
	if mine, err := host.Named().ConnectString("mine"); err != nil || mine != theirs {
		t.Errorf("the guest is at %s, the host at %s, %v", theirs, mine, err)
	}
	if guest.Named().Connection("theirs") == nil {
		t.Error("the guest is not connected")
	}
}
