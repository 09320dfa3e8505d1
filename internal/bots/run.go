package bots

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/session"
)

// Config configures a run.
type Config struct {
	Players int
	Every   time.Duration // between two bots that begin to join; 0: at once
	Stay    time.Duration // in a game session
	Slots   int           // of game sessions that bots create
	// Client makes the client of a bot, which Run closes. Its Connector must be a Connector of this package.
	Client func(playerID string) *session.Client
	// Ticket makes a bot's request for a match; nil: bots search for game sessions and create them.
	Ticket func(playerID string) session.StartMatchmakingRequest
	Name   string // of the run: the ids of its players begin with it
	Full   func() // called when all bots are in game sessions at the same time for the first time; may be nil
	Clock  clockwork.Clock
}

// A ConnectError is a game server that could not be reached, or has rejected a player.
type ConnectError struct {
	Address string
	Err     error
}

// Error names the game server.
func (e *ConnectError) Error() string { return fmt.Sprintf("game server %s: %v", e.Address, e.Err) }

// Unwrap returns the cause.
func (e *ConnectError) Unwrap() error { return e.Err }

// A Connector returns each failure as a *ConnectError.
type Connector struct{ session.Connector }

// Connect implements session.Connector.
func (c Connector) Connect(ctx context.Context, r session.Reservation) (session.Connection, error) {
	conn, err := c.Connector.Connect(ctx, r)
	if err != nil {
		return nil, &ConnectError{r.Address(), err}
	}
	return conn, nil
}

// errEnded is the cause of a connection that the game server has closed without a reason.
var errEnded = errors.New("the game server closed the connection")

// closing limits the time in which a bot leaves at the end.
const closing = 10 * time.Second

// Run runs bots until ctx ends, and returns when all have left. It fails at once if a bot meets an error that a retry
// cannot help, and none has joined before.
func Run(ctx context.Context, cfg Config, stats *Stats) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	c := &crew{Config: cfg, stats: stats, stop: stop, hosted: make(chan struct{})}
	if cfg.Every > 0 {
		turns := cfg.Clock.NewTicker(cfg.Every)
		defer turns.Stop()
		c.turns = turns.Chan()
	} else {
		always := make(chan time.Time)
		close(always)
		c.turns = always
	}
	var running sync.WaitGroup
	for n := range cfg.Players {
		running.Go(func() { c.play(ctx, fmt.Sprintf("%s-%d", cfg.Name, n+1)) })
	}
	running.Wait()
	if hopeless, ok := errors.AsType[*hopelessError](context.Cause(ctx)); ok {
		return hopeless.error
	}
	return nil
}

type hopelessError struct{ error }

// A crew is the bots of a run.
type crew struct {
	Config
	stats *Stats
	turns <-chan time.Time // has one for each bot that may begin to join
	stop  context.CancelCauseFunc
	lucky atomic.Bool // a bot has joined
	full  sync.Once   // for Full

	mu       sync.Mutex
	hosting  int           // bots that create a game session
	awaiting int           // bots that wait for them
	hosted   chan struct{} // closed and replaced when one has ended
}

// A bot is one player.
type bot struct {
	*crew
	client *session.Client
	id     string
	since  time.Time // when it arrived; zero unless it waits for a slot
}

// play runs one bot.
func (c *crew) play(ctx context.Context, id string) {
	b := &bot{crew: c, client: c.Client(id), id: id}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
		defer cancel()
		_ = b.client.Close(ctx) // at the end its connection is cut
	}()
	if err := b.client.Configure(ctx, ""); err != nil {
		c.stop(&hopelessError{err}) // the first one counts
		return
	}
	plan := Plan{Matchmaking: c.Ticket != nil}
	for next := (Move{Step: Arrive}); ; {
		ended := next.Step
		result := b.do(ctx, next)
		if ctx.Err() != nil {
			return
		}
		next = plan.Next(ended, result)
		b.count(ended, next)
	}
}

