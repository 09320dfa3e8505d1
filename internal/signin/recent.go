package signin

import (
	"container/list"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
)

// A recent keeps a value for each of a limited number of keys, in the memory of this node. A value is forgotten a while
// after its last use, or when it is the one that was not used for the longest time and another key needs its room.
type recent[V any] struct {
	clock clockwork.Clock
	life  time.Duration
	limit int

	mu      sync.Mutex
	entries map[string]*list.Element
	order   *list.List // of *remembered[V], the last used one first
}

type remembered[V any] struct {
	key   string
	used  time.Time
	value V
}

func newRecent[V any](clock clockwork.Clock, life time.Duration, limit int) *recent[V] {
	return &recent[V]{clock: clock, life: life, limit: limit, entries: map[string]*list.Element{}, order: list.New()}
}

// use calls change with the value of a key, while no one else uses it. The value of a new key is zero.
func (m *recent[V]) use(key string, change func(v *V, now time.Time, known bool)) {
	now := m.clock.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	for e := m.order.Back(); e != nil && now.Sub(e.Value.(*remembered[V]).used) >= m.life; e = m.order.Back() {
		m.forget(e)
	}
	e, known := m.entries[key]
	if known {
		m.order.MoveToFront(e)
	} else {
		if m.order.Len() >= m.limit {
			m.forget(m.order.Back())
		}
		e = m.order.PushFront(&remembered[V]{key: key})
		m.entries[key] = e
	}
	r := e.Value.(*remembered[V])
	r.used = now
	change(&r.value, now, known)
}

func (m *recent[V]) forget(e *list.Element) {
	delete(m.entries, e.Value.(*remembered[V]).key)
	m.order.Remove(e)
}
