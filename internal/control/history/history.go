// Package history moves game sessions, player sessions, placements and tickets that have ended from memory to the
// history of the journal, and finds them there.
//
// What has ended is written in batches, each one message of the journal's history. A batch is first durable there, then
// the shards forget what it contains. A crash between the two leaves that in both; the next move writes it again and
// then has the shards forget. While both have it, memory counts.
//
// Each node has an index of the history (package index), which contains the keys of the entries and the entries
// themselves. It is built from the history, which Run follows. Before a shard forgets something, it stores the number
// of the batch as a fact (region.HistoryReached). A reader that does not find something in a shard waits until the
// index has that batch, and finds it there.
//
// Releases before the batches stored entries one by one, each under a subject. The index reads them too, and the node
// that leads moves them into batches, with their numbers, and then deletes them.
package history

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/control/history/index"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
)

// BatchLevel is the feature level from which batches are written. Below it, what has ended stays in memory.
const BatchLevel = region.HistoryLevel

// A Shard is the source of entries. It is a router.Shard.
type Shard interface {
	// Read calls read with the state of the shard. After an error, read may still be running.
	Read(ctx context.Context, read func(*region.Machine)) error
	// Do has the shard carry out a command.
	Do(ctx context.Context, c region.Command) (answer any, err error)
	// Level returns the feature level.
	Level() int
}

// Config configures a History. All fields are required unless they say otherwise.
type Config struct {
	Entries journal.History
	Dir     string // of the index; "": in memory
	Shards  []Shard
	Shared  bool // with other nodes

	// Reached returns the newest facts region.HistoryReached of any shard that this node has seen: a reader that has
	// seen a shard's state has seen its fact.
	Reached func() (seq, settled uint64)

	Retention time.Duration // in memory, after the end
	Kept      time.Duration // in the history

	// MaxOverdue is how many records may be overdue before Admit refuses new work; 0: by the process's memory limit.
	MaxOverdue int

	Clock clockwork.Clock
	Log   *slog.Logger
}

// A History is safe for concurrent use, but only one goroutine may move entries to it: Begin and Move.
type History struct {
	cfg       Config
	begun     atomic.Uint64 // the newest batch at Begin
	required  atomic.Uint64 // without it, the index may miss entries of earlier releases
	settled   atomic.Uint64 // see Settled
	unsettled bool          // an entry after settled may not have left memory

	moving    atomic.Pointer[error] // of the newest Move
	following atomic.Pointer[error] // of the index
	overdue   atomic.Pointer[backlog]

	mu      sync.RWMutex
	store   *index.Store  // nil while there is none
	changed chan struct{} // closed when there is another
}

// New returns a history. Settled is 0 until Begin.
func New(cfg Config) *History {
	cfg.MaxOverdue = cmp.Or(cfg.MaxOverdue, overdueLimit())
	return &History{cfg: cfg, changed: make(chan struct{})}
}

// Settled returns a number up to which all entries are known to have left memory.
func (h *History) Settled() uint64 {
	_, settled := h.cfg.Reached()
	return max(h.settled.Load(), settled)
}

// An Entry is a game session of the history, or a player session that left memory before its game session.
type Entry struct {
	Seq      uint64 // of all entries; those written later have larger numbers
	Room     fleet.RoomID
	At       fleet.Address
	Session  *fleet.GameSession
	Departed bool // Session has only the player session Session.PastPlayers[0]
}

// find calls ask with the index when it is up to date.
func (h *History) find(ctx context.Context, ask func(*index.Store) error) error {
	store, release, err := h.ready(ctx)
	if err != nil {
		return err
	}
	defer release()
	return ask(store)
}

// named finds the entry of a key that only one thing has.
func (h *History) named(ctx context.Context, key []byte) (e entry, ok bool, err error) {
	err = h.find(ctx, func(store *index.Store) error {
		value, err := store.Get(key)
		if err == nil && value != nil {
			e, ok, err = entryAt(store, numberOf(value))
		}
		return err
	})
	return e, ok, err
}

// described decodes a game session or player session.
func (e *entry) described() (Entry, error) {
	s, err := e.session()
	return Entry{Seq: e.number, Room: e.room, At: s.at, Session: s.GameSession,
		Departed: e.kind == departedEntry}, err
}

// GameSession finds a game session; nil if it is not there.
func (h *History) GameSession(ctx context.Context, room fleet.RoomID, id string) (*fleet.GameSession, error) {
	_, g, err := h.gameSession(ctx, sessionKey(room, id))
	return g, err
}

// GameSessionAt finds the game session that the id of a player session points to; nil if it is not there.
func (h *History) GameSessionAt(ctx context.Context, at fleet.Address, ordinal uint64) (fleet.RoomID,
	*fleet.GameSession, error) {
	return h.gameSession(ctx, placeKey(at, ordinal))
}

