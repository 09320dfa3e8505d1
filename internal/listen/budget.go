package listen

import "sync/atomic"

// A Budget bounds the bytes of bodies that are in memory at the same time, those of all its users together. It may be
// used by many goroutines at once; a nil one has no limit.
type Budget struct {
	most int64
	used atomic.Int64
}

// NewBudget makes a budget of so many bytes.
func NewBudget(bytes int64) *Budget { return &Budget{most: bytes} }

// Take takes bytes, or reports false when so many are not left. Who takes them must give them back.
func (b *Budget) Take(bytes int) bool {
	if b == nil || b.used.Add(int64(bytes)) <= b.most {
		return true
	}
	b.Give(bytes)
	return false
}

// Give gives back what was taken.
func (b *Budget) Give(bytes int) {
	if b != nil {
		b.used.Add(-int64(bytes))
	}
}
