package control

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/control/credentials"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
)

// This file lists the placements of a queue and the tickets of a matchmaking configuration that are in memory: first
// those that have not ended, then those that have, in either part the newest first.

// A RowQuery selects placements of a queue, or tickets of a matchmaking configuration.
type RowQuery struct {
	Name      string // of the queue or configuration
	Status    string // "": all; several of placements, with commas between them
	Limit     int    // on a page; at least 1
	NextToken string
}

// PlacementList is a page of placements. A page can have fewer than the limit, even none, and still a token.
type PlacementList struct {
	Placements []PlacementRow `json:"placements"`
	NextToken  string         `json:"nextToken,omitempty"`
	Partial                   // of this page
}

// A PlacementRow is a placement without its trail.
type PlacementRow struct {
	PlacementID string           `json:"placementId"`
	Queue       string           `json:"gameSessionQueueName"`
	Status      placement.Status `json:"status"`
	StartTime   time.Time        `json:"startTime"`
	EndTime     *time.Time       `json:"endTime,omitempty"`
	AgeMS       int64            `json:"ageMs"`             // from its start to its end, or until now
	Reason      string           `json:"reason,omitempty"`  // why it FAILED
	Attempt     int              `json:"attempt,omitempty"` // the number of the newest attempt
	FleetID     string           `json:"fleetId,omitempty"` // of the game session, or of the newest attempt
	Location    string           `json:"location,omitempty"`
	GameSession string           `json:"gameSessionArn,omitempty"` // of a FULFILLED one
	Match       string           `json:"matchId,omitempty"`
	// LastStep is why a TIMED_OUT one was not placed: the last step at which it waited, was refused or ended.
	LastStep *PlacementStep `json:"lastStep,omitempty"`
}

// TicketList is a page of tickets. A page can have fewer than the limit, even none, and still a token.
type TicketList struct {
	Tickets   []TicketRow `json:"tickets"`
	NextToken string      `json:"nextToken,omitempty"`
	// Searching counts the SEARCHING tickets; on the first page only, unless the query selects another status.
	Searching *TicketAges `json:"searching,omitempty"`
}

// A TicketRow is a matchmaking ticket without the attributes of its players.
type TicketRow struct {
	TicketID      string             `json:"ticketId"`
	Configuration string             `json:"configurationName"`
	Status        matchmaking.Status `json:"status"`
	Reason        string             `json:"reason,omitempty"`
	Message       string             `json:"message,omitempty"`
	StartTime     time.Time          `json:"startTime"`
	EndTime       *time.Time         `json:"endTime,omitempty"`
	AgeMS         int64              `json:"ageMs"` // from its start to its end, or until now
	Players       []string           `json:"playerIds"`
	Backfill      bool               `json:"backfill,omitempty"`
	Automatic     bool               `json:"automatic,omitempty"` // started by the service
	Match         string             `json:"matchId,omitempty"`
	GameSession   string             `json:"gameSessionArn,omitempty"`
}

// QueuePlacements lists the placements of a queue that are in memory. NotFoundException: there is no such queue.
func (p *Plane) QueuePlacements(ctx context.Context, q RowQuery) (*PlacementList, error) {
	if _, ok := p.Catalog().Queue(q.Name); !ok {
		return nil, notFound("Queue %.100q not found", q.Name)
	}
	statuses, err := placementStatuses(q.Status)
	if err != nil {
		return nil, err
	}
	now := p.Now()
	wants := func(r *placement.Placement) bool {
		return r.Queue == q.Name && slices.Contains(statuses, r.Status)
	}
	pending := slices.Contains(statuses, placement.Pending)
	l := rowList[PlacementRow]{
		shards: p.Shards(), limit: q.Limit, pages: p.secrets.Pages("QueuePlacements", q.Name, q.Status),
		skipActive: !pending,
		skipEnded:  pending && len(statuses) == 1,
		active: func(m *region.Machine, at rowPosition, visit func(rowPosition, func() PlacementRow) bool) {
			m.Placements().LastStarted(at.At, at.ID, func(r *placement.Placement) bool {
				return visit(rowPosition{At: r.Started, ID: r.ID}, rowIf(wants(r), func() PlacementRow {
					return p.placementRow(r, now)
				}))
			})
		},
		ended: func(m *region.Machine, at rowPosition, visit func(rowPosition, func() PlacementRow) bool) {
			m.Placements().LastEnded(at.At, at.ID, func(r *placement.Placement) bool {
				return visit(rowPosition{At: r.Ended, ID: r.ID}, rowIf(wants(r), func() PlacementRow {
					return p.placementRow(r, now)
				}))
			})
		},
	}
	rows, next, err := l.page(ctx, q.NextToken)
	return &PlacementList{Placements: rows, NextToken: next, Partial: l.missed}, err
}

