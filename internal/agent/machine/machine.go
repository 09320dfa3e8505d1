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

	mu     sync.Mutex
	wanted protocol.Wanted // the newest; Generation 0: none
}

// Open reads the identity of a machine from its data directory, or makes one.
func Open(cfg Config) (*Machine, error) {
	if cfg.Clock == nil {
		cfg.Clock = clockwork.NewRealClock()
	}
	if cfg.Load == nil {
		cfg.Load = func() Measure { return Measure{} }
	}
	m := &Machine{cfg: cfg}
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
	u, err := url.Parse(service)
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("service %q must be a URL such as wss://games.example.com:9080", service)
	}
	switch u.Scheme {
	case "http":
		u.Scheme = "ws"
	case "https":
		u.Scheme = "wss"
	case "ws", "wss":
	default:
		return "", fmt.Errorf("service %q must begin with wss:// or ws://", service)
	}
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), protocol.Path) + protocol.Path
	return u.String(), nil
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
	changed := make(chan struct{}, 1)
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
				reporting.Go(func() { s.report(ctx, message, changed) })
			}
			select {
			case changed <- struct{}{}:
			default:
			}
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
	m.mu.Lock()
	newer := w.Generation > m.wanted.Generation
	if newer {
		m.wanted = *w
	}
	m.mu.Unlock()
	if newer && m.cfg.Wanted != nil {
		m.cfg.Wanted(*w)
	}
	return nil
}

// report sends the state of the machine when the wanted one has changed, and at least each interval, with a Ping whose
// Pong shows that the service is there.
func (s *session) report(ctx context.Context, w *protocol.Wanted, changed <-chan struct{}) {
	tick := s.m.cfg.Clock.NewTicker(time.Duration(w.ReportSeconds) * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-changed:
		case <-tick.Chan():
		case <-ctx.Done():
			return
		}
		load := s.m.cfg.Load()
		s.m.mu.Lock()
		generation := s.m.wanted.Generation
		s.m.mu.Unlock()
		err := s.write(protocol.Encode(&protocol.Observed{Generation: generation, Offer: s.offer, Load: load.Load,
			FreeMemoryMiB: load.FreeMemoryMiB}))
		if err == nil {
			err = s.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeLimit))
		}
		if err != nil {
			_ = s.ws.Close() // the reader ends the session
			return
		}
	}
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

// Wanted returns the newest state that the service wants; its Generation is 0 before the first one.
func (m *Machine) Wanted() protocol.Wanted {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.wanted
}
