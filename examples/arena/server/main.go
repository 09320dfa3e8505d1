// Command server is the game server of an arena: a small room in which players walk and talk. It connects to a session
// service as any game server does.
//
// Start a service with muster dev --no-sample, register a compute, and run
//
//	go run ./examples/arena/server -log -websocketurl=URL -hostid=NAME -fleetid=ID -authtoken=TOKEN -port 7777
//
// with the URL that RegisterCompute and the token that GetComputeAuthToken gave. Players join with
// examples/arena/client. Package game is all of it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/muster-gg/muster/examples/arena/game"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := game.Run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		stop()
		os.Exit(1)
	}
}
