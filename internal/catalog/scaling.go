package catalog

import (
	"github.com/muster-gg/muster/internal/event"
)

// ScalingLevel is the feature level from which fleets have a capacity that changes, scaling policies and port settings.
const ScalingLevel = 9

// A ScalingPolicy changes the desired number of instances at all locations of a fleet.
type ScalingPolicy struct {
	Fleet string       `cbor:"1,keyasint,omitempty"`
	Name  string       `cbor:"2,keyasint,omitempty"`
	Acts  []ScalingAct `cbor:"3,keyasint,omitempty"` // when the policy has last changed a location, by location
	Rule  ScalingRule  `cbor:"4,keyasint"`
}

// A ScalingRule is what a scaling policy does. It follows a target if Target is above 0, and is a rule otherwise.
// Source: API reference, ScalingPolicy.
type ScalingRule struct {
	Metric         string  `cbor:"1,keyasint,omitempty"` // a MetricName of the API
	Target         float64 `cbor:"2,keyasint,omitempty"` // of PercentAvailableGameSessions; above 0 and below 100
	Comparison     string  `cbor:"3,keyasint,omitempty"` // a ComparisonOperatorType
	Threshold      float64 `cbor:"4,keyasint,omitempty"`
	Periods        int32   `cbor:"5,keyasint,omitempty"` // minutes for which the comparison must hold
	AdjustmentType string  `cbor:"6,keyasint,omitempty"` // a ScalingAdjustmentType
	Adjustment     int32   `cbor:"7,keyasint,omitempty"`
}

// A ScalingAct is the last change of a location by a scaling policy.
type ScalingAct struct {
	Location string     `cbor:"1,keyasint,omitempty"`
	At       event.Time `cbor:"2,keyasint,omitempty"`
}

// Acted returns when the policy has last changed a location; zero: never.
func (p *ScalingPolicy) Acted(location string) event.Time {
	for _, a := range p.Acts {
		if a.Location == location {
			return a.At
		}
	}
	return 0
}
