package session

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/muster-gg/muster/internal/life"
)

// A machine moves sessions through their states. A client has two: one for its named sessions, and one for the
// game of JoinSession and of matches, whose key is "".
type machine struct {
	client *Client

	mu      sync.Mutex
	records map[string]*record // by key
}

func newMachine(c *Client) *machine { return &machine{client: c, records: make(map[string]*record)} }

// A work is a call in progress, which keeps its session in a state between two others.
type work struct {
	record *record
	over   context.Context // canceled by Destroy and LeaveSession
	end    context.CancelCauseFunc
	done   chan struct{} // closed when the call has released everything but late

	interrupted bool // by Destroy or LeaveSession; set by settle
	late        line // connected nevertheless; the call that has interrupted the work closes it
}

// begin begins a call that keeps the session in a state between two others.
func (r *record) begin(c life.Command) *work {
	w := &work{record: r, done: make(chan struct{})}
	w.over, w.end = context.WithCancelCause(context.Background())
	r.work = w
	r.do(c)
	return w
}

// do changes the state; false if that is not possible.
func (r *record) do(c life.Command) bool {
	from := r.state()
	ok := r.life.Do(c)
	if ok {
		r.log.Debug("session state changed", "session", r.name, "from", from, "to", r.state())
	}
	return ok
}

// enter returns the session of that name, in which a command must be possible. m.mu is held.
func (m *machine) enter(op, name string, c life.Command) (*record, error) {
	r, ok := m.records[name]
	if !ok {
		return nil, &StateError{op, name, NoSession, ErrNotFound}
	}
	return r, r.permit(op, c)
}

// add adds a session, and begins the call that adds it. m.mu is held.
func (m *machine) add(op, key string, r *record, c life.Command) (*work, error) {
	if other, ok := m.records[key]; ok {
		return nil, &StateError{op, r.name, other.state(), ErrExists}
	}
	r.key, r.log, r.players, r.gone = key, m.client.cfg.Log, make(map[string]bool), make(chan struct{})
	r.beacon = new(announcement)
	m.records[key] = r
	return r.begin(c), nil
}

// settle ends a work, successful or not, and returns the error of its call. An interrupted work changes nothing. After
// an error the caller releases what the work has reserved.
func (m *machine) settle(w *work, err error, apply func(*record)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, outcome := w.record, life.Done
	if err != nil {
		outcome = life.Fail
	}
	if w.interrupted = !r.do(outcome); w.interrupted {
		return cmp.Or(err, context.Cause(w.over))
	}
	r.work = nil
	w.end(nil)
	if err == nil {
		apply(r)
	} else if r.state() == NoSession {
		delete(m.records, r.key)
	}
	return err
}

// settleLine settles a work that has connected the player to a game, and closes the connection that is not needed. If
// the work was interrupted, the interrupting call closes it: a callback of that connection may have made that call, and
// no other goroutine can wait for the end of the connection before the callback has returned.
func (m *machine) settleLine(ctx context.Context, w *work, l line, err error) error {
	unneeded := l
	err = m.settle(w, err, func(r *record) { unneeded, r.line = r.line, l })
	if w.interrupted {
		w.late = l
		return err
	}
	m.client.disconnect(ctx, unneeded)
	return err
}

// beginDestroying moves a session to Destroying and interrupts its work with a cause. m.mu is held.
func (m *machine) beginDestroying(r *record, cause error) {
	r.do(life.Destroy)
	if r.work != nil {
		r.work.end(cause)
	}
}

// destroyRecord releases everything that a session in Destroying has, and removes it.
func (m *machine) destroyRecord(ctx context.Context, r *record) error {
	if r.work != nil {
		<-r.work.done // its context is done
	}
	m.stopAnnouncing(r)
	err := r.closeLines(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	r.do(life.Release)
	delete(m.records, r.key)
	close(r.gone)
	return err
}

// awaitDestroyed waits for another call of destroyRecord. It closes the connections as well, so that a callback of one
// does not wait for a call that waits for the callback.
func (m *machine) awaitDestroyed(ctx context.Context, r *record) error {
	if r.work != nil {
		<-r.work.done
	}
	if err := r.closeLines(ctx); err != nil {
		return err
	}
	for _, l := range r.lines() {
		select {
		case <-l.conn.Done():
		default:
			return nil // this is a callback of the connection: it ends afterwards
		}
	}
	select {
	case <-r.gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lines returns the connections of a session in Destroying whose work is done: no call changes them any more.
func (r *record) lines() []line {
	all := []line{r.line}
	if r.work != nil {
		all = append(all, r.work.late)
	}
	return slices.DeleteFunc(all, func(l line) bool { return l.conn == nil })
}

// closeLines closes the connections of a session in Destroying.
func (r *record) closeLines(ctx context.Context) error {
	var errs []error
	for _, l := range r.lines() {
		errs = append(errs, l.conn.Close(ctx))
	}
	return errors.Join(errs...)
}

// stopAnnouncing ends the announcement of a session, if there is one.
func (m *machine) stopAnnouncing(r *record) {
	if err := r.beacon.close(); err != nil {
		m.client.cfg.Log.Warn("closing the announcement failed", "session", r.name, "error", err)
	}
}

// close destroys all sessions. No calls are in progress.
func (m *machine) close(ctx context.Context) {
	m.mu.Lock()
	var destroying []*record
	for _, r := range m.records {
		if r.state() != Destroying { // by another Close
			m.beginDestroying(r, errClosed)
			destroying = append(destroying, r)
		}
	}
	m.mu.Unlock()
	for _, r := range destroying {
		if err := m.destroyRecord(ctx, r); err != nil {
			m.client.cfg.Log.Warn("closing the connection failed", "session", r.name, "error", err)
		}
	}
}
