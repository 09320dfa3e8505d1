package memory

import (
	"context"
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

	mu      sync.Mutex
	last    uint64
	entries []entry // by number
}

type entry struct {
	seq     uint64
	subject string
	data    []byte
	at      time.Time
}

// NewHistory makes an empty history that keeps entries for maxAge; 0 is for ever.
func NewHistory(clock clockwork.Clock, maxAge time.Duration) *History {
	return &History{clock: clock, maxAge: maxAge}
}

// Put stores an entry.
func (h *History) Put(ctx context.Context, subject string, data []byte) error {
	if err := journal.CheckSubject(subject); err != nil {
		return err
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.expire()
	h.entries = slices.DeleteFunc(h.entries, func(e entry) bool { return e.subject == subject })
	h.last++
	h.entries = append(h.entries, entry{seq: h.last, subject: subject, data: slices.Clone(data), at: h.clock.Now()})
	return nil
}

// Get returns the entry with this subject.
func (h *History) Get(ctx context.Context, subject string) ([]byte, bool, error) {
	if err := journal.CheckSubject(subject); err != nil {
		return nil, false, err
	}
	if err := context.Cause(ctx); err != nil {
		return nil, false, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.expire()
	i := slices.IndexFunc(h.entries, func(e entry) bool { return e.subject == subject })
	if i < 0 {
		return nil, false, nil
	}
	return slices.Clone(h.entries[i].data), true, nil
}

// List calls visit with the entries that match filter.
func (h *History) List(ctx context.Context, filter string, after uint64, visit func(uint64, string, []byte) bool) error {
	if err := journal.CheckFilter(filter); err != nil {
		return err
	}
	for _, e := range h.snapshot() {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if e.seq <= after || !journal.Match(filter, e.subject) {
			continue
		}
		if !visit(e.seq, e.subject, slices.Clone(e.data)) {
			return nil
		}
	}
	return nil
}

// Last is the number of the entry that was put last.
func (h *History) Last(ctx context.Context) (uint64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last, context.Cause(ctx)
}

func (h *History) snapshot() []entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.expire()
	return slices.Clone(h.entries)
}

// expire forgets what is too old.
func (h *History) expire() {
	if h.maxAge == 0 {
		return
	}
	limit := h.clock.Now().Add(-h.maxAge)
	h.entries = slices.DeleteFunc(h.entries, func(e entry) bool { return e.at.Before(limit) })
}
