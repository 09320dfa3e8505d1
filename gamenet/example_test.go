package gamenet_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/muster-gg/muster/gamenet"
)

// player is a handler: it tells everybody in the room what one player says.
type player struct{ room *gamenet.Group }

func (p player) OnConnected(s *gamenet.Session) { p.room.Add(s) }

func (p player) OnPacket(_ *gamenet.Session, packet gamenet.Packet) { _ = p.room.Broadcast(packet) }

func (p player) OnDisconnected(s *gamenet.Session, cause error) {
	slog.Debug("player left", "session", s.ID(), "cause", cause)
}

// serve is a whole server, which runs until ctx is done.
func serve(ctx context.Context, address string, ready func(*gamenet.ServerService)) error {
	room := new(gamenet.Group)
	server, err := gamenet.NewServer(gamenet.ServerConfig{
		Config: gamenet.Config{
			Address:    address,
			NewHandler: func(*gamenet.Session) gamenet.Handler { return player{room} },
		},
		MaxSessions: 100,
	})
	if err != nil {
		return err
	}
	if err := server.Start(ctx); err != nil {
		return err
	}
	ready(server)
	<-ctx.Done()
	return server.Close(context.WithoutCancel(ctx))
}

func ExampleServerService() {
	ctx, stop := context.WithCancel(context.Background()) // signal.NotifyContext in a program
	defer stop()
	err := serve(ctx, "127.0.0.1:0", func(server *gamenet.ServerService) {
		fmt.Println("players can come, at most", server.MaxSessions())
		stop()
	})
	fmt.Println(err)
	// Output:
	// players can come, at most 100
	// <nil>
}
