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
	refusing   chan struct{} // semaphore of connections being refused

	addressesMu sync.Mutex
	addresses   map[netip.Addr]int // sessions from each, with MaxPerAddress
}

// NewServer creates a server; Start opens it. It fails with a *ConfigError.
func NewServer(cfg ServerConfig) (*ServerService, error) {
	cfg.fill()
	cfg.MaxSessions = cmp.Or(cfg.MaxSessions, 1000)
	if err := cfg.validate(true); err != nil {
		return nil, err
	}
	if cfg.MaxSessions < 0 {
		return nil, configError("MaxSessions", "%d is negative", cfg.MaxSessions)
	}
	if cfg.MaxPerAddress < 0 {
		return nil, configError("MaxPerAddress", "%d is negative", cfg.MaxPerAddress)
	}
	if err := cfg.wrapTransport(); err != nil {
		return nil, err
	}
	const maxRefusing = 64
	s := &ServerService{perAddress: cfg.MaxPerAddress, addresses: make(map[netip.Addr]int),
		refusing: make(chan struct{}, maxRefusing)}
	s.init(cfg.Config, cfg.MaxSessions)
	return s, nil
}

// Start opens the address and returns when players can connect. ctx limits only the opening. A service can be started
// once: further calls return ErrStarted, or ErrServiceClosed.
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

// Addr returns the address on which the server listens; nil before Start.
func (s *ServerService) Addr() net.Addr {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.listener == nil {
		return nil
	}
	return s.listener.Addr()
}

// Close shuts the service down gracefully: it stops accepting, notifies the handlers (ClosingHandler), writes the
// queues, ends the streams, waits up to Config.CloseTimeout for the other sides to close, and closes the remaining
// connections. It returns when every goroutine of the service has ended. When ctx is done first, it closes the
// connections at once and returns the error of ctx; goroutines then still end as soon as their callbacks have returned.
// Further calls wait for the same end.
//
// Within a callback of any session, or a job of an Executor, Close does not wait: it returns nil at once, and the end
// follows when the callback has returned. The deadline of ctx then still limits the end, but canceling ctx after Close
// has returned has no effect. In a goroutine started by a callback, Close does wait.
func (s *ServerService) Close(ctx context.Context) error {
	return s.closeService(ctx, func() {
		s.mu.RLock()
		defer s.mu.RUnlock()
		if s.listener != nil {
			_ = s.listener.Close() // it accepts no more, even with an error
		}
	})
}

// accept accepts connections until the listener is closed. After a temporary error, such as too many open files, it
// retries with a growing pause.
func (s *ServerService) accept(listener Listener) {
	const longest = time.Second
	pause := time.Duration(0)
	for {
		conn, err := listener.Accept()
		switch {
		case err == nil:
			pause = 0
			s.startSession(conn)
			continue
		case isClosed(err):
			return
		}
		s.report("accept failed", err)
		pause = min(max(2*pause, 5*time.Millisecond), longest)
		select {
		case <-s.cfg.clock.After(pause):
		case <-s.stop:
			return
		}
	}
}

// startSession starts a session for a connection if a slot is free. It reserves the slot before it allocates anything.
func (s *ServerService) startSession(conn Conn) {
	if !s.takeSlot() {
		s.refuse(conn, ErrFull)
		return
	}
	address := addressOf(conn)
	if !s.takeAddress(address) {
		s.slots.Add(-1)
		s.refuse(conn, ErrFullAddress)
		return
	}
	session, ok := s.newSession(conn, func() { s.leaveAddress(address) })
	if !ok {
		s.slots.Add(-1)
		s.leaveAddress(address)
		s.refuse(conn, ErrServiceClosed)
		return
	}
	go session.run(s.base)
}

// takeAddress counts a session from an address. It reports false if the address has the maximum.
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

// refuse rejects a connection. It sends the reason only if that costs little: over plain TCP, with a codec that has
// ids, and to a limited number of connections concurrently.
func (s *ServerService) refuse(conn Conn, cause error) {
	if m := s.cfg.Metrics; m != nil {
		m.Refused(cause)
	}
	s.report("connection refused", cause)
	select {
	case s.refusing <- struct{}{}:
	default:
		conn.Close()
		return
	}
	s.running.Go(func() {
		s.sendRefusal(conn, cause)
		<-s.refusing
	})
}

// sendRefusal sends the reason for a refusal. It then waits briefly for the other side to close: closing first could
// discard the reason if the client has sent something already.
func (s *ServerService) sendRefusal(conn Conn, cause error) {
	const closeWait = time.Second
	defer conn.Close()
	if !plain(conn) || !s.cfg.Codec.HasIDs() {
		return
	}
	payload := refusalReason(cause).append(nil, s.cfg.MaxPacket-s.header-reasonHead)
	bye, err := s.cfg.Codec.Append(nil, Packet{ID: idBye, Payload: payload}, s.cfg.MaxPacket)
	if err != nil || conn.SetDeadline(time.Now().Add(closeWait)) != nil {
		return
	}
	if _, err := conn.Write(bye); err != nil || conn.CloseWrite() != nil {
		return
	}
	defer context.AfterFunc(s.base, func() { conn.Close() })()
	_, _ = io.Copy(io.Discard, io.LimitReader(conn, 64<<10)) // until it closes, the deadline, or the service's end
}
