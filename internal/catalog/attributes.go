package catalog

import (
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// ProtectionPolicy is the protection of new game sessions from scale-down. Source: API reference, ProtectionPolicy.
type ProtectionPolicy string

// The protection policies.
const (
	NoProtection   ProtectionPolicy = "NoProtection"
	FullProtection ProtectionPolicy = "FullProtection"
)

// maxLogPaths is the maximum number of log paths of a fleet.
const maxLogPaths = 50

// defaultMetricGroup is the metric group of a fleet without one.
const defaultMetricGroup = "default"

// CreationLimit is a fleet's ResourceCreationLimitPolicy: how many game sessions one creator may start within a sliding
// period.
type CreationLimit struct {
	SessionsPerCreator int32 `cbor:"1,keyasint,omitempty"`
	PeriodMinutes      int32 `cbor:"2,keyasint,omitempty"`
}

// Attributes are the attributes of a fleet that clients choose. The numbers of the fields are part of every type that
// embeds them.
type Attributes struct {
	Name             string           `cbor:"20,keyasint,omitempty"`
	Description      string           `cbor:"21,keyasint,omitempty"`
	Cost             string           `cbor:"22,keyasint,omitempty"` // per hour, decimal; "" if not set
	ProtectionPolicy ProtectionPolicy `cbor:"23,keyasint,omitempty"`
	CreationLimit    *CreationLimit   `cbor:"24,keyasint,omitempty"` // nil: no limit
	MetricGroups     []string         `cbor:"25,keyasint,omitempty"`

	// As given at the creation, and without effect.
	GatewayMode     string   `cbor:"26,keyasint,omitempty"` // of player gateways: DISABLED or ENABLED
	GatewayProtocol string   `cbor:"27,keyasint,omitempty"` // of the game server behind one
	LogPaths        []string `cbor:"28,keyasint,omitempty"`
}

// UpdateFleetAttributes changes the attributes that are not nil. NotFound, InvalidFleetStatus unless the fleet is
// ACTIVE, InvalidRequest, LimitExceeded.
type UpdateFleetAttributes struct {
	Fleet            string            `cbor:"1,keyasint,omitzero"`
	Name             *string           `cbor:"2,keyasint,omitzero"`
	Description      *string           `cbor:"3,keyasint,omitzero"`
	Cost             *string           `cbor:"4,keyasint,omitzero"`
	ProtectionPolicy *ProtectionPolicy `cbor:"5,keyasint,omitzero"` // for new game sessions
	CreationLimit    *CreationLimit    `cbor:"6,keyasint,omitzero"` // zero in both numbers removes the limit
	MetricGroups     []string          `cbor:"7,keyasint,omitzero"` // empty: unchanged
	// for the fleet event of a changed protection policy
	EventID string `cbor:"8,keyasint,omitzero"`
}

// FleetAttributesUpdated follows UpdateFleetAttributes; it holds all attributes.
type FleetAttributesUpdated struct {
	Fleet string `cbor:"1,keyasint,omitempty"`
	Attributes
}

func (c UpdateFleetAttributes) decide(s *State, now event.Time) ([]Event, error) {
	f, err := s.activeFleet(c.Fleet)
	if err != nil {
		return nil, err
	}
	// Only the new values are checked: limits may have been lowered since.
	if err := c.over(Attributes{}).check(s.limits); err != nil {
		return nil, err
	}
	after := c.over(f.Attributes).normal()
	events := []Event{&FleetAttributesUpdated{Fleet: c.Fleet, Attributes: after}}
	if after.ProtectionPolicy == f.ProtectionPolicy {
		return events, nil
	}
	notes, err := s.note(now, c.Fleet, []string{c.EventID}, []note{{codeProtectionUpdated, "Fleet " + c.Fleet +
		" changed the protection policy for new game sessions from " + string(f.ProtectionPolicy) + " to " +
		string(after.ProtectionPolicy), ""}})
	if err != nil {
		return nil, err
	}
	return append(events, notes...), nil
}

// over returns a with the changes of c.
func (c UpdateFleetAttributes) over(a Attributes) Attributes {
	set(&a.Name, c.Name)
	set(&a.Description, c.Description)
	set(&a.Cost, c.Cost)
	set(&a.ProtectionPolicy, c.ProtectionPolicy)
	if c.CreationLimit != nil {
		a.CreationLimit = c.CreationLimit
	}
	if len(c.MetricGroups) > 0 {
		a.MetricGroups = c.MetricGroups
	}
	return a
}

// set assigns a value that is not nil.
func set[T any](field *T, given *T) {
	if given != nil {
		*field = *given
	}
}

func (a Attributes) check(limits Limits) error {
	if a.Cost != "" && !decimal(a.Cost) {
		return fault.New(fault.InvalidRequest, "Cost must be a decimal number with at most five digits on either side "+
			"of the point, such as 0.25")
	}
	if len(a.LogPaths) > maxLogPaths {
		return fault.New(fault.InvalidRequest, "LogPaths has %d elements; the maximum is %d", len(a.LogPaths),
			maxLogPaths)
	}
	l := a.CreationLimit
	if l == nil || *l == (CreationLimit{}) {
		return nil
	}
	if l.SessionsPerCreator <= 0 || l.PeriodMinutes <= 0 {
		return fault.New(fault.InvalidRequest, "ResourceCreationLimitPolicy needs both NewGameSessionsPerCreator and "+
			"PolicyPeriodInMinutes above zero, or both zero for no limit")
	}
	if l.SessionsPerCreator > limits.SessionsPerCreator || l.PeriodMinutes > limits.CreatorPeriodMinutes {
		return fault.New(fault.LimitExceeded, "ResourceCreationLimitPolicy allows at most %d for "+
			"NewGameSessionsPerCreator and %d for PolicyPeriodInMinutes",
			limits.SessionsPerCreator, limits.CreatorPeriodMinutes)
	}
	return nil
}

// normal returns a copy with defaults.
func (a Attributes) normal() Attributes {
	if a.ProtectionPolicy == "" {
		a.ProtectionPolicy = NoProtection
	}
	if a.CreationLimit != nil {
		limit := *a.CreationLimit
		a.CreationLimit = &limit
		if limit == (CreationLimit{}) {
			a.CreationLimit = nil
		}
	}
	if len(a.MetricGroups) == 0 {
		a.MetricGroups = []string{defaultMetricGroup}
	} else {
		a.MetricGroups = slices.Clone(a.MetricGroups)
	}
	a.LogPaths = slices.Clone(a.LogPaths)
	return a
}

// decimal reports whether s is one to five digits, optionally with a point and one to five further digits. Source: API
// model, AnywhereConfiguration.Cost.
func decimal(s string) bool {
	whole, fraction, point := strings.Cut(s, ".")
	return digits(whole) && (!point || digits(fraction))
}

func digits(s string) bool {
	return len(s) >= 1 && len(s) <= 5 && strings.Trim(s, "0123456789") == ""
}

func (e *FleetAttributesUpdated) apply(s *State) {
	s.changeFleet(e.Fleet, func(f *Fleet) { f.Attributes = e.Attributes })
}
