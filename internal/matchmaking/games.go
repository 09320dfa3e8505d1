package matchmaking

import (
	"cmp"

	"github.com/muster-gg/muster/internal/event"
)

// Placed reports that the game session of a match is ACTIVE and its players have player sessions, all in Connection.
// Like all commands of this file it ignores a match that does not exist, and has no answer.
type Placed struct {
	Match      string     `cbor:"1,keyasint,omitzero"`
	Connection Connection `cbor:"2,keyasint"`
}

func (c Placed) decide(s *State, now event.Time) ([]any, error) {
	return s.finish(c.Match, StagePlacing, c.Connection, now)
}

func (Placed) answer(*State) any { return nil }

// Filled reports that the players of a match are in the game session that it fills.
type Filled struct {
	Match      string     `cbor:"1,keyasint,omitzero"`
	Connection Connection `cbor:"2,keyasint"` // with the player sessions of the new players
}

func (c Filled) decide(s *State, now event.Time) ([]any, error) {
	return s.finish(c.Match, StageFilling, c.Connection, now)
}

func (Filled) answer(*State) any { return nil }

// finish returns the events that complete a match.
func (s *State) finish(id string, stage Stage, c Connection, now event.Time) ([]any, error) {
	m, ok := s.inStage(id, stage)
	if !ok {
		return nil, nil
	}
	if due := s.deadlineOf(m); due != 0 && due <= now {
		return s.expired(m, now), nil // Expire has not handled it yet
	}
	events := []any{&MatchCompleted{ID: id, At: now, Connection: &c}}
	return append(events, s.follow(m, &c, now)...), nil
}

// PlacementTimedOut reports that the placement of a match timed out or was cancelled: its tickets search again. It ends
// a match in StageCancelling.
type PlacementTimedOut struct {
	Match string `cbor:"1,keyasint,omitzero"`
}

func (c PlacementTimedOut) decide(s *State, now event.Time) ([]any, error) {
	m, ok := s.matches.Get(c.Match)
	switch {
	case ok && m.Stage == StagePlacing:
		return s.drop(m, MatchDropped{At: now, Reason: ReasonPlacement, Message: MessagePlacement}, searchOn), nil
	case ok && m.Stage == StageCancelling:
		return []any{&MatchDropped{ID: m.ID, At: now}}, nil
	}
	return nil, nil
}

func (PlacementTimedOut) answer(*State) any { return nil }

// searchOn returns every ticket of a dropped match to its pool.
func searchOn(*Ticket) *outcome { return nil }

// PlacementFailed reports that the placement of a match failed, or that there is no queue for it: its tickets are
// FAILED.
type PlacementFailed struct {
	Match   string `cbor:"1,keyasint,omitzero"`
	Message string `cbor:"2,keyasint,omitzero"` // of the tickets; "" for the default
}

func (c PlacementFailed) decide(s *State, now event.Time) ([]any, error) {
	m, ok := s.inStage(c.Match, StagePlacing)
	if !ok {
		return nil, nil
	}
	failed := outcome{Failed, ReasonUnexpected, cmp.Or(c.Message, MessageUnexpected)}
	return s.drop(m, MatchDropped{At: now}, func(*Ticket) *outcome { return &failed }), nil
}

func (PlacementFailed) answer(*State) any { return nil }

// FillFailed reports that the game session of a backfill match has ended or accepts no players: the backfill ticket is
// FAILED, the others search again. No automatic ticket follows.
type FillFailed struct {
	Match   string `cbor:"1,keyasint,omitzero"`
	Message string `cbor:"2,keyasint,omitzero"` // of the backfill ticket; "" for the default
}

func (c FillFailed) decide(s *State, now event.Time) ([]any, error) {
	m, ok := s.inStage(c.Match, StageFilling)
	if !ok {
		return nil, nil
	}
	failed := outcome{Failed, ReasonUnexpected, cmp.Or(c.Message, MessageUnexpected)}
	return s.dropBackfill(m, failed, now), nil
}

func (FillFailed) answer(*State) any { return nil }

func (s *State) inStage(id string, stage Stage) (*Match, bool) {
	m, ok := s.matches.Get(id)
	return m, ok && m.Stage == stage
}
