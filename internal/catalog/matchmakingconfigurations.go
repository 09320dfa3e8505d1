package catalog

import (
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// DefaultAcceptanceTimeout is the default acceptance timeout in seconds. The API reference states none.
const DefaultAcceptanceTimeout = 300

// A MatchmakingConfiguration specifies how tickets are matched and placed.
type MatchmakingConfiguration struct {
	// a UUID, which distinguishes it from a later one of that name
	ID                 string     `cbor:"1,keyasint,omitempty"`
	Name               string     `cbor:"2,keyasint,omitempty"`
	Description        string     `cbor:"3,keyasint,omitempty"`
	RuleSet            string     `cbor:"4,keyasint,omitempty"` // its name
	Queues             []string   `cbor:"5,keyasint,omitempty"` // ARNs, as given
	Standalone         bool       `cbor:"6,keyasint,omitempty"` // FlexMatchMode
	RequestTimeout     int32      `cbor:"7,keyasint,omitempty"` // seconds
	AcceptanceRequired bool       `cbor:"8,keyasint,omitempty"`
	AcceptanceTimeout  int32      `cbor:"9,keyasint,omitempty"` // seconds; 0: default
	AdditionalPlayers  int32      `cbor:"10,keyasint,omitempty"`
	AutomaticBackfill  bool       `cbor:"11,keyasint,omitempty"`
	Properties         []Property `cbor:"12,keyasint,omitempty"`
	Data               string     `cbor:"13,keyasint,omitempty"` // GameSessionData
	CustomEventData    string     `cbor:"14,keyasint,omitempty"`
	NotificationTarget string     `cbor:"15,keyasint,omitempty"`
	Created            event.Time `cbor:"16,keyasint,omitempty"`
	Updated            event.Time `cbor:"17,keyasint,omitempty"`
}

// A Property is a game property.
type Property struct {
	Key   string `cbor:"1,keyasint,omitempty"`
	Value string `cbor:"2,keyasint,omitempty"`
}

// CreateMatchmakingConfiguration creates a matchmaking configuration. InvalidRequest if the name is used (the API
// models no Conflict here) or the configuration is invalid; NotFound for the rule set and for a queue; LimitExceeded,
// TaggingFailed.
type CreateMatchmakingConfiguration struct {
	MatchmakingConfiguration // Created and Updated are of the event
	// resource keys of the queues in this Region, which must exist
	Refers []string `cbor:"101,keyasint,omitzero"`
	Tags   []Tag    `cbor:"102,keyasint,omitzero"`
}

// UpdateMatchmakingConfiguration changes the fields that are not nil; an empty list clears one. NotFound for the
// configuration, the rule set and a queue; InvalidRequest for an invalid configuration.
type UpdateMatchmakingConfiguration struct {
	Name               string     `cbor:"1,keyasint,omitzero"`
	Description        *string    `cbor:"2,keyasint,omitzero"`
	RuleSet            *string    `cbor:"3,keyasint,omitzero"`
	Queues             []string   `cbor:"4,keyasint,omitzero"`
	Refers             []string   `cbor:"5,keyasint,omitzero"` // as in CreateMatchmakingConfiguration
	Standalone         *bool      `cbor:"6,keyasint,omitzero"`
	RequestTimeout     *int32     `cbor:"7,keyasint,omitzero"`
	AcceptanceRequired *bool      `cbor:"8,keyasint,omitzero"`
	AcceptanceTimeout  *int32     `cbor:"9,keyasint,omitzero"`
	AdditionalPlayers  *int32     `cbor:"10,keyasint,omitzero"`
	AutomaticBackfill  *bool      `cbor:"11,keyasint,omitzero"`
	Properties         []Property `cbor:"12,keyasint,omitzero"`
	Data               *string    `cbor:"13,keyasint,omitzero"`
	CustomEventData    *string    `cbor:"14,keyasint,omitzero"`
	NotificationTarget *string    `cbor:"15,keyasint,omitzero"`
}

// DeleteMatchmakingConfiguration deletes a matchmaking configuration. NotFound.
type DeleteMatchmakingConfiguration struct {
	Name string `cbor:"1,keyasint,omitzero"`
}

// MatchmakingConfigurationCreated follows CreateMatchmakingConfiguration; its tags follow as ResourceTagged.
type MatchmakingConfigurationCreated struct{ MatchmakingConfiguration }

// MatchmakingConfigurationUpdated follows UpdateMatchmakingConfiguration; it holds the whole configuration.
type MatchmakingConfigurationUpdated struct{ MatchmakingConfiguration }

// MatchmakingConfigurationDeleted follows DeleteMatchmakingConfiguration. It also deletes the configuration's tags.
type MatchmakingConfigurationDeleted struct {
	Name string `cbor:"1,keyasint,omitempty"`
}

func (c CreateMatchmakingConfiguration) decide(s *State, now event.Time) ([]Event, error) {
	if _, ok := s.configurations.Get(c.Name); ok {
		return nil, fault.New(fault.InvalidRequest, "Matchmaking configuration %s already exists", c.Name)
	}
	if c.Name == "" {
		return nil, errNoName
	}
	m := c.normal()
	m.Created, m.Updated = now, now
	if err := m.check(s, c.Refers); err != nil {
		return nil, err
	}
	if s.configurations.Len() >= s.limits.MatchmakingConfigurations {
		return nil, fault.New(fault.LimitExceeded, "The limit of %d matchmaking configurations is reached",
			s.limits.MatchmakingConfigurations)
	}
	tagged, err := s.tagNew(configurationKind+c.Name, c.Tags)
	if err != nil {
		return nil, err
	}
	return append([]Event{&MatchmakingConfigurationCreated{m}}, tagged...), nil
}

func (c UpdateMatchmakingConfiguration) decide(s *State, now event.Time) ([]Event, error) {
	old, ok := s.configurations.Get(c.Name)
	if !ok {
		return nil, configurationNotFound(c.Name)
	}
	m := c.over(*old).normal()
	m.Updated = now
	if err := m.check(s, c.Refers); err != nil {
		return nil, err
	}
	return []Event{&MatchmakingConfigurationUpdated{m}}, nil
}

// over returns m with the changes of c.
func (c UpdateMatchmakingConfiguration) over(m MatchmakingConfiguration) MatchmakingConfiguration {
	set(&m.Description, c.Description)
	set(&m.RuleSet, c.RuleSet)
	setList(&m.Queues, c.Queues)
	set(&m.Standalone, c.Standalone)
	set(&m.RequestTimeout, c.RequestTimeout)
	set(&m.AcceptanceRequired, c.AcceptanceRequired)
	set(&m.AcceptanceTimeout, c.AcceptanceTimeout)
	set(&m.AdditionalPlayers, c.AdditionalPlayers)
	set(&m.AutomaticBackfill, c.AutomaticBackfill)
	setList(&m.Properties, c.Properties)
	set(&m.Data, c.Data)
	set(&m.CustomEventData, c.CustomEventData)
	set(&m.NotificationTarget, c.NotificationTarget)
	return m
}

// normal returns a copy that shares no list with m.
func (m MatchmakingConfiguration) normal() MatchmakingConfiguration {
	m.Queues, m.Properties = listOf(m.Queues), listOf(m.Properties)
	return m
}

// check rejects an invalid configuration, and unknown references.
func (m MatchmakingConfiguration) check(s *State, refers []string) error {
	switch {
	case m.Standalone && len(m.Queues) > 0:
		return fault.New(fault.InvalidRequest,
			"GameSessionQueueArns must not be set when FlexMatchMode is STANDALONE. "+
				"Send an empty list to clear it.")
	case m.Standalone && m.AutomaticBackfill:
		return fault.New(fault.InvalidRequest, "BackfillMode AUTOMATIC is not available when FlexMatchMode is "+
			"STANDALONE. Set it to MANUAL.")
	case !m.Standalone && len(m.Queues) == 0:
		return fault.New(fault.InvalidRequest, "GameSessionQueueArns needs a queue when FlexMatchMode is WITH_QUEUE")
	}
	if err := checkListed("GameSessionQueueArns", len(m.Queues)); err != nil {
		return err
	}
	if queue, ok := repeated(m.Queues); ok {
		return fault.New(fault.InvalidRequest, "GameSessionQueueArns has %s twice. Name each one once.", queue)
	}
	keys := make([]string, len(m.Properties))
	for i, p := range m.Properties {
		keys[i] = p.Key
	}
	if key, ok := repeated(keys); ok {
		return fault.New(fault.InvalidRequest, "GameProperties holds the key %s twice", key)
	}
	if _, ok := s.ruleSets.Get(m.RuleSet); !ok {
		return ruleSetNotFound(m.RuleSet)
	}
	return s.mustExist(refers)
}

func (c DeleteMatchmakingConfiguration) decide(s *State, _ event.Time) ([]Event, error) {
	if _, ok := s.configurations.Get(c.Name); !ok {
		return nil, configurationNotFound(c.Name)
	}
	return []Event{&MatchmakingConfigurationDeleted{Name: c.Name}}, nil
}

func (e *MatchmakingConfigurationCreated) apply(s *State) {
	s.configurations.Set(e.Name, &e.MatchmakingConfiguration)
}

func (e *MatchmakingConfigurationUpdated) apply(s *State) {
	if _, ok := s.configurations.Get(e.Name); ok {
		s.configurations.Set(e.Name, &e.MatchmakingConfiguration)
	}
}

func (e *MatchmakingConfigurationDeleted) apply(s *State) {
	s.configurations.Delete(e.Name)
	s.tags.Delete(configurationKind + e.Name)
}

func configurationNotFound(name string) error {
	return fault.New(fault.NotFound, "Matchmaking configuration %s not found", name)
}

// AcceptanceSeconds returns the acceptance timeout in seconds.
func (m *MatchmakingConfiguration) AcceptanceSeconds() int32 {
	if m.AcceptanceTimeout == 0 {
		return DefaultAcceptanceTimeout
	}
	return m.AcceptanceTimeout
}

// MatchmakingConfiguration finds a configuration.
func (s *State) MatchmakingConfiguration(name string) (*MatchmakingConfiguration, bool) {
	return s.configurations.Get(name)
}

// MatchmakingConfigurations returns the matchmaking configurations that use a rule set ("" is any), with names after
// the given one, in order. A limit below 1 is none; more reports that there are further ones.
func (s *State) MatchmakingConfigurations(ruleSet, after string, limit int) (configurations []*MatchmakingConfiguration,
	more bool) {
	return page(&s.configurations, "", after, limit, func(m *MatchmakingConfiguration) bool {
		return ruleSet == "" || ruleSet == m.RuleSet
	})
}
