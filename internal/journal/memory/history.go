package memory

import (
	"cmp"
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

	mu        sync.Mutex
	last      uint64
	entries   []*entry // by number; those that were replaced among them, for a while
	bySubject map[string]*entry
}

type entry struct {
	seq      uint64
	subject  string
	data     []byte
	at       time.Time
	replaced bool
}

// NewHistory makes an empty history that keeps entries for maxAge; 0 is for ever.
func NewHistory(clock clockwork.Clock, maxAge time.Duration) *History {
	return &History{clock: clock, maxAge: maxAge, bySubject: map[string]*entry{}}
}

// Put stores an entry.
func (h *History) Put(ctx context.Context, subject string, data []byte) error {
	if err := journal.CheckSubject(subject); err != nil {
		return err
	}
	if len(data) > journal.MaxEntry {
		return fmt.Errorf("%w: %d bytes of at most %d", journal.ErrTooLarge, len(data), journal.MaxEntry)
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.expire()
	if old, ok := h.bySubject[subject]; ok {
		old.replaced, old.data = true, nil
	}
	h.last++
	e := &entry{seq: h.last, subject: subject, data: slices.Clone(data), at: h.clock.Now()}
	h.bySubject[subject] = e
	h.entries = append(h.entries, e)
	if len(h.entries) > 2*len(h.bySubject)+100 {
		h.entries = slices.DeleteFunc(h.entries, func(e *entry) bool { return e.replaced })
	}
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
	e, ok := h.bySubject[subject]
	if !ok {
		return nil, false, nil
	}
	return slices.Clone(e.data), true, nil
}

// List calls visit with the entries that match filter.
func (h *History) List(
	ctx context.Context, filter string, after uint64, visit func(uint64, string, []byte) bool,
) error {
	if err := journal.CheckFilter(filter); err != nil {
		return err
	}
	last, err := h.Last(ctx)
	if err != nil {
		return err
	}
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		seq, subject, data, ok := h.next(filter, after, last)
		if !ok || !visit(seq, subject, data) {
			return nil
		}
		after = seq
	}
}

// next is the first entry behind a number, and not behind last, that matches.
func (h *History) next(filter string, after, last uint64) (seq uint64, subject string, data []byte, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.expire()
	first, _ := slices.BinarySearchFunc(h.entries, after+1,
		func(e *entry, seq uint64) int { return cmp.Compare(e.seq, seq) })
	for _, e := range h.entries[first:] {
		if e.seq > last {
			break
		}
		if !e.replaced && journal.Match(filter, e.subject) {
			return e.seq, e.subject, slices.Clone(e.data), true
		}
	}
	return 0, "", nil, false
}

// Last is the number of the entry that was put last.
func (h *History) Last(ctx context.Context) (uint64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last, context.Cause(ctx)
}

// expire forgets what is too old.
func (h *History) expire() {
	if h.maxAge == 0 {
		return
	}
	limit := h.clock.Now().Add(-h.maxAge)
	for len(h.entries) > 0 && h.entries[0].at.Before(limit) {
		if e := h.entries[0]; !e.replaced {
			delete(h.bySubject, e.subject)
		}
		h.entries[0] = nil
		h.entries = h.entries[1:]
	}
}
