package control

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
)

const (
	recent        = 10 * time.Minute // what an overview shows of the past
	recentEvents  = 20               // considered of a fleet location, and shown of all
	crashLoop     = 3                // abnormal ends of processes of a fleet location within that time
	waitsTooLong  = 10 * time.Second // from which a waiting placement needs attention
	maxAttentions = 50
)

// An Overview is the state of the region in a few numbers.
type Overview struct {
	Region string    `json:"region"`
	Time   time.Time `json:"time"`
	Fleets int       `json:"fleets"` // that are not deleted

	Load
	Partial // of the numbers, and of what needs attention

	PendingPlacements int   `json:"pendingPlacements"`
	OldestPlacementMS int64 `json:"oldestPlacementMs"` // how long the oldest of them waits
	WaitingTickets    int   `json:"waitingTickets"`    // SEARCHING
	OldestTicketMS    int64 `json:"oldestTicketMs"`

	Attention []Attention     `json:"attention"` // what an operator should look at
	Events    []OverviewEvent `json:"events"`    // fleet events of the last 10 minutes, the newest first; at most 20
}

// A Load is how many game servers, game sessions and players there are.
type Load struct {
	Computes       int `json:"computes"`
	Processes      int `json:"serverProcesses"`     // ready or hosting
	FreeProcesses  int `json:"freeServerProcesses"` // that can host a game session now
	GameSessions   int `json:"gameSessions"`        // that have not ended
	Activating     int `json:"activatingGameSessions"`
	Players        int `json:"playerSessions"` // RESERVED and ACTIVE
	MaximumPlayers int `json:"maximumPlayerSessions"`
}

func (l *Load) add(c fleet.Counts) {
	l.Computes += c.Computes
	l.Processes += c.Processes
	l.FreeProcesses += c.Waiting
	l.Activating += c.Activating
	l.GameSessions += c.Activating + c.Active
	l.Players += c.Players
	l.MaximumPlayers += c.MaximumPlayers
}

// An Attention is something that an operator should look at.
type Attention struct {
	Kind     string `json:"kind"` // nodeDown, crashLoop, shortage, queueWaits, noFreeProcess, noProcess
	Resource string `json:"resource"`
	Location string `json:"location,omitempty"`
	Count    int    `json:"count,omitempty"`
	// Since is when the oldest of what waits started. The text has no duration: it changes only if the state does.
	Since *time.Time `json:"since,omitempty"`
	Text  string     `json:"text"`
}

// An OverviewEvent is a fleet event.
type OverviewEvent struct {
	Time    time.Time `json:"time"`
	FleetID string    `json:"fleetId"`
	Code    string    `json:"code"`
	Message string    `json:"message"`
}

// roomOverview is what an overview shows of a fleet location.
type roomOverview struct {
	id      fleet.RoomID
	counts  fleet.Counts
	crashes int
	events  []*fleet.FleetEvent
}

// shardOverview is what an overview shows of a shard.
type shardOverview struct {
	rooms   []roomOverview
	pending int
	oldest  event.Time // of the pending placements; 0: none
	waiting map[string]queueWait
	tickets int
	ticket  event.Time
}

// A queueWait is the placements of a queue that wait too long.
type queueWait struct {
	count  int
	oldest event.Time
}

// Overview returns the state of the region, with one short read of each shard, of which some may be missing. Fleets
// that are hidden count, but are not named.
func (p *Plane) Overview(ctx context.Context, hidden func(fleetID string) bool) (*Overview, error) {
	now := p.Now()
	o := &Overview{Region: p.cfg.Region, Time: now.Time(), Attention: []Attention{}, Events: []OverviewEvent{}}
	fleets, _ := p.Catalog().Fleets("", math.MaxInt)
	shown := map[fleet.ID]*catalog.Fleet{}
	for _, f := range fleets {
		if f.Terminated == 0 {
			o.Fleets++
		}
		if hidden == nil || !hidden(f.ID) {
			shown[fleet.ID(f.ID)] = f
		}
	}
	var rooms []roomOverview
	waiting := map[string]queueWait{}
	look := func(m *region.Machine) *shardOverview { return overviewOf(m, now) }
	err := lookEach(ctx, &o.Partial, p.Shards(), look, func(part *shardOverview) {
		rooms = append(rooms, part.rooms...)
		o.addShard(part, now)
		for queue, w := range part.waiting {
			sum := waiting[queue]
			waiting[queue] = queueWait{sum.count + w.count, earliest(sum.oldest, w.oldest)}
		}
	})
	if err != nil {
		return nil, err
	}
	o.needAttention(rooms, shown, waiting, shortAttentions(p.Catalog(), shown))
	o.addEvents(p.Catalog(), rooms, shown, now)
	return o, nil
}

