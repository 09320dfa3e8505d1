// Command client is a player of an arena, who walks in a circle and says what is typed:
//
//	go run ./examples/arena/client -server 127.0.0.1:7777 -playersession PSESS -player ada
//
// with the address and the player session id that CreatePlayerSession gave. Ctrl+C leaves. The exit status is 3 when
// the server refuses the player. Package bot is all of it.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/muster-gg/muster/examples/arena/bot"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := bot.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}
