package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/wire"
)

// Server-sent events. Source: WHATWG HTML, "Server-sent events".

const (
	heartbeat = 15 * time.Second // proxies cut connections that are silent for a minute or so
	reconnect = 3 * time.Second  // the pause of clients before they reconnect

	// writeTime limits how long sending one event takes.
	writeTime = 10 * time.Second
)

// A change is one event of a stream.
type change struct {
	name string // of the event
	data any
	last bool // no event follows
}

// watchSession answers GET /v1/sessions/{id}/events.
func watchSession(c *call) (answer, error) {
	id, err := c.sessionID()
	if err != nil {
		return answer{}, err
	}
	return c.stream(func(ctx context.Context, changed func(change) error) error {
		return c.g.service.WatchGameSession(ctx, id, func(s *wire.GameSession) error {
			view := viewSession(s)
			ended := s.Status == wire.GameSessionStatusTerminated || s.Status == wire.GameSessionStatusError
			if err := changed(change{name: "session", data: view}); err != nil || !ended {
				return err
			}
			return changed(change{name: "end", data: view, last: true})
		})
	}, SessionNotFound)
}

// watchTicket answers GET /v1/tickets/{id}/events.
func watchTicket(c *call) (answer, error) {
	m, err := c.matchmaking()
	if err != nil {
		return answer{}, err
	}
	if _, err := c.ticket(m); err != nil {
		return answer{}, err
	}
	subject := c.g.subject(c.r)
	return c.stream(func(ctx context.Context, changed func(change) error) error {
		return m.WatchTicket(ctx, c.id, func(t *wire.MatchmakingTicket) error {
			view := viewTicket(t, subject)
			if err := changed(change{name: "ticket", data: view}); err != nil || !finished(t) {
				return err
			}
			return changed(change{name: "end", data: view, last: true})
		})
	}, TicketNotFound)
}

// errStreamEnded stops a watch after the last event of its stream.
var errStreamEnded = errors.New("the stream has ended")

// A watch calls changed with each state until the last one.
type watch func(ctx context.Context, changed func(change) error) error

// stream writes the changes of a watch as events, until the last one, the client disconnects, or the gateway closes. A
// failure before the first change is an ordinary error answer.
func (c *call) stream(follow watch, notFound Code) (answer, error) {
	if c.r.ContentLength != 0 {
		c.refuseBody()
		return answer{}, invalid("The request must not have a body.")
	}
	caller := c.g.caller(c.r)
	if !c.g.streams.take(caller) {
		return answer{}, &failure{code: TooManyStreams}
	}
	defer c.g.streams.release(caller)
	ctx, cancel := context.WithCancel(c.r.Context())
	changes, done := make(chan change), make(chan error, 1)
	go func() {
		defer close(changes)
		done <- c.watch(ctx, follow, changes)
	}()
	first, err := c.firstChange(changes, done, notFound)
	s := &eventStream{c: c, control: http.NewResponseController(c.w), id: lastEventID(c.r)}
	if err == nil {
		s.run(first, changes, done, notFound)
	}
	cancel()
	for range changes { // closed when the watch has ended
	}
	return answer{streamed: true}, err
}

