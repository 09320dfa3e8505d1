package quic_test

import (
	"context"
	"fmt"
	"log"

	"github.com/muster-gg/muster/gamenet"
	"github.com/muster-gg/muster/gamenet/quic"
)

// A server answers with datagrams where losing one does no harm.
func Example() {
	serverTLS, clientTLS, err := quic.SelfSigned()
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()

	server, err := gamenet.NewServer(gamenet.ServerConfig{Config: gamenet.Config{
		Address:    "127.0.0.1:0",
		Transport:  quic.New(quic.Config{TLS: serverTLS}),
		NewHandler: func(*gamenet.Session) gamenet.Handler { return room{} },
	}})
	if err != nil {
		log.Fatal(err)
	}
	if err := server.Start(ctx); err != nil {
		log.Fatal(err)
	}

	left := make(chan error)
	client, err := gamenet.NewClient(gamenet.ClientConfig{Config: gamenet.Config{
		Address:    server.Addr().String(),
		Transport:  quic.New(quic.Config{TLS: clientTLS}),
		NewHandler: func(*gamenet.Session) gamenet.Handler { return bot{left} },
	}})
	if err != nil {
		log.Fatal(err)
	}
	if err := client.Start(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(<-left)

	_ = client.Close(ctx)
	_ = server.Close(ctx)
	// Output:
	// the room says "position 3,4"
	// gamenet: ended by the other side: "that was all"
}

const (
	packetMove uint16 = 1 + iota
	packetPosition
	packetThanks
)

// room is what the server does with each player.
type room struct{}

func (room) OnConnected(*gamenet.Session) {}

func (room) OnPacket(s *gamenet.Session, p gamenet.Packet) {
	switch p.ID {
	case packetMove:
		_ = s.SendDatagram(gamenet.Packet{ID: packetPosition, Payload: []byte("position 3,4")})
	case packetThanks:
		s.Disconnect(gamenet.Reason{Text: "that was all"})
	}
}

func (room) OnDisconnected(*gamenet.Session, error) {}

// bot is the client.
type bot struct{ left chan<- error }

func (bot) OnConnected(s *gamenet.Session) { _ = s.Send(gamenet.Packet{ID: packetMove}) }

func (bot) OnPacket(s *gamenet.Session, p gamenet.Packet) {
	fmt.Printf("the room says %q\n", p.Payload)
	_ = s.Send(gamenet.Packet{ID: packetThanks})
}

func (b bot) OnDisconnected(_ *gamenet.Session, cause error) { b.left <- cause }
