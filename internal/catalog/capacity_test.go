package catalog

import (
	"slices"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// scaled returns a catalog with an EC2-type fleet that is ACTIVE at one location, with room for 9 instances.
func scaled(t *testing.T, c Capacity) *State {
	t.Helper()
	s := New(smallLimits())
	s.putFleet(&Fleet{ID: "fleet-1", Status: StatusActive, Created: t0,
		Managed: &Managed{Ports: []PortRange{{7000, 7100, "0.0.0.0/0", "UDP"}}}})
	s.putFleet(&Fleet{ID: "fleet-a", Status: StatusActive, Created: t0})
	s.fleetLocations.Set(join("fleet-1", "eu"),
		&FleetLocation{Fleet: "fleet-1", Location: "eu", Status: StatusActive, Capacity: c})
	s.fleetLocations.Set(join("fleet-1", "us"),
		&FleetLocation{Fleet: "fleet-1", Location: "us", Status: StatusActivating, Capacity: Capacity{0, 1, 1}})
	return s
}

func at(t *testing.T, s *State) FleetLocation {
	t.Helper()
	l, _ := s.FleetLocation("fleet-1", "eu")
	return l
}

func TestSetCapacity(t *testing.T) {
	for _, c := range []struct {
		name string
		do   SetCapacity
		want Capacity
		kind fault.Kind
	}{
		{"all", SetCapacity{Min: ptr(int32(1)), Max: ptr(int32(5)), Desired: ptr(int32(3))}, Capacity{1, 5, 3}, ""},
		{"a higher minimum moves the desired number", SetCapacity{Min: ptr(int32(3))}, Capacity{3, 4, 3}, ""},
		{"a lower maximum does", SetCapacity{Max: ptr(int32(1))}, Capacity{1, 1, 1}, ""},
		{"desired alone", SetCapacity{Desired: ptr(int32(4))}, Capacity{1, 4, 4}, ""},
		{"desired above the maximum", SetCapacity{Desired: ptr(int32(5))}, Capacity{}, fault.InvalidRequest},
		{"desired below the minimum", SetCapacity{Desired: ptr(int32(0))}, Capacity{}, fault.InvalidRequest},
		{"a minimum above the maximum", SetCapacity{Min: ptr(int32(5))}, Capacity{}, fault.InvalidRequest},
		{"the same", SetCapacity{Desired: ptr(int32(2))}, Capacity{1, 4, 2}, ""},
		{"as many as allowed", SetCapacity{Max: ptr(int32(9)), Desired: ptr(int32(8))}, Capacity{1, 9, 8}, ""},
		{"more than allowed", SetCapacity{Max: ptr(int32(9)), Desired: ptr(int32(9))}, Capacity{}, fault.LimitExceeded},
		{"minimum and strategy", SetCapacity{Min: ptr(int32(0)), ZeroMinutes: ptr(int32(5))}, Capacity{},
			fault.InvalidRequest},
		{"strategy", SetCapacity{ZeroMinutes: ptr(int32(5))}, Capacity{1, 4, 2}, ""},
		{"strategy at zero", SetCapacity{ZeroMinutes: ptr(int32(5)), Desired: ptr(int32(0))}, Capacity{0, 4, 0}, ""},
		{"no such location", SetCapacity{Location: "asia"}, Capacity{}, fault.NotFound},
		{"no such fleet", SetCapacity{Fleet: "fleet-9"}, Capacity{}, fault.NotFound},
		{"Anywhere", SetCapacity{Fleet: "fleet-a"}, Capacity{}, fault.InvalidRequest},
		{"location not ACTIVE", SetCapacity{Location: "us"}, Capacity{}, fault.InvalidFleetStatus},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := scaled(t, Capacity{1, 4, 2})
			c.do.EventID = "e-1"
			if c.do.Fleet == "" {
				c.do.Fleet = "fleet-1"
			}
			if c.do.Location == "" {
				c.do.Location = "eu"
			}
			events, err := s.Decide(t0, c.do)
			wantFault(t, err, c.kind, "")
			for _, e := range events {
				s.Apply(e)
			}
			if got := at(t, s).Capacity; err == nil && got != c.want {
				t.Errorf("the capacity is %v, want %v", got, c.want)
			}
			changed := c.want != (Capacity{1, 4, 2}) || c.do.ZeroMinutes != nil
			if err == nil && changed != (len(events) == 2) {
				t.Errorf("%d events", len(events))
			}
		})
	}
}

