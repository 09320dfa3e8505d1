package control

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A Timeline is what happened to a game session, as far as the region keeps it.
type Timeline struct {
	GameSessionArn string                  `json:"gameSessionArn"`
	FleetID        string                  `json:"fleetId"`
	Location       string                  `json:"location"`
	Name           string                  `json:"name,omitempty"`
	Status         fleet.GameSessionStatus `json:"status"`
	Facts          []TimelineFact          `json:"facts"` // oldest first
	// PlayerSessions are those of Facts, in the order of their reservation.
	PlayerSessions []TimelinePlayer `json:"playerSessions"`
	Omitted        int              `json:"omittedPlayerSessions,omitempty"` // further ones
}

// A TimelineSubject is what a fact of a timeline is about.
type TimelineSubject string

// The subjects of facts.
const (
	OfPlacement     TimelineSubject = "placement"
	OfGameSession   TimelineSubject = "gameSession"
	OfBackfill      TimelineSubject = "backfill"
	OfPlayerSession TimelineSubject = "playerSession"
)

// The kinds of facts. Those of a placement are REQUESTED, and the kinds of the steps of its trail.
const (
	FactRequested   = "REQUESTED"
	FactCreated     = "CREATED"
	FactActive      = string(fleet.Active)
	FactBackfilled  = "BACKFILLED"
	FactTerminating = string(fleet.Terminating)
	FactTerminated  = string(fleet.Terminated)
	FactReserved    = string(fleet.Reserved)
	FactAccepted    = "ACCEPTED"
	FactCompleted   = string(fleet.Completed)
	FactTimedOut    = string(fleet.TimedOut)
)

// A TimelineFact is something that happened to a game session, its placement or one of its player sessions.
type TimelineFact struct {
	Time    time.Time       `json:"time"`
	Subject TimelineSubject `json:"subject"`
	Kind    string          `json:"kind"`
	// DurationMS is the time since the subject's fact before this one, in milliseconds; nil for its first.
	DurationMS      *int64 `json:"durationMs,omitempty"`
	PlayerSessionID string `json:"playerSessionId,omitempty"`
	PlayerID        string `json:"playerId,omitempty"`
	PlacementID     string `json:"placementId,omitempty"`
	MatchID         string `json:"matchId,omitempty"`
	FleetID         string `json:"fleetId,omitempty"` // of an attempt of the placement
	Location        string `json:"location,omitempty"`
	Text            string `json:"text,omitempty"` // a reason, or details of the placement's step
}

// A TimelinePlayer is a player session of a timeline.
type TimelinePlayer struct {
	PlayerSessionID string                    `json:"playerSessionId"`
	PlayerID        string                    `json:"playerId"`
	Status          fleet.PlayerSessionStatus `json:"status"`
	Expires         *time.Time                `json:"expires,omitempty"` // when a RESERVED one times out
}

// maxTimelinePlayers is the maximum number of player sessions in a timeline.
const maxTimelinePlayers = 1000

// maxGameSessionID is the maximum length of an ARN of a game session. Source: API model, ArnStringModel.
const maxGameSessionID = 512

// Timeline returns the timeline of a game session, also of one in the history, by its ARN or the last segment of it.
// It has at most the given number of player sessions. NotFoundException: there is none.
func (p *Plane) Timeline(ctx context.Context, id string, players int) (*Timeline, error) {
	room, g, err := p.anySession(ctx, id)
	if err != nil {
		return nil, err
	}
	var placed *placement.Placement
	if g.Placement != "" {
		placed, err = p.findPlacement(ctx, g.Placement)
		if err != nil && !fault.Is(err, fault.NotFound) { // the history does not keep it forever
			return nil, err
		}
	}
	t := timelineOf(g, placed, min(players, maxTimelinePlayers))
	t.GameSessionArn, t.FleetID, t.Location = p.GameSessionARN(room, g.ID), string(room.Fleet), room.Location
	return t, nil
}

// anySession finds a game session by its ARN, or by the last segment of it in any room.
func (sr *sessionReader) anySession(ctx context.Context, id string) (fleet.RoomID, *fleet.GameSession, error) {
	if len(id) > maxGameSessionID {
		return fleet.RoomID{}, nil, noGameSession(id[:maxGameSessionID])
	}
	if strings.HasPrefix(id, "arn:") {
		return sr.findSession(ctx, id)
	}
	if sr.names.Verbatim != nil {
		if _, _, ok := sr.names.Verbatim(id); ok {
			return sr.findSession(ctx, id)
		}
	}
	rooms, found, err := sr.sessionsNamed(ctx, id)
	if err != nil {
		return fleet.RoomID{}, nil, err
	}
	if len(found) == 0 {
		if found, err = sr.pastSessionsNamed(ctx, rooms, id); err != nil {
			return fleet.RoomID{}, nil, err
		}
	}
	switch len(found) {
	case 0:
		return fleet.RoomID{}, nil, noGameSession(id)
	case 1:
		return found[0].room, found[0].session, nil
	}
	return fleet.RoomID{}, nil, invalid("Several game sessions have the id %s. Give the ARN of one of them", id)
}

