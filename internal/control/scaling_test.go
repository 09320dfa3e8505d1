package control

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/scaling"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// scaledFleet returns an ACTIVE fleet of compute type EC2 with one instance, whose processes host two game sessions.
func (w *world) scaledFleet() string {
	w.t.Helper()
	token := bytes.Repeat([]byte{1}, 32)
	for _, c := range []catalog.Command{
		catalog.CreateBuild{ID: "build-1", Source: catalog.BuildSource{Bucket: "b", Key: "k"}, Hash: "h", Size: 1},
		catalog.FinishBuild{ID: "build-1", Hash: "h"},
		catalog.CreateMachineToken{Hash: token, Location: testRegion, Expires: event.At(w.clock.Now().Add(time.Hour))},
		catalog.JoinMachine{Name: "box", Location: testRegion, Key: bytes.Repeat([]byte{2}, 32), Token: token,
			Offer: catalog.MachineOffer{MilliCPUs: 4000, MemoryMiB: 8192, IP: "192.0.2.7"}},
		catalog.CreateManagedFleet{ID: "fleet-1", Attributes: catalog.Attributes{Name: "arena"},
			Runtime: &catalog.RuntimeConfiguration{ServerProcesses: []catalog.ServerProcess{
				{LaunchPath: "/local/game/server", ConcurrentExecutions: 2}}},
			Managed: catalog.Managed{Build: "build-1", InstanceType: "c5.large", Home: testRegion}, EventID: "e"},
		catalog.CreateInstance{ID: "i-1", Fleet: "fleet-1", Location: testRegion, Machine: "box",
			EventIDs: newIDs(catalog.MaxLifecycleEvents)},
		catalog.ActivateInstance{ID: "i-1", EventIDs: newIDs(catalog.MaxLifecycleEvents)},
	} {
		if err := w.Change(w.ctx, c); err != nil {
			w.t.Fatalf("%T: %v", c, err)
		}
	}
	return "fleet-1"
}

// capacityOf returns the numbers of a fleet: desired, minimum, maximum, pending, active, idle, terminating.
func (w *world) capacityOf(fleet string) string {
	w.t.Helper()
	out := w.must("DescribeFleetCapacity", object{"FleetIds": []string{fleet}})
	var counts []string
	for _, name := range []string{"DESIRED", "MINIMUM", "MAXIMUM", "PENDING", "ACTIVE", "IDLE", "TERMINATING"} {
		counts = append(counts, fmt.Sprint(at(out, "FleetCapacity", 0, "InstanceCounts", name)))
	}
	return strings.Join(counts, " ")
}

func (w *world) wantCapacity(fleet, want string) {
	w.t.Helper()
	if got := w.capacityOf(fleet); got != want {
		w.t.Errorf("the capacity is %s, want %s", got, want)
	}
}

// desired returns the desired number of instances of a fleet, whatever has become of those that it has.
func (w *world) desired(fleet string) string {
	w.t.Helper()
	number, _, _ := strings.Cut(w.capacityOf(fleet), " ")
	return number
}

func (w *world) wantDesired(fleet, want string) {
	w.t.Helper()
	if got := w.desired(fleet); got != want {
		w.t.Errorf("%s instances are desired, want %s", got, want)
	}
}

// scaleFor steps a scaler of its own while time passes: that of the plane may miss steps of a fake clock. What both
// decide has an effect once.
func (w *world) scaleFor(d time.Duration) {
	w.t.Helper()
	s := &scaler{plane: w.Plane, locations: map[fleet.RoomID]*scaling.Location{}}
	for ; d > 0; d -= scaling.Interval {
		if err := s.step(w.ctx); err != nil {
			w.t.Fatal(err)
		}
		w.jump(scaling.Interval)
	}
}

