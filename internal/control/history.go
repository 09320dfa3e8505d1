package control

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/wire"
)

// Game sessions that are over leave memory for the history, where Describe
// still finds them. The entries are
//
//	s.<fleet>.<location>.<id>.<place>         the game session and its player sessions
//	p.<player>.<fleet>.<location>.<id>.<place>  that a player was in it; no data
//
// Player sessions that left memory before their game session have entries of their own;
// see archive.go. <place> is shard, room and ordinal, as the ids of its player sessions have
// them; <player> is a hash of the player id, which may hold any character.

func sessionSubject(room fleet.RoomID, id, place string) string {
	return fmt.Sprintf("s.%s.%s.%s.%s", room.Fleet, room.Location, id, place)
}

func playerSubject(player string) string {
	sum := sha256.Sum256([]byte(player))
	return "p." + hex.EncodeToString(sum[:16])
}

func place(at fleet.Address, ordinal uint64) string {
	return fmt.Sprintf("%d-%d-%d", at.Shard, at.Room, ordinal)
}

// archiveBatch is how many game sessions of one room are moved at a time.
const archiveBatch = 256

// finished is what one room has to give to the history.
type finished struct {
	room     fleet.RoomID
	at       fleet.Address
	sessions []*fleet.GameSession
}

// archive moves what a shard has to give to the history: first it is durable there, then
// the rooms forget it.
func (p *Plane) archive(ctx context.Context, s *regionShard) error {
	return errors.Join(p.archiveDeparted(ctx, s), p.archiveOver(ctx, s))
}

// archiveOver moves game sessions of a shard that have been over for long enough.
// Those that the history refuses stay in memory, and keep no other one there.
func (p *Plane) archiveOver(ctx context.Context, s *regionShard) error {
	refused := map[string]bool{} // by place
	for {
		var batches []finished
		before := event.At(p.cfg.Clock.Now().Add(-p.cfg.SessionMemory))
		err := s.Read(ctx, func(m *region.Machine) {
			for _, r := range m.Rooms() {
				over := slices.DeleteFunc(r.EndedBefore(before, archiveBatch+len(refused)), func(g *fleet.GameSession) bool {
					return refused[place(r.Address(), g.Ordinal)]
				})
				if len(over) > 0 {
					batches = append(batches, finished{r.ID(), r.Address(), over})
				}
			}
		})
		if err != nil || len(batches) == 0 {
			return err
		}
		for _, b := range batches {
			if err := p.archiveBatch(ctx, s, b, refused); err != nil {
				return err
			}
		}
	}
}

// endless is after all moments.
const endless = event.Time(math.MaxInt64)

// archiveBatch moves game sessions of one room, and notes those that the history refuses.
func (p *Plane) archiveBatch(ctx context.Context, s *regionShard, b finished, refused map[string]bool) error {
	forget := fleet.ForgetGameSessions{}
	for _, over := range b.sessions {
		g, err := p.drain(ctx, s, b, over, endless)
		if err == nil && g != nil { // else another node has moved it
			err = p.remember(ctx, b, g)
		}
		switch {
		case err == nil:
			forget.Ordinals = append(forget.Ordinals, over.Ordinal)
		case p.refused(err, over.ID):
			refused[place(b.at, over.Ordinal)] = true
		default:
			return err
		}
	}
	if len(forget.Ordinals) == 0 {
		return nil
	}
	if _, err := s.Do(ctx, region.RoomCommand{Room: b.room, Command: forget}); err != nil {
		return err
	}
	return p.settle(ctx)
}

// refused reports whether the history will never take an entry, and says so in the log.
// What it is of stays in memory, and must not keep the rest there.
func (p *Plane) refused(err error, id string) bool {
	refused := errors.Is(err, journal.ErrTooLarge)
	p.logUnless(!refused, "an entry is too large for the history; what it is of stays in memory", "id", id, "err", err)
	return refused
}

// rememberAll writes what is over into the history, and returns the ids of what it has
// then. It leaves out what was refused, and notes what the history refuses.
func rememberAll[T any](p *Plane, over []T, refused map[string]bool, idOf func(T) string, remember func(T) error) (ids []string, err error) {
	for _, one := range over {
		id := idOf(one)
		if refused[id] {
			continue
		}
		switch err := remember(one); {
		case err == nil:
			ids = append(ids, id)
		case p.refused(err, id):
			refused[id] = true
		default:
			return nil, err
		}
	}
	return ids, nil
}

// settle notes that everything in the history has left memory. A batch that
// failed half way is in both until the next look through succeeds as a whole.
func (p *Plane) settle(ctx context.Context) error {
	if p.unsettled {
		return nil
	}
	last, err := p.cfg.History.Last(ctx)
	if err == nil {
		p.settled.Store(last)
	}
	return err
}

// remember writes one game session into the history.
func (p *Plane) remember(ctx context.Context, b finished, g *fleet.GameSession) error {
	var data bytes.Buffer
	if err := region.Events.Append(&data, event.Fact{Room: uint32(b.at.Room), Body: g}); err != nil {
		return err
	}
	subject := sessionSubject(b.room, g.ID, place(b.at, g.Ordinal))
	if err := p.cfg.History.Put(ctx, subject, data.Bytes()); err != nil {
		return err
	}
	players := map[string]bool{}
	for _, s := range g.PlayerSessions() {
		if players[s.PlayerID] {
			continue
		}
		players[s.PlayerID] = true
		if err := p.cfg.History.Put(ctx, playerSubject(s.PlayerID)+strings.TrimPrefix(subject, "s"), nil); err != nil {
			return err
		}
	}
	return nil
}

