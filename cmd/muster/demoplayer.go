package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/examples/arena/bot"
)

// patience is the time-out for expected events.
const patience = 20 * time.Second

// A demoPlayer is a player on the game server, walking in a circle.
type demoPlayer struct {
	*bot.Bot
	leave func() error // disconnects, once
}

// joinGame joins at the address in a player session.
func joinGame(ctx context.Context, s types.PlayerSession, ticket string) (*demoPlayer, error) {
	b, err := bot.Join(ctx, bot.Config{
		Server:        net.JoinHostPort(aws.ToString(s.IpAddress), strconv.Itoa(int(aws.ToInt32(s.Port)))),
		PlayerSession: ticket, Name: aws.ToString(s.PlayerId),
	})
	if err != nil {
		return nil, err
	}
	return &demoPlayer{b, b.Start(ctx)}, nil
}

// expect waits until the player's world is as wanted.
func (p *demoPlayer) expect(ctx context.Context, wanted func(bot.World) bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return p.Until(ctx, wanted)
}

// seesWalking waits until the player sees another one move, and returns where.
func (p *demoPlayer) seesWalking(ctx context.Context, other uint32) (x, y float64, err error) {
	const metre = 100 // centimetres
	err = p.expect(ctx, func(w bot.World) bool {
		seen := w.Players[other]
		x, y = float64(seen.Place.X)/metre, float64(seen.Place.Y)/metre
		return seen.Moved
	})
	return x, y, err
}

// A prefixWriter adds a prefix to each line.
type prefixWriter struct {
	to     io.Writer
	prefix string
	mu     sync.Mutex
	rest   []byte // of an incomplete line
}

func (w *prefixWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = append(w.rest, p...)
	for {
		line, rest, complete := bytes.Cut(w.rest, []byte("\n"))
		if !complete {
			return len(p), nil
		}
		if _, err := fmt.Fprintf(w.to, "%s%s\n", w.prefix, line); err != nil {
			return 0, err
		}
		w.rest = rest
	}
}
