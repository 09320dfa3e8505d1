// Command client greets a server once a second, and prints what happens, until the server is gone. See the command
// server beside it.
package main

import (
	"context"
	"flag"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"time"

	"github.com/muster-gg/muster/gamenet"
)

// greeting ends with a NUL, as texts of C programs do: 12 bytes.
var greeting = gamenet.Packet{Payload: []byte("Hello World\x00")}

func main() {
	address := flag.String("address", "127.0.0.1:7777", "where the server listens")
	sessions := flag.Int("sessions", 1, "connections to make")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *address, *sessions); err != nil {
		slog.Error("echo client failed", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, address string, sessions int) error {
	p := &player{out: log.New(os.Stdout, "", 0), ended: make(chan struct{}, max(sessions, 1))}
	client, err := gamenet.NewClient(gamenet.ClientConfig{Sessions: sessions, Config: gamenet.Config{
		Address: address, Codec: gamenet.Raw, Log: slog.Default(),
		NewHandler: func(*gamenet.Session) gamenet.Handler { return p },
	}})
	if err != nil {
		return err
	}
	if err := client.Start(ctx); err != nil {
		return err
	}
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for left := client.MaxSessions(); left > 0; {
		select {
		case <-second.C:
			_ = client.Broadcast(greeting) // a session that cannot be sent to ends
		case <-p.ended:
			left--
		case <-ctx.Done():
			left = 0
		}
	}
	return client.Close(context.WithoutCancel(ctx))
}

// player handles all sessions: it keeps nothing of any of them.
type player struct {
	out   *log.Logger
	ended chan struct{}
}

func (p *player) OnConnected(s *gamenet.Session) {
	p.out.Print("Connected To Server")
	_ = s.Send(greeting)
}

func (p *player) OnPacket(_ *gamenet.Session, packet gamenet.Packet) {
	p.out.Printf("OnRecv Len = %d", len(packet.Payload))
}

func (p *player) OnSent(_ *gamenet.Session, bytes int) { p.out.Printf("OnSend Len = %d", bytes) }

func (p *player) OnDisconnected(*gamenet.Session, error) {
	p.out.Print("Disconnected")
	p.ended <- struct{}{}
}
