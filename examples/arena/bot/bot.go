// Package bot is a player of an arena that plays by itself: it joins, walks in a
// circle, and notes what it sees and hears.
package bot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/muster-gg/muster/examples/arena/protocol"
	"github.com/muster-gg/muster/gamenet"
)

const (
	joinLimit  = 20 * time.Second // for the server to let the bot in: it has to ask the service
	leaveLimit = 5 * time.Second  // for saying goodbye
	pingEvery  = 5 * time.Second
	idleLimit  = 20 * time.Second
)

// Config says where to play and as whom.
type Config struct {
	Server        string            // host:port; default "127.0.0.1:7777"
	Transport     gamenet.Transport // nil for TCP
	PlayerSession string            // the ticket; "" for servers that let anybody in
	Name          string            // for the other players; may be ""
	// Observe is called with each message of the server from Welcome on, one at a
	// time, and must return quickly; nil for none. World has taken it in already.
	Observe func(protocol.Message)
}

// A RefusedError says that the server has not let the bot in.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return "refused: " + e.Reason }

// A Bot is a player who has joined. Its methods may be called from any goroutine.
type Bot struct {
	observe  func(protocol.Message)
	join     protocol.Join
	client   *gamenet.ClientService
	session  *gamenet.Session // set by OnConnected, before welcome or ended is closed
	welcome  chan struct{}    // closed when the bot is in
	ended    chan struct{}    // closed when the connection has ended, because of cause
	cause    error
	number   uint32
	tickRate int

	sequence atomic.Uint32
	rtt      atomic.Int64 // nanoseconds

	mu      sync.Mutex
	world   World
	changed chan struct{} // closed when the world has changed, and made anew
}

// Join connects to a server and joins. It fails with a *RefusedError when the
// server says no. Whoever has joined must Leave.
func Join(ctx context.Context, cfg Config) (*Bot, error) {
	b := &Bot{
		observe: cfg.Observe,
		join:    protocol.Join{Version: protocol.Version, Nonce: rand.Uint64(), PlayerSession: cfg.PlayerSession, Name: cfg.Name},
		welcome: make(chan struct{}), ended: make(chan struct{}), changed: make(chan struct{}),
		world: World{Players: make(map[uint32]Player)},
	}
	var err error
	b.client, err = gamenet.NewClient(gamenet.ClientConfig{Config: gamenet.Config{
		Address:      cmp.Or(cfg.Server, "127.0.0.1:7777"),
		Transport:    cfg.Transport,
		NewHandler:   func(*gamenet.Session) gamenet.Handler { return handler{b} },
		MaxPacket:    protocol.MaxPacket,
		PingInterval: pingEvery, IdleTimeout: idleLimit,
	}})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, joinLimit)
	defer cancel()
	if err := b.client.Start(ctx); err != nil {
		return nil, err
	}
	if err := b.admitted(ctx); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// admitted waits for the answer to Join.
func (b *Bot) admitted(ctx context.Context) error {
	select {
	case <-b.welcome:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("no answer: %w", ctx.Err())
	case <-b.ended:
	}
	select {
	case <-b.welcome: // before it was disconnected
		return nil
	default:
	}
	if refused, ok := errors.AsType[*gamenet.PeerError](b.cause); ok {
		return &RefusedError{refused.Reason}
	}
	return fmt.Errorf("disconnected without an answer: %w", b.cause)
}

// Number is the bot's number among the players.
func (b *Bot) Number() uint32 { return b.number }

// TickRate is the number of the server's ticks in a second.
func (b *Bot) TickRate() int { return b.tickRate }

// RTT is how long the last probe took there and back; 0 before the first. Run
// probes once a second.
func (b *Bot) RTT() time.Duration { return time.Duration(b.rtt.Load()) }

// Done is closed when the connection has ended; Err says why.
func (b *Bot) Done() <-chan struct{} { return b.ended }

// Err is why the connection has ended; nil before Done is closed.
func (b *Bot) Err() error {
	select {
	case <-b.ended:
		return b.cause
	default:
		return nil
	}
}

// Say says something to everybody, as far as texts may: see protocol.Clean. An
// empty text is not said.
func (b *Bot) Say(text string) error {
	if text = protocol.Clean(text, protocol.MaxText); text == "" {
		return nil
	}
	return b.send(protocol.Say{Text: text})
}

// Steer walks into a direction, for a second at most; protocol.MaxInput is full
// speed.
func (b *Bot) Steer(x, y int8) error {
	m := protocol.Input{Sequence: b.sequence.Add(1), X: x, Y: y}
	return b.session.SendDatagram(gamenet.Packet{ID: m.ID(), Payload: m.Append(nil)})
}

// probe asks for an Echo.
func (b *Bot) probe() error { return b.send(protocol.Probe{Value: uint64(time.Now().UnixNano())}) }

func (b *Bot) send(m protocol.Message) error {
	return b.session.Send(gamenet.Packet{ID: m.ID(), Payload: m.Append(nil)})
}

// Leave says goodbye and hangs up. It returns when everything that belongs to the
// bot has ended. Leaving twice does nothing.
func (b *Bot) Leave() error {
	_ = b.send(protocol.Leave{}) // without a connection it has left
	return b.close()
}

// close hangs up.
func (b *Bot) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), leaveLimit)
	defer cancel()
	return b.client.Close(ctx)
}
