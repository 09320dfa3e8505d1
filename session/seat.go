package session

import (
	"context"
	"sync"
)

// A seat is where the player sits in a game: JoinSession and matches take it,
// LeaveSession frees it. There is one.
type seat struct {
	mu  sync.Mutex
	now *sitting // nil: the seat is free
}

// A sitting is one use of the seat, from when the player is about to sit down.
type sitting struct {
	left    context.Context // done when the player is to leave
	leave   context.CancelCauseFunc
	settled chan struct{} // closed when line is known or has failed
	state   State         // Joining, Joined or Leaving; guarded by seat.mu
	before  line          // of who sat here before, whose connection has ended; to be closed
	line    line          // set before settled is closed
	gone    chan struct{} // closed when the seat is free again
}

// take takes the seat, if it is free. settle must follow.
func (s *seat) take(op, name string) (*sitting, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now != nil && !s.now.ended() {
		return nil, &StateError{Op: op, Name: name, State: s.now.state}
	}
	var before line
	if s.now != nil {
		before = s.now.line
	}
	now := &sitting{state: Joining, before: before, settled: make(chan struct{}), gone: make(chan struct{})}
	now.left, now.leave = context.WithCancelCause(context.Background())
	s.now = now
	return now, nil
}

// ended reports whether the connection has ended by itself. seat.mu is held.
func (s *sitting) ended() bool {
	if s.state != Joined {
		return false
	}
	select {
	case <-s.line.conn.Done():
		return true
	default:
		return false
	}
}

// settle says how taking the seat has gone. If the player is leaving, whoever
// leaves closes the line.
func (s *seat) settle(now *sitting, l line, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(now.settled)
	now.line = l
	switch {
	case now.state == Leaving && err == nil:
		return errLeft
	case now.state == Leaving:
		return err
	case err != nil:
		s.now = nil
		now.leave(nil)
		close(now.gone)
		return err
	}
	now.state = Joined
	return nil
}

// rise interrupts who is about to take the seat. It returns who is to leave, nil if
// the seat is free, and whether that is new.
func (s *seat) rise() (now *sitting, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == nil || s.now.state == Leaving {
		return s.now, false
	}
	s.now.state = Leaving
	s.now.leave(errLeft)
	return s.now, true
}

// free closes the connection of who leaves and frees the seat. It returns when
// nothing of it is left.
func (s *seat) free(ctx context.Context, now *sitting, first bool) error {
	switch {
	case now == nil:
		return nil
	case !first:
		return now.waitGone(ctx)
	}
	<-now.settled // it was interrupted
	var err error
	if now.line.conn != nil {
		err = now.line.conn.Close(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = nil
	close(now.gone)
	return err
}

func (s *sitting) waitGone(ctx context.Context) error {
	select {
	case <-s.gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// line is that of the player who sits; the zero line while nobody does.
func (s *seat) line() line {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == nil || s.now.state != Joined {
		return line{}
	}
	return s.now.line
}
