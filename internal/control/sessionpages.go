package control

import (
	"cmp"
	"context"
	"slices"

	"github.com/muster-gg/muster/internal/control/history"
	"github.com/muster-gg/muster/internal/fleet"
)

// This file pages through the game sessions of a fleet: those in memory by location and order of creation, then those
// of the history in the order in which they were written there. Game sessions move from memory to the history while a
// client reads page after page; each is shown once nevertheless.
//
// A listing records at its start how far the history has left memory. What is in the history up to there is listed
// last. What moves later was in memory when the listing started, so it is listed in its place among those that still
// are.

// sessionPosition is the position of a listing.
type sessionPosition struct {
	Settled uint64 `json:"h,omitempty"` // the history up to here is listed last
	Moved   uint64 `json:"m,omitempty"` // what moved up to here was listed, or is up to Settled
	// In memory: the last game session of the page before.
	Location string `json:"l,omitempty"`
	Ordinal  uint64 `json:"o,omitempty"`
	// In the history.
	Past bool   `json:"p,omitempty"`
	Seq  uint64 `json:"s,omitempty"`
}

// passed reports whether a game session is at the position or before it.
func (at sessionPosition) passed(f foundSession) bool {
	return cmp.Or(cmp.Compare(f.room.Location, at.Location), cmp.Compare(f.session.Ordinal, at.Ordinal)) <= 0
}

func (q *sessionQuery) wants(g *fleet.GameSession) bool {
	return q.status == "" || q.status == g.Status
}

// wantsPast reports whether the query can find anything in the history, where everything is TERMINATED.
func (q *sessionQuery) wantsPast() bool { return q.status == "" || q.status == fleet.Terminated }

// listSessions returns one page of a fleet's game sessions.
func (sr *sessionReader) listSessions(ctx context.Context, id string,
	q sessionQuery) (found []foundSession, next string, err error) {
	pages := sr.secrets.Pages(q.operation, id, q.location, string(q.status))
	var at sessionPosition
	if q.token == "" {
		settled := sr.history.Settled() // before the first look into memory
		at = sessionPosition{Settled: settled, Moved: settled}
	} else if err := pages.Read(q.token, &at); err != nil {
		return nil, "", err
	}
	rooms, err := sr.Rooms(ctx, id, q.location)
	if err != nil {
		return nil, "", err
	}
	if !at.Past {
		var more bool
		if found, more, err = sr.sessionsInMemory(ctx, id, q, rooms, &at); err != nil || more {
			return found, pages.Token(at), err
		}
		at = sessionPosition{Settled: at.Settled, Past: true}
	}
	if !q.wantsPast() {
		return found, "", nil
	}
	past, more, err := sr.sessionsInHistory(ctx, id, q, rooms, &at, q.limit-len(found))
	if more {
		next = pages.Token(at)
	}
	return append(found, past...), next, err
}

// sessionsInMemory lists the game sessions after a position that are in memory, or were when the listing started, and
// advances the position. more reports that there are further ones than fit on the page.
func (sr *sessionReader) sessionsInMemory(
	ctx context.Context, id string, q sessionQuery, rooms []*fleet.Room, at *sessionPosition,
) (found []foundSession, more bool, err error) {
	for _, r := range rooms {
		if r.ID().Location < at.Location || len(found) > q.limit {
			continue
		}
		var after uint64
		if r.ID().Location == at.Location {
			after = at.Ordinal
		}
		r.GameSessions(after, func(g *fleet.GameSession) bool {
			if q.wants(g) {
				found = append(found, foundSession{r.ID(), g})
			}
			return len(found) <= q.limit
		})
	}
	if q.wantsPast() {
		moved, err := sr.sessionsMoved(ctx, id, q, rooms, at)
		if err != nil {
			return nil, false, err
		}
		found = append(found, moved...)
		slices.SortFunc(found, func(a, b foundSession) int {
			return cmp.Or(cmp.Compare(a.room.Location, b.room.Location),
				cmp.Compare(a.session.Ordinal, b.session.Ordinal))
		})
	}
	if more = len(found) > q.limit; more {
		found = found[:q.limit]
	}
	if len(found) > 0 {
		last := found[len(found)-1]
		at.Location, at.Ordinal = last.room.Location, last.session.Ordinal
	}
	return found, more, nil
}

// sessionsMoved lists the game sessions after a position that have moved to the history since the listing started. It
// records up to where the history contains none that a later page must show.
func (sr *sessionReader) sessionsMoved(
	ctx context.Context, id string, q sessionQuery, rooms []*fleet.Room, at *sessionPosition,
) (moved []foundSession, err error) {
	done, open := at.Moved, false
	err = sr.history.GameSessions(ctx, fleet.ID(id), q.location, at.Moved, func(e history.Entry) bool {
		f := foundSession{e.Room, e.Session}
		open = open || !at.passed(f)
		if !open {
			done = e.Seq
		}
		if !at.passed(f) && !f.isHeldBy(rooms) { // else it is listed from memory
			moved = append(moved, f)
		}
		return true
	})
	at.Moved = done
	return moved, err
}

// sessionsInHistory lists game sessions that were in the history when the listing started, and advances the position.
func (sr *sessionReader) sessionsInHistory(
	ctx context.Context, id string, q sessionQuery, rooms []*fleet.Room, at *sessionPosition, limit int,
) (found []foundSession, more bool, err error) {
	err = sr.history.GameSessions(ctx, fleet.ID(id), q.location, at.Seq, func(e history.Entry) bool {
		f := foundSession{e.Room, e.Session}
		switch {
		case e.Seq > at.Settled:
			return false
		case f.isHeldBy(rooms): // after a crash, both have it; it was listed from memory
			return true
		case len(found) == limit:
			more = true
			return false
		}
		found = append(found, f)
		at.Seq = e.Seq
		return true
	})
	return found, more, err
}

// isHeldBy reports whether a game session of the history is still in memory.
func (f foundSession) isHeldBy(rooms []*fleet.Room) bool {
	return slices.ContainsFunc(rooms, func(r *fleet.Room) bool {
		if r.ID() != f.room {
			return false
		}
		_, held := r.GameSession(f.session.ID)
		return held
	})
}
