package history

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/internal/control/history/index"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const (
	// followAgain is the wait after a failure of the index.
	followAgain = time.Second

	// skipped is how many entries that refer to others are skipped between two that are applied.
	skipped = 256

	// readyLimit is how long a question waits for the index, in real time.
	readyLimit = 10 * time.Second
)

// errOtherLog reports that the index was built from a history that is not this one.
var errOtherLog = errors.New("the index of the history is of another history")

// Run keeps the index up to date until ctx is done. Questions wait until it runs.
func (h *History) Run(ctx context.Context) error {
	var store *index.Store
	defer func() { h.closeStore(store) }()
	var tending sync.WaitGroup
	defer tending.Wait()
	tending.Go(func() { h.tend(ctx) })
	for anew := false; ctx.Err() == nil; {
		var err error
		if store, err = h.openStore(store); err == nil {
			err = h.follow(ctx, store)
		}
		if ctx.Err() != nil {
			break
		}
		h.following.Store(&err)
		h.cfg.Log.Warn("the index of the history is not up to date; trying again", "err", err)
		if anew = store != nil && store.Err() != nil && !anew; anew { // rebuild it, but not repeatedly
			continue
		}
		select {
		case <-h.cfg.Clock.After(followAgain):
		case <-ctx.Done():
		}
	}
	return nil
}

// openStore returns the store if it is usable. If not, or if there is none, it opens the index, and creates an empty
// one if it is damaged.
func (h *History) openStore(store *index.Store) (*index.Store, error) {
	if store != nil && store.Err() == nil {
		return store, nil
	}
	c := index.Config{Dir: h.cfg.Dir, Version: indexVersion, Retention: h.cfg.Kept, Log: h.cfg.Log}
	var err error
	if store == nil {
		if store, err = index.Open(c); err == nil {
			return store, nil
		}
	} else {
		h.use(nil)
		err = store.Err()
		_ = store.Close() // it is unusable
	}
	h.cfg.Log.Warn("the index of the history cannot be used; rebuilding it", "err", err)
	if err := index.Remove(h.cfg.Dir); err != nil {
		return nil, fmt.Errorf("remove the index of the history: %w", err)
	}
	return index.Open(c)
}

// use makes the store available to questions and wakes those that wait. It waits for those that use the previous one.
func (h *History) use(store *index.Store) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.store != store {
		h.store = store
		close(h.changed)
		h.changed = make(chan struct{})
	}
}

func (h *History) closeStore(store *index.Store) {
	h.use(nil)
	if store == nil {
		return
	}
	if err := store.Close(); err != nil {
		h.cfg.Log.Warn("the index of the history was not closed in order; it will be read from the history", "err", err)
	}
}