func TestUpdateFleetCapacity(t *testing.T) {
	w := newWorld(t)
	id := w.scaledFleet()
	w.wantCapacity(id, "1 0 1 0 1 1 0")
	w.must("UpdateFleetCapacity", object{"FleetId": id, "MinSize": 1, "MaxSize": 5, "DesiredInstances": 3})
	w.wantCapacity(id, "3 1 5 0 1 1 0")
	w.must("UpdateFleetCapacity", object{"FleetId": id, "MaxSize": 2, "Location": testRegion})
	w.wantCapacity(id, "2 1 2 0 1 1 0")
	w.refused(fault.InvalidRequest, "UpdateFleetCapacity", object{"FleetId": id, "DesiredInstances": 3})
	w.refused(fault.LimitExceeded, "UpdateFleetCapacity", object{"FleetId": id, "MaxSize": 20_000,
		"DesiredInstances": 20_000})
	w.refused(fault.NotFound, "UpdateFleetCapacity", object{"FleetId": id, "Location": "custom-none"})
	zero := object{"ZeroCapacityStrategy": "SCALE_TO_AND_FROM_ZERO"}
	w.refused(fault.InvalidRequest, "UpdateFleetCapacity", object{"FleetId": id, "MinSize": 0,
		"ManagedCapacityConfiguration": zero})
	out := w.must("UpdateFleetCapacity", object{"FleetId": id, "ManagedCapacityConfiguration": zero})
	same(t, at(out, "ManagedCapacityConfiguration"),
		`{"ScaleInAfterInactivityMinutes":30,"ZeroCapacityStrategy":"SCALE_TO_AND_FROM_ZERO"}`)
	w.must("UpdateFleetCapacity", object{"FleetId": id, "MinSize": 0,
		"ManagedCapacityConfiguration": object{"ZeroCapacityStrategy": "MANUAL"}})
	anywhere := w.fleetAt("custom-a")
	w.refused(fault.InvalidRequest, "UpdateFleetCapacity", object{"FleetId": anywhere, "Location": "custom-a"})
	if got := w.events(id); strings.Count(got, "FLEET_SCALING_EVENT") != 4 {
		t.Errorf("fleet events %s", got)
	}
}

func TestScalingPolicies(t *testing.T) {
	w := newWorld(t)
	id := w.scaledFleet()
	target := object{"FleetId": id, "Name": "target", "MetricName": "PercentAvailableGameSessions",
		"PolicyType": "TargetBased", "TargetConfiguration": object{"TargetValue": 20}}
	rule := object{"FleetId": id, "Name": "less", "MetricName": "IdleInstances", "PolicyType": "RuleBased",
		"ComparisonOperator": "GreaterThanThreshold", "Threshold": 0.5, "EvaluationPeriods": 1,
		"ScalingAdjustmentType": "ChangeInCapacity", "ScalingAdjustment": 1}
	without := func(in object, members ...string) object {
		out := object{}
		for k, v := range in {
			out[k] = v
		}
		for _, m := range members {
			delete(out, m)
		}
		return out
	}
	for _, in := range []object{
		without(target, "TargetConfiguration"), without(rule, "Threshold"), without(rule, "ScalingAdjustment"),
		without(rule, "ComparisonOperator"), without(rule, "EvaluationPeriods"), without(rule, "ScalingAdjustmentType"),
		{"FleetId": id, "Name": "zero", "MetricName": "PercentAvailableGameSessions", "PolicyType": "TargetBased",
			"TargetConfiguration": object{"TargetValue": 0}},
	} {
		w.refused(fault.InvalidRequest, "PutScalingPolicy", in)
	}
	same(t, w.must("PutScalingPolicy", without(target, "PolicyType")), `{"Name":"target"}`)
	w.must("PutScalingPolicy", rule)
	out := w.must("DescribeScalingPolicies", object{"FleetId": id, "Limit": 1})
	if got := texts(out["ScalingPolicies"], "Name"); len(got) != 1 || got[0] != "less" {
		t.Errorf("the first page has %v", got)
	}
	next := w.must("DescribeScalingPolicies", object{"FleetId": id, "Limit": 1, "NextToken": out["NextToken"]})
	if got := texts(next["ScalingPolicies"], "Status"); len(got) != 1 || got[0] != "ACTIVE" {
		t.Errorf("the second page has %v", got)
	}
	same(t, at(next, "ScalingPolicies", 0, "TargetConfiguration"), `{"TargetValue":20}`)
	same(t, w.must("DescribeScalingPolicies", object{"FleetId": id, "StatusFilter": "ERROR"})["ScalingPolicies"], `[]`)
	w.must("DeleteScalingPolicy", object{"FleetId": id, "Name": "less"})
	w.refused(fault.NotFound, "DeleteScalingPolicy", object{"FleetId": id, "Name": "less"})
	anywhere := w.fleetAt("custom-a")
	rule["FleetId"] = anywhere
	w.refused(fault.InvalidRequest, "PutScalingPolicy", rule)
	same(t, w.must("DescribeScalingPolicies", object{"FleetId": anywhere})["ScalingPolicies"], `[]`)
}

