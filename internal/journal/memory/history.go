package memory

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/journal"
)

// A History is a journal.History in memory.
type History struct {
	clock  clockwork.Clock
	maxAge time.Duration

	mu     sync.Mutex
	last   uint64
	stored []journal.Stored // oldest first
	grown  chan struct{}    // closed when last advances
}

// NewHistory makes an empty history that keeps what it has for maxAge; 0 is for ever.
func NewHistory(clock clockwork.Clock, maxAge time.Duration) *History {
	return &History{clock: clock, maxAge: maxAge, grown: make(chan struct{})}
}

// Append stores a batch.
func (h *History) Append(ctx context.Context, data []byte) (uint64, error) {
	return h.AppendEntry(ctx, "", data)
}

// AppendEntry stores an entry as releases before the batches did, or a batch ("").
func (h *History) AppendEntry(ctx context.Context, subject string, data []byte) (uint64, error) {
	if len(data) > journal.MaxEntry {
		return 0, fmt.Errorf("%w: %d bytes of at most %d", journal.ErrTooLarge, len(data), journal.MaxEntry)
	}
	if err := context.Cause(ctx); err != nil {
		return 0, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if subject != "" {
		h.stored = slices.DeleteFunc(h.stored, func(s journal.Stored) bool { return s.Subject == subject })
	}
	h.last++
	h.stored = append(h.stored, journal.Stored{Seq: h.last, Time: h.clock.Now(), Subject: subject,
		Data: slices.Clone(data)})
	close(h.grown)
	h.grown = make(chan struct{})
	return h.last, nil
}

// Follow visits what is stored, and waits for more.
func (h *History) Follow(ctx context.Context, after uint64, visit func(journal.Stored) error) error {
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		s, grown := h.next(after)
		if s.Seq == 0 {
			select {
			case <-grown:
			case <-ctx.Done():
			}
			continue
		}
		if err := visit(s); err != nil {
			return err
		}
		after = s.Seq
	}
}

// next returns the first one after a number; one without number if there is none.
func (h *History) next(after uint64) (s journal.Stored, grown <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.expire()
	i := slices.IndexFunc(h.stored, func(s journal.Stored) bool { return s.Seq > after })
	if i < 0 {
		return s, h.grown
	}
	s = h.stored[i]
	s.Data = slices.Clone(s.Data)
	return s, nil
}

// Bounds describes the contents.
func (h *History) Bounds(ctx context.Context, _ uint64) (b journal.Bounds, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.expire()
	b = journal.Bounds{First: h.last + 1, Last: h.last}
	if len(h.stored) > 0 {
		b.First, b.Oldest = h.stored[0].Seq, h.stored[0].Time
	}
	for _, s := range h.stored {
		b.Bytes += uint64(len(s.Data))
	}
	return b, context.Cause(ctx)
}

// NewestEntry returns the number of the newest entry that has a subject.
func (h *History) NewestEntry(ctx context.Context) (uint64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.expire()
	for _, s := range slices.Backward(h.stored) {
		if s.Subject != "" {
			return s.Seq, context.Cause(ctx)
		}
	}
	return 0, context.Cause(ctx)
}

// DropThrough deletes what is stored up to a number.
func (h *History) DropThrough(ctx context.Context, seq uint64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stored = slices.DeleteFunc(h.stored, func(s journal.Stored) bool { return s.Seq <= seq })
	return context.Cause(ctx)
}

// expire deletes what is too old.
func (h *History) expire() {
	if h.maxAge == 0 {
		return
	}
	limit := h.clock.Now().Add(-h.maxAge)
	h.stored = slices.DeleteFunc(h.stored, func(s journal.Stored) bool { return s.Time.Before(limit) })
}
