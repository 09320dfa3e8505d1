// Package sse writes streams of server-sent events (text/event-stream), and decides when to look for the next one.
package sse

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/jonboulle/clockwork"
)

// Media is the media type.
const Media = "text/event-stream"

// writeTime is the time limit for writing an event, in real time.
const writeTime = 10 * time.Second

// A Stream is an open answer. It is not safe for concurrent use.
type Stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	text    []byte // scratch
}

// An Event is an event of a stream. Name and ID are one line, and so is Data.
type Event struct {
	Name, ID string // ID: "" sends none
	Data     []byte
}

// Start begins a stream. The caller calls End.
func Start(w http.ResponseWriter) *Stream {
	s := &Stream{w: w, control: http.NewResponseController(w)}
	_ = s.control.SetReadDeadline(time.Time{}) // a stream is long
	w.Header().Set("Content-Type", Media)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	return s
}

// End resets the limits of the connection, which may serve another request.
func (s *Stream) End() { _ = s.control.SetWriteDeadline(time.Time{}) }

// Send sends an event, and reports whether the client can take more.
func (s *Stream) Send(e Event) bool {
	s.text = fmt.Appendf(s.text[:0], "event: %s\n", e.Name)
	if e.ID != "" {
		s.text = fmt.Appendf(s.text, "id: %s\n", e.ID)
	}
	s.text = append(append(append(s.text, "data: "...), e.Data...), "\n\n"...)
	return s.write(s.text)
}

// Comment sends a line that clients ignore, so that nothing on the way closes the connection.
func (s *Stream) Comment(text string) bool { return s.write([]byte(": " + text + "\n\n")) }

// Retry sends how long a client waits before it connects again.
func (s *Stream) Retry(after time.Duration) bool {
	return s.write(fmt.Appendf(nil, "retry: %d\n\n", after.Milliseconds()))
}

func (s *Stream) write(text []byte) bool {
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTime)) // limits a client that does not read
	_, err := s.w.Write(text)
	return err == nil && s.control.Flush() == nil
}

// A Pace decides when to look again at what a stream shows.
type Pace struct {
	Clock   clockwork.Clock
	Changed <-chan struct{} // has an element after something has changed
	Stop    <-chan struct{} // closed when all streams end
	Pause   time.Duration   // at least, after a change
	Beat    time.Duration   // at most, without one: for what changes without a signal
}

// Wait waits until it is time to look, or returns false: the stream has ended.
func (p *Pace) Wait(ctx context.Context) bool {
	beat := p.Clock.NewTimer(p.Beat)
	defer beat.Stop()
	select {
	case <-p.Changed:
	case <-beat.Chan():
	case <-p.Stop:
		return false
	case <-ctx.Done():
		return false
	}
	select {
	case <-p.Clock.After(p.Pause):
		return true
	case <-p.Stop:
	case <-ctx.Done():
	}
	return false
}
