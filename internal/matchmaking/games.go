package matchmaking

import (
	"cmp"

	"github.com/muster-gg/muster/internal/event"
)

// Placed says that the game session of a match is ACTIVE and its players have
// player sessions (all of them stand in Connection). A match that is gone is left
// alone, as it is by all commands of this file. They have no answer.
type Placed struct {
	Match      string     `cbor:"1,keyasint,omitzero"`
	Connection Connection `cbor:"2,keyasint"`
}

func (c Placed) decide(s *State, now event.Time) ([]any, error) {
	return s.finish(c.Match, StagePlacing, c.Connection, now)
}

func (Placed) answer(*State) any { return nil }

// Filled says that the players of a match are in the game session that it fills.
type Filled struct {
	Match      string     `cbor:"1,keyasint,omitzero"`
	Connection Connection `cbor:"2,keyasint"` // with the player sessions of the new players
}

func (c Filled) decide(s *State, now event.Time) ([]any, error) {
	return s.finish(c.Match, StageFilling, c.Connection, now)
}

func (Filled) answer(*State) any { return nil }

// finish gives the events that end a match well.
func (s *State) finish(id string, stage Stage, c Connection, now event.Time) ([]any, error) {
	m, ok := s.inStage(id, stage)
	if !ok {
		return nil, nil
	}
	if due := s.deadlineOf(m); due != 0 && due <= now {
		return s.expired(m, now), nil // Expire has not come to it yet
	}
	events := []any{&MatchCompleted{ID: id, At: now, Connection: &c}}
	return append(events, s.follow(m, &c, now)...), nil
}

// PlacementTimedOut says that the placement of a match has timed out or was
// cancelled: its tickets search again. A match in StageCancelling is over by that.
type PlacementTimedOut struct {
	Match string `cbor:"1,keyasint,omitzero"`
}

func (c PlacementTimedOut) decide(s *State, now event.Time) ([]any, error) {
	m, ok := s.matches.Get(c.Match)
	switch {
	case ok && m.Stage == StagePlacing:
		return s.drop(m, MatchDropped{At: now, Reason: ReasonPlacement, Message: MessagePlacement}, spare), nil
	case ok && m.Stage == StageCancelling:
		return []any{&MatchDropped{ID: m.ID, At: now}}, nil
	}
	return nil, nil
}

func (PlacementTimedOut) answer(*State) any { return nil }

// spare lets every ticket of a match search on.
func spare(*Ticket) *outcome { return nil }

// PlacementFailed says that the placement of a match has failed, or that there is no
// queue to place it in: its tickets are FAILED.
type PlacementFailed struct {
	Match   string `cbor:"1,keyasint,omitzero"`
	Message string `cbor:"2,keyasint,omitzero"` // for those who look at the ticket; "" for the usual one
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

// FillFailed says that the game session of a backfill match is gone or lets nobody
// in: the backfill ticket is FAILED, the others search again. No automatic ticket
// follows.
type FillFailed struct {
	Match   string `cbor:"1,keyasint,omitzero"`
	Message string `cbor:"2,keyasint,omitzero"` // for those who look at the backfill ticket; "" for the usual one
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

// inStage finds a match if it waits for what the stage says.
func (s *State) inStage(id string, stage Stage) (*Match, bool) {
	m, ok := s.matches.Get(id)
	return m, ok && m.Stage == stage
}
