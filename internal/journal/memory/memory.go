// Package memory keeps journals, histories, feeds and buckets in memory and lets a test decide what goes wrong: appends
// that fail, that only seem to fail, that wait, or that come late; writers that fence each other; snapshots that are
// cut short.
package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/muster-gg/muster/internal/journal"
)

// DefaultMaxRecord is MaxRecord of a journal whose Config says nothing else.
const DefaultMaxRecord = 4 << 20

// Config says how a journal behaves. The zero value is the default.
type Config struct {
	MaxRecord int // bytes; default DefaultMaxRecord
}

// A Journal is one writer's handle on records in memory. Reopen gives another one on the same records. Faults belong to
// the handle.
type Journal struct {
	Failures
	store *store
	max   int

	mu      sync.Mutex
	held    []*heldAppend
	holding bool
	arrived chan struct{} // closed and replaced when an append begins to wait
	lagging chan struct{} // closed when followers may go on; nil: they need not wait
	cut     bool
	pauses  func() // called while a snapshot is half written
}

// New makes an empty journal.
func New(cfg Config) *Journal {
	if cfg.MaxRecord == 0 {
		cfg.MaxRecord = DefaultMaxRecord
	}
	return &Journal{store: &store{changed: make(chan struct{})}, max: cfg.MaxRecord, arrived: make(chan struct{})}
}

// Reopen gives a new handle on the same records, without the faults of this one: what the next process sees after a
// crash, or what another owner sees beside this one.
func (j *Journal) Reopen() *Journal {
	return &Journal{store: j.store, max: j.max, arrived: make(chan struct{})}
}

// MaxRecord is the number of bytes that one record may hold.
func (j *Journal) MaxRecord() int { return j.max }

// Append stores a record, unless a fault was asked for.
func (j *Journal) Append(ctx context.Context, last uint64, data []byte) (uint64, error) {
	if len(data) > j.max {
		return 0, fmt.Errorf("%w: %d bytes of at most %d", journal.ErrTooLarge, len(data), j.max)
	}
	if err := context.Cause(ctx); err != nil {
		return 0, err
	}
	if h := j.hold(last, data); h != nil {
		select {
		case <-h.done:
			return h.seq, h.err
		case <-ctx.Done():
			return 0, context.Cause(ctx) // it is stored when it is released
		}
	}
	return j.append(last, data)
}

func (j *Journal) append(last uint64, data []byte) (uint64, error) {
	return j.Failures.append(func() (uint64, error) { return j.store.append(last, data) })
}

// Replay calls apply with the records after the given one.
func (j *Journal) Replay(ctx context.Context, after uint64, apply func(uint64, []byte) error) error {
	records, err := j.store.after(after)
	if err != nil {
		return err
	}
	return each(ctx, after, records, apply)
}

// each applies the records that follow the given one.
func each(ctx context.Context, after uint64, records [][]byte, apply func(uint64, []byte) error) error {
	for i, data := range records {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := apply(after+1+uint64(i), slices.Clone(data)); err != nil {
			return err
		}
	}
	return nil
}

// Follow calls apply with the records after the given one, and with those that come.
func (j *Journal) Follow(ctx context.Context, after uint64, apply func(uint64, []byte) error) error {
	for {
		if err := j.awaitFollowing(ctx); err != nil {
			return err
		}
		records, changed, err := j.store.behind(after)
		if err != nil {
			return err
		}
		if err := each(ctx, after, records, apply); err != nil {
			return err
		}
		after += uint64(len(records))
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// SaveSnapshot keeps what write writes.
func (j *Journal) SaveSnapshot(ctx context.Context, seq uint64, write func(io.Writer) error) error {
	var buf bytes.Buffer
	if err := write(&buf); err != nil {
		return err
	}
	cut, pause := j.snapshotFaults()
	if pause != nil {
		pause()
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if cut {
		j.store.save(snapshot{seq: seq, data: buf.Bytes()[:buf.Len()/2]})
		return errCut
	}
	j.store.save(snapshot{seq: seq, data: buf.Bytes(), whole: true})
	return nil
}

var errCut = errors.New("the snapshot was cut short")

// LoadSnapshot opens the newest whole snapshot.
func (j *Journal) LoadSnapshot(context.Context) (uint64, io.ReadCloser, error) {
	s, ok := j.store.newest()
	if !ok {
		return 0, nil, nil
	}
	return s.seq, io.NopCloser(bytes.NewReader(s.data)), nil
}
