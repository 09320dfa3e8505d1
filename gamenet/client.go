package gamenet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// A ClientService connects to a server and, with Reconnect, reconnects when a session has ended. Its methods may be
// called from any goroutine.
type ClientService struct {
	service
	connectTimeout time.Duration
	backoff        *Backoff
}

// NewClient creates a client; Start connects it. It fails with a *ConfigError.
func NewClient(cfg ClientConfig) (*ClientService, error) {
	cfg.fill()
	cfg.Sessions = cmp.Or(cfg.Sessions, 1)
	cfg.ConnectTimeout = cmp.Or(cfg.ConnectTimeout, 10*time.Second)
	if err := cfg.validate(false); err != nil {
		return nil, err
	}
	switch {
	case cfg.Sessions < 0:
		return nil, configError("Sessions", "%d is negative", cfg.Sessions)
	case cfg.ConnectTimeout < 0:
		return nil, configError("ConnectTimeout", "%v is negative", cfg.ConnectTimeout)
	}
	c := &ClientService{connectTimeout: cfg.ConnectTimeout}
	if cfg.Reconnect != nil {
		b := *cfg.Reconnect
		b.Initial, b.Max = cmp.Or(b.Initial, 100*time.Millisecond), cmp.Or(b.Max, 10*time.Second)
		if b.Initial < 0 || b.Max < b.Initial || b.Attempts < 0 {
			return nil, configError("Reconnect",
				"Initial %v, Max %v, Attempts %d: none may be negative, and Max not below Initial",
				b.Initial, b.Max, b.Attempts)
		}
		c.backoff = &b
	}
	c.init(cfg.Config, cfg.Sessions)
	return c, nil
}

// Start opens the connections concurrently and returns when each has been tried once, possibly before their
// OnConnected. If one fails without Reconnect, Start closes the service and returns the first error; with Reconnect it
// is retried in the background, and Start returns nil. ctx limits these first attempts.
func (c *ClientService) Start(ctx context.Context) error {
	if err := c.begin(); err != nil {
		return err
	}
	n := c.MaxSessions()
	tried := make(chan error, n)
	c.mu.Lock()
	if c.closing {
		c.mu.Unlock()
		return ErrServiceClosed
	}
	c.running.Add(n)
	c.mu.Unlock()
	for range n {
		go func() {
			defer c.running.Done()
			c.keep(ctx, tried)
		}()
	}
	var failed error
	for range n {
		if err := <-tried; err != nil && failed == nil {
			failed = err
		}
	}
	if failed != nil && c.backoff == nil {
		return errors.Join(failed, c.Close(ctx))
	}
	return nil
}

// Close ends all sessions gracefully, as ServerService.Close does, and the attempts to connect. Within a callback it
// does not wait either.
func (c *ClientService) Close(ctx context.Context) error { return c.closeService(ctx, func() {}) }

// keep opens one connection and, with Reconnect, reopens it until the service closes.
func (c *ClientService) keep(first context.Context, tried chan<- error) {
	session, err := c.connect(first)
	tried <- err
	failures := 0
	for {
		if err != nil {
			c.report("connect failed", err)
		}
		if failures++; err == nil && c.serve(session) {
			failures = 0
		}
		if err == nil && session.peer != nil && !session.peer.Reconnect {
			return
		}
		if c.backoff == nil || c.backoff.Attempts > 0 && failures >= c.backoff.Attempts {
			return
		}
		select {
		case <-c.stop:
			return
		case <-c.cfg.clock.After(c.backoff.pause(failures)):
		}
		session, err = c.connect(c.base)
	}
}

// serve runs a session and reports whether the server accepted it. A full server accepts the connection too, but ends
// it soon and without a packet of the game.
func (c *ClientService) serve(session *Session) (taken bool) {
	began := c.elapsed()
	session.run(c.base)
	return session.watched.started.Load() || c.backoff != nil && c.elapsed()-began >= int64(c.backoff.Max)
}

// pause returns the time before the next attempt, after so many consecutive failures. A session that has ended does not
// count as one, so its successor starts soon.
func (b *Backoff) pause(failures int) time.Duration {
	d := b.Initial
	for range failures {
		if d = 2 * d; d >= b.Max {
			d = b.Max
			break
		}
	}
	return d - time.Duration(rand.Int64N(int64(d/2)+1))
}

func (c *ClientService) connect(ctx context.Context) (*Session, error) {
	ctx, cancel := context.WithTimeout(ctx, c.connectTimeout)
	defer cancel()
	defer context.AfterFunc(c.base, cancel)() // closing the service ends the attempt
	conn, err := c.cfg.Transport.Dial(ctx, c.cfg.Address)
	if err != nil {
		return nil, fmt.Errorf("gamenet: connect: %w", err)
	}
	c.takeSlot()
	session, ok := c.newSession(conn, nil)
	if !ok {
		c.slots.Add(-1)
		conn.Close()
		return nil, ErrServiceClosed
	}
	return session, nil
}
