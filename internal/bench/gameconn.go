package bench

import (
	"context"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"sync"
	"time"
)

const (
	// sessionLimit is how long a game session may take to reach its process, or to be activated there.
	sessionLimit = 20 * time.Second
	// requestLimit is how long a reply may take. Source: server SDK 5, SERVICE_CALL_TIMEOUT.
	requestLimit = 20 * time.Second
	// healthInterval is the interval of health reports, plus or minus healthJitter. Source: server SDK 5,
	// HEALTHCHECK_INTERVAL and HEALTHCHECK_MAX_JITTER.
	healthInterval = 60 * time.Second
	healthJitter   = 10 * time.Second
)

var (
	// errNoGameSession: a created game session was not activated.
	errNoGameSession = errors.New("game session not activated in time")
	// errNoReply: a request was not answered.
	errNoReply = fmt.Errorf("no reply in time: %w", os.ErrDeadlineExceeded)
	// errEnded: the process was ended by this program.
	errEnded = errors.New("the process has ended")
)

// A gameServer is a game server on any server SDK.
type gameServer interface {
	// ready reports the game server ready and starts its health reports. start receives the game session and must not
	// block.
	ready(ctx context.Context, start func(session string)) error
	// activate activates the game session that start has received.
	activate(ctx context.Context) error
	accept(ctx context.Context, playerSession string) error
	// end ends the process and disconnects. It must be called.
	end(ctx context.Context) error
}

// A gameConn is the connection of a game server: its socket, its requests without a reply, and its game session.
type gameConn struct {
	socket *gameSocket
	gone   chan struct{} // closed when the socket is no longer read

	mu      sync.Mutex
	start   func(session string) // receives the game session to host, on the reading goroutine
	last    uint64               // number of the last request; the first is 1
	waiting []awaited
	session string
	failure error       // why requests fail
	health  *time.Timer // until the next report; nil while not ready
}

// An awaited is a request without a reply.
type awaited struct {
	number uint64
	action string
	done   func(error)
}

// newGameConn returns a connection that is read by run.
func newGameConn(socket *gameSocket) gameConn {
	return gameConn{socket: socket, gone: make(chan struct{})}
}

// run passes messages to receive until the socket is closed.
func (c *gameConn) run(receive func(message []byte)) {
	defer close(c.gone)
	c.fail(c.socket.read(receive))
}

// fail ends all pending requests and the health reports. The first reason is kept.
func (c *gameConn) fail(reason error) {
	c.socket.close()
	c.mu.Lock()
	if c.failure == nil {
		c.failure = reason
	}
	waiting := c.waiting
	c.waiting = nil
	if c.health != nil {
		c.health.Stop()
	}
	c.mu.Unlock()
	for _, w := range waiting {
		w.done(reason)
	}
}

// disconnect closes the socket and waits for run.
func (c *gameConn) disconnect() {
	c.fail(errEnded)
	<-c.gone
}

// begin returns the number of a new request. It calls done and returns false if the connection has failed.
func (c *gameConn) begin(action string, done func(error)) (number uint64, ok bool) {
	c.mu.Lock()
	failure := c.failure
	c.last++
	number = c.last
	if failure == nil {
		c.waiting = append(c.waiting, awaited{number, action, done})
	}
	c.mu.Unlock()
	if failure != nil {
		done(failure)
	}
	return number, failure == nil
}

// complete removes a pending request.
func (c *gameConn) complete(number uint64) (awaited, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, w := range c.waiting {
		if w.number == number {
			end := len(c.waiting) - 1
			c.waiting[i] = c.waiting[end]
			c.waiting[end] = awaited{}
			c.waiting = c.waiting[:end]
			return w, true
		}
	}
	return awaited{}, false
}

// onGameSession sets the function that receives the game session.
func (c *gameConn) onGameSession(start func(session string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.start = start
}

// assign starts a game session, unless it is known: the service repeats it until the activation.
func (c *gameConn) assign(session string) {
	c.mu.Lock()
	known := c.session == session
	c.session = session
	start := c.start
	c.mu.Unlock()
	if !known && start != nil {
		start(session)
	}
}

// gameSession returns the id of the assigned game session.
func (c *gameConn) gameSession() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// schedule calls report after the interval of health reports; false if the connection has failed.
func (c *gameConn) schedule(report func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure == nil {
		c.health = time.AfterFunc(healthInterval-healthJitter+mathrand.N(2*healthJitter), report)
	}
	return c.failure == nil
}

// messages holds buffers for requests.
var messages = sync.Pool{New: func() any { b := make([]byte, 0, socketBuffer); return &b }}

// A waiter waits for one reply at a time.
type waiter struct {
	reply chan error
	done  func(error)
	limit *time.Timer
}

// waiters are idle waiters.
var waiters = sync.Pool{New: func() any {
	w := &waiter{reply: make(chan error, 1), limit: time.NewTimer(requestLimit)}
	w.done = func(err error) { w.reply <- err }
	return w
}}

// await calls send, which sends a request, and waits for its reply.
func await(ctx context.Context, send func(done func(error))) error {
	w := waiters.Get().(*waiter)
	w.limit.Reset(requestLimit)
	send(w.done)
	select {
	case err := <-w.reply:
		w.limit.Stop()
		waiters.Put(w)
		return err
	case <-w.limit.C: // a late reply may arrive: the waiter is not reused
		return errNoReply
	case <-ctx.Done():
		return ctx.Err()
	}
}
