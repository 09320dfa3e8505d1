package catalog

import (
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A RuleSet is a matchmaking rule set. It never changes.
type RuleSet struct {
	ID      string     `cbor:"1,keyasint,omitempty"` // a UUID, which distinguishes it from a later one of that name
	Name    string     `cbor:"2,keyasint,omitempty"`
	Body    string     `cbor:"3,keyasint,omitempty"` // JSON, checked by the caller
	Created event.Time `cbor:"4,keyasint,omitempty"`
}

// CreateRuleSet creates a matchmaking rule set. InvalidRequest if the name is used (the API models no Conflict here),
// LimitExceeded, TaggingFailed.
type CreateRuleSet struct {
	ID   string `cbor:"1,keyasint,omitzero"`
	Name string `cbor:"2,keyasint,omitzero"`
	Body string `cbor:"3,keyasint,omitzero"`
	Tags []Tag  `cbor:"4,keyasint,omitzero"`
}

// DeleteRuleSet deletes a matchmaking rule set. NotFound; InvalidRequest while a matchmaking configuration uses it.
type DeleteRuleSet struct {
	Name string `cbor:"1,keyasint,omitzero"`
}

// RuleSetCreated follows CreateRuleSet; its tags follow as ResourceTagged.
type RuleSetCreated struct{ RuleSet }

// RuleSetDeleted follows DeleteRuleSet. It also deletes the rule set's tags.
type RuleSetDeleted struct {
	Name string `cbor:"1,keyasint,omitempty"`
}

func (c CreateRuleSet) decide(s *State, now event.Time) ([]Event, error) {
	if _, ok := s.ruleSets.Get(c.Name); ok {
		return nil, fault.New(fault.InvalidRequest, "Matchmaking rule set %s already exists", c.Name)
	}
	if c.Name == "" {
		return nil, errNoName
	}
	if s.ruleSets.Len() >= s.limits.RuleSets {
		return nil, fault.New(fault.LimitExceeded, "The limit of %d matchmaking rule sets is reached",
			s.limits.RuleSets)
	}
	tagged, err := s.tagNew(ruleSetKind+c.Name, c.Tags)
	if err != nil {
		return nil, err
	}
	created := &RuleSetCreated{RuleSet{ID: c.ID, Name: c.Name, Body: c.Body, Created: now}}
	return append([]Event{created}, tagged...), nil
}

// errNoName is for names that may be empty by the API's patterns.
var errNoName = fault.New(fault.InvalidRequest, "Name must have 1 to 128 characters")

func (c DeleteRuleSet) decide(s *State, _ event.Time) ([]Event, error) {
	if _, ok := s.ruleSets.Get(c.Name); !ok {
		return nil, ruleSetNotFound(c.Name)
	}
	if users, _ := s.MatchmakingConfigurations(c.Name, "", 1); len(users) > 0 {
		return nil, fault.New(fault.InvalidRequest, "Matchmaking rule set %s is used by matchmaking configuration %s. "+
			"Delete that first, or give it another rule set.",
			c.Name, users[0].Name)
	}
	return []Event{&RuleSetDeleted{Name: c.Name}}, nil
}

func (e *RuleSetCreated) apply(s *State) { s.ruleSets.Set(e.Name, &e.RuleSet) }

func (e *RuleSetDeleted) apply(s *State) {
	s.ruleSets.Delete(e.Name)
	s.tags.Delete(ruleSetKind + e.Name)
}

func ruleSetNotFound(name string) error {
	return fault.New(fault.NotFound, "Matchmaking rule set %s not found", name)
}

// RuleSet finds a rule set.
func (s *State) RuleSet(name string) (*RuleSet, bool) { return s.ruleSets.Get(name) }

// RuleSets returns the matchmaking rule sets with names after the given one, in order. A limit below 1 is none; more
// reports that there are further ones.
func (s *State) RuleSets(after string, limit int) (ruleSets []*RuleSet, more bool) {
	return page(&s.ruleSets, "", after, limit, every)
}
