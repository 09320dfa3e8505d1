// Package history moves game sessions, player sessions, placements and tickets that have ended from memory to the
// history, and finds them there.
//
// An entry is first durable in the history, then the shard forgets what it is of. A crash between the two leaves it in
// both; the next move writes the entry again and then has the shard forget. While both have it, memory counts.
//
// The entries:
//
//	s.<fleet>.<location>.<id>.<place>                            a game session and its player sessions
//	p.<player>.<fleet>.<location>.<id>.<place>                   a player was in it; no data
//	d.<fleet>.<location>.<id>.<place>.<player session>           a player session that left memory before it
//	p.<player>.<fleet>.<location>.<id>.<place>.<player session>  it is of this player; no data
//	q.<placement>                                                a placement
//	t.<ticket>                                                   a ticket
//
// <place> is shard, room and ordinal of the game session, as the ids of its player sessions have them; <player> is a
// hash of the player id, which may hold any character. The record of a d entry is the game session with this player
// session alone (fleet.GameSession.Excess says which ones leave early). Its Archived is the player session's number:
// while that of the game session in memory is not larger, the entry is being moved, and memory counts.
package history

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
)

// A Shard is what entries come from. It is a router.Shard.
type Shard interface {
	// Read calls read with the state of the shard. After an error, read may still be running.
	Read(ctx context.Context, read func(*region.Machine)) error

	// Do has the shard carry out a command.
	Do(ctx context.Context, c region.Command) (answer any, err error)

	// Level returns the feature level.
	Level() int
}

// Config says what is moved where. All fields are required.
type Config struct {
	Entries   journal.History
	Shards    []Shard
	Retention time.Duration // in memory, after the end
	Clock     clockwork.Clock
	Log       *slog.Logger
}

// A History is safe for concurrent use, but only one goroutine may move entries to it: Begin and Move.
type History struct {
	cfg       Config
	settled   atomic.Uint64 // see Settled
	unsettled bool          // an entry after settled may not have left memory
}

// New returns a history. Settled is 0 until Begin.
func New(cfg Config) *History { return &History{cfg: cfg} }

// Settled returns the number of the newest entry that is known to have left memory, with all before it.
func (h *History) Settled() uint64 { return h.settled.Load() }

// An Entry is a game session of the history, or a player session that left memory before its game session.
type Entry struct {
	Seq      uint64
	Room     fleet.RoomID
	Session  *fleet.GameSession
	Departed bool // Session has only the player session Session.PastPlayers[0]
}

// GameSession finds a game session; nil if it is not there.
func (h *History) GameSession(ctx context.Context, room fleet.RoomID, id string) (*fleet.GameSession, error) {
	if room.Location == "" {
		return nil, nil // every game session of this service has a location
	}
	e, err := h.first(ctx, sessionSubject(room, id, "*"))
	return e.Session, err
}

// GameSessionAt finds the game session that the id of a player session points to; nil if it is not there.
func (h *History) GameSessionAt(ctx context.Context, at fleet.Address, ordinal uint64) (fleet.RoomID,
	*fleet.GameSession, error) {
	e, err := h.first(ctx, "s.*.*.*."+place(at, ordinal))
	return e.Room, e.Session, err
}

func (h *History) first(ctx context.Context, filter string) (first Entry, err error) {
	err = h.list(ctx, filter, 0, func(e Entry) bool {
		first = e
		return false
	})
	return first, err
}

// GameSessions calls visit with the game sessions of a fleet, or of one of its locations, in the order of their moves,
// after the given number (0: from the first), until it returns false.
func (h *History) GameSessions(ctx context.Context, of fleet.ID, location string, after uint64,
	visit func(Entry) bool) error {
	room := fleet.RoomID{Fleet: of, Location: cmp.Or(location, "*")}
	return h.list(ctx, sessionSubject(room, "*", "*"), after, visit)
}

// DepartedFrom calls visit with the player sessions that left memory before their game session, as GameSessions does.
func (h *History) DepartedFrom(ctx context.Context, room fleet.RoomID, id string, after uint64,
	visit func(Entry) bool) error {
	return h.list(ctx, departedSubject(room, id, "*", "*"), after, visit)
}

// PlayerSession finds a player session that left memory before its game session; nil if it is not there.
func (h *History) PlayerSession(ctx context.Context, room fleet.RoomID, g *fleet.GameSession,
	id fleet.PlayerSessionID,
) (*fleet.PlayerSession, error) {
	if g.Archived == 0 {
		return nil, nil
	}
	at, ordinal := id.Locate()
	e, ok, err := h.get(ctx, departedSubject(room, g.ID, place(at, ordinal), id.String()))
	if err != nil || !ok {
		return nil, err
	}
	s, _ := e.Session.PlayerSession(id)
	return s, nil
}

// A PlayerEntry points to an entry with player sessions of one player.
type PlayerEntry struct {
	Seq     uint64
	subject string
}

