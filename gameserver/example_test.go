package gameserver_test

import (
	"context"
	"fmt"
	"os"

	"github.com/muster-gg/muster/gamenet/handshake"
	"github.com/muster-gg/muster/gameserver"
)

// A game server with a Host: the game is in the callbacks, and main waits for the
// end.
func ExampleHost() {
	run := func(ctx context.Context) error {
		flags, err := gameserver.ParseArgs(os.Args[1:])
		if err != nil {
			return err
		}
		host := gameserver.NewHost(gameserver.Config{})
		_, err = host.Subscribe(gameserver.SessionCallbacks{
			OnCreateSessionBegin: func(c gameserver.SessionConfig) bool {
				fmt.Println("loading", c.SessionProperties["level"])
				return true
			},
			OnDestroySessionBegin: func() bool {
				fmt.Println("sending the players home")
				return true
			},
		})
		if err != nil {
			return err
		}
		if err := host.Init(ctx, flags.ServerParameters); err != nil {
			return err
		}
		if err := host.NotifyProcessReady(ctx, flags.Port, "game.log"); err != nil {
			return err
		}
		defer context.AfterFunc(ctx, host.HandleDestroySession)() // Ctrl+C, say
		return host.Wait()
	}
	_ = run // with the context of signal.NotifyContext
}

// The network layer asks about each player who shows a player session id, and reports the end of the connection.
func ExampleHost_ValidatePlayerJoinSession() {
	var host *gameserver.Host // see the example of Host
	join := func(ctx context.Context, connection uint64, ticket string) (ended func(cause error), err error) {
		c := gameserver.PlayerConnection{ConnectionID: connection, PlayerSessionID: ticket}
		if err := host.ValidatePlayerJoinSession(ctx, c); err != nil {
			return nil, err // disconnect this player
		}
		return func(cause error) {
			if handshake.Lost(cause) {
				host.HandlePlayerConnectionLost(c) // the player may come back with the same ticket
				return
			}
			_ = host.HandlePlayerLeaveSession(context.WithoutCancel(ctx), c) // the Host logs what fails
		}, nil
	}
	_ = join
}
