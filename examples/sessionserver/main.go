// Command sessionserver is a whole game server in three short files: package gameserver hosts the game session, package
// gamenet connects the players, and package gamenet/handshake lets those in who have a player session. Its game is that
// each message of a player is sent to all. It requests another player in place of one who has left a match, and ends
// 10 s after its last player.
//
// Start a service with muster dev --no-sample, register a compute, and run
//
//	go run ./examples/sessionserver -websocketurl=URL -hostid=NAME -fleetid=ID -authtoken=TOKEN -port=7777
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
	code := run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// run hosts a game session and returns the exit status of the process.
func run(ctx context.Context, args []string) int {
	host := gameserver.NewHost(gameserver.Config{Log: slog.Default()})
	if err := ready(ctx, host, args); err != nil {
		slog.Error("game server failed", "error", err)
		_ = host.Close(context.WithoutCancel(ctx)) // reports the end, if the service knows of the process
		return 1
	}
	select {
	case <-ctx.Done(): // Ctrl+C
		host.HandleDestroySession()
	case <-host.Ending(): // the service asks for it, or the last player has left
	}
	<-host.Done()
	if err := host.Err(); err != nil {
		slog.Error("ended", "error", err)
	} else {
		slog.Info("ended")
	}
	return host.ExitCode()
}

// unlessEmpty returns an attribute that the log leaves out if it is empty.
func unlessEmpty(key, value string) slog.Attr {
	if value == "" {
		return slog.Attr{}
	}
	return slog.String(key, value)
}

// ready opens the port for players, and makes the process one that the service can use.
func ready(ctx context.Context, host *gameserver.Host, args []string) error {
	flags, err := gameserver.ParseArgs(args)
	if err != nil {
		return err
	}
	room, err := open(ctx, host, flags)
	if err != nil {
		return err
	}
	if _, err := host.Subscribe(room.callbacks()); err != nil {
		return err
	}
	if err := host.Init(ctx, flags.ServerParameters); err != nil {
		return err
	}
	certificate, err := host.CertificatePath(ctx)
	if err != nil {
		return err
	}
	if err := host.NotifyProcessReady(ctx, room.port()); err != nil {
		return host.Wait() // which returns err
	}
	slog.Info("ready", "players", room.network.Addr(), unlessEmpty("certificate", certificate))
	return nil
}

// callbacks are what the game does at each step of its game session.
func (r *room) callbacks() gameserver.SessionCallbacks {
	return gameserver.SessionCallbacks{
		OnCreateSessionBegin: func(c gameserver.SessionConfig) bool {
			slog.Info("game session begins", "name", c.SessionName,
				unlessEmpty("level", c.SessionProperties["level"]), "players", c.MaxPlayer)
			return true // your game: load the level
		},
		OnCreateSessionEnd: func() {
			c, _ := r.host.SessionConfig()
			slog.Info("players may join", "game_session", c.SessionID, "status", c.Status)
		},
		OnSessionHealthCheck: func() bool { return true }, // your game: is it well?
		OnUpdateSessionBegin: func(_ gameserver.SessionConfig, reason gameserver.UpdateReason) {
			slog.Info("game session changes", "reason", reason)
		},
		OnUpdateSessionEnd: func() {}, // your game: SessionConfig has the new players of the match
		OnDestroySessionBegin: func() bool {
			if at, ordered := r.host.Server().TerminationTime(); ordered {
				slog.Info("the service ends the process", "by", at)
			}
			return r.close() == nil // your game: save it
		},
		OnDestroySessionEnd: func() { slog.Info("the service knows of the end") },
	}
}