// OfPlayer lists up to limit entries with player sessions of a player, within one fleet or all ("").
func (h *History) OfPlayer(ctx context.Context, player string, within fleet.ID, after uint64,
	limit int) (entries []PlayerEntry, err error) {
	prefix := playerSubject(player)
	filter := prefix + ".>"
	if within != "" {
		filter = prefix + "." + string(within) + ".>"
	}
	err = h.cfg.Entries.List(ctx, filter, after, func(seq uint64, subject string, _ []byte) bool {
		of, kind := strings.TrimPrefix(subject, prefix), "s"
		if strings.Count(of, ".") == 5 { // it names a player session
			kind = "d"
		}
		entries = append(entries, PlayerEntry{seq, kind + of})
		return len(entries) < limit
	})
	return entries, err
}

// Resolve returns the entry that p points to. ok is false if it was deleted.
func (h *History) Resolve(ctx context.Context, p PlayerEntry) (e Entry, ok bool, err error) {
	return h.get(ctx, p.subject)
}

// Placement finds a placement; nil if it is not there.
func (h *History) Placement(ctx context.Context, id string) (*placement.Placement, error) {
	return load[*placement.Placement](ctx, h, placementSubject(id))
}

// Ticket finds a ticket; nil if it is not there.
func (h *History) Ticket(ctx context.Context, id string) (*matchmaking.Ticket, error) {
	if id == "" {
		return nil, nil
	}
	return load[*matchmaking.Ticket](ctx, h, ticketSubject(id))
}

// list calls visit with the game sessions or player sessions whose subjects match.
func (h *History) list(ctx context.Context, filter string, after uint64, visit func(Entry) bool) error {
	var broken error
	err := h.cfg.Entries.List(ctx, filter, after, func(seq uint64, subject string, data []byte) bool {
		var e Entry
		if e, broken = entry(seq, subject, data); broken != nil {
			return false
		}
		return visit(e)
	})
	return cmp.Or(err, broken)
}

func (h *History) get(ctx context.Context, subject string) (e Entry, ok bool, err error) {
	data, ok, err := h.cfg.Entries.Get(ctx, subject)
	if err != nil || !ok {
		return Entry{}, false, err
	}
	e, err = entry(0, subject, data)
	return e, err == nil, err
}

func entry(seq uint64, subject string, data []byte) (Entry, error) {
	g, err := decode[*fleet.GameSession](subject, data)
	if err != nil {
		return Entry{}, err
	}
	parts := strings.Split(subject, ".")
	departed := len(parts) == 6 && len(g.PastPlayers) == 1
	if len(parts) != 5 && !departed {
		return Entry{}, fmt.Errorf("history entry %s is not a game session", subject)
	}
	room := fleet.RoomID{Fleet: fleet.ID(parts[1]), Location: parts[2]}
	return Entry{Seq: seq, Room: room, Session: g, Departed: departed}, nil
}

// load returns the record of an entry, a pointer; nil if there is none.
func load[T any](ctx context.Context, h *History, subject string) (record T, err error) {
	data, ok, err := h.cfg.Entries.Get(ctx, subject)
	if err != nil || !ok {
		return record, err
	}
	return decode[T](subject, data)
}

func decode[T any](subject string, data []byte) (record T, err error) {
	fact, _, err := region.Events.Next(data)
	if err != nil {
		return record, fmt.Errorf("history entry %s: %w", subject, err)
	}
	record, ok := fact.Body.(T)
	if !ok {
		return record, fmt.Errorf("history entry %s is a %T and not a %T", subject, fact.Body, record)
	}
	return record, nil
}

// put stores a record.
func (h *History) put(ctx context.Context, subject string, room uint32, record any) error {
	var data bytes.Buffer
	if err := region.Events.Append(&data, event.Fact{Room: room, Body: record}); err != nil {
		return err
	}
	return h.cfg.Entries.Put(ctx, subject, data.Bytes())
}

func sessionSubject(room fleet.RoomID, id, place string) string {
	return fmt.Sprintf("s.%s.%s.%s.%s", room.Fleet, room.Location, id, place)
}

func departedSubject(room fleet.RoomID, id, place, playerSession string) string {
	return "d" + strings.TrimPrefix(sessionSubject(room, id, place), "s") + "." + playerSession
}

func playerSubject(player string) string {
	sum := sha256.Sum256([]byte(player))
	return "p." + hex.EncodeToString(sum[:16])
}

func place(at fleet.Address, ordinal uint64) string {
	return fmt.Sprintf("%d-%d-%d", at.Shard, at.Room, ordinal)
}

func placementSubject(id string) string { return "q." + id }

// ticketSubject names a ticket. Ids may hold dots, which divide subjects, and never underscores.
func ticketSubject(id string) string { return "t." + strings.ReplaceAll(id, ".", "_") }