// sessionsNamed finds the game sessions in memory with the last segment of an ARN, and lists all rooms.
func (sr *sessionReader) sessionsNamed(ctx context.Context, id string) (rooms []fleet.RoomID, found []foundSession,
	err error) {
	type part struct {
		rooms []fleet.RoomID
		found []foundSession
	}
	for _, shard := range sr.Shards() {
		p, err := router.Look(ctx, shard, func(m *region.Machine) (p part) {
			for _, r := range m.Rooms() {
				p.rooms = append(p.rooms, r.ID())
				if g, ok := r.GameSession(id); ok {
					p.found = append(p.found, foundSession{r.ID(), g})
				}
			}
			return p
		})
		if err != nil {
			return nil, nil, err
		}
		rooms, found = append(rooms, p.rooms...), append(found, p.found...)
	}
	return rooms, found, nil
}

// pastSessionsNamed finds the game sessions of rooms in the history.
func (sr *sessionReader) pastSessionsNamed(ctx context.Context, rooms []fleet.RoomID, id string) (found []foundSession,
	err error) {
	for _, room := range rooms {
		g, err := sr.history.GameSession(ctx, room, id)
		if err != nil {
			return nil, err
		}
		if g != nil {
			found = append(found, foundSession{room, g})
		}
	}
	return found, nil
}

// timelineOf returns the timeline of a game session, without what names its room. placed may be nil.
func timelineOf(g *fleet.GameSession, placed *placement.Placement, players int) *Timeline {
	t := &Timeline{Name: g.Name, Status: g.Status, PlayerSessions: []TimelinePlayer{}}
	if placed != nil {
		t.addPlacement(placed)
	}
	t.add(TimelineFact{Subject: OfGameSession, Kind: FactCreated}, g.Created)
	t.add(TimelineFact{Subject: OfGameSession, Kind: FactActive}, g.Activated)
	t.add(TimelineFact{Subject: OfGameSession, Kind: FactTerminating}, g.TerminatingSince)
	t.add(TimelineFact{Subject: OfGameSession, Kind: FactTerminated, Text: g.StatusReason}, g.Ended)
	t.add(TimelineFact{Subject: OfBackfill, Kind: FactBackfilled, MatchID: g.Filled}, g.FilledAt)
	shown := newestPlayers(g, players)
	t.Omitted = int(g.Archived) + len(g.CurrentPlayers) + len(g.PastPlayers) - len(shown)
	for _, p := range shown {
		t.addPlayer(p)
	}
	t.order()
	return t
}

// newestPlayers returns the player sessions to show, in the order of their creation: those that have not ended, then
// those that ended last.
func newestPlayers(g *fleet.GameSession, limit int) []*fleet.PlayerSession {
	limit = max(0, limit)
	current := g.CurrentPlayers[:min(limit, len(g.CurrentPlayers))]
	past := g.PastPlayers[max(0, len(g.PastPlayers)+len(current)-limit):]
	shown := slices.Concat(current, past)
	slices.SortFunc(shown, func(a, b *fleet.PlayerSession) int { return cmp.Compare(a.Index, b.Index) })
	return shown
}

// add adds a fact, unless its time is not set.
func (t *Timeline) add(f TimelineFact, at event.Time) {
	if at != 0 {
		f.Time = at.Time()
		t.Facts = append(t.Facts, f)
	}
}

func (t *Timeline) addPlacement(p *placement.Placement) {
	t.add(TimelineFact{Subject: OfPlacement, Kind: FactRequested, PlacementID: p.ID, MatchID: p.Match}, p.Started)
	for _, s := range p.Trail.Steps {
		t.add(TimelineFact{Subject: OfPlacement, Kind: string(s.Kind), PlacementID: p.ID, FleetID: string(s.Room.Fleet),
			Location: s.Room.Location, Text: s.Text}, s.At)
	}
}

func (t *Timeline) addPlayer(p *fleet.PlayerSession) {
	id := p.ID.String()
	t.PlayerSessions = append(t.PlayerSessions, TimelinePlayer{id, p.PlayerID, p.Status, momentTo(p.Expires)})
	fact := TimelineFact{Subject: OfPlayerSession, PlayerSessionID: id, PlayerID: p.PlayerID}
	for _, f := range []struct {
		kind string
		at   event.Time
	}{{FactReserved, p.Created}, {FactAccepted, p.Accepted()}, {string(p.Status), p.Ended}} {
		fact.Kind = f.kind
		t.add(fact, f.at)
	}
}

// of identifies the placement, game session or player session that a fact is about.
func (f *TimelineFact) of() string { return string(f.Subject) + f.PlayerSessionID }

// order sorts the facts, and adds the durations. The facts of a subject are in their order already; a clock that was
// set back does not change it: a later fact then has the time of the one before.
func (t *Timeline) order() {
	last := map[string]time.Time{}
	for i := range t.Facts {
		f := &t.Facts[i]
		before, ok := last[f.of()]
		if ok {
			if f.Time.Before(before) {
				f.Time = before
			}
			d := f.Time.Sub(before).Milliseconds()
			f.DurationMS = &d
		}
		last[f.of()] = f.Time
	}
	slices.SortStableFunc(t.Facts, func(a, b TimelineFact) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(rank(&a), rank(&b)))
	})
}

// rank orders facts of the same time by cause and effect.
func rank(f *TimelineFact) int {
	switch f.Subject {
	case OfPlacement:
		if f.Kind == string(placement.StepFulfilled) {
			return 3
		}
		return 0
	case OfPlayerSession:
		return 2
	case OfBackfill:
		return 1
	}
	if f.Kind == FactTerminating || f.Kind == FactTerminated {
		return 4
	}
	return 1
}
