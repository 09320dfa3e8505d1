package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// defaultEvents is the default number of events of an answer.
const defaultEvents = 1000

// writeTime is the time limit for writing a record's events.
const writeTime = 30 * time.Second

// A query is the parameters of GET /v1/events.
type query struct {
	after  position
	limit  int
	last   int  // begin with so many events before the end; 0: not
	follow bool // wait for new events until the client disconnects
}

// A position identifies an event: the number of its record in the feed, and its place in the record, from 1. Place 0 is
// before the first event.
type position struct {
	record uint64
	place  int
}

func (p position) String() string { return fmt.Sprintf("%d.%d", p.record, p.place) }

func (p position) isAfter(q position) bool {
	return p.record > q.record || p.record == q.record && p.place > q.place
}

func parsePosition(text string) (p position, ok bool) {
	record, place, _ := strings.Cut(text, ".")
	var err1, err2 error
	p.record, err1 = strconv.ParseUint(record, 10, 63)
	p.place, err2 = math.MaxInt, nil // a record alone means all of it
	if place != "" {
		p.place, err2 = strconv.Atoi(place)
	}
	return p, err1 == nil && err2 == nil && p.place >= 0
}

func parseQuery(values url.Values) (q query, err error) {
	q.limit = defaultEvents
	for name, list := range values {
		ok, known := q.set(name, list[0])
		switch {
		case !known:
			return q, fault.New(fault.InvalidRequest,
				"Unknown parameter %.100q. The parameters are after, last, limit and follow.",
				name)
		case !ok || len(list) > 1:
			return q, fault.New(fault.InvalidRequest,
				"Parameter %s is %.100q. after must be a position from an earlier "+
					"answer, last and limit numbers from 1, follow true or false; each at most once.", name, list)
		}
	}
	if q.follow && !values.Has("limit") {
		q.limit = math.MaxInt
	}
	return q, nil
}

// set parses a parameter, if it is known.
func (q *query) set(name, value string) (ok, known bool) {
	var err error
	switch name {
	case "after":
		q.after, ok = parsePosition(value)
		return ok, true
	case "last":
		q.last, err = strconv.Atoi(value)
		return err == nil && q.last >= 1, true
	case "limit":
		q.limit, err = strconv.Atoi(value)
		return err == nil && q.limit >= 1, true
	case "follow":
		q.follow, err = strconv.ParseBool(value)
		return err == nil, true
	}
	return false, false
}

// events writes the events after a position, oldest first.
func (d *Handler) events(w http.ResponseWriter, c *call) error {
	q, err := parseQuery(c.URL.Query())
	if err != nil {
		return err
	}
	if q.last > 0 {
		begin, err := d.beforeLast(c.Context(), q.last)
		if err != nil {
			return fmt.Errorf("read the end of the feed: %w", err)
		}
		if begin.isAfter(q.after) {
			q.after = begin
		}
	}
	w.Header().Set("Content-Type", ndjson)
	s := &stream{w: w, query: q, control: http.NewResponseController(w)}
	if q.follow {
		err = d.follow(c.Context(), s)
	} else {
		err = d.Feed.Read(c.Context(), q.after.before(), s.record)
	}
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		s.flushed()
	case s.wrote == 0 && !q.follow:
		return err
	default:
		d.Log.Warn("event stream failed", "err", err)
		panic(http.ErrAbortHandler) // so that the client notices the truncation
	}
	return nil
}

// beforeLast returns the position before the newest n events. A record has one or more, so it counts those of as many
// records, and passes the first ones again.
func (d *Handler) beforeLast(ctx context.Context, n int) (at position, err error) {
	newest, err := d.Feed.Last(ctx)
	if err != nil {
		return at, err
	}
	at.record = newest + 1 - min(uint64(n), newest)
	left := -n // events to pass
	err = d.Feed.Read(ctx, at.before(), func(_ uint64, data []byte) bool {
		left += bytes.Count(data, []byte("\n"))
		return true
	})
	if err != nil || left <= 0 {
		return at, err
	}
	err = d.Feed.Read(ctx, at.before(), func(number uint64, data []byte) bool {
		at = position{number, min(left, bytes.Count(data, []byte("\n")))}
		left -= at.place
		return left > 0
	})
	return at, err
}

// follow streams until the client disconnects or the handler stops.
func (d *Handler) follow(ctx context.Context, s *stream) error {
	ctx, cancel := d.untilStopped(ctx)
	defer cancel()
	s.flushed() // the client sees that the stream has started
	return d.Feed.Follow(ctx, s.query.after.before(), s.record)
}

// untilStopped returns a context that also ends when the handler stops.
func (d *Handler) untilStopped(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-d.stopped:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// before returns the number of the record before the position's, which may have more events.
func (p position) before() uint64 { return max(p.record, 1) - 1 }

// An eventLine is a line of the answer: one of the feed (see publish.Publication), with its position.
type eventLine struct {
	Position string          `json:"position"`
	Target   string          `json:"target,omitempty"`
	Event    json.RawMessage `json:"event"`
}

// A stream writes lines.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	query   query
	wrote   int
	line    []byte // scratch
}

// record writes the requested events of a record, and reports whether it wants more.
func (s *stream) record(number uint64, data []byte) bool {
	if number < s.query.after.record {
		return true
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTime)) // limits a client that does not read
	place := 0
	for text := range bytes.Lines(data) {
		place++
		if number == s.query.after.record && place <= s.query.after.place {
			continue
		}
		if !s.write(position{number, place}, text) {
			return false
		}
		if s.wrote++; s.wrote == s.query.limit {
			return false
		}
	}
	return !s.query.follow || s.flushed()
}

func (s *stream) flushed() bool { return s.control.Flush() == nil }

// write writes one event: the line of the feed, a JSON object, with its position for a later after.
func (s *stream) write(at position, line []byte) (ok bool) {
	s.line = fmt.Appendf(s.line[:0], `{"position":"%s",`, at)
	s.line = append(s.line, bytes.TrimPrefix(line, []byte("{"))...)
	_, err := s.w.Write(s.line)
	return err == nil
}
