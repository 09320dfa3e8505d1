package control

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/control/history"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
)

// An EndedQuery selects game sessions of the region that have ended. The zero value of a field selects all.
type EndedQuery struct {
	From, To  time.Time // when they ended: from From on, before To
	FleetID   string    // also of a fleet that is deleted
	Location  string
	Reason    string // StatusReason
	CreatorID string
	PlayerID  string          // a player who had a player session
	Property  *fleet.Property // one of the game properties
	Limit     int             // on a page; at least 1
	NextToken string
}

// EndedSessions is a page of game sessions, those that ended last first. A page can have fewer than the limit, even
// none, and still a token: the number of records that are read for it is limited.
type EndedSessions struct {
	GameSessions []EndedSession `json:"gameSessions"`
	NextToken    string         `json:"nextToken,omitempty"`
	Partial                     // of those in memory
}

// An EndedSession is a game session that has ended.
type EndedSession struct {
	GameSessionArn string            `json:"gameSessionArn"`
	FleetID        string            `json:"fleetId"`
	Location       string            `json:"location"`
	Compute        string            `json:"computeName"`
	Name           string            `json:"name,omitempty"`
	CreatorID      string            `json:"creatorId,omitempty"`
	Properties     map[string]string `json:"gameProperties,omitempty"`
	Placement      string            `json:"placementId,omitempty"`
	StartTime      time.Time         `json:"startTime"`
	EndTime        time.Time         `json:"endTime"`
	Reason         string            `json:"reason,omitempty"` // as StatusReason of the API
	PlayerSessions int               `json:"playerSessions"`   // that it had in all
}

// EndedSessions finds game sessions that have ended, in memory and in the history. A game session that moves from one
// to the other between two pages is shown once.
func (sr *sessionReader) EndedSessions(ctx context.Context, q EndedQuery) (*EndedSessions, error) {
	pages := sr.secrets.Pages("EndedSessions", q.selectors()...)
	s := endedSearch{sessionReader: sr, EndedQuery: q, before: history.Newest(), from: math.MinInt64}
	if !q.From.IsZero() {
		s.from = event.At(q.From)
	}
	if !q.To.IsZero() {
		s.before = history.Position{Ended: event.At(q.To)}
	}
	var after history.Position
	if err := pages.Read(q.NextToken, &after); err != nil {
		return nil, err
	} else if q.NextToken != "" {
		s.before = after
	}
	var out EndedSessions
	s.partial = &out.Partial
	if err := s.inMemory(ctx); err != nil { // first: what moves meanwhile is found in the history
		return nil, err
	}
	past := s.inPast
	if q.PlayerID != "" {
		past = s.ofPlayer
	}
	if err := past(ctx); err != nil {
		return nil, err
	}
	found, next, more := s.page()
	out.GameSessions = shown(found, s.describe)
	if more {
		out.NextToken = pages.Token(next)
	}
	return &out, nil
}

func (q *EndedQuery) selectors() []string {
	all := []string{q.From.String(), q.To.String(), q.FleetID, q.Location, q.Reason, q.CreatorID, q.PlayerID}
	if q.Property != nil {
		all = append(all, q.Property.Key, q.Property.Value)
	}
	return all
}

// endedSearch searches several places for one page. Each search returns game sessions before the position, and reports
// where it stopped if it did not reach the end.
type endedSearch struct {
	*sessionReader
	EndedQuery
	before history.Position
	from   event.Time
	// matches is a further condition; nil: there is none. It must be quick.
	matches func(fleet.RoomID, *fleet.GameSession) bool

	partial *Partial // of the answer
	found   []endedFound
	stopped *history.Position // of the search that stopped first: the results before it may be incomplete
}

type endedFound struct {
	history.Position
	room    fleet.RoomID
	session *fleet.GameSession
}

// stop records that a search has ended with a position, which is included.
func (s *endedSearch) stop(at history.Position) {
	if s.stopped == nil || at.Compare(*s.stopped) > 0 {
		s.stopped = &at
	}
}

// page returns what was found, in order, up to the limit or to where a place stopped, and the position after which the
// next page continues.
func (s *endedSearch) page() (found []endedFound, next history.Position, more bool) {
	slices.SortFunc(s.found, func(a, b endedFound) int { return b.Compare(a.Position) })
	for _, f := range s.found {
		if s.stopped != nil && f.Compare(*s.stopped) < 0 {
			break
		}
		if n := len(found); n > 0 && found[n-1].Position == f.Position { // after a crash, both have it
			continue
		} else if n == s.Limit {
			return found, found[n-1].Position, true
		}
		found = append(found, f)
	}
	if s.stopped == nil {
		return found, next, false
	}
	return found, *s.stopped, true
}

