package gamenet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"
)

// A ServerService accepts players. Its methods may be called from any goroutine.
type ServerService struct {
	service
	perAddress int
	listener   Listener
	farewells  chan struct{} // taken by connections that are being refused

	addressesMu sync.Mutex
	addresses   map[netip.Addr]int // sessions from each, with MaxPerAddress
}

// NewServer makes a server that does nothing yet. It fails with a *ConfigError.
func NewServer(cfg ServerConfig) (*ServerService, error) {
	cfg.fill()
	cfg.MaxSessions = cmp.Or(cfg.MaxSessions, 1000)
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if cfg.MaxSessions < 0 {
		return nil, configError("MaxSessions", "%d is negative", cfg.MaxSessions)
	}
	if cfg.MaxPerAddress < 0 {
		return nil, configError("MaxPerAddress", "%d is negative", cfg.MaxPerAddress)
	}
	const mostFarewells = 64
	s := &ServerService{perAddress: cfg.MaxPerAddress, addresses: make(map[netip.Addr]int),
		farewells: make(chan struct{}, mostFarewells)}
	s.init(cfg.Config, cfg.MaxSessions)
	return s, nil
}

// Start opens the address and returns when players can connect. ctx limits the opening alone. A service can be started
// once: after that it answers ErrStarted, or ErrServiceClosed.
func (s *ServerService) Start(ctx context.Context) error {
	if err := s.begin(); err != nil {
		return err
	}
	listener, err := s.cfg.Transport.Listen(ctx, s.cfg.Address)
	if err != nil {
		return errors.Join(fmt.Errorf("gamenet: listen: %w", err), s.Close(ctx))
	}
	s.mu.Lock()
	closing := s.closing
	s.listener = listener
	if !closing {
		s.running.Add(1)
	}
	s.mu.Unlock()
	if closing {
		_ = listener.Close() // it was never used
		return ErrServiceClosed
	}
	go func() {
		defer s.running.Done()
		s.accept(listener)
	}()
	return nil
}

// Addr is where the server listens; nil before Start.
func (s *ServerService) Addr() net.Addr {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.listener == nil {
		return nil
	}
	return s.listener.Addr()
}

// Close ends the service in order (CloseService): it stops accepting, tells the handlers that want to know
// (ClosingHandler), writes what is queued, says that nothing more comes, waits for the other sides to close, up to
// Config.CloseTimeout, and cuts what is left. It returns when every goroutine of the service has ended. When ctx is
// done before, it cuts at once and returns the error of ctx. Calling it again waits for the same end. It must not be
// called from a callback, which would wait for itself.
func (s *ServerService) Close(ctx context.Context) error {
	return s.closeService(ctx, func() {
		s.mu.RLock()
		defer s.mu.RUnlock()
		if s.listener != nil {
			_ = s.listener.Close() // it accepts no more, whatever it says
		}
	})
}

// accept takes connections in until the listener is closed. An error that passes, such as too many open files, makes it
// wait a little longer each time.
func (s *ServerService) accept(listener Listener) {
	const longest = time.Second
	pause := time.Duration(0)
	for {
		conn, err := listener.Accept()
		switch {
		case err == nil:
			pause = 0
			s.welcome(conn)
			continue
		case isClosed(err):
			return
		}
		s.report("accept failed", err)
		pause = min(max(2*pause, 5*time.Millisecond), longest)
		select {
		case <-s.cfg.Clock.After(pause):
		case <-s.stop:
			return
		}
	}
}

// welcome gives a connection a session if there is a place for it. The place is taken before anything is made.
func (s *ServerService) welcome(conn Conn) {
	if !s.takePlace() {
		s.refuse(conn, ErrFull)
		return
	}
	address := addressOf(conn)
	if !s.takeAddress(address) {
		s.places.Add(-1)
		s.refuse(conn, ErrFullAddress)
		return
	}
	session, ok := s.newSession(conn, func() { s.leaveAddress(address) })
	if !ok {
		s.places.Add(-1)
		s.leaveAddress(address)
		s.refuse(conn, ErrServiceClosed)
		return
	}
	go session.run(s.base)
}

// takeAddress counts a session from an address, unless there are enough of them.
func (s *ServerService) takeAddress(a netip.Addr) bool {
	if s.perAddress == 0 {
		return true
	}
	s.addressesMu.Lock()
	defer s.addressesMu.Unlock()
	if s.addresses[a] >= s.perAddress {
		return false
	}
	s.addresses[a]++
	return true
}

func (s *ServerService) leaveAddress(a netip.Addr) {
	if s.perAddress == 0 {
		return
	}
	s.addressesMu.Lock()
	defer s.addressesMu.Unlock()
	if s.addresses[a]--; s.addresses[a] == 0 {
		delete(s.addresses, a)
	}
}

// refuse turns a connection away. Its client gets the reason if that costs little: over plain TCP with a codec that has
// ids, for so many at a time.
func (s *ServerService) refuse(conn Conn, cause error) {
	if m := s.cfg.Metrics; m != nil {
		m.Refused(cause)
	}
	s.report("connection refused", cause)
	select {
	case s.farewells <- struct{}{}:
	default:
		conn.Close()
		return
	}
	s.running.Go(func() {
		s.farewell(conn, cause)
		<-s.farewells
	})
}

// farewell says why a connection is refused. It waits a moment for the other side to close: closing first would take
// the reason away from a client that has sent something already.
func (s *ServerService) farewell(conn Conn, cause error) {
	const patience = time.Second
	defer conn.Close()
	if !plain(conn) || !s.cfg.Codec.HasIDs() {
		return
	}
	bye, err := s.cfg.Codec.Append(nil, Packet{ID: idBye, Payload: []byte(reasonOf(cause))}, s.cfg.MaxPacket)
	if err != nil || conn.SetDeadline(time.Now().Add(patience)) != nil {
		return
	}
	if _, err := conn.Write(bye); err != nil || conn.CloseWrite() != nil {
		return
	}
	defer context.AfterFunc(s.base, func() { conn.Close() })()
	_, _ = io.Copy(io.Discard, io.LimitReader(conn, 64<<10)) // until it closes, the deadline, or the service's end
}

// reasonOf returns a cause as it is sent to the other side.
func reasonOf(cause error) string {
	switch {
	case errors.Is(cause, ErrFull):
		return "the server is full"
	case errors.Is(cause, ErrFullAddress):
		return "too many connections from your address"
	default:
		return "the service is closing"
	}
}
