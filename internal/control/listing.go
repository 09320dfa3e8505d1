package control

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/control/history"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/search"
)

// This file lists the game sessions of the whole region: first those that have not ended, in the order of a sort
// expression, then those that have ended, the last first. Each page reads every shard once for each of the two.
//
// ACTIVE game sessions come from the indexes of the rooms, the few others from the room's set of them. In order of
// creation a page costs a few steps in each room, and is read on the shard's loop; any other order, and any filter,
// reads a frozen copy.

// A SessionQuery selects game sessions of the region. The zero value of a field selects all.
type SessionQuery struct {
	FleetID  string
	Location string
	// Status selects one status. "": all that have not ended and, if Since is set, those that have.
	Status fleet.GameSessionStatus
	Filter string // in the grammar of SearchGameSessions, for any status
	// Sort is in the same grammar, and orders those that have not ended; "": creationTimeMillis DESC.
	Sort      string
	Since     time.Time                 // game sessions that ended at this time or later are listed, too
	Hidden    func(fleetID string) bool // fleets whose game sessions are left out; nil: none
	Limit     int                       // on a page; at least 1
	NextToken string
}

// SessionList is a page of game sessions. A page can have fewer than the limit, even none, and still a token.
type SessionList struct {
	GameSessions []ListedSession `json:"gameSessions"`
	NextToken    string          `json:"nextToken,omitempty"`
	Partial                      // of this page
}

// A ListedSession is a game session with the time of its end, if it has ended.
type ListedSession struct {
	GameSessionArn string                  `json:"gameSessionArn"`
	FleetID        string                  `json:"fleetId"`
	Location       string                  `json:"location"`
	Name           string                  `json:"name,omitempty"`
	Status         fleet.GameSessionStatus `json:"status"`
	Reason         string                  `json:"reason,omitempty"` // as StatusReason of the API
	Compute        string                  `json:"computeName"`
	IPAddress      string                  `json:"ipAddress,omitempty"`
	DNSName        string                  `json:"dnsName,omitempty"`
	Port           int32                   `json:"port"`
	Players        int32                   `json:"currentPlayerSessionCount"` // RESERVED and ACTIVE
	Maximum        int32                   `json:"maximumPlayerSessionCount"`
	CreatorID      string                  `json:"creatorId,omitempty"`
	Properties     map[string]string       `json:"gameProperties,omitempty"`
	Placement      string                  `json:"placementId,omitempty"`
	Match          string                  `json:"matchId,omitempty"` // that created it, or was backfilled last
	Configuration  string                  `json:"matchmakingConfiguration,omitempty"`
	CreationTime   time.Time               `json:"creationTime"`
	EndTime        *time.Time              `json:"endTime,omitempty"`
}

// listPosition is the end of a page: of those that have not ended until Ended is set.
type listPosition struct {
	Live  *search.Position  `json:"l,omitempty"`
	Ended *history.Position `json:"e,omitempty"`
}

// newestFirst is the default order of a listing.
var newestFirst = func() search.Sort {
	s, err := search.ParseSort("creationTimeMillis DESC")
	if err != nil {
		panic(err)
	}
	return s
}()

// A listing is a request for a page.
type listing struct {
	*sessionReader
	SessionQuery
	query   search.Query
	visible map[fleet.ID]bool // nil: all fleets are
}

// ListSessions lists game sessions of the region, in memory and in the history. A game session that ends while its
// pages are read can be listed again with its end; one that moves from memory to the history is listed once. A page
// that misses shards is followed by one after the last of those that it has.
func (sr *sessionReader) ListSessions(ctx context.Context, q SessionQuery) (*SessionList, error) {
	l := &listing{sessionReader: sr, SessionQuery: q}
	if err := l.prepare(); err != nil {
		return nil, err
	}
	pages := sr.secrets.Pages("ListSessions", q.FleetID, q.Location, string(q.Status), q.Filter, q.Sort,
		q.Since.String())
	var at listPosition
	if err := pages.Read(q.NextToken, &at); err != nil {
		return nil, err
	}
	out := &SessionList{GameSessions: []ListedSession{}}
	if at.Ended == nil {
		more, err := l.live(ctx, &at, out)
		if err != nil || more {
			out.NextToken = pages.Token(at)
			return out, err
		}
		newest := history.Newest()
		at = listPosition{Ended: &newest}
	}
	if !l.wantsEnded() {
		return out, nil
	}
	more, err := l.ended(ctx, &at, out)
	if more {
		out.NextToken = pages.Token(at)
	}
	return out, err
}

