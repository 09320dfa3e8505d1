// Command gameserver is the least that a game server does to be found by a session service. It hosts no game: what
// belongs to yours is marked "your game".
//
// Start a service with muster dev --no-sample, register a compute, and run
//
//	go run ./examples/gameserver -websocketurl=URL -hostid=NAME -fleetid=ID -authtoken=TOKEN -port=7777
//
// with the URL that RegisterCompute and the token that GetComputeAuthToken gave.
package main

import (
	"context"
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
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags, err := gameserver.ParseArgs(args)
	if err != nil {
		return err
	}

	// Connect: from now on the package reconnects when the connection drops.
	server := gameserver.New(gameserver.Config{Log: slog.Default()})
	defer server.Close()
	if err := server.Connect(ctx, flags.ServerParameters); err != nil {
		return err
	}

	// Say that players can be sent here, and what to do when the service asks.
	terminate := make(chan struct{})
	err = server.ProcessReady(ctx, gameserver.ProcessParameters{
		Port: flags.Port,
		OnStartGameSession: func(gs gameserver.GameSession) {
			slog.Info("game session begins", "name", gs.Name, "players", gs.MaximumPlayerSessionCount)
			// Your game: load the level, listen for players. Then:
			if err := server.ActivateGameSession(ctx); err != nil {
				slog.Error("game session not activated", "error", err)
			}
			// Your game: call server.AcceptPlayerSession(ctx, id) for each player who joins with a player session id,
			// and RemovePlayerSession when they leave.
		},
		OnHealthCheck:      func() bool { return true }, // your game: is it well?
		OnProcessTerminate: func() { close(terminate) },
	})
	if err != nil {
		return err
	}

	// Wait for the end, and say goodbye.
	select {
	case <-terminate:
	case <-ctx.Done(): // Ctrl+C
	case <-server.Done():
		return server.Err()
	}
	return server.ProcessEnding(context.WithoutCancel(ctx))
}
