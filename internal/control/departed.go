package control

import (
	"cmp"
	"context"
	"slices"

	"github.com/muster-gg/muster/internal/control/history"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/wire"
)

// This file pages through the player sessions of one game session. Those that only the history had when the listing
// started come first, in the order in which they ended; then all others, in the order of their creation, in memory or
// in the history. A player session that has ended keeps its number, so each is listed once, although player sessions
// move meanwhile.

// playersPosition is the position of a listing of the player sessions of a game session.
type playersPosition struct {
	Archived uint32 `json:"a,omitempty"` // the player sessions with numbers below come first
	Seq      uint64 `json:"s,omitempty"` // of the last entry that was looked at for them
	From     uint64 `json:"f,omitempty"` // the entries with numbers from Archived on are behind this one
	Rest     bool   `json:"r,omitempty"` // those with numbers below Archived are listed
	Next     uint32 `json:"n,omitempty"` // the index to begin with, of the others
}

// A playersQuery is a request for the player sessions of a game session.
type playersQuery struct {
	room    fleet.RoomID
	session *fleet.GameSession
	status  string // "": any
	limit   int
}

func (q *playersQuery) wants(s *fleet.PlayerSession) bool {
	return q.status == "" || q.status == string(s.Status)
}

// wantsPast reports whether the query can find anything that only the history has.
func (q *playersQuery) wantsPast() bool {
	return q.status != string(fleet.Reserved) && q.status != string(fleet.InGame)
}

// describePlayersIn lists the player sessions of a game session.
func (sr *sessionReader) describePlayersIn(ctx context.Context, in *wire.DescribePlayerSessionsInput,
	within fleet.ID) (*wire.DescribePlayerSessionsOutput, error) {
	pages := sr.secrets.Pages("DescribePlayerSessions", in.GameSessionId, in.PlayerSessionStatusFilter)
	var at playersPosition
	if err := pages.Read(in.NextToken, &at); err != nil {
		return nil, err
	}
	room, g, err := sr.findSession(ctx, in.GameSessionId)
	switch {
	case err != nil:
		return nil, err
	case !covers(within, room):
		return nil, noGameSession(in.GameSessionId)
	}
	q := playersQuery{room, g, in.PlayerSessionStatusFilter, pageSize(in.Limit)}
	if in.NextToken == "" {
		at = playersPosition{Archived: g.Archived, Rest: g.Archived == 0 || !q.wantsPast()}
	}
	found, more, err := sr.playersArchived(ctx, q, &at)
	if err == nil && !more {
		var rest []*fleet.PlayerSession
		rest, more, err = sr.otherPlayers(ctx, q, &at, q.limit-len(found))
		found = append(found, rest...)
	}
	if err != nil {
		return nil, err
	}
	out := &wire.DescribePlayerSessionsOutput{PlayerSessions: make([]wire.PlayerSession, 0, len(found))}
	for _, s := range found {
		out.PlayerSessions = append(out.PlayerSessions, sr.describe(room, g, s))
	}
	if more {
		out.NextToken = pages.Token(at)
	}
	return out, nil
}

// maxLooks is the maximum number of entries of the history that are read for one page. After that the page is short,
// and its token continues there.
const maxLooks = 10_000

// playersArchived lists player sessions that only the history had when the listing started, and advances the position.
func (sr *sessionReader) playersArchived(ctx context.Context, q playersQuery,
	at *playersPosition) (found []*fleet.PlayerSession, more bool, err error) {
	if at.Rest {
		return nil, false, nil
	}
	looks := 0
	err = sr.history.DepartedFrom(ctx, q.room, q.session.ID, at.Seq, func(e history.Entry) bool {
		wanted := e.Session.Archived < at.Archived && q.wants(e.Session.PastPlayers[0])
		if more = looks == maxLooks || wanted && len(found) == q.limit; more {
			return false
		}
		looks++
		if wanted {
			found = append(found, e.Session.PastPlayers[0])
		}
		if e.Session.Archived >= at.Archived && at.From == 0 {
			at.From = at.Seq
		}
		at.Seq = e.Seq
		return true
	})
	if !more {
		at.Rest, at.From = true, cmp.Or(at.From, at.Seq)
	}
	return found, more, err
}

// otherPlayers lists the player sessions of the game session in memory, and those that have moved to the history since
// the listing started.
func (sr *sessionReader) otherPlayers(ctx context.Context, q playersQuery, at *playersPosition,
	limit int) (found []*fleet.PlayerSession, more bool, err error) {
	all := q.session.PlayerSessions()
	if q.wantsPast() && q.session.Archived > at.Archived {
		err = sr.history.DepartedFrom(ctx, q.room, q.session.ID, at.From, func(e history.Entry) bool {
			if n := e.Session.Archived; n >= at.Archived && n < q.session.Archived {
				all = append(all, e.Session.PastPlayers[0])
			}
			return true
		})
		if err != nil {
			return nil, false, err
		}
		slices.SortFunc(all, func(a, b *fleet.PlayerSession) int { return cmp.Compare(a.Index, b.Index) })
	}
	for _, s := range all {
		if s.Index < at.Next || !q.wants(s) {
			continue
		}
		if len(found) == limit {
			at.Next = s.Index
			return found, true, nil
		}
		found = append(found, s)
	}
	return found, false, nil
}
