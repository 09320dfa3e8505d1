package session

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// graph lists the states that may follow each state.
var graph = map[State][]State{
	NoSession:  {Creating, Starting},
	Creating:   {Pending, NoSession, Destroying},
	Pending:    {Starting, Destroying},
	Starting:   {InProgress, Pending, Ended, NoSession, Destroying},
	InProgress: {Ending, Destroying},
	Ending:     {Ended, Destroying},
	Ended:      {Starting, Destroying},
	Destroying: {NoSession},
}

// allowed lists the states in which each call is possible.
var allowed = map[string][]State{
	"Create":           {NoSession},
	"Join":             {NoSession},
	"Start":            {Pending, Ended},
	"Update":           {Pending, InProgress},
	"End":              {InProgress},
	"Destroy":          {Creating, Pending, Starting, InProgress, Ending, Ended},
	"RegisterPlayer":   {Creating, Pending, Starting, InProgress, Ending, Ended},
	"UnregisterPlayer": {Creating, Pending, Starting, InProgress, Ending, Ended},
}

// permit rejects a call that is not possible in a state.
func permit(op, name string, state State) error {
	switch {
	case slices.Contains(allowed[op], state):
		return nil
	case state == NoSession:
		return &StateError{op, name, state, ErrNotFound}
	case op == "Create", op == "Join":
		return &StateError{op, name, state, ErrExists}
	default:
		return &StateError{Op: op, Name: name, State: state}
	}
}

// A machine moves sessions through the states of graph. A client has two: one for its named sessions, and one for the
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
	back   State           // the state after a failure
	over   context.Context // canceled by Destroy and LeaveSession
	end    context.CancelCauseFunc
	done   chan struct{} // closed when the call has released everything but late

	destroyed bool // Destroy or LeaveSession has interrupted it
	late      line // connected nevertheless; the call that has interrupted the work closes it
}

// begin moves to a state between two others.
func (r *record) begin(through State) *work {
	w := &work{record: r, back: r.state, done: make(chan struct{})}
	w.over, w.end = context.WithCancelCause(context.Background())
	r.work = w
	r.move(through)
	return w
}

func (r *record) move(to State) {
	r.log.Debug(stateChanged, "session", r.name, "from", r.state, "to", to)
	r.state = to
}

// stateChanged is the log message of a move.
const stateChanged = "session state changed"

// enter begins a call for the session of that name. m.mu is held.
func (m *machine) enter(op, name string) (*record, error) {
	r, ok := m.records[name]
	if !ok {
		return nil, permit(op, name, NoSession)
	}
	return r, permit(op, name, r.state)
}

// add adds a session in a state between two others. m.mu is held.
func (m *machine) add(op, key string, r *record, through State) (*work, error) {
	if other, ok := m.records[key]; ok {
		return nil, permit(op, r.name, other.state)
	}
	r.key, r.log, r.state, r.players, r.gone = key, m.client.cfg.Log, NoSession, make(map[string]bool),
		make(chan struct{})
	r.beacon = new(announcement)
	m.records[key] = r
	return r.begin(through), nil
}

// settle ends a work, successful or not, and returns the error of its call. An interrupted work changes nothing. After
// an error the caller releases what the work has reserved.
func (m *machine) settle(w *work, to State, err error, apply func(*record)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := w.record
	switch {
	case w.destroyed && err == nil:
		return context.Cause(w.over)
	case w.destroyed:
		return err
	}
	r.work = nil
	w.end(nil)
	if err == nil {
		apply(r)
		r.move(to)
		return nil
	}
	r.move(w.back)
	if w.back == NoSession {
		delete(m.records, r.key)
	}
	return err
}

// settleLine settles a work that has connected the player to a game, and closes the connection that is not needed. If
// the work was interrupted, the interrupting call closes it: a callback of that connection may have made that call, and
// no other goroutine can wait for the end of the connection before the callback has returned.
func (m *machine) settleLine(ctx context.Context, w *work, l line, err error) error {
	unneeded := l
	err = m.settle(w, InProgress, err, func(r *record) { unneeded, r.line = r.line, l })
	if w.destroyed {
		w.late = l
		return err
	}
	m.client.disconnect(ctx, unneeded)
	return err
}

// beginDestroying moves a session to Destroying and interrupts its work with a cause. m.mu is held.
func (m *machine) beginDestroying(r *record, cause error) {
	r.move(Destroying)
	if r.work != nil {
		r.work.destroyed = true
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
	r.move(NoSession)
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
		if r.state != Destroying { // by another Close
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
