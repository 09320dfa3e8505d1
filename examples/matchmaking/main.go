// Command matchmaking is the part of run.sh, beside it, that a shell cannot do: game clients on the AWS SDK for Go, and
// an endpoint for webhooks.
//
//	matchmaking place -queue NAME -id ID -players ada,bob -latencies custom-near=20,custom-far=90
//	matchmaking ticket -configuration NAME -id ID -player ada -skill 10
//	matchmaking receive -secret-file FILE
//
// place asks a queue for a game session, waits until it is there, and lets the players meet in the game. ticket waits
// for a match, accepts it and plays until it is told to end. receive prints the events that it is sent, once each, if
// their signature is right. The variables of the AWS SDKs name the service and the access key.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "matchmaking:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("the first argument must be place, ticket or receive")
	}
	command, args := args[0], args[1:]
	switch command {
	case "place":
		return place(ctx, args, os.Stdout)
	case "ticket":
		return ticket(ctx, args, os.Stdout)
	case "receive":
		return receive(ctx, args, os.Stdout)
	}
	return fmt.Errorf("%q is none of place, ticket and receive", command)
}

// newClient makes a client as the variables of the AWS SDKs say.
func newClient(ctx context.Context) (*gamelift.Client, error) {
	c, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	return gamelift.NewFromConfig(c), nil
}
