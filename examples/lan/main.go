// Command lan hosts a game on the local network, or finds one and joins it, by named sessions in the manner of Unreal.
// In one terminal, and in another one or on another machine:
//
//	go run ./examples/lan -host Friday
//	go run ./examples/lan
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"time"

	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/lan"
)

const (
	game   = "game" // name of the session within this program
	places = 8
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
func host(ctx context.Context, network *lan.Network, name string, out io.Writer) (err error) {
	e, err := newEcho(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.server.Close(context.WithoutCancel(ctx))) }()
	client := session.New(session.Config{LAN: network, PlayerName: "the host",
		ListenPort: e.server.Addr().(*net.TCPAddr).Port})
	defer func() { err = errors.Join(err, client.Close(context.WithoutCancel(ctx))) }()
	games := client.Named()
	settings := session.Settings{
		NumPublicConnections: places, IsLANMatch: true, ShouldAdvertise: true, AllowJoinInProgress: true,
		Properties: map[string]string{session.PropertyName: name},
	}
	if err := games.Create(ctx, game, settings); err != nil {
		return err
	}
	e.open(games)
	if err := games.Start(ctx, game); err != nil {
		return err
	}
	settings.Properties["level"] = "harbour" // searches find it from now on
	if err := games.Update(ctx, game, settings); err != nil {
		return err
	}
	address, err := games.ConnectString(game)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "hosting %s at %s\n", name, address)
	<-ctx.Done()
	ctx = context.WithoutCancel(ctx)
	for _, s := range games.All() {
		err = errors.Join(err, games.End(ctx, s.Name), games.Destroy(ctx, s.Name))
	}
	return err
}

// search takes the first session that it finds and says hello there.
func search(ctx context.Context, network *lan.Network, out io.Writer) (err error) {
	p := &player{answer: make(chan string, 1)}
	client := session.New(session.Config{LAN: network, Connector: p.connector()})
	defer func() { err = errors.Join(err, client.Close(context.WithoutCancel(ctx))) }() // leaves
	games := client.Named()
	begun := time.Now()
	stop := context.AfterFunc(ctx, func() { _ = games.CancelFind(context.Background()) }) // Ctrl+C
	found, err := games.Find(context.WithoutCancel(ctx), session.FindRequest{LAN: true, Stop: 1})
	stop()
	took := time.Since(begun)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("no session found in %v", took.Round(time.Second))
	}
	if err != nil {
		return err
	}
	if err := games.Join(ctx, game, found[0]); err != nil {
		return err
	}
	address, err := games.ConnectString(game)
	if err != nil {
		return err
	}
	joined, _ := games.Get(game)
	fmt.Fprintf(out, "found %s at %s after %v, ping %v\n", joined.Settings.Properties[session.PropertyName], address,
		took.Round(time.Millisecond), found[0].Ping)
	connection := games.Connection(game)
	select {
	case answer := <-p.answer:
		_, err = fmt.Fprintf(out, "joined, the host says %s\n", answer)
		return err
	case <-connection.Done():
		return connection.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
