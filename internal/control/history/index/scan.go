package index

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// scanRange calls visit with the keys of a range, with their epochs.
func (s *Store) scanRange(from, to []byte, visit func(key, value []byte) error) error {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		value, failed := it.ValueAndErr()
		if err = failed; err == nil {
			err = visit(it.Key(), value)
		}
		if err != nil {
			break
		}
	}
	return errors.Join(err, it.Close())
}

// Scan calls visit with the keys from one on and before another, in order or in reverse order, until it returns false.
// Key and value are valid until visit returns. It sees all that was applied before, and nothing that is applied during
// the call.
func (s *Store) Scan(from, to []byte, reverse bool, visit func(key, value []byte) bool) (err error) {
	snapshot := s.db.NewSnapshot()
	m := merge{reverse: reverse}
	defer func() {
		if err = errors.Join(err, m.close(), snapshot.Close()); err != nil {
			err = s.Fail(fmt.Errorf("read the index of the history: %w", err))
		}
	}()
	for _, e := range s.all() {
		it, err := snapshot.NewIter(&pebble.IterOptions{
			LowerBound: append(binary.BigEndian.AppendUint32(nil, e.id), from...),
			UpperBound: append(binary.BigEndian.AppendUint32(nil, e.id), to...),
		})
		if err != nil {
			return err
		}
		m.begin(it)
	}
	for m.next() {
		it := m.newest()
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		if !visit(it.Key()[4:], value) {
			return nil
		}
	}
	return nil
}

// A merge walks over the keys of several epochs.
type merge struct {
	reverse bool
	all     []*pebble.Iterator // of all epochs, to be closed
	valid   []*pebble.Iterator // those with keys left, oldest epoch first
	current []*pebble.Iterator // those at the present key
}

func (m *merge) begin(it *pebble.Iterator) {
	m.all = append(m.all, it)
	if m.reverse && it.Last() || !m.reverse && it.First() {
		m.valid = append(m.valid, it)
	}
}

// next advances to the next key.
func (m *merge) next() bool {
	for _, it := range m.current {
		if m.reverse && it.Prev() || !m.reverse && it.Next() {
			continue
		}
		m.valid = slices.DeleteFunc(m.valid, func(v *pebble.Iterator) bool { return v == it })
	}
	m.current = m.current[:0]
	for _, it := range m.valid {
		order := -1
		if len(m.current) > 0 {
			order = bytes.Compare(it.Key()[4:], m.current[0].Key()[4:])
			if m.reverse {
				order = -order
			}
		}
		switch {
		case order < 0:
			m.current = append(m.current[:0], it)
		case order == 0:
			m.current = append(m.current, it)
		}
	}
	return len(m.current) > 0
}

// newest returns the iterator of the newest epoch that has the present key.
func (m *merge) newest() *pebble.Iterator { return m.current[len(m.current)-1] }

func (m *merge) close() (err error) {
	for _, it := range m.all {
		err = errors.Join(err, it.Close())
	}
	return err
}