func (h *History) gameSession(ctx context.Context, key []byte) (fleet.RoomID, *fleet.GameSession, error) {
	e, ok, err := h.named(ctx, key)
	if err != nil || !ok {
		return fleet.RoomID{}, nil, err
	}
	s, err := e.session()
	return e.room, s.GameSession, err
}

// walk calls visit with the entries whose numbers follow a prefix in keys, after the given number, until it returns
// false.
func (h *History) walk(ctx context.Context, prefix []byte, from uint64, wanted func(value []byte) bool,
	visit func(Entry) bool) error {
	return h.find(ctx, func(store *index.Store) error {
		var failed error
		err := store.Scan(number(prefix[:len(prefix):len(prefix)], from+1), after(prefix), false,
			func(key, value []byte) bool {
				if !wanted(value) {
					return true
				}
				e, ok, err := entryAt(store, numberOf(key))
				if err != nil || !ok {
					failed = err
					return err == nil
				}
				described, err := e.described()
				failed = err
				return err == nil && visit(described)
			})
		if failed != nil {
			return failed
		}
		return err
	})
}

// after returns the first key after all keys with a prefix of this package.
func after(prefix []byte) []byte { return number(prefix[:len(prefix):len(prefix)], 1<<64-1) }

// GameSessions calls visit with the game sessions of a fleet, or of one of its locations, in the order of their
// numbers, after the given number (0: from the first), until it returns false.
func (h *History) GameSessions(ctx context.Context, of fleet.ID, location string, from uint64,
	visit func(Entry) bool) error {
	wanted := func(value []byte) bool { return location == "" || string(value) == location }
	return h.walk(ctx, fleetKeys(of), from, wanted, visit)
}

// DepartedFrom calls visit with the player sessions that left memory before their game session, as GameSessions does.
func (h *History) DepartedFrom(ctx context.Context, room fleet.RoomID, id string, from uint64,
	visit func(Entry) bool) error {
	return h.walk(ctx, departureKeys(room, id), from, func([]byte) bool { return true }, visit)
}

// PlayerSession finds a player session that left memory before its game session; nil if it is not there.
func (h *History) PlayerSession(ctx context.Context, g *fleet.GameSession, id fleet.PlayerSessionID) (
	*fleet.PlayerSession, error) {
	if g.Archived == 0 {
		return nil, nil
	}
	_, one, err := h.gameSession(ctx, departedKey(id))
	if err != nil || one == nil {
		return nil, err
	}
	s, _ := one.PlayerSession(id)
	return s, nil
}

// OfPlayer calls visit with the entries that have player sessions of a player, within one fleet or all (""), as
// GameSessions does.
func (h *History) OfPlayer(ctx context.Context, player string, within fleet.ID, from uint64,
	visit func(Entry) bool) error {
	return h.walk(ctx, playerKeys(player), from, func([]byte) bool { return true }, func(e Entry) bool {
		return within != "" && e.Room.Fleet != within || visit(e)
	})
}

// Placement finds a placement; nil if it is not there.
func (h *History) Placement(ctx context.Context, id string) (*placement.Placement, error) {
	return load[*placement.Placement](ctx, h, placementKey(id))
}

// Ticket finds a ticket; nil if it is not there.
func (h *History) Ticket(ctx context.Context, id string) (*matchmaking.Ticket, error) {
	return load[*matchmaking.Ticket](ctx, h, ticketKey(id))
}

// load returns the record of the entry with a key, a pointer; nil if there is none.
func load[T any](ctx context.Context, h *History, key []byte) (found T, err error) {
	e, ok, err := h.named(ctx, key)
	if err != nil || !ok {
		return found, err
	}
	found, _, err = record[T](&e)
	return found, err
}

// An Inspected is an entry for people to look at.
type Inspected struct {
	Number uint64       // of all entries
	Time   time.Time    // when it was stored; after a restore, when it was restored
	Room   fleet.RoomID // of a game session or player session
	Record any          // a *fleet.GameSession, *placement.Placement or *matchmaking.Ticket

	// Departed: the record is a game session with one player session, which left memory before it.
	Departed bool
}

// Inspect calls visit with the entries of what a backup or data directory has stored.
func Inspect(s journal.Stored, visit func(Inspected) error) error {
	if strings.HasPrefix(s.Subject, "batch.") {
		s.Subject = ""
	}
	return entriesOf(s, func(e entry) error {
		fact, _, err := region.Events.Next(e.fact)
		if err != nil {
			return err
		}
		return visit(Inspected{e.number, s.Time, e.room, fact.Body, e.kind == departedEntry})
	})
}
