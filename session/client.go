package session

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// A Client is the player's side of sessions. Its methods may be called from any goroutine, also from subscribers; only
// Close must not be called from one, because it waits for them.
//
// Each call waits, and returns when it is complete or its context is done. Async makes a call without waiting, and
// publishes its completion. A call that fails releases everything that it has reserved.
//
// The errors are of the kinds that this package lists.
type Client struct {
	cfg        Config
	calls      *callGroup
	events     dispatcher
	ids        atomic.Uint64
	configured atomic.Bool
	game       *machine // of JoinSession and matches
	tickets    tickets
	named      NamedSessions
}

// New makes a client. It starts nothing; Close ends what its calls have started.
func New(cfg Config) *Client {
	c := &Client{calls: newCallGroup()}
	if c.events.log = cfg.Log; cfg.Log == nil {
		c.events.log = slog.Default()
	}
	cfg.fill()
	c.cfg = cfg
	c.tickets.client = c
	c.game, c.named.machine = newMachine(c), newMachine(c)
	return c
}

// Subscribe calls receive with every event that is published from now on, in order. All subscribers are called from one
// goroutine, one after the other, and under no lock. A slow subscriber delays the events, its own and those of others,
// but no call and no event is lost. A panic of receive is logged, and receive misses only that event. unsubscribe may
// be called from receive; it does not wait for a running call of receive. A nil receive panics.
func (c *Client) Subscribe(receive func(Event)) (unsubscribe func()) {
	if receive == nil {
		panic("session: Subscribe: receive is nil")
	}
	return c.events.subscribe(receive)
}

// Named returns the client's named sessions.
func (c *Client) Named() *NamedSessions { return &c.named }

// PlayerID returns the player's id in named sessions: Config.PlayerID, or the random id that replaces an empty one.
func (c *Client) PlayerID() string { return c.cfg.PlayerID }

// CreatePlayerID returns a random id for a player: a UUID, with or without braces around it and dashes in it.
func (c *Client) CreatePlayerID(braces, dashes bool) string {
	id := uuid.New()
	text := id.String()
	if !dashes {
		text = text[:8] + text[9:13] + text[14:18] + text[19:23] + text[24:]
	}
	if braces {
		text = "{" + text + "}"
	}
	return text
}

func newPlayerID() string { return uuid.NewString() }

// Close ends everything: running calls return ErrClosed, and complete as always; tracking stops; the player leaves its
// game, named sessions are destroyed without a completion, and connections are closed, at once if ctx is done. Close
// returns when subscribers have received all events and nothing of the client is running. If ctx is done while calls or
// subscribers are still busy, Close returns ErrTimeout, and another Close continues from there. Calls after Close
// return ErrClosed, and Async publishes nothing.
func (c *Client) Close(ctx context.Context) error {
	if err := c.calls.close(ctx); err != nil {
		return &Error{Op: "Close", Kind: ErrTimeout, Message: "calls are still under way", Err: err}
	}
	c.named.close(ctx)
	c.game.close(ctx)
	if err := c.events.wait(ctx); err != nil {
		return &Error{Op: "Close", Kind: ErrTimeout, Message: "a subscriber is still busy", Err: err}
	}
	return nil
}

func (c *Client) newID() OpID { return OpID(c.ids.Add(1)) }

// ready rejects calls that need the service while there is none, or before Configure has succeeded.
func (c *Client) ready(op string) error {
	switch {
	case c.cfg.Remote == nil:
		return Errorf(op, ErrUnsupported, "there is no session service: set Config.Remote")
	case !c.configured.Load():
		return Errorf(op, ErrNotConfigured, "call Configure first")
	}
	return nil
}

// cleanup returns a context for releasing the reservations of a call, whose own context may be done.
func (c *Client) cleanup(ctx context.Context) (context.Context, func()) {
	return c.limit(context.WithoutCancel(ctx), c.cfg.CleanupTimeout)
}

// limit is context.WithTimeout by the client's clock.
func (c *Client) limit(ctx context.Context, d time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := c.cfg.clock.AfterFunc(d, func() { cancel(context.DeadlineExceeded) })
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}
