package gameserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gorilla/websocket"
)

// oldSocketLife is how long the socket before a refresh is read for replies that are on their way. Source: server SDK
// 5, Go edition, DISCONNECT_WEBSOCKET_TIMEOUT.
const oldSocketLife = 5 * time.Second

// supervise keeps the connection up until the Server is closed or the connection is lost for good. It alone makes
// connections after the first.
func (s *Server) supervise(life context.Context, t target, sock *socket) {
	for {
		select {
		case <-life.Done():
			return
		case r := <-s.refreshes:
			t, sock = s.refresh(life, r, t, sock)
		case <-sock.down:
			s.drop(sock)
			if s.isEnding() { // the service does not accept this process any more
				s.finish(nil)
				return
			}
			s.log.Warn("connection lost")
			next, err := s.reconnect(life, t)
			if err != nil {
				if s.isEnding() {
					err = nil
				}
				s.finish(err)
				return
			}
			if sock = next; !s.take(sock) {
				return
			}
		}
	}
}

// reconnect connects again. A service that rejects the process may not have recovered yet, so it tries for a while.
func (s *Server) reconnect(life context.Context, t target) (*socket, error) {
	limited := life
	if s.cfg.ReconnectLimit > 0 {
		var cancel context.CancelCauseFunc
		limited, cancel = within(life, s.clock, s.cfg.ReconnectLimit)
		defer cancel(nil)
	}
	var refusedSince time.Time
	sock, err := s.dialUntil(limited, t, func(err error) bool {
		switch now := s.clock.Now(); {
		case !refused(err):
			refusedSince = time.Time{}
		case s.hasLeft():
			return false
		case refusedSince.IsZero():
			refusedSince = now
		default:
			return now.Sub(refusedSince) < refusalLimit
		}
		return true
	})
	if err == nil || life.Err() != nil || s.isEnding() {
		return sock, err
	}
	s.log.Error("connection lost for good", "error", err)
	return nil, &Error{Action: connectAction, Message: err.Error(), Err: errors.Join(ErrConnectionEnd, err)}
}

// dialUntil tries to connect until it succeeds, again returns false, or ctx is done.
func (s *Server) dialUntil(ctx context.Context, t target, again func(error) bool) (*socket, error) {
	s.log.Info("connecting", "host", t.endpoint.Host, "as", t.params)
	var next backoff
	for {
		sock, err := t.dial(ctx, s.clock.Now())
		if err == nil {
			s.log.Info("connected", "host", t.endpoint.Host, "process", t.params.ProcessID)
			return sock, nil
		}
		if !again(err) {
			return nil, err
		}
		wait := next.after()
		s.log.Warn("connecting failed", "error", err, "retry_in", wait.Round(100*time.Millisecond))
		if !pause(ctx, s.clock, wait) {
			cause := context.Cause(ctx)
			return nil, &Error{Action: connectAction, Message: fmt.Sprintf("%v; the last attempt: %v", cause, err),
				Err: errors.Join(cause, err)}
		}
	}
}

// refresh connects to another address or with another token, as the service asked. The old socket is read until all its
// replies have arrived. If the new connection fails, the old one stays: the service asks again.
func (s *Server) refresh(life context.Context, r refreshPush, t target, old *socket) (target, *socket) {
	next, err := t.refreshed(r.RefreshConnectionEndpoint, r.AuthToken)
	if err != nil {
		s.log.Warn("refreshing the connection failed", "error", err)
		return t, old
	}
	sock, err := next.dial(life, s.clock.Now())
	if err != nil {
		s.log.Warn("refreshing the connection failed", "error", err)
		return t, old
	}
	if !s.take(sock) {
		return t, old
	}
	s.log.Info("connection refreshed", "host", next.endpoint.Host)
	s.clock.AfterFunc(oldSocketLife, old.close)
	return next, sock
}

// take adopts a socket.
func (s *Server) take(sock *socket) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.adopt(sock)
}

// adopt makes a socket the current one and reads it; false, and the socket is closed, when the Server is closed. The
// lock is held.
func (s *Server) adopt(sock *socket) bool {
	if s.closed {
		sock.close()
		return false
	}
	s.sockets[sock] = struct{}{}
	s.replace(sock)
	s.running.Go(func() { s.read(sock) })
	return true
}

// drop forgets a socket that is down, if it is still the current one.
func (s *Server) drop(sock *socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == sock {
		s.replace(nil)
	}
}

// replace sets the current socket and wakes the calls that wait for a change. The lock is held.
func (s *Server) replace(sock *socket) {
	s.current = sock
	close(s.changed)
	s.changed = make(chan struct{})
}

// connection is the current socket, nil if there is none, and a channel that is closed when that changes.
func (s *Server) connection() (*socket, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current, s.changed
}

// isEnding reports whether the process has reported its end.
func (s *Server) isEnding() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// read receives messages until the socket is down.
func (s *Server) read(sock *socket) {
	defer func() {
		sock.close()
		s.mu.Lock()
		delete(s.sockets, sock)
		s.mu.Unlock()
		close(sock.down)
	}()
	for {
		kind, data, err := sock.ws.ReadMessage()
		if err != nil {
			s.log.Debug("socket closed", "reason", err)
			return
		}
		sock.silent.Store(0)
		if kind != websocket.TextMessage {
			s.log.Warn("binary message ignored", "bytes", len(data))
			continue
		}
		s.receive(sock, data)
	}
}
