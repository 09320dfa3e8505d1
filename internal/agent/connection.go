package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"
)

const (
	dialLimit  = time.Minute
	callLimit  = time.Minute
	writeLimit = 10 * time.Second
	maxMessage = 4 << 20 // bytes

	// oldSocketLife is how long the socket before a refresh is read.
	oldSocketLife = 5 * time.Minute

	tokenLife = 5 * time.Minute  // in the cache
	tokenRest = 15 * time.Minute // before it expires, a new one is fetched

	firstRetry, maxRetry = 500 * time.Millisecond, 15 * time.Second
)

// A callError is a reply that reports a failure.
type callError struct {
	action  string
	status  int
	message string
}

func (e *callError) Error() string { return fmt.Sprintf("%s: %d: %s", e.action, e.status, e.message) }

// final reports whether another attempt would end in the same way.
func (e *callError) final() bool {
	return e.status == http.StatusBadRequest || e.status == http.StatusUnauthorized
}

var errDisconnected = errors.New("the connection was lost")

// A connection is that to the service, over all its sockets.
type connection struct {
	cfg    *Config
	dialer *websocket.Dialer
	client *http.Client // for uploads
	pushed func(message)
	opened func() // a socket was opened in place of a lost one

	fetching sync.Mutex // one token at a time
	token    string
	fetched  time.Time
	expires  time.Time

	mu       sync.Mutex
	endpoint string
	current  *socket // nil: none
	changed  chan struct{}
	pending  map[string]call // by request id
	closed   bool
	readers  sync.WaitGroup
	sockets  map[*socket]struct{}
}

type socket struct {
	*websocket.Conn
	writing sync.Mutex
	down    chan struct{} // closed when nothing more is read

	storesLogs bool // the service has announced that it stores logs
	isMuster   bool // it has announced that it reads what is of Muster alone
}

type call struct {
	on    *socket
	reply chan message // nil message: never; closed: the socket is lost
}

func newConnection(cfg *Config, endpoint string, pushed func(message), opened func()) *connection {
	return &connection{
		cfg: cfg, pushed: pushed, opened: opened, endpoint: endpoint, changed: make(chan struct{}),
		pending: map[string]call{}, sockets: map[*socket]struct{}{},
		dialer: &websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: dialLimit,
			TLSClientConfig: cfg.TLS},
		client: &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: cfg.TLS,
			TLSHandshakeTimeout: dialLimit, ExpectContinueTimeout: writeLimit, IdleConnTimeout: dialLimit}},
	}
}

// authToken returns the compute's token, from the cache if it is not old.
func (c *connection) authToken(ctx context.Context) (string, error) {
	c.fetching.Lock()
	defer c.fetching.Unlock()
	now := c.cfg.Clock.Now()
	if c.token != "" && now.Sub(c.fetched) < tokenLife && now.Add(tokenRest).Before(c.expires) {
		return c.token, nil
	}
	token, expires, err := c.cfg.API.AuthToken(ctx)
	if err != nil {
		return "", fmt.Errorf("get an auth token: %w", err)
	}
	c.token, c.fetched, c.expires = token, now, expires
	return token, nil
}

// forget empties the cache of the token, which the service has refused.
func (c *connection) forget() {
	c.fetching.Lock()
	defer c.fetching.Unlock()
	c.token = ""
}

// dial opens a socket. The error has no part of the query, which has the token.
func (c *connection) dial(ctx context.Context, endpoint, token string) (*socket, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "ws" && u.Scheme != "wss" {
		return nil, errors.New("connect: the endpoint for agents is no ws:// or wss:// URL")
	}
	q := u.Query()
	q.Set("FleetId", c.cfg.Fleet)
	q.Set("ComputeName", c.cfg.Compute)
	q.Set("Authorization", token)
	u.RawQuery = q.Encode()
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	ws, resp, err := c.dialer.DialContext(ctx, u.String(), http.Header{logsHeader: {logsVersion}})
	if err == nil {
		ws.SetReadLimit(maxMessage)
		return &socket{Conn: ws, down: make(chan struct{}), storesLogs: resp.Header.Get(logsHeader) != "",
			isMuster: resp.Header.Get(reportsHeader) != ""}, nil
	}
	if resp != nil && errors.Is(err, websocket.ErrBadHandshake) {
		if resp.StatusCode == http.StatusForbidden {
			c.forget()
		}
		body, _ := io.ReadAll(resp.Body) // a short copy, already in memory
		var refusal message
		if json.Unmarshal(body, &refusal) != nil || refusal.ErrorMessage == "" {
			refusal.ErrorMessage = resp.Status
		}
		return nil, &callError{"connect", resp.StatusCode, refusal.ErrorMessage}
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	return nil, fmt.Errorf("connect to %s: %w", u.Host, err)
}

// connect makes one attempt.
func (c *connection) connect(ctx context.Context) (*socket, error) {
	token, err := c.authToken(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	endpoint := c.endpoint
	c.mu.Unlock()
	s, err := c.dial(ctx, endpoint, token)
	if err == nil && !c.take(s) {
		err = errDisconnected
	}
	return s, err
}

// take makes a socket the current one, and reads it.
func (c *connection) take(s *socket) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		_ = s.Close() // nothing was sent
		return false
	}
	c.replace(s)
	c.sockets[s] = struct{}{}
	c.readers.Go(func() { c.read(s) })
	return true
}

// replace sets the current socket. The lock is held.
func (c *connection) replace(s *socket) {
	c.current = s
	close(c.changed)
	c.changed = make(chan struct{})
}

