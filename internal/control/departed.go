package control

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/wire"
)

// Player sessions that have ended leave memory for the history before their game session
// does, when there are many; see fleet.GameSession.Excess. The entries are
//
//	d.<fleet>.<location>.<id>.<place>.<player session>           the player session
//	p.<player>.<fleet>.<location>.<id>.<place>.<player session>  that it is of this player; no data
//
// The record is that of the game session with this player session alone. Its Archived is
// the player session's number: while that of the game session in memory is not larger, the
// entry is on its way, and what is in memory counts.

func departedSubject(room fleet.RoomID, g *fleet.GameSession, place, playerSession string) string {
	return "d" + strings.TrimPrefix(sessionSubject(room, g.ID, place), "s") + "." + playerSession
}

// archiveDeparted moves player sessions that ended long enough ago into the history, of
// the game sessions of a shard that have many of them and go on.
func (p *Plane) archiveDeparted(ctx context.Context, s *regionShard) error {
	before := event.At(p.cfg.Clock.Now().Add(-max(p.cfg.SessionMemory, fleet.RepeatedWithin)))
	var crowded []finished
	err := s.Read(ctx, func(m *region.Machine) {
		for _, r := range m.Rooms() {
			b := finished{room: r.ID(), at: r.Address()}
			r.WithExcess(func(g *fleet.GameSession) bool {
				if !g.HasEnded() && len(g.Excess(before)) > 0 {
					b.sessions = append(b.sessions, g)
				}
				return true
			})
			crowded = append(crowded, b)
		}
	})
	if err != nil {
		return err
	}
	for _, b := range crowded {
		for _, g := range b.sessions {
			awaited, err := p.awaited(ctx, g)
			if err != nil {
				return err
			}
			if awaited {
				continue
			}
			if _, err := p.drain(ctx, s, b, g, before); err != nil && !p.refused(err, g.ID) {
				return err
			}
		}
	}
	return nil
}

// awaited reports whether a driver may still have to read the player sessions that a
// placement or a match made in a game session. After a crash it does so late.
func (p *Plane) awaited(ctx context.Context, g *fleet.GameSession) (bool, error) {
	awaited := false // not to be read after an error: the reading may still be running
	if g.Placement != "" {
		err := p.PlacementShard(g.Placement).Read(ctx, func(m *region.Machine) {
			r, ok := m.Placements().Placement(g.Placement)
			awaited = ok && !r.HasEnded()
		})
		if err != nil || awaited {
			return err == nil, err
		}
	}
	if g.Filled != "" {
		err := p.TicketShard().Read(ctx, func(m *region.Machine) { _, awaited = m.Matchmaking().Match(g.Filled) })
		if err != nil {
			return false, err
		}
	}
	return awaited, nil
}

// drain moves what a game session has in excess into the history, and returns the game
// session as it is then; nil when it is not in memory any more. It moves nothing as long as
// a node of the region could not read that.
func (p *Plane) drain(ctx context.Context, s *regionShard, b finished, g *fleet.GameSession, before event.Time) (*fleet.GameSession, error) {
	if p.RoomShard(b.room).Level() < fleet.ArchiveLevel {
		return g, nil
	}
	for g != nil {
		players := g.Excess(before)
		if len(players) == 0 {
			break
		}
		players = players[:min(len(players), archiveBatch)]
		for i, player := range players {
			if err := p.rememberDeparted(ctx, b, g, g.Archived+uint32(i), player); err != nil {
				return g, err
			}
		}
		forget := fleet.ForgetPlayers{Session: g.Ordinal, Through: g.Archived + uint32(len(players))}
		if _, err := s.Do(ctx, region.RoomCommand{Room: b.room, Command: forget}); err != nil {
			return g, err
		}
		var next *fleet.GameSession
		err := s.Read(ctx, func(m *region.Machine) {
			if r, ok := m.RoomAt(b.at.Room); ok {
				next, _ = r.GameSessionAt(g.Ordinal)
			}
		})
		if err != nil { // the reading may still be running
			return nil, err
		}
		if next != nil && next.Archived == g.Archived { // the owner's clock is behind: later
			return next, nil
		}
		g = next
	}
	return g, nil
}

// rememberDeparted writes one player session into the history.
func (p *Plane) rememberDeparted(ctx context.Context, b finished, g *fleet.GameSession, number uint32, s *fleet.PlayerSession) error {
	var data bytes.Buffer
	if err := region.Events.Append(&data, event.Fact{Room: uint32(b.at.Room), Body: g.ArchiveRecord(number, s)}); err != nil {
		return err
	}
	subject := departedSubject(b.room, g, place(b.at, g.Ordinal), s.ID.String())
	if err := p.cfg.History.Put(ctx, subject, data.Bytes()); err != nil {
		return err
	}
	return p.cfg.History.Put(ctx, playerSubject(s.PlayerID)+strings.TrimPrefix(subject, "d"), nil)
}

