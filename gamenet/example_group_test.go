package gamenet_test

import (
	"context"
	"fmt"

	"github.com/muster-gg/muster/gamenet"
)

// A match has two groups: all visitors, and those who only watch.
type match struct {
	all, watchers gamenet.Group
	entered       chan struct{}
}

// A visitor is the handler of one session: the state of a player.
type visitor struct {
	match *match
	name  string
}

func (v *visitor) OnConnected(s *gamenet.Session) { v.match.all.Add(s) }

// OnPacket adds a visitor who sends packet 2 to the watchers.
func (v *visitor) OnPacket(s *gamenet.Session, p gamenet.Packet) {
	if p.ID == 2 {
		v.match.watchers.Add(s)
	}
	v.match.entered <- struct{}{}
}

// OnDisconnected has nothing to do: an ended session is removed from its groups.
func (*visitor) OnDisconnected(*gamenet.Session, error) {}

func ExampleGroup() {
	m := &match{entered: make(chan struct{})}
	server, err := gamenet.NewServer(gamenet.ServerConfig{Config: gamenet.Config{
		Address: "127.0.0.1:0",
		NewHandler: func(s *gamenet.Session) gamenet.Handler {
			return &visitor{match: m, name: fmt.Sprint("visitor ", s.ID())}
		},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	if err := server.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	for id := uint16(1); id <= 2; id++ { // one who plays and one who watches
		client := join(ctx, server, id)
		defer client.Close(ctx)
		<-m.entered
	}
	fmt.Println(m.all.Len(), "players")
	for _, s := range m.watchers.Members() {
		fmt.Println("watching:", s.Handler().(*visitor).name)
	}
	fmt.Println(m.watchers.Broadcast(gamenet.Packet{ID: 7, Payload: []byte("the red team has the ball")}))

	if err := server.Close(ctx); err != nil {
		fmt.Println(err)
	}
	fmt.Println(m.all.Len(), "players left")
	// Output:
	// 2 players
	// watching: visitor 2
	// <nil>
	// 0 players left
}

// join connects a player who says a packet of the id and prints nothing.
func join(ctx context.Context, server *gamenet.ServerService, id uint16) *gamenet.ClientService {
	client, err := gamenet.NewClient(gamenet.ClientConfig{Config: gamenet.Config{
		Address:    server.Addr().String(),
		NewHandler: func(*gamenet.Session) gamenet.Handler { return greeter(id) },
	}})
	if err != nil {
		panic(err)
	}
	if err := client.Start(ctx); err != nil {
		panic(err)
	}
	return client
}

// A greeter sends one packet, of the id that it is.
type greeter uint16

func (g greeter) OnConnected(s *gamenet.Session) { _ = s.Send(gamenet.Packet{ID: uint16(g)}) }

func (greeter) OnPacket(*gamenet.Session, gamenet.Packet) {}

func (greeter) OnDisconnected(*gamenet.Session, error) {}