// overviewOf reads a shard, on its loop.
func overviewOf(m *region.Machine, now event.Time) *shardOverview {
	s := &shardOverview{waiting: map[string]queueWait{}}
	since := now.Add(-recent)
	m.VisitRooms(func(r *fleet.Room) {
		o := roomOverview{id: r.ID(), counts: r.Counts()}
		for _, e := range r.LastFleetEvents(recentEvents) {
			if e.At < since {
				continue
			}
			o.events = append(o.events, e)
			if strings.HasPrefix(e.Code, "SERVER_PROCESS_") {
				o.crashes++
			}
		}
		s.rooms = append(s.rooms, o)
	})
	looks := 0
	s.pending = m.Placements().PendingCount()
	m.Placements().Pending(func(r *placement.Placement) bool {
		s.oldest = earliest(s.oldest, r.Started)
		if r.Started.Add(waitsTooLong) > now {
			return false
		}
		if !r.AttemptRunning() {
			w := s.waiting[r.Queue]
			s.waiting[r.Queue] = queueWait{w.count + 1, earliest(w.oldest, r.Started)}
		}
		looks++
		return looks < maxLooks
	})
	if t := m.Matchmaking(); t != nil {
		s.tickets, s.ticket = t.SearchingCount()
	}
	return s
}

// earliest returns the earlier of two times, of which 0 is none.
func earliest(a, b event.Time) event.Time {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

func (o *Overview) addShard(s *shardOverview, now event.Time) {
	for _, r := range s.rooms {
		o.add(r.counts)
	}
	o.PendingPlacements += s.pending
	o.WaitingTickets += s.tickets
	if s.oldest != 0 {
		o.OldestPlacementMS = max(o.OldestPlacementMS, ageMS(s.oldest, 0, now))
	}
	if s.ticket != 0 {
		o.OldestTicketMS = max(o.OldestTicketMS, ageMS(s.ticket, 0, now))
	}
}

// needAttention lists the fleets and queues that an operator should look at, the most urgent kind first.
func (o *Overview) needAttention(rooms []roomOverview, shown map[fleet.ID]*catalog.Fleet, waiting map[string]queueWait,
	short []Attention) {
	var loops, full, empty, queues []Attention
	for _, r := range rooms {
		f := shown[r.id.Fleet]
		if f == nil || f.Status != catalog.StatusActive {
			continue
		}
		a := Attention{Resource: f.ID, Location: r.id.Location}
		name := locationName(f, r.id.Location)
		if r.crashes >= crashLoop {
			loop := a
			loop.Kind, loop.Count, loop.Text = "crashLoop", r.crashes,
				fmt.Sprintf("%s%d server processes ended abnormally within 10 minutes", name, r.crashes)
			loops = append(loops, loop)
		}
		switch c := r.counts; {
		case c.Processes > 0 && c.Waiting == 0:
			a.Kind, a.Text = "noFreeProcess", name+"no server process is free"
			full = append(full, a)
		case c.Computes > 0 && c.Processes == 0:
			a.Kind, a.Text = "noProcess", name+"no server process is ready"
			empty = append(empty, a)
		}
	}
	for queue, w := range waiting {
		since := w.oldest.Time()
		queues = append(queues, Attention{Kind: "queueWaits", Resource: queue, Count: w.count, Since: &since,
			Text: fmt.Sprintf("queue %s: %s without an attempt, the oldest since %s UTC", queue,
				plural(w.count, "placement"), since.UTC().Format(time.TimeOnly))})
	}
	all := slices.Concat(loops, short, queues, full, empty)
	rank := map[string]int{"crashLoop": 0, "shortage": 1, "queueWaits": 2, "noFreeProcess": 3, "noProcess": 4}
	slices.SortStableFunc(all, func(a, b Attention) int {
		return cmp.Or(cmp.Compare(rank[a.Kind], rank[b.Kind]), cmp.Compare(a.Resource, b.Resource),
			cmp.Compare(a.Location, b.Location))
	})
	o.Attention = append(o.Attention, all[:min(len(all), maxAttentions)]...)
}

// locationName begins a text about a fleet location.
func locationName(f *catalog.Fleet, location string) string {
	return fmt.Sprintf("fleet %s / %s: ", cmp.Or(f.Attributes.Name, f.ID), location)
}

// shortAttentions are about the fleet locations that have fewer instances than desired.
func shortAttentions(view *catalog.State, shown map[fleet.ID]*catalog.Fleet) (list []Attention) {
	for _, s := range shortages(view, "", "") {
		if f := shown[fleet.ID(s.FleetID)]; f != nil {
			list = append(list, Attention{Kind: "shortage", Resource: s.FleetID, Location: s.Location, Count: s.Missing,
				Since: &s.Since, Text: fmt.Sprintf("%s%s fewer than desired: %s", locationName(f, s.Location),
					plural(s.Missing, "instance"), s.Reason)})
		}
	}
	return list
}

// addEvents adds the newest events of fleets.
func (o *Overview) addEvents(view *catalog.State, rooms []roomOverview, shown map[fleet.ID]*catalog.Fleet,
	now event.Time) {
	for id := range shown {
		events, _, err := view.FleetEvents(string(id), now.Add(-recent), 0, 0, recentEvents)
		if err != nil {
			continue // deleted
		}
		for _, e := range events {
			o.Events = append(o.Events, OverviewEvent{e.At.Time(), string(id), e.Code, e.Message})
		}
	}
	for _, r := range rooms {
		if shown[r.id.Fleet] == nil {
			continue
		}
		for _, e := range r.events {
			o.Events = append(o.Events, OverviewEvent{e.At.Time(), string(r.id.Fleet), e.Code, e.Message})
		}
	}
	slices.SortFunc(o.Events, func(a, b OverviewEvent) int {
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(a.FleetID, b.FleetID), cmp.Compare(a.Code, b.Code))
	})
	o.Events = o.Events[:min(len(o.Events), recentEvents)]
}
