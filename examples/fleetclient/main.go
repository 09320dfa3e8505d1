// Command fleetclient is a game client with the sessions of a fleet by their ids, as O3DE has them: package session
// searches them by the API of Amazon GameLift Servers, creates one if none has a free slot, and joins it. Client.Async
// makes the calls, as in a game that draws frames meanwhile. With -queue a queue creates the session, and with -match
// the matchmaker does, for players who accept. Its game is examples/arena: a line that is typed is said to the others;
// the end of the input leaves.
//
// Run muster dev, whose sample game servers are arenas, and then, in two terminals with the variables of its
// muster.env,
//
//	go run ./examples/fleetclient -player ada
//	go run ./examples/fleetclient -player bob
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/direct"
)

func main() {
	var o options
	flag.StringVar(&o.fleet, "fleet", os.Getenv("MUSTER_SAMPLE_FLEET_ID"), "id of the fleet")
	flag.StringVar(&o.queue, "queue", "", "name of a queue that creates a session, instead of a search in the fleet")
	flag.StringVar(&o.configuration, "match", "", "name of a matchmaking configuration, instead of the fleet")
	flag.StringVar(&o.player, "player", "", "id of the player; empty for a random one")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fleetclient:", err)
		stop()
		os.Exit(1)
	}
}

type options struct{ fleet, queue, configuration, player string }

// run plays until the end of the input, or of ctx. The variables of the AWS SDKs name the service and the access key.
func run(ctx context.Context, o options, in io.Reader, out io.Writer) (err error) {
	p := &printer{to: out}
	client := session.New(session.Config{
		Remote: direct.New(direct.Config{}), Connector: connector(o.player, p), PlayerID: o.player,
	})
	defer func() { err = errors.Join(err, client.Close(context.WithoutCancel(ctx))) }()
	client.Subscribe(func(e session.Event) {
		switch e := e.(type) {
		case session.Reserved:
			p.print("a slot at %s", e.Reservation.Address())
		case session.Complete:
			p.print("%s: %v", e.Call, outcome(e.Err))
		}
	})
	enter := client.Async(ctx, func(ctx context.Context) error { return client.Configure(ctx, "") })
	if err := enter.Wait(ctx); err != nil {
		return err
	}
	if err := o.join(ctx, client); err != nil {
		return err
	}
	if place, ok := client.Current(); ok {
		p.print("in %s", place.SessionID)
	}
	err = talk(ctx, client.Connection(), lines(in))
	return errors.Join(err, client.LeaveSession(context.WithoutCancel(ctx)))
}

func outcome(err error) string {
	if err != nil {
		return err.Error()
	}
	return "done"
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