// supervise reconnects whenever the current socket is lost, until ctx ends. It returns ErrNotRegistered if there is no
// such compute any more.
func (c *connection) supervise(ctx context.Context) error {
	for {
		c.mu.Lock()
		current, changed := c.current, c.changed
		c.mu.Unlock()
		if current != nil {
			select {
			case <-ctx.Done():
				return nil
			case <-changed:
			case <-current.down:
				if !c.drop(current) {
					return nil
				}
			}
			continue
		}
		err := c.reconnect(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		c.cfg.Log.Info("connected again")
		c.opened()
	}
}

// drop forgets a socket that is down; false if the connection was closed.
func (c *connection) drop(s *socket) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == s && !c.closed {
		c.replace(nil)
		c.cfg.Log.Warn("connection lost")
	}
	return !c.closed
}

func (c *connection) reconnect(ctx context.Context) error {
	var pause backoff
	for {
		_, err := c.connect(ctx)
		if err == nil || errors.Is(err, ErrNotRegistered) {
			return err
		}
		c.cfg.Log.Warn("connecting failed", "error", err)
		if !pause.wait(ctx, c.cfg) {
			return ctx.Err()
		}
	}
}

// A backoff is the time between attempts: 0.5 s, doubling to 15 s, a quarter more or less.
type backoff struct{ next time.Duration }

func (b *backoff) wait(ctx context.Context, cfg *Config) bool {
	b.next = min(max(2*b.next, firstRetry), maxRetry)
	spread := time.Duration(float64(b.next) * (0.75 + rand.Float64()/2))
	timer := cfg.Clock.NewTimer(min(spread, maxRetry))
	defer timer.Stop()
	select {
	case <-timer.Chan():
		return true
	case <-ctx.Done():
		return false
	}
}

// refresh connects to another address with another token, and closes the old socket later. After a failure the old one
// stays: the service asks again.
func (c *connection) refresh(ctx context.Context, m message) {
	s, err := c.dial(ctx, m.RefreshConnectionEndpoint, m.AuthToken)
	if err != nil {
		c.cfg.Log.Warn("refreshing the connection failed", "error", err)
		return
	}
	c.mu.Lock()
	old := c.current
	c.endpoint = m.RefreshConnectionEndpoint
	c.mu.Unlock()
	if c.take(s) && old != nil {
		c.cfg.Clock.AfterFunc(oldSocketLife, func() { old.end("") })
	}
}

// read receives messages until the socket is down.
func (c *connection) read(s *socket) {
	defer func() {
		_ = s.Close() // it is down
		c.mu.Lock()
		delete(c.sockets, s)
		for id, call := range c.pending {
			if call.on == s {
				delete(c.pending, id)
				close(call.reply)
			}
		}
		c.mu.Unlock()
		close(s.down)
	}()
	for {
		kind, data, err := s.ReadMessage()
		if err != nil {
			return
		}
		if kind != websocket.TextMessage {
			continue
		}
		m, err := decode(data)
		if err != nil {
			c.cfg.Log.Warn("message ignored", "reason", err)
			continue
		}
		if !c.deliver(m) {
			c.pushed(m)
		}
	}
}

// deliver passes a reply to its call; false if none waits for it.
func (c *connection) deliver(m message) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	call, ok := c.pending[m.RequestId]
	if ok {
		delete(c.pending, m.RequestId)
		call.reply <- m // has room
	}
	return ok
}

// call sends a request once there is a socket, and waits for the reply, at most a minute in all. The error is a
// *callError for a reply that reports one.
func (c *connection) call(ctx context.Context, r request) (message, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	if r.RequestId == "" {
		r.RequestId = uuid.NewString()
	}
	data, err := json.Marshal(r)
	if err != nil {
		return message{}, err
	}
	s, err := c.awaitSocket(ctx)
	if err != nil {
		return message{}, err
	}
	reply := make(chan message, 1)
	c.mu.Lock()
	if _, open := c.sockets[s]; !open {
		c.mu.Unlock()
		return message{}, errDisconnected
	}
	c.pending[r.RequestId] = call{s, reply}
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.pending, r.RequestId)
		c.mu.Unlock()
	}()
	s.write(data)
	select {
	case <-ctx.Done():
		return message{}, ctx.Err()
	case m, ok := <-reply:
		switch {
		case !ok:
			return m, errDisconnected
		case m.StatusCode != http.StatusOK:
			return m, &callError{r.Action, m.StatusCode, m.ErrorMessage}
		}
		return m, nil
	}
}

// isMuster reports whether the service has announced that it reads what is of Muster alone.
func (c *connection) isMuster() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current != nil && c.current.isMuster
}

// address returns the URL of the endpoint for agents.
func (c *connection) address() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.endpoint
}

func (c *connection) awaitSocket(ctx context.Context) (*socket, error) {
	for {
		c.mu.Lock()
		s, changed := c.current, c.changed
		c.mu.Unlock()
		if s != nil {
			return s, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// write sends a message. After an error the socket is down.
func (s *socket) write(data []byte) {
	s.writing.Lock()
	defer s.writing.Unlock()
	err := s.SetWriteDeadline(time.Now().Add(writeLimit)) // the network's deadlines are in real time
	if err == nil {
		err = s.WriteMessage(websocket.TextMessage, data)
	}
	if err != nil {
		_ = s.Close() // ends the reader
	}
}

// end closes the socket with a Close frame.
func (s *socket) end(text string) {
	frame := websocket.FormatCloseMessage(websocket.CloseNormalClosure, text)
	_ = s.WriteControl(websocket.CloseMessage, frame, time.Now().Add(time.Second)) // it is closed in any case
	_ = s.Close()
}

// close closes all sockets and waits for their readers.
func (c *connection) close() {
	c.mu.Lock()
	c.closed = true
	for s := range c.sockets {
		s.end("GameLift Agent requested WebSocket closure")
	}
	c.mu.Unlock()
	c.readers.Wait()
	c.client.CloseIdleConnections()
}