// follow applies the journal's history to the index.
func (h *History) follow(ctx context.Context, store *index.Store) error {
	last, err := h.check(ctx, store)
	if err != nil {
		return err
	}
	h.required.Store(last) // no shard has recorded that it relies on the entries of earlier releases
	h.use(store)
	applied, _ := store.Applied()
	next := applied + 1
	messages := make(chan decoded) // one is decoded while the one before it is applied
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(messages)
		return h.cfg.Entries.Follow(ctx, applied, func(s journal.Stored) error {
			if s.Seq != next { // what is missing may have been moved to the end
				bounds, err := h.cfg.Entries.Bounds(ctx, s.Seq)
				if err != nil {
					return err
				}
				h.required.Store(bounds.Last)
			}
			next = s.Seq + 1
			if refersOnly(s) && s.Seq < last && s.Seq%skipped != 0 { // most entries of earlier releases
				return nil
			}
			select {
			case messages <- h.decode(s):
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	})
	// A question that finds damage does not wait for the next message, which may be long in coming.
	group.Go(func() error { return store.Wait(ctx, math.MaxUint64) })
	group.Go(func() error {
		var b index.Batch
		for m := range messages {
			err := m.apply(store, &b)
			h.following.Store(&err)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return group.Wait()
}

// check fails the store if it was built from another history: one with another message at the number of the message
// that was applied last. It returns the newest message.
func (h *History) check(ctx context.Context, store *index.Store) (last uint64, err error) {
	applied, at := store.Applied()
	bounds, err := h.cfg.Entries.Bounds(ctx, applied)
	switch {
	case err != nil:
		return 0, err
	case applied > bounds.Last:
		return 0, store.Fail(errOtherLog)
	case applied < bounds.First: // nothing is left to compare
		return bounds.Last, nil
	}
	same := errors.New("same history")
	err = h.cfg.Entries.Follow(ctx, applied-1, func(s journal.Stored) error {
		if s.Seq == applied && !s.Time.Equal(at) {
			return store.Fail(errOtherLog)
		}
		return same
	})
	if errors.Is(err, same) {
		err = nil
	}
	return bounds.Last, err
}

// A decoded is a message of the journal's history with the keys of its entries.
type decoded struct {
	seq     uint64
	at      time.Time
	entries []decodedKeys
}

type decodedKeys struct {
	number uint64 // of the entry
	keys   []keyValue
}

// decode decodes a stored batch or entry. One that cannot be read is logged and skipped.
func (h *History) decode(s journal.Stored) decoded {
	unread := func(err error) {
		h.cfg.Log.Error("entry of the history cannot be read; it is not found any more", "seq", s.Seq, "err", err)
	}
	m := decoded{seq: s.Seq, at: s.Time}
	err := entriesOf(s, func(e entry) error {
		keys, err := e.keys()
		if err != nil {
			unread(err)
			return nil
		}
		m.entries = append(m.entries, decodedKeys{e.number, keys})
		return nil
	})
	if err != nil {
		unread(err)
	}
	return m
}

// apply adds the message to the index.
func (m *decoded) apply(store *index.Store, b *index.Batch) error {
	b.Reset()
	for _, e := range m.entries {
		replaced, err := replace(store, b, e.keys[0].key, e.number)
		if err != nil {
			return err
		}
		for _, k := range e.keys {
			b.Set(k.key, k.value)
		}
		if !replaced {
			b.Records++
		}
	}
	return store.Apply(m.seq, m.at, b)
}

// replace reports whether there is an earlier entry of the same thing, and deletes its keys unless it has the same
// number: a crash between the writing of an entry and the removal from memory makes another one, and an entry of an
// earlier release that is moved into a batch keeps its number.
func replace(store *index.Store, b *index.Batch, key []byte, n uint64) (replaced bool, err error) {
	value, err := store.Get(key)
	if err != nil || value == nil {
		return false, err
	}
	if numberOf(value) == n {
		return true, nil
	}
	old, ok, err := entryAt(store, numberOf(value))
	if err != nil || !ok {
		return false, err
	}
	keys, err := old.keys()
	if err != nil {
		return true, nil // nothing refers to what cannot be read
	}
	for _, k := range keys {
		b.Delete(k.key)
	}
	return true, nil
}

// entryAt returns the entry with a number.
func entryAt(store *index.Store, n uint64) (e entry, ok bool, err error) {
	value, err := store.Get(entryKey(n))
	if err != nil || value == nil {
		return e, false, err
	}
	e, err = decodeEntry(value)
	e.number = n
	return e, err == nil, err
}

// entriesOf calls visit with the entries of what is stored: a batch, or an entry of a release before the batches.
func entriesOf(s journal.Stored, visit func(entry) error) error {
	if s.Subject == "" {
		return unpack(s.Seq, s.Data, visit)
	}
	e, ok, err := oldEntry(s)
	if err != nil || !ok {
		return err
	}
	return visit(e)
}

// oldEntry converts an entry with a subject:
//
//	s.<fleet>.<location>.<id>.<shard>-<room>-<ordinal>                   a game session and its player sessions
//	d.<fleet>.<location>.<id>.<shard>-<room>-<ordinal>.<player session>  a departed player session
//	q.<placement>, t.<ticket>
//
// ok is false for the others, which only refer to these.
func oldEntry(s journal.Stored) (e entry, ok bool, err error) {
	parts := strings.Split(s.Subject, ".")
	if len(parts[0]) != 1 || refersOnly(s) {
		return e, false, nil
	}
	e = entry{kind: parts[0][0], number: s.Seq << numberBits, fact: s.Data}
	switch {
	case !e.inRoom():
		return e, e.kind == placementEntry || e.kind == ticketEntry, nil
	case len(parts) < 5:
		return e, false, fmt.Errorf("subject %s: %w", s.Subject, errMalformed)
	}
	shard, _, _ := strings.Cut(parts[4], "-")
	n, err := strconv.ParseUint(shard, 10, 8)
	if err != nil {
		return e, false, fmt.Errorf("subject %s: %w", s.Subject, err)
	}
	e.room, e.shard = fleet.RoomID{Fleet: fleet.ID(parts[1]), Location: parts[2]}, uint8(n)
	return e, true, nil
}

// refersOnly reports whether an entry of an earlier release only refers to another one: a player to a game session.
func refersOnly(s journal.Stored) bool { return strings.HasPrefix(s.Subject, "p.") }

// expireNow deletes what the journal's history does not have any more from the index, unless that is behind: entries
// that were moved within the history are found under both numbers only then.
func (h *History) expireNow(ctx context.Context) error {
	bounds, err := h.cfg.Entries.Bounds(ctx, 0)
	if err != nil {
		return err
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.store == nil {
		return nil
	}
	if applied, _ := h.store.Applied(); applied < bounds.Last {
		return nil
	}
	return h.store.Expire(bounds.First)
}

// State describes a history, as this node sees it.
type State struct {
	journal.Bounds
	IndexBytes uint64
	Behind     uint64 // messages of the journal's history that the index does not have
	Entries    uint64 // of the index
	Overdue    int    // records that should have left memory some time ago
}

// State returns the state of the history.
func (h *History) State(ctx context.Context) (s State, err error) {
	if s.Bounds, err = h.cfg.Entries.Bounds(ctx, 0); err != nil {
		return s, err
	}
	s.Behind = s.Last - min(s.Last, s.First-1)
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.store != nil {
		applied, _ := h.store.Applied()
		s.Behind = s.Last - min(s.Last, max(applied, s.First-1))
		stats := h.store.Stats()
		s.IndexBytes, s.Entries = stats.DiskBytes, stats.Records
	}
	if o := h.overdue.Load(); o != nil {
		s.Overdue = o.Records
	}
	return s, nil
}

// ready returns the index when it has all that had left memory at the time of the call. The caller calls release.
func (h *History) ready(ctx context.Context) (store *index.Store, release func(), err error) {
	needed, err := h.needed(ctx)
	h.mu.RLock()
	if err == nil && h.store != nil && h.complete(h.store, needed) {
		return h.store, h.mu.RUnlock, nil
	}
	h.mu.RUnlock()
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	for err == nil {
		h.mu.RLock()
		store, changed := h.store, h.changed
		if store != nil {
			for err == nil && !h.complete(store, needed) {
				err = store.Wait(ctx, max(needed, h.required.Load()))
			}
			if err == nil {
				return store, h.mu.RUnlock, nil
			}
			if err = store.Err(); err == nil {
				err = context.Cause(ctx)
			} else if ctx.Err() == nil {
				err = nil // it is rebuilt
			}
		}
		h.mu.RUnlock()
		if err == nil {
			select {
			case <-changed:
			case <-ctx.Done():
				err = context.Cause(ctx)
			}
		}
	}
	return nil, nil, &fault.Error{Kind: fault.ServiceUnavailable, Err: err,
		Message: "What has ended is being read again and cannot be searched yet. Try again in some seconds."}
}

// complete reports whether the store has a message that is needed, and all that is required.
func (h *History) complete(store *index.Store, needed uint64) bool {
	required := h.required.Load()
	return store.Has(max(needed, required)) && h.required.Load() == required // it grows before the store moves on
}

// needed returns the newest message of the journal's history that a shard relied on when it forgot something.
func (h *History) needed(ctx context.Context) (uint64, error) {
	for _, s := range h.cfg.Shards {
		if s.Level() >= BatchLevel {
			continue
		}
		bounds, err := h.cfg.Entries.Bounds(ctx, 0) // another release may write without reporting it
		return bounds.Last, err
	}
	reached, _ := h.cfg.Reached()
	return max(reached, h.begun.Load()), nil
}
