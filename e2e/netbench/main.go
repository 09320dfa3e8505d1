//go:build linux

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/muster-gg/muster/e2e/netbench/load"
	"github.com/muster-gg/muster/e2e/netbench/server"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := execute(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "netbench:", err)
		os.Exit(1)
	}
}

// The names under which the program starts itself again.
const (
	serveCommand = "serve"
	loadCommand  = "load"
)

func execute(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case serveCommand:
			return serve(args[1:])
		case loadCommand:
			return generate(ctx, args[1:])
		}
	}
	return bench(ctx, args, os.Stdout, os.Stderr)
}

// serve is a server process.
func serve(args []string) error {
	flags := flag.NewFlagSet(serveCommand, flag.ContinueOnError)
	peer := flags.String("peer", "", "which server")
	work := flags.String("work", "", "what it does")
	if err := flags.Parse(args); err != nil {
		return err
	}
	start, err := server.Find(server.Own, *peer)
	if err != nil {
		return err
	}
	return server.Serve(start, server.Work(*work), os.Stdin, os.Stdout)
}

// generate is a load process.
func generate(ctx context.Context, args []string) error {
	var config load.Config
	flags := flag.NewFlagSet(loadCommand, flag.ContinueOnError)
	flags.StringVar(&config.Address, "address", "", "of the server")
	work := flags.String("work", "", "what the clients do")
	flags.IntVar(&config.Connections, "connections", 0, "how many clients")
	flags.IntVar(&config.InFlight, "in-flight", 1, "packets that each sends together")
	if err := flags.Parse(args); err != nil {
		return err
	}
	config.Work = load.Work(*work)
	return load.Run(ctx, config, os.Stdin, os.Stdout)
}