// The fleet event has the old and the new numbers.
func TestScalingEvent(t *testing.T) {
	s := scaled(t, Capacity{1, 4, 2})
	do(t, s, t0, SetCapacity{Fleet: "fleet-1", Location: "eu", Desired: ptr(int32(3)), EventID: "e-1"})
	events, _, err := s.FleetEvents("fleet-1", 0, 0, 0, 0)
	const want = "Capacity of location eu of fleet fleet-1 changed from 2 desired (minimum 1, maximum 4) to 3 " +
		"desired (minimum 1, maximum 4): the capacity was set"
	if err != nil || len(events) != 1 || events[0].Code != "FLEET_SCALING_EVENT" || events[0].Message != want {
		t.Errorf("fleet events %+v, %v", events, err)
	}
}

// A location that scales to and from zero has a minimum that follows.
func TestScaleToAndFromZero(t *testing.T) {
	s := scaled(t, Capacity{2, 4, 2})
	set := SetCapacity{Fleet: "fleet-1", Location: "eu", ZeroMinutes: ptr(int32(5)), EventID: "e-1"}
	do(t, s, t0, set)
	for _, c := range []struct {
		from, desired int32
		want          Capacity
	}{{2, 0, Capacity{0, 4, 0}}, {0, 1, Capacity{1, 4, 1}}, {1, 0, Capacity{0, 4, 0}}} {
		do(t, s, t0, Scale{Fleet: "fleet-1", Location: "eu", From: c.from, Desired: c.desired, EventID: "e-2"})
		if got := at(t, s).Capacity; got != c.want {
			t.Errorf("from %d to %d: the capacity is %v, want %v", c.from, c.desired, got, c.want)
		}
	}
	_, err := s.Decide(t0, SetCapacity{Fleet: "fleet-1", Location: "eu", Min: ptr(int32(1))})
	wantFault(t, err, fault.InvalidRequest, "")
	do(t, s, t0, SetCapacity{Fleet: "fleet-1", Location: "eu", Min: ptr(int32(2)), ZeroMinutes: ptr(int32(0)),
		EventID: "e-3"})
	if got := at(t, s); got.Capacity != (Capacity{2, 4, 2}) || got.ZeroMinutes != 0 {
		t.Errorf("without the strategy the location is %+v", got)
	}
}

func TestScale(t *testing.T) {
	for _, c := range []struct {
		name    string
		do      Scale
		stopped bool
		want    int32
	}{
		{"within the limits", Scale{From: 2, Desired: 3}, false, 3},
		{"above the maximum", Scale{From: 2, Desired: 30}, false, 8},
		{"below the minimum", Scale{From: 2, Desired: 0}, false, 1},
		{"decided about another number", Scale{From: 1, Desired: 3}, false, 2},
		{"while it is suspended", Scale{From: 2, Desired: 3}, true, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := scaled(t, Capacity{1, 20, 2}) // the other location has one of nine instances
			do(t, s, t0, PutScalingPolicy{"fleet-1", "more", exampleRule()})
			do(t, s, t0, StopScaling{"fleet-1", "eu", c.stopped})
			c.do.Fleet, c.do.Location, c.do.EventID, c.do.Acted = "fleet-1", "eu", "e-1", []string{"more", "deleted"}
			do(t, s, t0+5, c.do)
			if got := at(t, s).Capacity.Desired; got != c.want {
				t.Errorf("%d instances are desired, want %d", got, c.want)
			}
			acted := event.Time(0)
			if c.want != 2 {
				acted = t0 + 5
			}
			if got := s.ScalingPolicies("fleet-1")[0].Acted("eu"); got != acted {
				t.Errorf("the policy has acted at %d, want %d", got, acted)
			}
		})
	}
}

func exampleRule() ScalingRule {
	return ScalingRule{Metric: "QueueDepth", Comparison: "GreaterThanThreshold", Threshold: 3, Periods: 2,
		AdjustmentType: "ChangeInCapacity", Adjustment: 1}
}

