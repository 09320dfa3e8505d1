// Package machine is the client side of a machine agent: it joins a location of a service, and keeps the state of the
// machine there up to date. Package protocol describes the messages. It imports nothing of the service.
//
// A service that restarts, an agent that restarts and a network that fails are one path: the socket is closed, and
// opened again with a growing pause. The pauses are random, so that many machines do not return at once.
package machine

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
)

const (
	// firstPause is the longest pause before a closed socket is opened again; each failure doubles it up to maxPause.
	firstPause = 4 * time.Second
	maxPause   = 15 * time.Second

	// dialLimit is how long a handshake may take.
	dialLimit = 15 * time.Second
	// writeLimit is the time-out of a write.
	writeLimit = 10 * time.Second

	// reportPause is the shortest time between two reports of changes.
	reportPause = 100 * time.Millisecond
	// tokenRepeat is how long an answer to a request for a token is awaited before it is sent again.
	tokenRepeat = 5 * time.Second
)

// Config configures a Machine. Service, Data, Offer and Log are required.
type Config struct {
	Service  string // base URL of the service: wss://host:port
	Name     string // "": as it has joined, else the host name
	Location string // "": that of the token, or where it has joined
	Data     string // directory of the key and the identity; it is created

	// Token returns the join token. A machine that has joined needs one only if it was deleted: an error is then
	// ignored. nil: there is none.
	Token func() (string, error)

	Offer protocol.Offer        // IP "" without DNS: the address by which the service is reached
	Load  func() (load Measure) // nil: nothing is measured
	TLS   *tls.Config           // nil: the CAs of the system
	Clock clockwork.Clock       // nil: the real clock
	Log   *slog.Logger

	// Wanted is called with each new state that the service wants, by one goroutine. nil: nothing is called.
	Wanted func(protocol.Wanted)
	// Instances returns the states of the instances. Call Machine.Changed when they have changed. nil: there are none.
	Instances func() []protocol.InstanceState
}

// A Measure is the load of a machine at one time.
type Measure struct {
	Load          *float64 // average of running threads in the last minute; nil: unknown
	FreeMemoryMiB *int64   // nil: unknown
}

// A Machine is a machine that joins a location.
type Machine struct {
	cfg      Config
	url      string
	identity identity
	key      ed25519.PrivateKey

	changed  chan struct{}              // has one element if something is to be reported
	requests chan protocol.TokenRequest // for the socket that is open

	mu     sync.Mutex
	wanted protocol.Wanted                          // the newest; Generation 0: none
	tokens map[string]map[chan *protocol.Token]bool // who waits for the token of an instance
}

// Open reads the identity of a machine from its data directory, or makes one.
func Open(cfg Config) (*Machine, error) {
	if cfg.Clock == nil {
		cfg.Clock = clockwork.NewRealClock()
	}
	if cfg.Load == nil {
		cfg.Load = func() Measure { return Measure{} }
	}
	m := &Machine{cfg: cfg, changed: make(chan struct{}, 1), requests: make(chan protocol.TokenRequest),
		tokens: map[string]map[chan *protocol.Token]bool{}}
	var err error
	if m.url, err = socketURL(cfg.Service); err != nil {
		return nil, err
	}
	if m.identity, err = openIdentity(cfg.Data, cfg.Name); err != nil {
		return nil, err
	}
	m.key = ed25519.NewKeyFromSeed(m.identity.Seed)
	return m, nil
}

// socketURL returns the URL of the socket.
func socketURL(service string) (string, error) {
	u, err := baseURL(service)
	if err != nil {
		return "", err
	}
	return u.String() + protocol.Path, nil
}

// HTTPURL returns the URL of a service for HTTP, without a slash at its end.
func HTTPURL(service string) (string, error) {
	u, err := baseURL(service)
	if err != nil {
		return "", err
	}
	u.Scheme = strings.Replace(u.Scheme, "ws", "http", 1)
	return u.String(), nil
}

// baseURL returns the URL of a service with the scheme ws or wss.
func baseURL(service string) (*url.URL, error) {
	u, err := url.Parse(service)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("service %q must be a URL such as wss://games.example.com:9080", service)
	}
	switch u.Scheme {
	case "http":
		u.Scheme = "ws"
	case "https":
		u.Scheme = "wss"
	case "ws", "wss":
	default:
		return nil, fmt.Errorf("service %q must begin with wss:// or ws://", service)
	}
	return &url.URL{Scheme: u.Scheme, User: u.User, Host: u.Host,
		Path: strings.TrimSuffix(strings.TrimRight(u.Path, "/"), protocol.Path)}, nil
}

// Name returns the name of the machine.
func (m *Machine) Name() string { return m.identity.Name }

// A RefusedError is the final refusal of a service.
type RefusedError struct{ protocol.Refused }

