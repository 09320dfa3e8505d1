// Command sessionclient is a whole game client in two short files: package session finds a game session through the
// session gateway, or creates one, and takes the player into it, by package gamenet/handshake. Its game is that of
// examples/sessionserver: each message of a player is sent to all. What is typed is sent; the end of the input leaves.
//
// Start a service and the game server of examples/sessionserver, and then, in two terminals,
//
//	go run ./examples/sessionclient -player ada
//	go run ./examples/sessionclient -player bob
package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/gateway"
)

func main() {
	url := flag.String("gateway", cmp.Or(os.Getenv("MUSTER_GATEWAY_URL"), "http://127.0.0.1:3000"),
		"URL of the session gateway")
	player := flag.String("player", "", "id of the player; empty for a random one")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *url, *player); err != nil {
		fmt.Fprintln(os.Stderr, "sessionclient:", err)
		if errors.Is(err, session.ErrTransport) {
			fmt.Fprintln(os.Stderr, "The session gateway is", *url, "(-gateway or MUSTER_GATEWAY_URL).")
		}
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, url, player string) (err error) {
	r := &room{out: os.Stdout}
	client := session.New(session.Config{Remote: gateway.New(gateway.Config{URL: url}), Connector: r.connector(),
		PlayerID: player})
	defer func() { err = errors.Join(err, client.Close(context.WithoutCancel(ctx))) }() // leaves
	r.player = client.PlayerID()
	if err := client.Configure(ctx, ""); err != nil {
		return err
	}
	game, err := enter(ctx, client.Named())
	if err != nil {
		return err
	}
	fmt.Fprintf(r.out, "in the game at %s as %s\n", game.Place.Address(), r.player)
	return r.talk(ctx, client.Named().Connection(name), lines(os.Stdin))
}

// lines reads until the end of the input. Its goroutine ends then, or with the process: nothing interrupts the reading
// of a terminal.
func lines(in io.Reader) <-chan string {
	all := make(chan string)
	go func() {
		defer close(all)
		for s := bufio.NewScanner(in); s.Scan(); {
			all <- s.Text()
		}
	}()
	return all
}
