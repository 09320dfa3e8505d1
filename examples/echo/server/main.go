// Command server sends back whatever its clients send, and prints what happens.
//
//	go run ./examples/echo/server
//	go run ./examples/echo/client
package main

import (
	"context"
	"flag"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"sync/atomic"

	"github.com/muster-gg/muster/gamenet"
)

func main() {
	address := flag.String("address", "127.0.0.1:7777", "where to listen")
	most := flag.Int("max", 100, "sessions at one time")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *address, *most); err != nil {
		slog.Error("echo server failed", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, address string, most int) error {
	e := &echo{out: log.New(os.Stdout, "", 0)}
	server, err := gamenet.NewServer(gamenet.ServerConfig{MaxSessions: most, Config: gamenet.Config{
		Address: address, Codec: gamenet.Raw, Log: slog.Default(),
		NewHandler: func(*gamenet.Session) gamenet.Handler { return e },
	}})
	if err != nil {
		return err
	}
	if err := server.Start(ctx); err != nil {
		return err
	}
	e.out.Printf("Listening on %v", server.Addr())
	<-ctx.Done()
	return server.Close(context.WithoutCancel(ctx))
}

// echo handles all sessions: it keeps nothing of any of them.
type echo struct {
	out      *log.Logger
	sessions atomic.Int64
}

func (e *echo) OnConnected(*gamenet.Session) { e.sessions.Add(1) }

func (e *echo) OnPacket(s *gamenet.Session, p gamenet.Packet) {
	e.out.Printf("OnRecv Len = %d", len(p.Payload))
	_ = s.Send(p) // a session that cannot be sent to ends, and OnDisconnected says why
}

func (e *echo) OnSent(_ *gamenet.Session, bytes int) { e.out.Printf("OnSend Len = %d", bytes) }

func (e *echo) OnDisconnected(_ *gamenet.Session, cause error) {
	e.out.Printf("OnDisconnected: %v; %d sessions left", cause, e.sessions.Add(-1))
}