// pastPlayerSession finds a player session of a game session in the history.
func (p *Plane) pastPlayerSession(ctx context.Context, room fleet.RoomID, g *fleet.GameSession, id fleet.PlayerSessionID) (*fleet.PlayerSession, bool, error) {
	if g.Archived == 0 {
		return nil, false, nil
	}
	at, ordinal := id.Locate()
	subject := departedSubject(room, g, place(at, ordinal), id.String())
	data, ok, err := p.cfg.History.Get(ctx, subject)
	if err != nil || !ok {
		return nil, false, err
	}
	e, err := readPast(0, subject, data)
	if err != nil {
		return nil, false, err
	}
	s, ok := e.session.PlayerSession(id)
	return s, ok, nil
}

// This file also pages through the player sessions of one game session. Those that only
// the history had when the listing began come first, in the order in which they ended;
// then all others, in the order of their creation, wherever they are by then. A player
// session that has ended keeps its number, so each is listed once, whatever moves
// meanwhile.

// playersPosition is where a listing of the player sessions of a game session goes on.
type playersPosition struct {
	Archived uint32 `json:"a,omitempty"` // the player sessions with numbers below come first
	Seq      uint64 `json:"s,omitempty"` // of the last entry that was looked at for them
	From     uint64 `json:"f,omitempty"` // the entries with numbers from Archived on are behind this one
	Rest     bool   `json:"r,omitempty"` // those with numbers below Archived are listed
	Next     uint32 `json:"n,omitempty"` // the index to begin with, of the others
}

// A playersQuery is what DescribePlayerSessions asks of a game session.
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

// entries matches the subjects of the game session's entries.
func (q *playersQuery) entries() string { return departedSubject(q.room, q.session, "*", "*") }

// describePlayersIn lists the player sessions of a game session.
func (p *Plane) describePlayersIn(ctx context.Context, in *wire.DescribePlayerSessionsInput, within fleet.ID) (*wire.DescribePlayerSessionsOutput, error) {
	pages := p.secrets.pages("DescribePlayerSessions", in.GameSessionId, in.PlayerSessionStatusFilter)
	var at playersPosition
	if err := pages.read(in.NextToken, &at); err != nil {
		return nil, err
	}
	room, g, err := p.findSession(ctx, in.GameSessionId)
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
	found, more, err := p.playersArchived(ctx, q, &at)
	if err == nil && !more {
		var rest []*fleet.PlayerSession
		rest, more, err = p.otherPlayers(ctx, q, &at, q.limit-len(found))
		found = append(found, rest...)
	}
	if err != nil {
		return nil, err
	}
	out := &wire.DescribePlayerSessionsOutput{PlayerSessions: make([]wire.PlayerSession, 0, len(found))}
	for _, s := range found {
		out.PlayerSessions = append(out.PlayerSessions, p.describe(room, g, s))
	}
	if more {
		out.NextToken = pages.token(at)
	}
	return out, nil
}

// maxLooks is how many entries of the history a page looks at for those that the query
// wants. Beyond it the page is short, and its token leads on.
const maxLooks = 10_000

// playersArchived lists player sessions that only the history had when the listing began,
// and moves the position on.
func (p *Plane) playersArchived(ctx context.Context, q playersQuery, at *playersPosition) (found []*fleet.PlayerSession, more bool, err error) {
	if at.Rest {
		return nil, false, nil
	}
	looks := 0
	err = p.eachPast(ctx, q.entries(), at.Seq, func(e pastEntry) bool {
		wanted := e.session.Archived < at.Archived && q.wants(e.session.PastPlayers[0])
		if more = looks == maxLooks || wanted && len(found) == q.limit; more {
			return false
		}
		looks++
		if wanted {
			found = append(found, e.session.PastPlayers[0])
		}
		if e.session.Archived >= at.Archived && at.From == 0 {
			at.From = at.Seq
		}
		at.Seq = e.seq
		return true
	})
	if !more {
		at.Rest, at.From = true, cmp.Or(at.From, at.Seq)
	}
	return found, more, err
}

// otherPlayers lists the player sessions of the game session in memory, and those that
// have moved from there since the listing began.
func (p *Plane) otherPlayers(ctx context.Context, q playersQuery, at *playersPosition, limit int) (found []*fleet.PlayerSession, more bool, err error) {
	all := q.session.PlayerSessions()
	if q.wantsPast() && q.session.Archived > at.Archived {
		err = p.eachPast(ctx, q.entries(), at.From, func(e pastEntry) bool {
			if n := e.session.Archived; n >= at.Archived && n < q.session.Archived {
				all = append(all, e.session.PastPlayers[0])
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
