package catalog

import (
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A RoutingType says what an alias does.
type RoutingType string

// RoutingType is the type of an alias's target. Source: API reference, RoutingStrategyType.
const (
	RoutingSimple   RoutingType = "SIMPLE"   // to a fleet
	RoutingTerminal RoutingType = "TERMINAL" // to a message for the player
)

// Routing is where an alias leads.
type Routing struct {
	Type    RoutingType `cbor:"1,keyasint,omitempty"`
	Fleet   string      `cbor:"2,keyasint,omitempty"`
	Message string      `cbor:"3,keyasint,omitempty"`
}

// An Alias is a name of a fleet, or of a message. The fleet may have been deleted since.
type Alias struct {
	ID          string     `cbor:"1,keyasint,omitempty"`
	Name        string     `cbor:"2,keyasint,omitempty"` // need not be unique
	Description string     `cbor:"3,keyasint,omitempty"`
	Routing     Routing    `cbor:"4,keyasint"`
	Created     event.Time `cbor:"5,keyasint,omitempty"`
	Updated     event.Time `cbor:"6,keyasint,omitempty"`
	// Weights are the shares of several fleets, of which Routing has the heaviest; nil: it is the only one.
	Weights []AliasWeight `cbor:"7,keyasint,omitempty"`
}

// CreateAlias creates an alias. Conflict if the id is used, InvalidRequest for a routing that is mixed, incomplete or
// names an unknown fleet (the API models no NotFound here), LimitExceeded, TaggingFailed.
type CreateAlias struct {
	ID          string  `cbor:"1,keyasint,omitzero"`
	Name        string  `cbor:"2,keyasint,omitzero"`
	Description string  `cbor:"3,keyasint,omitzero"`
	Routing     Routing `cbor:"4,keyasint"`
	Tags        []Tag   `cbor:"5,keyasint,omitzero"`
}

// UpdateAlias changes the fields that are not nil. A routing is replaced as a whole, with the weights. NotFound for the
// alias and for the fleet, InvalidRequest for a routing that is mixed or incomplete.
type UpdateAlias struct {
	ID          string   `cbor:"1,keyasint,omitzero"`
	Name        *string  `cbor:"2,keyasint,omitzero"`
	Description *string  `cbor:"3,keyasint,omitzero"`
	Routing     *Routing `cbor:"4,keyasint,omitzero"`
}

// DeleteAlias deletes an alias. NotFound.
type DeleteAlias struct {
	ID string `cbor:"1,keyasint,omitzero"`
}

// AliasCreated follows CreateAlias; its tags follow as ResourceTagged.
type AliasCreated struct {
	ID          string     `cbor:"1,keyasint,omitempty"`
	Name        string     `cbor:"2,keyasint,omitempty"`
	Description string     `cbor:"3,keyasint,omitempty"`
	Routing     Routing    `cbor:"4,keyasint"`
	At          event.Time `cbor:"5,keyasint,omitempty"`
}

// AliasUpdated follows UpdateAlias; it holds all changeable fields.
type AliasUpdated struct {
	ID          string     `cbor:"1,keyasint,omitempty"`
	Name        string     `cbor:"2,keyasint,omitempty"`
	Description string     `cbor:"3,keyasint,omitempty"`
	Routing     Routing    `cbor:"4,keyasint"`
	At          event.Time `cbor:"5,keyasint,omitempty"`
}

// AliasDeleted follows DeleteAlias. It also deletes the alias's tags.
type AliasDeleted struct {
	ID string `cbor:"1,keyasint,omitempty"`
}

func (c CreateAlias) decide(s *State, now event.Time) ([]Event, error) {
	if _, ok := s.aliases.Get(c.ID); ok { // the id is random per request: this is a repetition
		return nil, nil
	}
	if err := s.checkRouting(c.Routing, fault.InvalidRequest); err != nil {
		return nil, err
	}
	if s.aliases.Len() >= s.limits.Aliases {
		return nil, fault.New(fault.LimitExceeded, "The limit of %d aliases is reached", s.limits.Aliases)
	}
	tagged, err := s.tagNew(aliasKind+c.ID, c.Tags)
	if err != nil {
		return nil, err
	}
	created := &AliasCreated{ID: c.ID, Name: c.Name, Description: c.Description, Routing: c.Routing, At: now}
	return append([]Event{created}, tagged...), nil
}

// checkRouting rejects a routing that is incomplete, and with the given kind one to an unknown fleet. A SIMPLE routing
// may have a message, which is kept: AWS's sample script for deployments sends one.
func (s *State) checkRouting(r Routing, unknownFleet fault.Kind) error {
	switch {
	case r.Type == RoutingSimple && r.Fleet == "":
		return fault.New(fault.InvalidRequest, "RoutingStrategy of type SIMPLE needs a FleetId")
	case r.Type == RoutingTerminal && (r.Message == "" || r.Fleet != ""):
		return fault.New(fault.InvalidRequest, "RoutingStrategy of type TERMINAL needs a Message and no FleetId")
	case r.Type == RoutingTerminal:
		return nil
	case r.Type != RoutingSimple:
		return fault.New(fault.InvalidRequest, "RoutingStrategy needs a Type: SIMPLE or TERMINAL")
	}
	if _, err := s.LiveFleet(r.Fleet); err != nil {
		return fault.New(unknownFleet, "Fleet %s not found", r.Fleet)
	}
	return nil
}

func (c UpdateAlias) decide(s *State, now event.Time) ([]Event, error) {
	a, ok := s.aliases.Get(c.ID)
	if !ok {
		return nil, aliasNotFound(c.ID)
	}
	if c.Routing != nil {
		if err := s.checkRouting(*c.Routing, fault.NotFound); err != nil {
			return nil, err
		}
	}
	e := &AliasUpdated{ID: c.ID, Name: a.Name, Description: a.Description, Routing: a.Routing, At: now}
	set(&e.Name, c.Name)
	set(&e.Description, c.Description)
	set(&e.Routing, c.Routing)
	if c.Routing != nil && len(a.Weights) > 0 {
		return []Event{e, &AliasWeightsSet{ID: c.ID, At: now}}, nil
	}
	return []Event{e}, nil
}

func (c DeleteAlias) decide(s *State, _ event.Time) ([]Event, error) {
	if _, ok := s.aliases.Get(c.ID); !ok {
		return nil, aliasNotFound(c.ID)
	}
	return []Event{&AliasDeleted{ID: c.ID}}, nil
}

func (e *AliasCreated) apply(s *State) {
	s.aliases.Set(e.ID, &Alias{
		ID: e.ID, Name: e.Name, Description: e.Description, Routing: e.Routing, Created: e.At, Updated: e.At,
	})
}

func (e *AliasUpdated) apply(s *State) {
	if old, ok := s.aliases.Get(e.ID); ok {
		a := *old
		a.Name, a.Description, a.Routing, a.Updated = e.Name, e.Description, e.Routing, e.At
		s.aliases.Set(e.ID, &a)
	}
}

func (e *AliasDeleted) apply(s *State) {
	s.aliases.Delete(e.ID)
	s.tags.Delete(aliasKind + e.ID)
}

func aliasNotFound(id string) error {
	return fault.New(fault.NotFound, "Alias %s not found", id)
}

// Alias finds an alias.
func (s *State) Alias(id string) (*Alias, bool) { return s.aliases.Get(id) }

// ResolveAlias returns the id of an alias's fleet, which may have been deleted since. NotFound; TerminalRoutingStrategy
// with the alias's message.
func (s *State) ResolveAlias(id string) (fleet string, err error) {
	a, ok := s.aliases.Get(id)
	switch {
	case !ok:
		return "", aliasNotFound(id)
	case a.Routing.Type == RoutingTerminal:
		return "", fault.New(fault.TerminalRoutingStrategy, "%s", a.Routing.Message)
	}
	return a.Routing.Fleet, nil
}

// AliasFilter selects aliases by its non-empty fields.
type AliasFilter struct {
	Type RoutingType
	Name string
}

// Aliases returns the selected aliases with ids after the given one, in order. A limit below 1 is none; more reports
// that there are further ones.
func (s *State) Aliases(filter AliasFilter, after string, limit int) (aliases []*Alias, more bool) {
	return page(&s.aliases, "", after, limit, func(a *Alias) bool {
		return (filter.Type == "" || filter.Type == a.Routing.Type) && (filter.Name == "" || filter.Name == a.Name)
	})
}