func TestPutScalingPolicy(t *testing.T) {
	target := ScalingRule{Metric: "PercentAvailableGameSessions", Target: 20}
	with := func(change func(r *ScalingRule)) ScalingRule {
		r := exampleRule()
		change(&r)
		return r
	}
	for _, c := range []struct {
		name string
		do   PutScalingPolicy
		kind fault.Kind
	}{
		{"a rule", PutScalingPolicy{"fleet-1", "b", exampleRule()}, ""},
		{"the same name", PutScalingPolicy{"fleet-1", "a", exampleRule()}, ""},
		{"a changed target", PutScalingPolicy{"fleet-1", "a", ScalingRule{Metric: target.Metric, Target: 30}}, ""},
		{"a second target", PutScalingPolicy{"fleet-1", "b", target}, fault.InvalidRequest},
		{"a target of another metric", PutScalingPolicy{"fleet-1", "a", ScalingRule{Metric: "QueueDepth", Target: 5}},
			fault.InvalidRequest},
		{"a target of 100", PutScalingPolicy{"fleet-1", "a", ScalingRule{Metric: target.Metric, Target: 100}},
			fault.InvalidRequest},
		{"both", PutScalingPolicy{"fleet-1", "a", with(func(r *ScalingRule) { r.Target = 20 })}, fault.InvalidRequest},
		{"without a comparison", PutScalingPolicy{"fleet-1", "b", with(func(r *ScalingRule) { r.Comparison = "" })},
			fault.InvalidRequest},
		{"without periods", PutScalingPolicy{"fleet-1", "b", with(func(r *ScalingRule) { r.Periods = 0 })},
			fault.InvalidRequest},
		{"too many periods", PutScalingPolicy{"fleet-1", "b", with(func(r *ScalingRule) { r.Periods = 1441 })},
			fault.InvalidRequest},
		{"Anywhere", PutScalingPolicy{"fleet-a", "b", exampleRule()}, fault.InvalidRequest},
		{"no such fleet", PutScalingPolicy{"fleet-9", "b", exampleRule()}, fault.NotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := scaled(t, Capacity{0, 1, 1})
			do(t, s, t0, PutScalingPolicy{"fleet-1", "a", target})
			_, err := s.Decide(t0, c.do)
			wantFault(t, err, c.kind, "")
		})
	}
	s := scaled(t, Capacity{0, 1, 1})
	for _, name := range []string{"a", "b"} {
		do(t, s, t0, PutScalingPolicy{"fleet-1", name, exampleRule()})
	}
	_, err := s.Decide(t0, PutScalingPolicy{"fleet-1", "c", exampleRule()})
	wantFault(t, err, fault.InvalidRequest, "A fleet can have at most 2 scaling policies")
	do(t, s, t0, DeleteScalingPolicy{"fleet-1", "a"})
	_, err = s.Decide(t0, DeleteScalingPolicy{"fleet-1", "a"})
	wantFault(t, err, fault.NotFound, "")
	s.changeFleet("fleet-1", func(f *Fleet) { f.Status = StatusError })
	_, err = s.Decide(t0, PutScalingPolicy{"fleet-1", "b", target})
	wantFault(t, err, fault.InvalidRequest, "")
	s.releaseFleet("fleet-1")
	if left := s.ScalingPolicies("fleet-1"); left != nil {
		t.Errorf("the deleted fleet has %d policies", len(left))
	}
}

