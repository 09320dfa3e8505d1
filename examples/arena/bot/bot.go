// Package bot is a player of an arena that plays by itself: it joins, walks in a circle, and notes what it sees and
// hears.
package bot

import (
	"cmp"
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/muster-gg/muster/examples/arena/protocol"
	"github.com/muster-gg/muster/gamenet"
	"github.com/muster-gg/muster/gamenet/handshake"
)

const (
	joinLimit  = 20 * time.Second // for the server to let the bot in: it has to ask the service
	leaveLimit = 5 * time.Second  // for saying goodbye
)

// Config says where to play and as whom.
type Config struct {
	Server        string            // host:port; default "127.0.0.1:7777"
	Transport     gamenet.Transport // nil for TCP
	PlayerSession string            // the ticket; "" for servers that need none
	Name          string            // for the other players; may be ""
	// Welcomed is called when the server has let the bot in, before Observe; nil for none.
	Welcomed func(protocol.Welcome)
	// Observe is called with each message of the server, one at a time, and must return quickly; nil for none. World
	// has taken it in already.
	Observe func(protocol.Message)
}

// A RefusedError says that the server has not let the bot in.
type RefusedError struct {
	Code   handshake.Code
	Reason string
}

func (e *RefusedError) Error() string { return "refused: " + e.Reason }

// A Bot is a player who has joined. Its methods may be called from any goroutine.
type Bot struct {
	cfg     Config
	conn    *handshake.Conn
	welcome protocol.Welcome

	sequence atomic.Uint32
	rtt      atomic.Int64 // nanoseconds

	mu      sync.Mutex
	world   World
	changed chan struct{} // closed when the world has changed, and made anew
}

// Join connects to a server and joins. It fails with a *RefusedError when the server says no. Whoever has joined must
// Leave.
func Join(ctx context.Context, cfg Config) (*Bot, error) {
	b := &Bot{cfg: cfg, changed: make(chan struct{}), world: World{Players: make(map[uint32]Player)}}
	ctx, cancel := context.WithTimeout(ctx, joinLimit)
	defer cancel()
	var err error
	b.conn, err = handshake.Dial(ctx, handshake.Config{
		Config: gamenet.Config{
			Address:   cmp.Or(cfg.Server, "127.0.0.1:7777"),
			Transport: cfg.Transport,
			MaxPacket: protocol.MaxPacket,
		},
		Version: protocol.Version, Ticket: cfg.PlayerSession, Data: protocol.Join{Name: cfg.Name}.Append(nil),
		Welcomed: b.welcomed,
	})
	if refused, ok := errors.AsType[*handshake.RefusedError](err); ok {
		return nil, &RefusedError{refused.Code, refused.Text}
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Number is the bot's number among the players.
func (b *Bot) Number() uint32 { return b.welcome.Number }

// TickRate is the number of the server's ticks in a second.
func (b *Bot) TickRate() int { return int(b.welcome.TickRate) }

// RTT is how long the last probe took there and back; 0 before the first. Run probes once a second.
func (b *Bot) RTT() time.Duration { return time.Duration(b.rtt.Load()) }

// Done is closed when the connection has ended; Err says why.
func (b *Bot) Done() <-chan struct{} { return b.conn.Done() }

// errLeft is the cause after Leave.
var errLeft = errors.New("the bot has left")

// Err is why the connection has ended; nil before Done is closed.
func (b *Bot) Err() error {
	select {
	case <-b.Done():
		return cmp.Or(b.conn.Err(), errLeft)
	default:
		return nil
	}
}

// Say says something to everybody, as far as texts may: see protocol.Clean. An empty text is not said.
func (b *Bot) Say(text string) error {
	if text = protocol.Clean(text, protocol.MaxText); text == "" {
		return nil
	}
	return b.send(protocol.Say{Text: text})
}

// Steer walks into a direction, for a second at most; protocol.MaxInput is full speed.
func (b *Bot) Steer(x, y int8) error {
	m := protocol.Input{Sequence: b.sequence.Add(1), X: x, Y: y}
	return b.conn.Session().SendDatagram(gamenet.Packet{ID: m.ID(), Payload: m.Append(nil)})
}

// probe asks for an Echo.
func (b *Bot) probe() error { return b.send(protocol.Probe{Value: uint64(time.Now().UnixNano())}) }

func (b *Bot) send(m protocol.Message) error {
	return b.conn.Session().Send(gamenet.Packet{ID: m.ID(), Payload: m.Append(nil)})
}

// Leave says goodbye and hangs up. It returns when everything that belongs to the bot has ended. Leaving twice does
// nothing.
func (b *Bot) Leave() error {
	_ = b.send(protocol.Leave{}) // without a connection it has left
	ctx, cancel := context.WithTimeout(context.Background(), leaveLimit)
	defer cancel()
	return b.conn.Close(ctx)
}

// lap is the time that a circle takes.
const lap = 6 * time.Second

// Run walks in a circle, one step a tick, and probes the server once a second, until ctx is done, which gives nil, or
// the connection has ended, which gives the cause. It does not leave.
func (b *Bot) Run(ctx context.Context) error {
	steps := time.NewTicker(time.Second / time.Duration(b.TickRate()))
	defer steps.Stop()
	for step := 0; ; step++ {
		select {
		case <-steps.C:
		case <-ctx.Done():
			return nil
		case <-b.Done():
			return b.Err()
		}
		angle := 2 * math.Pi * float64(step) / (lap.Seconds() * float64(b.TickRate()))
		// A step that cannot be sent is followed by the next, or by the end.
		_ = b.Steer(int8(protocol.MaxInput*math.Cos(angle)), int8(protocol.MaxInput*math.Sin(angle)))
		if step%b.TickRate() == 0 {
			_ = b.probe()
		}
	}
}

// Start runs the bot in the background, whether ctx ends or not, and returns a function that stops it and leaves. Only
// its first call does so. Until returns why a run has ended before.
func (b *Bot) Start(ctx context.Context) (leave func() error) {
	playing, stop := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { _ = b.Run(playing) })
	return sync.OnceValue(func() error {
		stop()
		running.Wait()
		return b.Leave()
	})
}

// A handler is a bot as its session calls it.
type handler struct{ *Bot }

// welcomed begins, when the server has let the bot in.
func (b *Bot) welcomed(_ *gamenet.Session, data []byte) (gamenet.Handler, error) {
	var err error
	if b.welcome, err = protocol.ReadWelcome(data); err != nil {
		return nil, err
	}
	if b.cfg.Welcomed != nil {
		b.cfg.Welcomed(b.welcome)
	}
	return handler{b}, nil
}

func (handler) OnConnected(*gamenet.Session) {}

func (b handler) OnPacket(s *gamenet.Session, p gamenet.Packet) {
	message, err := protocol.FromServer(p.ID, p.Payload)
	if err != nil {
		s.Disconnect(gamenet.Reason{Text: err.Error()})
		return
	}
	if echo, ok := message.(protocol.Echo); ok {
		b.rtt.Store(max(1, time.Now().UnixNano()-int64(echo.Value)))
	}
	b.take(message)
	if b.cfg.Observe != nil {
		b.cfg.Observe(message)
	}
}

// OnDisconnected implements gamenet.Handler. Done and Err report it.
func (handler) OnDisconnected(*gamenet.Session, error) {}