// Error returns the exception and its text.
func (e *RefusedError) Error() string { return "refused: " + e.Refused.Error + ": " + e.Message }

// Run keeps the machine connected until ctx is done, which is no error, or until the service refuses it for good.
func (m *Machine) Run(ctx context.Context) error {
	pause := firstPause
	for {
		joined, err := m.connect(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if refused, ok := errors.AsType[*RefusedError](err); ok && refused.Final {
			return err
		}
		if errors.Is(err, errIdentity) {
			return err
		}
		if joined {
			pause = firstPause
		}
		wait := time.Duration(rand.Int64N(int64(pause))) //nolint:gosec // only spreads load
		m.cfg.Log.Warn("not connected", "service", m.url, "error", err, "next_try", wait.Round(time.Millisecond))
		select {
		case <-m.cfg.Clock.After(wait):
		case <-ctx.Done():
			return nil
		}
		pause = min(2*pause, maxPause)
	}
}

// connect opens a socket and serves it until it is closed. joined reports that the service accepted the machine.
func (m *Machine) connect(ctx context.Context) (joined bool, err error) {
	dialer := websocket.Dialer{HandshakeTimeout: dialLimit, TLSClientConfig: m.cfg.TLS,
		Proxy: http.ProxyFromEnvironment}
	ws, response, err := dialer.DialContext(ctx, m.url, nil)
	if err != nil {
		if response != nil {
			return false, fmt.Errorf("%w: %s", err, response.Status)
		}
		return false, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = ws.Close() })
	defer stop()
	s := &session{m: m, ws: ws, offer: m.cfg.Offer}
	if s.offer.IP == "" && s.offer.DNS == "" {
		s.offer.IP = hostOf(ws.LocalAddr())
	}
	return s.run(ctx, cancel)
}

func hostOf(a net.Addr) string {
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return ""
	}
	return host
}

// A session is one socket.
type session struct {
	m      *Machine
	ws     *websocket.Conn
	offer  protocol.Offer
	joined bool
}

// run joins, and serves the socket until it is closed.
func (s *session) run(ctx context.Context, cancel func()) (joined bool, err error) {
	s.ws.SetReadLimit(protocol.MaxFromService)
	if err := s.extend(dialLimit); err != nil {
		return false, err
	}
	message, err := s.receive()
	if err != nil {
		return false, err
	}
	c, ok := message.(*protocol.Challenge)
	if !ok {
		return false, errors.New("the service did not begin with a challenge")
	}
	if err := s.join(c); err != nil {
		return false, err
	}
	var reporting sync.WaitGroup
	defer reporting.Wait()
	defer cancel()
	for {
		message, err := s.receive()
		if err != nil {
			return s.joined, err
		}
		switch message := message.(type) {
		case *protocol.Refused:
			return s.joined, &RefusedError{*message}
		case *protocol.Wanted:
			if err := s.accept(message, c.Region); err != nil {
				return true, err
			}
			if !s.joined {
				s.joined = true
				reporting.Go(func() { s.report(ctx, message) })
			}
			s.m.Changed()
		case *protocol.Token:
			s.m.answer(message)
		}
	}
}

func (s *session) join(c *protocol.Challenge) error {
	m := s.m
	if region := m.identity.Region; region != "" && region != c.Region {
		return fmt.Errorf("%w: %s belongs to region %s, and the service is of %s", errIdentity, m.cfg.Data, region,
			c.Region)
	}
	j := &protocol.Join{Name: m.identity.Name, Location: m.cfg.Location,
		PublicKey: m.key.Public().(ed25519.PublicKey),
		Signature: ed25519.Sign(m.key, protocol.SignedText(*c, m.identity.Name)), Offer: s.offer}
	if m.cfg.Token != nil {
		var err error
		if j.Token, err = m.cfg.Token(); err != nil && m.identity.Region == "" {
			return fmt.Errorf("%w: join token: %w", errIdentity, err)
		}
	}
	return s.write(protocol.Encode(j))
}