// A rule acts after its time, and not while actions are stopped; a request is carried out all the same.
func TestRulesScale(t *testing.T) {
	w := newWorld(t, func(w *world) { w.config.ReplaceAfter = 1000 * time.Hour })
	id := w.scaledFleet()
	w.must("UpdateFleetCapacity", object{"FleetId": id, "MaxSize": 9})
	w.must("PutScalingPolicy", object{"FleetId": id, "Name": "more", "MetricName": "IdleInstances",
		"ComparisonOperator": "GreaterThanOrEqualToThreshold", "Threshold": 1, "EvaluationPeriods": 1,
		"ScalingAdjustmentType": "ChangeInCapacity", "ScalingAdjustment": 1})
	w.must("StopFleetActions", object{"FleetId": id, "Actions": []string{"AUTO_SCALING"}})
	same(t, at(w.must("DescribeFleetLocationAttributes", object{"FleetId": id}), "LocationAttributes", 0,
		"StoppedActions"), `["AUTO_SCALING"]`)
	w.scaleFor(5 * time.Minute)
	w.wantCapacity(id, "1 0 9 0 1 1 0")
	w.must("UpdateFleetCapacity", object{"FleetId": id, "DesiredInstances": 2})
	w.must("StartFleetActions", object{"FleetId": id, "Actions": []string{"AUTO_SCALING"}})
	w.scaleFor(2*time.Minute + scaling.Interval)
	w.wantCapacity(id, "3 0 9 0 1 1 0")
	acted := w.Catalog().ScalingPolicies(id)[0].Acted(testRegion)
	w.restart() // the wait is kept
	w.scaleFor(12 * time.Minute)
	w.wantCapacity(id, "4 0 9 0 1 1 0")
	if again := w.Catalog().ScalingPolicies(id)[0].Acted(testRegion); again.Sub(acted) < 10*time.Minute {
		t.Errorf("the policy acted again after %v", again.Sub(acted))
	}
}

func TestScaleFromZero(t *testing.T) {
	w := newWorld(t)
	id := w.scaledFleet()
	w.must("UpdateFleetCapacity", object{"FleetId": id, "DesiredInstances": 0, "ManagedCapacityConfiguration": object{
		"ZeroCapacityStrategy": "SCALE_TO_AND_FROM_ZERO", "ScaleInAfterInactivityMinutes": 5}})
	w.wantDesired(id, "0")
	w.refused(fault.FleetCapacityExceeded, "CreateGameSession", object{"FleetId": id, "MaximumPlayerSessionCount": 2})
	w.wantDesired(id, "1") // at once
	w.scaleFor(5*time.Minute + scaling.Interval)
	w.wantDesired(id, "0")
	w.must("CreateGameSessionQueue", object{"Name": "q", "TimeoutInSeconds": 600,
		"Destinations": []object{{"DestinationArn": w.FleetARN(id)}}})
	w.must("StartGameSessionPlacement", object{"PlacementId": "p-1", "GameSessionQueueName": "q",
		"MaximumPlayerSessionCount": 2})
	w.await("an instance for the placement", func() bool {
		w.scaleFor(zeroInterval)
		return w.desired(id) == "1"
	})
}

func TestUpdateFleetPortSettings(t *testing.T) {
	w := newWorld(t)
	id := w.scaledFleet()
	udp := object{"FromPort": 7000, "ToPort": 7100, "IpRange": "0.0.0.0/0", "Protocol": "UDP"}
	w.must("UpdateFleetPortSettings", object{"FleetId": id, "InboundPermissionAuthorizations": []object{udp}})
	same(t, w.must("DescribeFleetPortSettings", object{"FleetId": id})["InboundPermissions"],
		`[{"FromPort":7000,"IpRange":"0.0.0.0/0","Protocol":"UDP","ToPort":7100}]`)
	part := object{"FromPort": 7000, "ToPort": 7001, "IpRange": "0.0.0.0/0", "Protocol": "UDP"}
	w.refused(fault.InvalidRequest, "UpdateFleetPortSettings",
		object{"FleetId": id, "InboundPermissionRevocations": []object{part}})
	w.must("UpdateFleetPortSettings", object{"FleetId": id, "InboundPermissionRevocations": []object{udp}})
	same(t, w.must("DescribeFleetPortSettings", object{"FleetId": id})["InboundPermissions"], `[]`)
	w.refused(fault.InvalidRequest, "UpdateFleetPortSettings", object{"FleetId": w.fleetAt("custom-a"),
		"InboundPermissionAuthorizations": []object{udp}})
}