func (s *endedSearch) wantsRoom(id fleet.RoomID) bool {
	return (s.FleetID == "" || s.FleetID == string(id.Fleet)) && (s.Location == "" || s.Location == id.Location)
}

// wants reports whether the query selects a game session of a selected room; PlayerID is checked elsewhere.
func (s *endedSearch) wants(room fleet.RoomID, g *fleet.GameSession) bool {
	return (s.matches == nil || s.matches(room, g)) && (s.Reason == "" || s.Reason == g.StatusReason) &&
		(s.CreatorID == "" || s.CreatorID == g.CreatorID) &&
		(s.Property == nil || slices.Contains(g.Properties, *s.Property))
}

func (s *endedSearch) had(g *fleet.GameSession) bool {
	return s.PlayerID == "" || slices.ContainsFunc(g.PlayerSessions(), func(p *fleet.PlayerSession) bool {
		return p.PlayerID == s.PlayerID
	})
}

// inMemory searches ended game sessions in memory. It reads maxLooks game sessions of each shard at a time.
func (s *endedSearch) inMemory(ctx context.Context) error {
	look := func(m *region.Machine) *endedSearch {
		part := &endedSearch{EndedQuery: s.EndedQuery, before: s.before, from: s.from, matches: s.matches}
		looks := 0
		for _, r := range m.Rooms() {
			if s.wantsRoom(r.ID()) {
				part.inRoom(r, &looks)
			}
		}
		return part
	}
	return lookEach(ctx, s.partial, s.Shards(), look, func(part *endedSearch) {
		s.found = append(s.found, part.found...)
		if part.stopped != nil {
			s.stop(*part.stopped)
		}
	})
}

func (s *endedSearch) inRoom(r *fleet.Room, looks *int) {
	n := 0
	r.LastEnded(s.before.Ended, math.MaxUint64, func(g *fleet.GameSession) bool {
		at := history.PositionOf(r.Address(), g)
		switch {
		case g.Ended < s.from:
			return false
		case at.Compare(s.before) >= 0:
			return true
		case s.wants(r.ID(), g) && s.had(g):
			s.found = append(s.found, endedFound{at, r.ID(), g})
			n++
		}
		if *looks++; *looks >= maxLooks || n > s.Limit {
			s.stop(at)
			return false
		}
		return true
	})
}

// inPast searches the history. It reads maxLooks game sessions, and the keys of a hundred times as many.
func (s *endedSearch) inPast(ctx context.Context) error {
	reads, keys, n := 0, 0, 0
	return s.history.EndedBefore(ctx, fleet.ID(s.FleetID), s.before, s.from, func(e *history.Ended) (bool, error) {
		keys++
		if s.wantsRoom(e.RoomID) && (s.Reason == "" || s.Reason == e.Reason) {
			reads++
			g, err := e.Session()
			if err != nil {
				return false, err
			}
			if g != nil && s.wants(e.RoomID, g) {
				s.found = append(s.found, endedFound{e.Position, e.RoomID, g})
				n++
			}
		}
		if reads >= maxLooks || keys >= 100*maxLooks || n > s.Limit {
			s.stop(e.Position)
			return false, nil
		}
		return true, ctx.Err()
	})
}

// ofPlayer reads all that the history has of the player: also what left memory before its game session.
func (s *endedSearch) ofPlayer(ctx context.Context) error {
	var entries []history.Entry
	err := s.history.OfPlayer(ctx, s.PlayerID, fleet.ID(s.FleetID), 0, func(e history.Entry) bool {
		if s.wantsRoom(e.Room) {
			entries = append(entries, e)
		}
		return true
	})
	if err != nil {
		return err
	}
	for _, e := range entries {
		g := e.Session
		if e.Departed {
			if g, err = s.sessionIn(ctx, e.Room, g.ID); err != nil {
				return err
			}
		}
		if g == nil || !g.HasEnded() || !s.wants(e.Room, g) || g.Ended < s.from {
			continue
		}
		if at := history.PositionOf(e.At, g); at.Compare(s.before) < 0 {
			s.found = append(s.found, endedFound{at, e.Room, g})
		}
	}
	return nil
}

func (s *endedSearch) describe(f endedFound) *EndedSession {
	g := f.session
	out := &EndedSession{
		GameSessionArn: s.names.GameSessionARN(f.room, g.ID), FleetID: string(f.room.Fleet), Location: f.room.Location,
		Compute: g.Host.Compute, Name: g.Name, CreatorID: g.CreatorID, Placement: g.Placement,
		StartTime: g.Created.Time(), EndTime: g.Ended.Time(), Reason: g.StatusReason,
		PlayerSessions: int(g.Archived) + len(g.PastPlayers), Properties: propertyMap(g.Properties),
	}
	return out
}
