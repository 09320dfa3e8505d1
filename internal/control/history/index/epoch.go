package index

import (
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// An epoch has the keys of the messages from first on, up to the next epoch.
type epoch struct {
	id      uint32
	first   uint64
	begun   time.Time // when the first message was stored
	records int64     // that its messages added; only Apply and Expire use it

	mu     sync.RWMutex
	filter filter
	loaded bool // the filter has all keys
}

// loadFilter adds the keys of an opened epoch to its filter.
func (s *Store) loadFilter(e *epoch) {
	errClosing := errors.New("closing")
	n := 0
	from := binary.BigEndian.AppendUint32(nil, e.id)
	err := s.scanRange(from, append(slices.Clone(from), FirstUnfiltered), func(key, _ []byte) error {
		if n++; n%1024 == 0 {
			select {
			case <-s.closing:
				return errClosing
			default:
			}
		}
		e.add(hash(key[4:]))
		return nil
	})
	if err != nil {
		if !errors.Is(err, errClosing) {
			_ = s.Fail(err)
		}
		return
	}
	e.mu.Lock()
	e.loaded = true
	e.mu.Unlock()
}

func (e *epoch) add(h uint64) {
	e.mu.Lock()
	e.filter.add(h)
	e.mu.Unlock()
}

// addAll adds the keys of a batch, before they can be read or deleted.
func (e *epoch) addAll(b *Batch) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range b.changes {
		if !c.del && c.key[0] < FirstUnfiltered {
			e.filter.add(hash(c.key))
		}
	}
}

// mayHave reports whether the epoch may have a key with this hash.
func (e *epoch) mayHave(h uint64) bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return !e.loaded || e.filter.has(h)
}

func (e *epoch) key() []byte { return binary.BigEndian.AppendUint32(slices.Clone(epochKeys), e.id) }

func (e *epoch) value() []byte {
	return binary.BigEndian.AppendUint64(appendPosition(nil, e.first, e.begun), uint64(e.records))
}

// epochOf returns the epoch of a new message. It begins one when the newest has lasted long enough.
func (s *Store) epochOf(seq uint64, at time.Time) *epoch {
	if all := s.all(); len(all) > 0 {
		if newest := all[len(all)-1]; at.Sub(newest.begun) < s.cfg.Retention/epochsKept {
			return newest
		}
	}
	e := &epoch{id: s.lastID + 1, first: seq, begun: at, loaded: true}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epochs, s.lastID = append(slices.Clone(s.epochs), e), e.id
	return e
}

// Expire deletes the epochs with no message from first on.
func (s *Store) Expire(first uint64) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	all := s.all()
	n := 0
	for n+1 < len(all) && all[n+1].first <= first {
		n++
	}
	if applied, _ := s.Applied(); len(all) > 0 && first > applied {
		n = len(all)
	}
	if n == 0 {
		return nil
	}
	s.mu.Lock()
	s.epochs = slices.Clone(all[n:])
	for _, e := range all[:n] {
		s.records -= e.records
	}
	s.mu.Unlock()
	for _, e := range all[:n] {
		from, to := binary.BigEndian.AppendUint32(nil, e.id), binary.BigEndian.AppendUint32(nil, e.id+1)
		w := s.db.NewBatch()
		if err := errors.Join(w.DeleteRange(from, to, nil), w.Delete(e.key(), nil),
			w.Commit(pebble.NoSync)); err != nil {
			return s.Fail(err)
		}
	}
	return nil
}