// count counts what a step has changed.
func (b *bot) count(ended Step, next Move) {
	switch {
	case ended == Arrive && b.since.IsZero():
		b.since = b.Clock.Now()
		b.stats.update(func(now *Snapshot) { now.Waiting++ })
	case next.Step == Stay:
		b.lucky.Store(true)
		if b.stats.joined(b.Clock.Since(b.since)) == b.Players && b.Full != nil {
			b.full.Do(b.Full)
		}
		b.since = time.Time{}
	case ended == Stay:
		b.stats.update(func(now *Snapshot) {
			now.Joined--
			if next.Failure == nil {
				now.Leaves++
			}
		})
	}
	if next.Failure == nil {
		return
	}
	b.stats.failed(next.Failure)
	if next.Hopeless && !b.lucky.Load() {
		b.stop(&hopelessError{next.Failure})
	}
}

// game is the name of a bot's named session.
const game = "game"

// do carries out a step.
func (b *bot) do(ctx context.Context, m Move) (r Result) {
	named := b.client.Named()
	switch m.Step {
	case Arrive:
		select {
		case <-b.turns:
		case <-ctx.Done():
		}
	case Find:
		r.Found, r.Err = named.Find(ctx, session.FindRequest{Limit: maxFound})
	case Join:
		r.Err = named.Join(ctx, game, m.Session)
	case Host:
		r.Again, r.Err = b.host(ctx)
	case Match:
		r.Err = b.match(ctx)
	case Stay:
		r.Err = b.stay(ctx)
	case Leave:
		if b.Ticket != nil {
			r.Err = b.client.LeaveSession(ctx)
		} else {
			r.Err = named.Destroy(ctx, game)
		}
	case Rest:
		b.pause(ctx, m.Wait, nil)
	}
	return r
}

// pause waits for d, until ctx is done or end is closed, and reports whether d has passed.
func (b *bot) pause(ctx context.Context, d time.Duration, end <-chan struct{}) bool {
	timer := b.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.Chan():
		return true
	case <-end:
	case <-ctx.Done():
	}
	return false
}

// hostLimit limits the creation of a game session: with a queue it can take long, and others may have free slots.
const hostLimit = 20 * time.Second

var errNoServer = session.Errorf("Start", session.ErrUnavailable, "no game server was free within %s", hostLimit)

// host creates a game session and joins it. If other bots create enough of them, host waits for one of these instead,
// and returns again.
func (b *bot) host(ctx context.Context) (again bool, err error) {
	b.mu.Lock()
	hosted := b.hosted
	if b.awaiting < b.hosting*(b.Slots-1) {
		b.awaiting++
		b.mu.Unlock()
		select {
		case <-hosted:
		case <-ctx.Done():
		}
		return true, nil
	}
	b.hosting++
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.hosting--
		b.awaiting = 0
		close(b.hosted)
		b.hosted = make(chan struct{})
	}()

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer b.Clock.AfterFunc(hostLimit, func() { cancel(errNoServer) }).Stop()
	named := b.client.Named()
	err = named.Create(ctx, game, session.Settings{NumPublicConnections: b.Slots,
		Properties: map[string]string{session.PropertyName: b.Name}})
	if err != nil {
		return false, err
	}
	if err = named.Start(ctx, game); err != nil {
		_ = named.Destroy(context.WithoutCancel(ctx), game) // it was not started
	}
	return false, err
}

// stay plays. It fails if the connection ends before.
func (b *bot) stay(ctx context.Context) error {
	conn := b.client.Connection()
	if b.Ticket == nil {
		conn = b.client.Named().Connection(game)
	}
	if conn == nil { // lost since it was made
		return &session.Error{Op: "Stay", Kind: session.ErrTransport, Code: "disconnected", Message: errEnded.Error()}
	}
	if b.pause(ctx, b.Stay, conn.Done()) || ctx.Err() != nil {
		return nil
	}
	err := conn.Err()
	if err == nil {
		err = errEnded
	}
	return &session.Error{Op: "Stay", Kind: session.ErrTransport, Code: "disconnected", Message: err.Error(), Err: err}
}