// placementStatuses returns the statuses that a query selects; all if it names none.
func placementStatuses(text string) (statuses []placement.Status, err error) {
	all := []placement.Status{placement.Pending, placement.Fulfilled, placement.Cancelled, placement.TimedOut,
		placement.Failed}
	if text == "" {
		return all, nil
	}
	for name := range strings.SplitSeq(text, ",") {
		status := placement.Status(name)
		if !slices.Contains(all, status) {
			return nil, invalid("status is %.100q: it must be PENDING, FULFILLED, CANCELLED, TIMED_OUT or FAILED, "+
				"or several with commas between them", text)
		}
		if !slices.Contains(statuses, status) {
			statuses = append(statuses, status)
		}
	}
	return statuses, nil
}

// ConfigurationTickets lists the tickets of a matchmaking configuration that are in memory. NotFoundException: there is
// no such configuration.
func (p *Plane) ConfigurationTickets(ctx context.Context, q RowQuery) (*TicketList, error) {
	if _, ok := p.Catalog().MatchmakingConfiguration(q.Name); !ok {
		return nil, notFound("Matchmaking configuration %.100q not found", q.Name)
	}
	switch matchmaking.Status(q.Status) {
	case "", matchmaking.Searching, matchmaking.RequiresAcceptance, matchmaking.Placing, matchmaking.Completed,
		matchmaking.Failed, matchmaking.Cancelled, matchmaking.TimedOut:
	default:
		return nil, invalid("status is %.100q: it must be SEARCHING, REQUIRES_ACCEPTANCE, PLACING, COMPLETED, FAILED, "+
			"CANCELLED or TIMED_OUT", q.Status)
	}
	now, status := p.Now(), matchmaking.Status(q.Status)
	wants := func(t *matchmaking.Ticket) bool {
		return t.Configuration.Name == q.Name && (status == "" || status == t.Status)
	}
	show := func(t *matchmaking.Ticket) func() TicketRow {
		return rowIf(wants(t), func() TicketRow { return ticketRow(t, now) })
	}
	final := (&matchmaking.Ticket{Status: status}).HasEnded()
	l := rowList[TicketRow]{
		shards: []*router.Shard{p.TicketShard()}, limit: q.Limit,
		pages:      p.secrets.Pages("ConfigurationTickets", q.Name, q.Status),
		skipActive: status != "" && final, skipEnded: status != "" && !final,
		active: func(m *region.Machine, at rowPosition, visit func(rowPosition, func() TicketRow) bool) {
			activeBefore(m.Matchmaking(), at, func(t *matchmaking.Ticket) bool {
				return visit(ticketStart(t), show(t))
			})
		},
		ended: func(m *region.Machine, at rowPosition, visit func(rowPosition, func() TicketRow) bool) {
			m.Matchmaking().LastEnded(at.At, at.ID, func(t *matchmaking.Ticket) bool {
				return visit(rowPosition{At: t.Ended, ID: t.ID}, show(t))
			})
		},
	}
	rows, next, err := l.page(ctx, q.NextToken)
	list := &TicketList{Tickets: rows, NextToken: next}
	if err == nil && q.NextToken == "" && (status == "" || status == matchmaking.Searching) {
		list.Searching, err = p.ticketAges(ctx, q.Name, now)
	}
	return list, err
}

