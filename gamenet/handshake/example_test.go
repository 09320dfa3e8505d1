package handshake_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/muster-gg/muster/gamenet"
	"github.com/muster-gg/muster/gamenet/handshake"
)

// A seat is a player as the server sees one.
type seat struct{ name string }

func (p seat) OnConnected(*gamenet.Session) {}

func (p seat) OnPacket(s *gamenet.Session, packet gamenet.Packet) {
	_ = s.Send(gamenet.Packet{ID: 1, Payload: fmt.Appendf(nil, "%s says %s", p.name, packet.Payload)})
}

func (p seat) OnDisconnected(*gamenet.Session, error) {
	// Here the place is given back: gameserver.Server.RemovePlayerSession.
}

// admit lets in who has the one good ticket. A real one asks the service:
// gameserver.Server.AcceptPlayerSession.
func admit(_ context.Context, _ *gamenet.Session, hello handshake.Hello) (handshake.Admission, error) {
	if hello.Ticket != "psess-1" {
		return handshake.Admission{}, &handshake.RefusedError{Code: handshake.TicketRefused,
			Text: "this player session is not good"}
	}
	return handshake.Admission{Handler: seat{string(hello.Data)}, Data: []byte("map=harbour")}, nil
}

// A screen is what the player sees.
type screen chan string

func (screen) OnConnected(*gamenet.Session)                    {}
func (s screen) OnPacket(_ *gamenet.Session, p gamenet.Packet) { s <- string(p.Payload) }
func (screen) OnDisconnected(*gamenet.Session, error)          {}

// A server that asks for tickets, somebody without a good one, and somebody with.
func Example() {
	ctx := context.Background()
	players, err := handshake.NewServer(handshake.ServerConfig{Version: 3, Admit: admit})
	if err != nil {
		log.Fatal(err)
	}
	server, err := gamenet.NewServer(gamenet.ServerConfig{Config: gamenet.Config{Address: "127.0.0.1:0",
		NewHandler: players.NewHandler}})
	if err != nil {
		log.Fatal(err)
	}
	if err := server.Start(ctx); err != nil {
		log.Fatal(err)
	}

	seen := make(screen, 1)
	player := handshake.Config{
		Config: gamenet.Config{Address: server.Addr().String(),
			NewHandler: func(*gamenet.Session) gamenet.Handler { return seen }},
		Version: 3, Ticket: "psess-9", Data: []byte("ada"),
	}
	_, err = handshake.Dial(ctx, player)
	if refused, ok := errors.AsType[*handshake.RefusedError](err); ok {
		fmt.Printf("%v: %s\n", refused.Code, refused.Text)
	}

	player.Ticket = "psess-1"
	conn, err := handshake.Dial(ctx, player)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("let in: %s\n", conn.Data())
	if err := conn.Session().Send(gamenet.Packet{ID: 1, Payload: []byte("hello")}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(<-seen)

	_ = conn.Close(ctx)
	players.StopAdmitting()
	_ = server.Close(ctx)
	// Output:
	// TicketRefused: this player session is not good
	// let in: map=harbour
	// ada says hello
}
