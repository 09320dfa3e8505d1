package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/muster-gg/muster/examples/arena/bot"
)

// meetLimit is how long a player waits for the others.
const meetLimit = time.Minute

// A player is in the game, and walks in a circle.
type player struct {
	*bot.Bot
	name  string
	leave func() // hangs up, once
}

func join(ctx context.Context, address, name, playerSession string, out io.Writer) (*player, error) {
	b, err := bot.Join(ctx, bot.Config{Server: address, PlayerSession: playerSession, Name: name})
	if err != nil {
		return nil, fmt.Errorf("%s at %s with %s: %w", name, address, playerSession, err)
	}
	fmt.Fprintf(out, "%s joined the game at %s with %s\n", name, address, playerSession)
	leave := b.Start(ctx)
	return &player{b, name, func() { _ = leave() }}, nil
}

// awaitCompany waits until the player sees so many players, itself included.
func (p *player) awaitCompany(ctx context.Context, players int, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, meetLimit)
	defer cancel()
	if err := p.Until(ctx, func(w bot.World) bool { return len(w.Players) >= players }); err != nil {
		return fmt.Errorf("%s does not see %d players: %w", p.name, players, err)
	}
	fmt.Fprintf(out, "%s sees %d players\n", p.name, players)
	return nil
}

func addressOf(ip *string, port *int32) string {
	return net.JoinHostPort(aws.ToString(ip), strconv.Itoa(int(aws.ToInt32(port))))
}