// prepare checks and parses the query.
func (l *listing) prepare() (err error) {
	switch l.Status {
	case "", fleet.Terminated:
	case fleet.Activating, fleet.Active, fleet.Terminating:
		if !l.Since.IsZero() {
			return invalid("since selects game sessions that have ended: leave it out with status %s", l.Status)
		}
	default:
		return invalid("status is %.100q: it must be ACTIVATING, ACTIVE, TERMINATING or TERMINATED", l.Status)
	}
	if l.query.Filter, err = search.ParseFilter(l.Filter); err != nil {
		return err
	}
	if l.query.Sort, err = search.ParseSort(l.Sort); err != nil {
		return err
	}
	if l.Sort == "" {
		l.query.Sort = newestFirst
	}
	l.visible = l.visibleFleets(l.Hidden)
	return nil
}

// visibleFleets returns the fleets that are not hidden, for functions that must be quick; nil if all are visible.
func (cr *catalogReader) visibleFleets(hidden func(fleetID string) bool) map[fleet.ID]bool {
	if hidden == nil {
		return nil
	}
	visible := map[fleet.ID]bool{}
	fleets, _ := cr.Catalog().Fleets("", math.MaxInt)
	for _, f := range fleets {
		visible[fleet.ID(f.ID)] = !hidden(f.ID)
	}
	return visible
}

func (l *listing) wantsEnded() bool {
	return l.Status == fleet.Terminated || l.Status == "" && !l.Since.IsZero()
}

func (l *listing) wantsRoom(id fleet.RoomID) bool {
	return (l.FleetID == "" || l.FleetID == string(id.Fleet)) && (l.Location == "" || l.Location == id.Location) &&
		(l.visible == nil || l.visible[id.Fleet])
}

// live adds game sessions that have not ended, and advances the position. more reports that there are further ones.
func (l *listing) live(ctx context.Context, at *listPosition, out *SessionList) (more bool, err error) {
	if l.Status == fleet.Terminated {
		return false, nil
	}
	q := l.query
	q.After, q.Limit = at.Live, l.Limit+1
	look := func(m *region.Machine) *liveSearch {
		s := &liveSearch{Query: q}
		for _, r := range m.Rooms() {
			if l.wantsRoom(r.ID()) {
				s.room(r, l.Status)
			}
		}
		s.trim()
		s.resolve(m)
		return s
	}
	lists := make([][]search.Hit, 0, len(l.Shards()))
	found := map[search.Position]foundSession{}
	read := func(ctx context.Context, s *router.Shard) (*liveSearch, error) { return l.lookInto(ctx, s, look) }
	err = readEach(ctx, &out.Partial, l.Shards(), read, func(part *liveSearch) {
		lists = append(lists, part.hits)
		for i, h := range part.hits {
			found[h.Position] = part.found[i]
		}
	})
	if err != nil {
		return false, err
	}
	hits := search.Merge(q.Sort, q.Limit, lists...)
	if more = len(hits) > l.Limit; more {
		hits = hits[:l.Limit]
		at.Live = &hits[len(hits)-1].Position
	}
	for _, h := range hits {
		f := found[h.Position]
		out.GameSessions = append(out.GameSessions, l.describe(f.room, f.session))
	}
	return more, nil
}

// lookInto reads a shard: on its loop if that takes a few steps for each room, otherwise from a frozen copy.
func (l *listing) lookInto(ctx context.Context, s *router.Shard, look func(*region.Machine) *liveSearch) (*liveSearch,
	error) {
	if l.Filter == "" && l.query.Sort.ByCreation() {
		return router.Look(ctx, s, look)
	}
	view, err := router.Look(ctx, s, (*region.Machine).Freeze)
	if err != nil {
		return nil, err
	}
	return look(view), nil
}