func (p *Plane) placementRow(r *placement.Placement, now event.Time) PlacementRow {
	row := PlacementRow{
		PlacementID: r.ID, Queue: r.Queue, Status: r.Status, StartTime: r.Started.Time(), EndTime: momentTo(r.Ended),
		AgeMS: ageMS(r.Started, r.Ended, now), Reason: r.Reason, Match: r.Match,
	}
	var room fleet.RoomID
	if r.Attempt != nil {
		row.Attempt, room = r.Attempt.Number, r.Attempt.Room
	}
	if r.Session != nil {
		room, row.GameSession = r.Session.Room, p.GameSessionARN(r.Session.Room, r.Session.ID)
	}
	row.FleetID, row.Location = string(room.Fleet), room.Location
	if r.Status == placement.TimedOut {
		row.LastStep = lastStep(&r.Trail)
	}
	return row
}

// lastStep returns the last step that shows why a placement was not fulfilled; without one, a location that was left
// out. nil: there is none.
func lastStep(t *placement.Trail) *PlacementStep {
	for _, s := range slices.Backward(t.Steps) {
		switch s.Kind {
		case placement.StepWaiting, placement.StepRefused, placement.StepEnded:
			step := placementStep(&s)
			return &step
		}
	}
	for _, c := range t.Candidates {
		if c.Dropped != "" && len(t.Steps) > 0 {
			step := placementStep(&t.Steps[0])
			step.Kind, step.FleetID, step.Location = placement.StepWaiting, string(c.Room.Fleet), c.Room.Location
			step.Text = c.Room.Location + " was left out: " + c.Dropped
			return &step
		}
	}
	return nil
}

func ticketRow(t *matchmaking.Ticket, now event.Time) TicketRow {
	row := TicketRow{
		TicketID: t.ID, Configuration: t.Configuration.Name, Status: t.Status, Reason: t.Reason, Message: t.Message,
		StartTime: t.Started.Time(), EndTime: momentTo(t.Ended), AgeMS: ageMS(t.Started, t.Ended, now),
		Players: []string{}, Backfill: t.Backfill, Automatic: t.Automatic, Match: t.Match, GameSession: t.GameSession,
	}
	for _, p := range t.Players {
		row.Players = append(row.Players, p.ID)
	}
	if t.Connection != nil {
		row.GameSession = t.Connection.GameSession
	}
	return row
}

// ageMS returns the milliseconds from a start to an end, or until now. A clock that was set back makes it 0.
func ageMS(start, end, now event.Time) int64 { return max(0, int64(cmp.Or(end, now)-start)) }

// activeBefore visits the tickets that have not ended and started before a position, those that started last first.
func activeBefore(s *matchmaking.State, at rowPosition, visit func(*matchmaking.Ticket) bool) {
	var matched []*matchmaking.Ticket // the others are SEARCHING
	s.Matches(func(m *matchmaking.Match) bool {
		for _, id := range m.Tickets {
			if t, ok := s.Ticket(id); ok && t.Status != matchmaking.Searching && ticketStart(t).compare(at) < 0 {
				matched = append(matched, t)
			}
		}
		return true
	})
	slices.SortFunc(matched, func(a, b *matchmaking.Ticket) int { return ticketStart(b).compare(ticketStart(a)) })
	more := true
	visitUntil := func(before rowPosition) {
		for more && len(matched) > 0 && ticketStart(matched[0]).compare(before) > 0 {
			more = visit(matched[0])
			matched = matched[1:]
		}
	}
	s.LastStarted(at.At, at.ID, func(t *matchmaking.Ticket) bool {
		visitUntil(ticketStart(t))
		more = more && visit(t)
		return more
	})
	visitUntil(rowPosition{At: math.MinInt64})
}

