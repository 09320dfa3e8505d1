// Package logring keeps the newest lines of a log in memory, where they can be read and followed.
package logring

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// What a ring keeps at most.
const (
	maxLines = 10_000
	maxBytes = 8 << 20
)

// A Ring keeps the newest lines, as JSON objects. It is safe for concurrent use.
type Ring struct {
	mu    sync.Mutex
	lines []line
	bytes int
	level slog.Level    // of the line that is being encoded
	last  uint64        // number of the newest line
	more  chan struct{} // closed when a line comes
}

// A line is not changed any more.
type line struct {
	level slog.Level
	text  []byte // with the end of the line
}

// New returns a ring. Numbers of lines begin with the time at which it is made, in microseconds, so that they grow from
// one run of a service to the next.
func New(now time.Time) *Ring {
	return &Ring{last: uint64(max(now.UnixMicro(), 0)), more: make(chan struct{})}
}

// Wrap returns a handler that keeps lines from a level on, and gives next those that it takes.
func (r *Ring) Wrap(next slog.Handler, least slog.Level) slog.Handler {
	options := &slog.HandlerOptions{Level: slog.Level(math.MinInt), ReplaceAttr: readable} // Handle decides the level
	return &handler{r, least, next, slog.NewJSONHandler(writer{r}, options)}
}

// readable writes durations as people do, not in nanoseconds.
func readable(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// A handler encodes each line twice: lines are few.
type handler struct {
	ring       *Ring
	least      slog.Level // of lines that are kept
	next, json slog.Handler
}

func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= h.least || h.next.Enabled(ctx, level)
}

func (h *handler) Handle(ctx context.Context, record slog.Record) error {
	if record.Level >= h.least {
		h.ring.mu.Lock()
		h.ring.level = record.Level
		_ = h.json.Handle(ctx, record) // cannot fail: it writes to memory
		h.ring.mu.Unlock()
	}
	if !h.next.Enabled(ctx, record.Level) {
		return nil
	}
	return h.next.Handle(ctx, record)
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{h.ring, h.least, h.next.WithAttrs(attrs), h.json.WithAttrs(attrs)}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.ring, h.least, h.next.WithGroup(name), h.json.WithGroup(name)}
}

// A writer receives one encoded line at a time, under the ring's lock.
type writer struct{ ring *Ring }

func (w writer) Write(text []byte) (int, error) {
	r := w.ring
	r.lines = append(r.lines, line{r.level, slices.Clone(text)})
	r.bytes += len(text)
	drop := 0
	for len(r.lines)-drop > maxLines || r.bytes > maxBytes && len(r.lines)-drop > 1 {
		r.bytes -= len(r.lines[drop].text)
		r.lines[drop] = line{}
		drop++
	}
	r.lines = r.lines[drop:]
	r.last++
	close(r.more)
	r.more = make(chan struct{})
	return len(text), nil
}

// A Query selects lines.
type Query struct {
	Level slog.Level // the lowest
	Text  string     // that the line contains, in any case; "": any
	Shard *int       // the line is of this shard
	After string     // position of a line; "": the beginning for Read, the end for Follow
	Limit int        // the newest ones for Read, the first ones for Follow; 0: all
}

// matches reports whether a line is selected. The text is in lower case by now.
func (q *Query) matches(l line) bool {
	if l.level < q.Level || q.Text != "" && !bytes.Contains(bytes.ToLower(l.text), []byte(q.Text)) {
		return false
	}
	if q.Shard == nil {
		return true
	}
	var of struct{ Shard *int }
	return json.Unmarshal(l.text, &of) == nil && of.Shard != nil && *of.Shard == *q.Shard
}

// Read visits the lines that q selects, oldest first, each with its position for a later After, until visit returns
// false. Nothing is read of a nil ring.
func (r *Ring) Read(q Query, visit func(position string, line []byte) (more bool)) {
	if r == nil {
		return
	}
	all, _, _ := r.after(number(q.After))
	q.Text = strings.ToLower(q.Text)
	all = slices.DeleteFunc(all, func(f numbered) bool { return !q.matches(f.line) })
	if q.Limit > 0 {
		all = all[max(len(all)-q.Limit, 0):]
	}
	for _, f := range all {
		if !visit(position(f.number), f.text) {
			return
		}
	}
}

// Follow visits the lines that q selects and waits for further ones, until visit returns false, Limit lines were
// visited, or ctx ends.
func (r *Ring) Follow(ctx context.Context, q Query, visit func(position string, line []byte) (more bool)) {
	if r == nil {
		return
	}
	q.Text = strings.ToLower(q.Text)
	at := number(q.After)
	if q.After == "" {
		at = math.MaxUint64
	}
	for visited := 0; ; {
		all, last, more := r.after(at)
		for _, f := range all {
			if !q.matches(f.line) {
				continue
			}
			if visited++; !visit(position(f.number), f.text) || visited == q.Limit {
				return
			}
		}
		at = last
		select {
		case <-more:
		case <-ctx.Done():
			return
		}
	}
}

// A numbered line has its number.
type numbered struct {
	number uint64
	line
}

// after returns the lines after one, the number of the newest, and what is closed when there are more.
func (r *Ring) after(number uint64) (all []numbered, last uint64, more <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := r.last - uint64(len(r.lines)) + 1
	for i, l := range r.lines {
		if n := first + uint64(i); n > number {
			all = append(all, numbered{n, l})
		}
	}
	return all, r.last, r.more
}

func position(number uint64) string { return strconv.FormatUint(number, 10) }

// number returns the number of a position. What is none is before all lines.
func number(position string) uint64 {
	n, _ := strconv.ParseUint(position, 10, 64)
	return n
}