// A liveSearch collects the first game sessions of a shard that have not ended.
type liveSearch struct {
	search.Query
	until *search.Position // hits after it are not needed; nil: all are
	hits  []search.Hit
	found []foundSession // of hits
}

// room adds those of a room.
func (s *liveSearch) room(r *fleet.Room, status fleet.GameSessionStatus) {
	q := s.Query
	q.Source, q.Until = source(r), s.until
	if status == "" || status == fleet.Active {
		s.hits = append(s.hits, r.Index().Search(q)...)
	}
	if status != fleet.Active {
		s.hits = append(s.hits, q.Among(func(yield func(*search.Doc) bool) {
			for g := range r.Passing() {
				if (status == "" || status == g.Status) && !yield(r.Document(g)) {
					return
				}
			}
		})...)
	}
	if len(s.hits) >= 4*q.Limit {
		s.trim()
	}
}

// trim leaves as many as are needed. Rooms that follow then need not return what is after the last of them.
func (s *liveSearch) trim() {
	if s.hits = s.Sort.First(s.Limit, s.hits); len(s.hits) == s.Limit {
		last := s.hits[len(s.hits)-1].Position
		s.until = &last
	}
}

// resolve finds the game sessions of the hits.
func (s *liveSearch) resolve(m *region.Machine) {
	for _, h := range s.hits {
		r, _ := m.RoomAt(uint16(h.Position.Source))
		g, _ := r.GameSessionAt(h.Doc.Key)
		s.found = append(s.found, foundSession{r.ID(), g})
	}
}

// ended adds game sessions that have ended, and advances the position. more reports that there may be further ones.
func (l *listing) ended(ctx context.Context, at *listPosition, out *SessionList) (more bool, err error) {
	s := endedSearch{
		sessionReader: l.sessionReader, before: *at.Ended, from: math.MinInt64,
		EndedQuery: EndedQuery{FleetID: l.FleetID, Location: l.Location, Limit: l.Limit - len(out.GameSessions)},
		matches: func(room fleet.RoomID, g *fleet.GameSession) bool {
			return (l.Hidden == nil || !l.Hidden(string(room.Fleet))) &&
				(l.query.Filter == nil || l.query.Filter.Match(fleet.Document(l.names.Region, room, g)))
		},
	}
	if !l.Since.IsZero() {
		s.from = event.At(l.Since)
	}
	if s.Limit == 0 {
		return true, nil
	}
	s.partial = &out.Partial
	if err := s.inMemory(ctx); err != nil { // first: what moves meanwhile is found in the history
		return false, err
	}
	if err := s.inPast(ctx); err != nil {
		return false, err
	}
	found, next, more := s.page()
	at.Ended = &next
	for _, f := range found {
		out.GameSessions = append(out.GameSessions, l.describe(f.room, f.session))
	}
	return more, nil
}

func (l *listing) describe(room fleet.RoomID, g *fleet.GameSession) ListedSession {
	match, configuration := matchOf(g.MatchmakerData)
	return ListedSession{
		GameSessionArn: l.names.GameSessionARN(room, g.ID), FleetID: string(room.Fleet), Location: room.Location,
		Name: g.Name, Status: g.Status, Reason: g.StatusReason, Compute: g.Host.Compute, IPAddress: g.IPAddress,
		DNSName: g.DNSName, Port: g.Port, Players: g.Players(), Maximum: g.Maximum, CreatorID: g.CreatorID,
		Properties: propertyMap(g.Properties), Placement: g.Placement, Match: cmp.Or(g.Filled, match),
		Configuration: configuration,
		CreationTime:  g.Created.Time(), EndTime: momentTo(g.Ended),
	}
}

// propertyMap returns game properties by key; nil if there are none.
func propertyMap(from []fleet.Property) map[string]string {
	if len(from) == 0 {
		return nil
	}
	to := make(map[string]string, len(from))
	for _, p := range slices.Backward(from) { // of several with the same key the first counts, as in a search
		to[p.Key] = p.Value
	}
	return to
}
