package listen

import "sync/atomic"

// A Budget limits the bytes of bodies in memory, those of all its users together. It is safe for concurrent use; a nil
// one has no limit.
type Budget struct {
	most int64
	used atomic.Int64
}

// NewBudget returns a budget with a limit in bytes.
func NewBudget(bytes int64) *Budget { return &Budget{most: bytes} }

// Take takes bytes, or returns false if too few are left. The caller must return them with Give.
func (b *Budget) Take(bytes int) bool {
	if b == nil || b.used.Add(int64(bytes)) <= b.most {
		return true
	}
	b.Give(bytes)
	return false
}

// Give returns bytes that were taken.
func (b *Budget) Give(bytes int) {
	if b != nil {
		b.used.Add(-int64(bytes))
	}
}
