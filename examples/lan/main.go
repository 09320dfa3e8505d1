// Command lan hosts a game on the local network, or finds one and joins it. In one terminal, and in another one or on
// another machine:
//
//	go run ./examples/lan -host Friday
//	go run ./examples/lan
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strconv"
	"time"

	"github.com/muster-gg/muster/gamenet"
	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/lan"
)

func main() {
	name := flag.String("host", "", "host a session of this name; search if it is empty")
	port := flag.Int("port", 14001, "UDP port of announcements")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	network, err := lan.New(lan.Config{Port: *port, Log: slog.Default()})
	if err == nil && *name != "" {
		err = host(ctx, network, *name, os.Stdout)
	} else if err == nil {
		err = search(ctx, network, os.Stdout)
	}
	if err != nil {
		slog.Error("lan failed", "error", err)
		os.Exit(1)
	}
}

// host lets players in, echoes what they say, and announces the session until ctx is done.
func host(ctx context.Context, network *lan.Network, name string, out io.Writer) error {
	server, err := gamenet.NewServer(gamenet.ServerConfig{Config: gamenet.Config{
		Address: ":0", NewHandler: func(*gamenet.Session) gamenet.Handler { return echo{} },
	}})
	if err != nil {
		return err
	}
	if err := server.Start(ctx); err != nil {
		return err
	}
	defer func() { _ = server.Close(context.WithoutCancel(ctx)) }()
	beacon, err := network.Announce(ctx, session.Advert{
		Name: name, OwnerName: "the host", Port: server.Addr().(*net.TCPAddr).Port,
		Connections: 8, OpenConnections: 8, Joinable: true,
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "hosting %s\n", name)
	<-ctx.Done()
	return beacon.Close()
}

// search takes the first session that it finds and says hello there.
func search(ctx context.Context, network *lan.Network, out io.Writer) error {
	var found session.SearchResult
	begun := time.Now()
	err := network.Search(ctx, session.FindRequest{Stop: 1}, func(r session.SearchResult) { found = r })
	if err != nil {
		return err
	}
	if found.SessionID == "" {
		return fmt.Errorf("no session found in %v", time.Since(begun).Round(time.Second))
	}
	address := net.JoinHostPort(found.IPAddress, strconv.Itoa(found.Port))
	fmt.Fprintf(out, "found %s at %s after %v, ping %v\n", found.Name, address,
		time.Since(begun).Round(time.Millisecond), found.Ping)
	answer, err := hello(ctx, address)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "joined, the host says %s\n", answer)
	return err
}
