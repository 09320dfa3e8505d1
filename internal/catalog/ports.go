package catalog

import (
	"fmt"
	"slices"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// UpdatePorts removes inbound permissions from an EC2-type fleet, and then adds others. Those to remove must be
// permissions of the fleet exactly; those to add may be already. NotFound; InvalidRequest for an Anywhere fleet, for
// invalid permissions and for one to remove that the fleet does not have; LimitExceeded.
type UpdatePorts struct {
	Fleet     string      `cbor:"1,keyasint,omitzero"`
	Authorize []PortRange `cbor:"2,keyasint,omitzero"`
	Revoke    []PortRange `cbor:"3,keyasint,omitzero"`
}

// PortsUpdated follows UpdatePorts.
type PortsUpdated struct {
	Fleet string      `cbor:"1,keyasint,omitempty"`
	Ports []PortRange `cbor:"2,keyasint,omitempty"` // all of the fleet
}

func (c UpdatePorts) decide(s *State, _ event.Time) ([]Event, error) {
	f, err := s.managedFleet(c.Fleet)
	if err != nil {
		return nil, err
	}
	ports := slices.Clone(f.Managed.Ports)
	for _, p := range c.Revoke {
		at := slices.Index(ports, p)
		if at < 0 {
			return nil, fault.New(fault.InvalidRequest, "InboundPermissionRevocations has %s, which is not a "+
				"permission of fleet %s: ports, range and protocol must match exactly", p, c.Fleet)
		}
		ports = slices.Delete(ports, at, at+1)
	}
	for _, p := range c.Authorize {
		if err := p.check(f.Managed.Files.windows()); err != nil {
			return nil, err
		}
		if !slices.Contains(ports, p) {
			ports = append(ports, p)
		}
	}
	if len(ports) > maxPortRanges {
		return nil, fault.New(fault.LimitExceeded, "A fleet can have at most %d inbound permissions", maxPortRanges)
	}
	if slices.Equal(ports, f.Managed.Ports) {
		return nil, nil
	}
	return []Event{&PortsUpdated{Fleet: c.Fleet, Ports: ports}}, nil
}

func (e *PortsUpdated) apply(s *State) {
	s.changeFleet(e.Fleet, func(f *Fleet) {
		if f.Managed == nil {
			return
		}
		m := *f.Managed
		m.Ports = e.Ports
		f.Managed = &m
	})
}

// String is for messages.
func (p PortRange) String() string {
	return fmt.Sprintf("%d-%d %s from %s", p.From, p.To, p.Protocol, p.IPRange)
}