// watch sends the changes one by one. A panic ends this stream alone.
func (c *call) watch(ctx context.Context, follow watch, changes chan<- change) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = panicked(v)
		}
	}()
	return follow(ctx, func(ch change) error {
		select {
		case changes <- ch:
			if ch.last {
				return errStreamEnded
			}
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// firstChange waits for the first change: the current state, sent by every watch.
func (c *call) firstChange(changes <-chan change, done <-chan error, notFound Code) (change, error) {
	select {
	case first, ok := <-changes:
		if ok {
			return first, nil
		}
		return change{}, watchFailure(c.ctx, <-done, notFound)
	case <-c.ctx.Done():
		return change{}, ended(c.ctx, c.ctx.Err())
	case <-c.g.closing:
		return change{}, &failure{code: Stopping}
	}
}

// watchFailure returns why a watch ended before its last change.
func watchFailure(ctx context.Context, err error, notFound Code) error {
	if err == nil {
		err = errors.New("the service stopped to follow the changes")
	}
	return failed(ctx, err, notFound, Internal)
}

// lastEventID returns the id of the last event that the client received; 0 for none. Streams begin with the current
// state, so no event is repeated.
func lastEventID(r *http.Request) uint64 {
	id, err := strconv.ParseUint(r.Header.Get("Last-Event-ID"), 10, 63)
	if err != nil {
		return 0
	}
	return id
}

// An eventStream writes the events of one request.
type eventStream struct {
	c       *call
	control *http.ResponseController
	id      uint64 // of the last event written
	buffer  bytes.Buffer
}

// run writes events until the stream ends.
func (s *eventStream) run(first change, changes <-chan change, done <-chan error, notFound Code) {
	h := s.c.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // for proxies that would buffer events
	s.c.w.WriteHeader(http.StatusOK)
	// The server's read deadline would end the stream.
	_ = s.control.SetReadDeadline(time.Time{})
	s.buffer.WriteString("retry: " + strconv.FormatInt(reconnect.Milliseconds(), 10) + "\n")
	tick := s.c.g.clock.NewTicker(heartbeat)
	defer tick.Stop()
	defer func() { _ = s.control.SetWriteDeadline(time.Time{}) }() // the connection may serve other requests
	for next, ok := first, true; ok && s.event(next); {
		next, ok = s.next(changes, done, tick.Chan(), notFound)
	}
}

// next waits for the next event and sends heartbeats until then; false at the end of the stream.
func (s *eventStream) next(changes <-chan change, done <-chan error, tick <-chan time.Time,
	notFound Code) (change, bool) {
	for {
		select {
		case next, ok := <-changes:
			if !ok {
				return s.broken(<-done, notFound)
			}
			return next, true
		case <-tick:
			s.buffer.WriteString(": still here\n\n")
			if !s.flush() {
				return change{}, false
			}
		case <-s.c.r.Context().Done():
			s.c.seen.Code = ClientGone
			return change{}, false
		case <-s.c.g.closing:
			return change{}, false
		}
	}
}

// broken returns an error event for a watch that ended before its last change; false if it ended after it.
func (s *eventStream) broken(err error, notFound Code) (change, bool) {
	if errors.Is(err, errStreamEnded) {
		return change{}, false
	}
	f := asFailure(watchFailure(s.c.r.Context(), err, notFound))
	s.c.seen.Code = f.code
	s.c.logFailure(f)
	text := f.shown(s.c.g.development)
	if text == "" {
		text = meanings[f.code].text
	}
	return change{name: "error", data: errorBody{text, f.code, requestID(s.c.w)}, last: true}, true
}

// event writes one event; false if no other can follow.
func (s *eventStream) event(ch change) bool {
	data, err := json.Marshal(ch.data) // without line breaks
	if err != nil {
		return false // all views can be marshalled
	}
	s.id++
	s.buffer.WriteString("id: " + strconv.FormatUint(s.id, 10) + "\nevent: " + ch.name + "\ndata: ")
	s.buffer.Write(data)
	s.buffer.WriteString("\n\n")
	return s.flush() && !ch.last
}

// flush sends the buffer; false if the client has disconnected.
func (s *eventStream) flush() bool {
	defer s.buffer.Reset()
	// Without deadlines, the connection detects a client that does not read.
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTime))
	if _, err := s.c.w.Write(s.buffer.Bytes()); err != nil {
		s.c.seen.Code = ClientGone
		return false
	}
	return s.control.Flush() == nil
}

// streams limits the open event streams, in total and per caller: each holds a connection and a watch until its client
// disconnects.
type streams struct {
	most, mostEach int

	mu   sync.Mutex
	open int
	by   map[string]int
}

// take counts a stream; false if a limit is reached.
func (s *streams) take(caller string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open >= s.most || s.by[caller] >= s.mostEach {
		return false
	}
	if s.by == nil {
		s.by = make(map[string]int)
	}
	s.open++
	s.by[caller]++
	return true
}

// release ends the counting of a stream.
func (s *streams) release(caller string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if s.by[caller]--; s.by[caller] == 0 {
		delete(s.by, caller)
	}
}

// hostOf is the default Config.Caller.
func hostOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