func TestUpdatePorts(t *testing.T) {
	udp := PortRange{7000, 7100, "0.0.0.0/0", "UDP"}
	for _, c := range []struct {
		name    string
		do      UpdatePorts
		windows bool
		want    []PortRange
		kind    fault.Kind
	}{
		{"add", UpdatePorts{Authorize: []PortRange{{1026, 60000, "10.0.0.0/8", "TCP"}}}, false,
			[]PortRange{udp, {1026, 60000, "10.0.0.0/8", "TCP"}}, ""},
		{"add again", UpdatePorts{Authorize: []PortRange{udp}}, false, []PortRange{udp}, ""},
		{"revoke", UpdatePorts{Revoke: []PortRange{udp}}, false, nil, ""},
		{"replace", UpdatePorts{Revoke: []PortRange{udp}, Authorize: []PortRange{{22, 22, "192.0.2.7/32", "TCP"}}},
			false, []PortRange{{22, 22, "192.0.2.7/32", "TCP"}}, ""},
		{"revoke a part", UpdatePorts{Revoke: []PortRange{{7000, 7050, "0.0.0.0/0", "UDP"}}}, false, nil,
			fault.InvalidRequest},
		{"revoke twice", UpdatePorts{Revoke: []PortRange{udp, udp}}, false, nil, fault.InvalidRequest},
		{"22 on Windows", UpdatePorts{Authorize: []PortRange{{22, 22, "0.0.0.0/0", "TCP"}}}, true, nil,
			fault.InvalidRequest},
		{"from 22", UpdatePorts{Authorize: []PortRange{{22, 2000, "0.0.0.0/0", "TCP"}}}, false, nil,
			fault.InvalidRequest},
		{"1025", UpdatePorts{Authorize: []PortRange{{1025, 2000, "0.0.0.0/0", "TCP"}}}, false, nil,
			fault.InvalidRequest},
		{"backwards", UpdatePorts{Authorize: []PortRange{{3000, 2000, "0.0.0.0/0", "TCP"}}}, false, nil,
			fault.InvalidRequest},
		{"no range", UpdatePorts{Authorize: []PortRange{{3000, 3000, "192.0.2.7", "TCP"}}}, false, nil,
			fault.InvalidRequest},
		{"too many", UpdatePorts{Authorize: manyPorts(50)}, false, nil, fault.LimitExceeded},
		{"Anywhere", UpdatePorts{Fleet: "fleet-a"}, false, nil, fault.InvalidRequest},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := scaled(t, Capacity{0, 1, 1})
			if c.windows {
				s.changeFleet("fleet-1", func(f *Fleet) {
					f.Managed = &Managed{Files: BuildFiles{OperatingSystem: "WINDOWS_2022"}}
				})
			}
			if c.do.Fleet == "" {
				c.do.Fleet = "fleet-1"
			}
			events, err := s.Decide(t0, c.do)
			wantFault(t, err, c.kind, "")
			for _, e := range events {
				s.Apply(e)
			}
			if f, _ := s.Fleet("fleet-1"); err == nil && !slices.Equal(f.Managed.Ports, c.want) {
				t.Errorf("the fleet has %v, want %v", f.Managed.Ports, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "%!") {
				t.Error(err)
			}
		})
	}
}

func manyPorts(n int) (ports []PortRange) {
	for i := range int32(n) {
		ports = append(ports, PortRange{8000 + i, 8000 + i, "0.0.0.0/0", "TCP"})
	}
	return ports
}

// scalingCommand mostly concerns the EC2-type fleet that the world begins with.
func (w *world) scalingCommand() Command {
	id, location, name := "fleet-0", home, w.some("policy-", 3)
	if w.chance(5) {
		id, location = w.fleet(), w.location()
	}
	number := func() *int32 {
		if w.chance(2) {
			return nil
		}
		return ptr(w.r.Int32N(6))
	}
	switch w.r.IntN(14) {
	case 0, 1, 2:
		c := SetCapacity{Fleet: id, Location: location, Min: number(), Max: number(), Desired: number(),
			EventID: w.id()}
		if w.chance(4) {
			c.ZeroMinutes = number()
		}
		return c
	case 3, 4, 12:
		return Scale{id, location, w.r.Int32N(3), w.r.Int32N(6), "load", []string{name}, w.id()}
	case 5:
		return StopScaling{id, location, w.chance(2)}
	case 6, 7:
		rule := exampleRule()
		if rule.Threshold = float64(w.r.IntN(9)); w.chance(3) {
			rule = ScalingRule{Metric: targetMetric, Target: 20}
		}
		return PutScalingPolicy{id, name, rule}
	case 8:
		return DeleteScalingPolicy{id, name}
	case 9, 10:
		return SetShortage{id, location, w.r.Int32N(3) - 1, "no room", w.id()}
	case 11:
		return TrimAnnouncements{w.r.Uint64N(9)}
	}
	ports := manyPorts(5)
	return UpdatePorts{id, ports[w.r.IntN(5):], ports[:w.r.IntN(2)]}
}

// checkScaling holds what is true of the capacity of every reachable catalog.
func checkScaling(t *testing.T, s *State) {
	t.Helper()
	s.fleetLocations.Scan(func(_ string, l *FleetLocation) bool {
		if err := l.Capacity.check(); err != nil {
			t.Errorf("%s at %s: %v", l.Fleet, l.Location, err)
		}
		return true
	})
	s.scalingPolicies.Scan(func(_ string, p *ScalingPolicy) bool {
		if f, err := s.LiveFleet(p.Fleet); err != nil || f.Managed == nil {
			t.Errorf("policy %s is of fleet %s: %v", p.Name, p.Fleet, err)
		}
		return true
	})
}