// A pastEntry is one game session of the history, or a player session of one.
type pastEntry struct {
	seq     uint64
	room    fleet.RoomID
	session *fleet.GameSession
}

// past lists up to limit game sessions of the history whose subjects match.
func (p *Plane) past(ctx context.Context, filter string, after uint64, limit int) (entries []pastEntry, err error) {
	if limit <= 0 {
		return nil, nil
	}
	err = p.eachPast(ctx, filter, after, func(e pastEntry) bool {
		entries = append(entries, e)
		return len(entries) < limit
	})
	return entries, err
}

// eachPast calls visit with the game sessions of the history whose subjects
// match, behind the given number, until it returns false.
func (p *Plane) eachPast(ctx context.Context, filter string, after uint64, visit func(pastEntry) bool) error {
	var broken error
	err := p.cfg.History.List(ctx, filter, after, func(seq uint64, subject string, data []byte) bool {
		var e pastEntry
		if e, broken = readPast(seq, subject, data); broken != nil {
			return false
		}
		return visit(e)
	})
	return cmp.Or(err, broken)
}

func readPast(seq uint64, subject string, data []byte) (pastEntry, error) {
	parts := strings.Split(subject, ".")
	fact, _, err := region.Events.Next(data)
	if err != nil {
		return pastEntry{}, fmt.Errorf("history entry %s: %w", subject, err)
	}
	g, ok := fact.Body.(*fleet.GameSession)
	switch {
	case ok && len(parts) == 5:
	case ok && len(parts) == 6 && len(g.PastPlayers) == 1: // one player session of it
	default:
		return pastEntry{}, fmt.Errorf("history entry %s is not a game session", subject)
	}
	return pastEntry{seq: seq, room: fleet.RoomID{Fleet: fleet.ID(parts[1]), Location: parts[2]}, session: g}, nil
}

// pastGameSession finds a game session in the history; nil when it is not there.
func (p *Plane) pastGameSession(ctx context.Context, room fleet.RoomID, id string) (*fleet.GameSession, error) {
	if room.Location == "" {
		return nil, nil // no game session of this service is without a location
	}
	entries, err := p.past(ctx, sessionSubject(room, id, "*"), 0, 1)
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	return entries[0].session, nil
}

// pastPlace finds the game session that the id of a player session points to.
func (p *Plane) pastPlace(ctx context.Context, at fleet.Address, ordinal uint64) (fleet.RoomID, *fleet.GameSession, error) {
	entries, err := p.past(ctx, "s.*.*.*."+place(at, ordinal), 0, 1)
	if err != nil || len(entries) == 0 {
		return fleet.RoomID{}, nil, err
	}
	return entries[0].room, entries[0].session, nil
}

// playerInPast lists player sessions of a player that are in the history.
func (p *Plane) playerInPast(ctx context.Context, player string, within fleet.ID, at playerPosition, limit int) (found []wire.PlayerSession, next playerPosition, more bool, err error) {
	type entry struct {
		seq     uint64
		subject string
	}
	var entries []entry
	prefix := playerSubject(player)
	filter := prefix + ".>"
	if within != allFleets {
		filter = prefix + "." + string(within) + ".>"
	}
	err = p.cfg.History.List(ctx, filter, at.Seq, func(seq uint64, subject string, _ []byte) bool {
		of, kind := strings.TrimPrefix(subject, prefix), "s"
		if strings.Count(of, ".") == 5 { // it names a player session
			kind = "d"
		}
		entries = append(entries, entry{seq, kind + of})
		return len(entries) <= limit
	})
	next = playerPosition{Past: true, Seq: at.Seq, Of: at.Of}
	for _, e := range entries {
		sessions, err := p.playerInEntry(ctx, e.subject, player)
		if err != nil {
			return nil, next, false, err
		}
		for _, s := range sessions[min(next.Of, len(sessions)):] {
			if len(found) == limit {
				return found, next, true, nil
			}
			found = append(found, s)
			next.Of++
		}
		next = playerPosition{Past: true, Seq: e.seq}
	}
	return found, next, len(entries) > limit, err // more of them, though some of these have aged out
}

// playerInEntry lists the player sessions of a player in one entry of the
// history, which may have aged out.
func (p *Plane) playerInEntry(ctx context.Context, subject, player string) ([]wire.PlayerSession, error) {
	data, ok, err := p.cfg.History.Get(ctx, subject)
	if err != nil || !ok {
		return nil, err
	}
	e, err := readPast(0, subject, data)
	if err != nil {
		return nil, err
	}
	var held bool // it is on its way out of memory, and was listed from there
	if _, err := p.read(ctx, e.room, func(r *fleet.Room) {
		g, ok := r.GameSession(e.session.ID)
		held = ok && (subject[0] == 's' || g.Archived <= e.session.Archived)
	}); err != nil || held {
		return nil, err
	}
	var sessions []wire.PlayerSession
	for _, s := range e.session.PlayerSessions() {
		if s.PlayerID == player {
			sessions = append(sessions, p.describe(e.room, e.session, s))
		}
	}
	return sessions, nil
}
