// Command sessionserver is a whole game server in two short files: package gameserver hosts the game session, package
// gamenet connects the players, and package gamenet/handshake lets those in who have a player session. Its game is that
// each message of a player is sent to all. It ends 10 s after its last player.
//
// Start a service with muster dev --no-sample, register a compute, and run
//
//	go run ./examples/sessionserver -websocketurl=URL -hostid=NAME -fleetid=ID -authtoken=TOKEN -port=7777
//
// with the URL that RegisterCompute and the token that GetComputeAuthToken gave.
package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/muster-gg/muster/gameserver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		slog.Error("game server failed", "error", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	flags, err := gameserver.ParseArgs(args)
	if err != nil {
		return err
	}
	host := gameserver.NewHost(gameserver.Config{Log: slog.Default()})
	room, err := open(ctx, host, flags)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, room.close()) }()

	_, err = host.Subscribe(gameserver.SessionCallbacks{
		OnCreateSessionBegin: func(c gameserver.SessionConfig) bool {
			slog.Info("game session begins", "name", c.SessionName,
				"level", c.SessionProperties["level"], "players", c.MaxPlayer)
			return true // your game: load the level
		},
		OnSessionHealthCheck:  func() bool { return true }, // your game: is it well?
		OnDestroySessionBegin: func() bool { return room.close() == nil },
	})
	if err != nil {
		return err
	}
	if err := host.Init(ctx, flags.ServerParameters); err != nil {
		return err
	}
	if err := host.NotifyProcessReady(ctx, room.port()); err != nil {
		return host.Wait() // which returns err
	}
	slog.Info("ready", "players", room.network.Addr())
	defer context.AfterFunc(ctx, host.HandleDestroySession)() // Ctrl+C
	return host.Wait()
}