// accept takes over the state that is wanted, unless it is older than the one that the machine has.
func (s *session) accept(w *protocol.Wanted, region string) error {
	m := s.m
	if !s.joined {
		m.cfg.Log.Info("connected", "service", m.url, "machine", m.identity.Name)
		if err := m.identity.joined(m.cfg.Data, region); err != nil {
			return err
		}
		lost := time.Duration(w.LostSeconds) * time.Second
		s.ws.SetPongHandler(func(string) error { return s.extend(lost) })
		if err := s.extend(lost); err != nil {
			return err
		}
	}
	if w.Generation <= m.Wanted().Generation {
		return nil
	}
	if m.cfg.Wanted != nil {
		m.cfg.Wanted(*w) // before it is reported that the machine acts on it
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wanted = *w
	return nil
}

// report sends the state of the machine when it or the wanted one has changed, and at least each interval, with a Ping
// whose Pong shows that the service is there. It also sends the requests for tokens.
func (s *session) report(ctx context.Context, w *protocol.Wanted) {
	tick := s.m.cfg.Clock.NewTicker(time.Duration(w.ReportSeconds) * time.Second)
	defer tick.Stop()
	changed := s.m.changed
	var paused <-chan time.Time
	for {
		var err error
		select {
		case <-changed:
			changed, paused = nil, s.m.cfg.Clock.After(reportPause)
			err = s.observed()
		case <-paused:
			changed, paused = s.m.changed, nil
		case <-tick.Chan():
			err = s.observed()
		case request := <-s.m.requests:
			err = s.write(protocol.Encode(&request))
		case <-ctx.Done():
			return
		}
		if err != nil {
			_ = s.ws.Close() // the reader ends the session
			return
		}
	}
}

// observed sends the state of the machine.
func (s *session) observed() error {
	m := s.m
	load := m.cfg.Load()
	o := &protocol.Observed{Generation: m.Wanted().Generation, Offer: s.offer, Load: load.Load,
		FreeMemoryMiB: load.FreeMemoryMiB}
	if m.cfg.Instances != nil {
		o.Instances = m.cfg.Instances()
	}
	if err := s.write(protocol.Encode(o)); err != nil {
		return err
	}
	return s.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeLimit))
}

// receive returns the next message whose type is known.
func (s *session) receive() (any, error) {
	for {
		_, data, err := s.ws.ReadMessage()
		if err != nil {
			return nil, err
		}
		message, err := protocol.DecodeFromService(data)
		if !errors.Is(err, protocol.ErrUnknown) {
			return message, err
		}
	}
}

// extend sets how long the service may be silent. Network deadlines are in real time, even with a fake clock.
func (s *session) extend(d time.Duration) error { return s.ws.SetReadDeadline(time.Now().Add(d)) }

// write sends a message. One goroutine at a time calls it.
func (s *session) write(data []byte) error {
	if err := s.ws.SetWriteDeadline(time.Now().Add(writeLimit)); err != nil {
		return err
	}
	return s.ws.WriteMessage(websocket.TextMessage, data)
}

// Changed has the state of the machine reported soon. It does not wait.
func (m *Machine) Changed() {
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

// Token requests the token of an instance's compute, again and again until it is answered or ctx is done. The error of
// an answer may be another one later.
func (m *Machine) Token(ctx context.Context, instance string) (protocol.Token, error) {
	return m.request(ctx, protocol.TokenRequest{Instance: instance})
}

// Certificate requests a certificate for an instance by a certificate request in DER form, as Token.
func (m *Machine) Certificate(ctx context.Context, instance string, request []byte) (protocol.Token, error) {
	return m.request(ctx, protocol.TokenRequest{Instance: instance, CertificateRequest: request})
}

// RoleKeys requests keys of the role of an instance, as Token.
func (m *Machine) RoleKeys(ctx context.Context, instance string) (protocol.RoleKeys, error) {
	t, err := m.request(ctx, protocol.TokenRequest{Instance: instance, RoleKeys: true})
	if err != nil {
		return protocol.RoleKeys{}, err
	}
	return *t.RoleKeys, nil
}

func (m *Machine) request(ctx context.Context, r protocol.TokenRequest) (protocol.Token, error) {
	instance, answer := r.Instance, make(chan *protocol.Token, 1)
	m.await(instance, answer, true)
	defer m.await(instance, answer, false)
	requests := m.requests
	var repeat <-chan time.Time
	for {
		select {
		case requests <- r:
			requests, repeat = nil, m.cfg.Clock.After(tokenRepeat)
		case <-repeat:
			requests = m.requests
		case t := <-answer:
			if t.Error != "" {
				return *t, fmt.Errorf("token of instance %s: %s", instance, t.Error)
			}
			if (t.Certificate != "" || r.CertificateRequest == nil) && (t.RoleKeys != nil || !r.RoleKeys) {
				return *t, nil
			}
		case <-ctx.Done():
			return protocol.Token{}, ctx.Err()
		}
	}
}

// await adds or removes a call that waits for the token of an instance.
func (m *Machine) await(instance string, answer chan *protocol.Token, waits bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch calls := m.tokens[instance]; {
	case !waits && len(calls) == 1:
		delete(m.tokens, instance)
	case !waits:
		delete(calls, answer)
	case calls == nil:
		m.tokens[instance] = map[chan *protocol.Token]bool{answer: true}
	default:
		calls[answer] = true
	}
}

// answer passes a token to the calls that wait for it.
func (m *Machine) answer(t *protocol.Token) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for call := range m.tokens[t.Instance] {
		select {
		case call <- t:
		default: // it has one
		}
	}
}

// Wanted returns the newest state that the service wants; its Generation is 0 before the first one.
func (m *Machine) Wanted() protocol.Wanted {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.wanted
}