func ticketStart(t *matchmaking.Ticket) rowPosition { return rowPosition{At: t.Started, ID: t.ID} }

// rowIf returns a function that makes a row; nil if the row is not wanted.
func rowIf[R any](wanted bool, row func() R) func() R {
	if wanted {
		return row
	}
	return nil
}

// A rowPosition orders rows by a time, then by id.
type rowPosition struct {
	Ended bool       `json:"e,omitempty"` // in the second part of the list
	At    event.Time `json:"a"`
	ID    string     `json:"i"`
}

// lastPosition is after all rows of a part.
func lastPosition(ended bool) rowPosition { return rowPosition{Ended: ended, At: math.MaxInt64} }

func (p rowPosition) compare(q rowPosition) int {
	return cmp.Or(cmp.Compare(p.At, q.At), cmp.Compare(p.ID, q.ID))
}

// A rowScan calls visit with the rows of a shard before a position, in descending order, until it returns false. The
// function that makes the row is nil for one that the query does not select.
type rowScan[R any] func(m *region.Machine, before rowPosition, visit func(rowPosition, func() R) bool)

// A rowList lists rows of several shards in two parts. It reads at most maxLooks rows of each shard for a page.
type rowList[R any] struct {
	shards                []*router.Shard
	limit                 int
	pages                 credentials.Pages
	skipActive, skipEnded bool
	active, ended         rowScan[R]
	missed                Partial // shards that the page lacks
}

type placedRow[R any] struct {
	rowPosition
	row R
}

// page returns the rows of a page, and the token of the next one.
func (l *rowList[R]) page(ctx context.Context, token string) (rows []R, next string, err error) {
	at := lastPosition(l.skipActive)
	if err := l.pages.Read(token, &at); err != nil {
		return nil, "", err
	}
	rows = []R{}
	if !at.Ended {
		found, stopped, err := l.part(ctx, l.active, at, l.limit)
		if err != nil {
			return nil, "", err
		}
		if rows = append(rows, found...); stopped != nil {
			return rows, l.pages.Token(*stopped), nil
		}
		at = lastPosition(true)
	}
	if l.skipEnded {
		return rows, "", nil
	}
	if len(rows) == l.limit {
		return rows, l.pages.Token(at), nil
	}
	found, stopped, err := l.part(ctx, l.ended, at, l.limit-len(rows))
	if stopped != nil {
		stopped.Ended = true
		next = l.pages.Token(*stopped)
	}
	return append(rows, found...), next, err
}

// part returns rows of a part before a position, and where it stopped; nil at the end of the part.
func (l *rowList[R]) part(ctx context.Context, scan rowScan[R], before rowPosition, limit int) (rows []R,
	stopped *rowPosition, err error) {
	type shardPart struct {
		rows    []placedRow[R]
		stopped *rowPosition
	}
	var all []placedRow[R]
	look := func(m *region.Machine) (p shardPart) {
		looks := 0
		scan(m, before, func(at rowPosition, row func() R) bool {
			if row != nil {
				p.rows = append(p.rows, placedRow[R]{at, row()})
			}
			if looks++; looks >= maxLooks || len(p.rows) > limit {
				p.stopped = &at
			}
			return p.stopped == nil
		})
		return p
	}
	err = lookEach(ctx, &l.missed, l.shards, look, func(part shardPart) {
		all = append(all, part.rows...)
		if part.stopped != nil && (stopped == nil || part.stopped.compare(*stopped) > 0) {
			stopped = part.stopped
		}
	})
	if err != nil {
		return nil, nil, err
	}
	slices.SortFunc(all, func(a, b placedRow[R]) int { return b.compare(a.rowPosition) })
	for i, r := range all {
		if stopped != nil && r.compare(*stopped) < 0 {
			break
		}
		if i == limit {
			return rows, &all[i-1].rowPosition, nil
		}
		rows = append(rows, r.row)
	}
	return rows, stopped, nil
}
