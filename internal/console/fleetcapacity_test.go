package console

import (
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// managedFleet answers with an EC2-type fleet at one location, whose scaling is stopped.
func (w *world) managedFleet() {
	n := wire.Some[int32]
	w.answers["DescribeFleetAttributes"] = &wire.DescribeFleetAttributesOutput{FleetAttributes: []wire.FleetAttributes{
		{FleetId: "fleet-1", Name: "Arena", ComputeType: wire.ComputeTypeEc2}}}
	w.answers["DescribeFleetUtilization"] = &wire.DescribeFleetUtilizationOutput{}
	w.answers["DescribeFleetLocationAttributes"] = &wire.DescribeFleetLocationAttributesOutput{
		LocationAttributes: []wire.LocationAttributes{{LocationState: &wire.LocationState{Location: "custom-a",
			Status: wire.FleetStatusActive}, StoppedActions: []wire.FleetAction{wire.FleetActionAutoScaling}}}}
	w.answers["DescribeFleetLocationCapacity"] = &wire.DescribeFleetLocationCapacityOutput{
		FleetCapacity: &wire.FleetCapacity{InstanceCounts: &wire.EC2InstanceCounts{DESIRED: n(31), MINIMUM: n(32),
			MAXIMUM: n(33), PENDING: n(34), ACTIVE: n(35), IDLE: n(36), TERMINATING: n(37)},
			ManagedCapacityConfiguration: &wire.ManagedCapacityConfiguration{ScaleInAfterInactivityMinutes: n(45)}}}
	w.answers["DescribeScalingPolicies"] = &wire.DescribeScalingPoliciesOutput{ScalingPolicies: []wire.ScalingPolicy{
		{Name: "target", MetricName: wire.MetricNamePercentAvailableGameSessions, Location: "custom-a",
			TargetConfiguration: &wire.TargetConfiguration{TargetValue: wire.Some(20.5)}},
		{Name: "rule", MetricName: wire.MetricNameIdleInstances, ComparisonOperator: "GreaterThanThreshold",
			Threshold: wire.Some(3.0), EvaluationPeriods: n(15), ScalingAdjustmentType: "ChangeInCapacity",
			ScalingAdjustment: n(-1)}}}
	w.answers["GET /v1/fleets/fleet-1/builds"] = `{}`
	w.answers["GET /v1/instances"] = `{"instances":[{"instanceId":"i-1","machine":"box-1"}],"nextToken":"t",` +
		`"shortages":[{"fleetId":"fleet-1","location":"custom-a","missing":3,"reason":"No room <here>.",` +
		`"since":"2026-11-25T11:58:00Z"}]}`
}

func TestFleetCapacity(t *testing.T) {
	w := newWorld(t)
	w.managedFleet()
	const page = "/console/fleets/fleet-1"
	w.shows("GET", page+"?tab=capacity", nil, 200, ">31<", ">32<", ">33<", ">34<", ">35<", ">36<", ">37<",
		"to zero after 45 min", "scaling stopped", "Start scaling in custom-a", `value="31"`,
		"PercentAvailableGameSessions stays at 20.5", "IdleInstances GreaterThanThreshold 3 for 15 min: "+
			"ChangeInCapacity -1", "i-1", "box-1", "All instances of the fleet",
		"has 3 instances fewer than desired at custom-a", "2 m 0 s ago", "No room &lt;here&gt;.")
	w.fails["muster:MachineRead"] = denied
	if text := w.shows("GET", page+"?tab=capacity", nil, 200); strings.Contains(text, "box-1") {
		t.Error("instances are shown to a person who may not read them")
	}

	form := url.Values{"location": {"custom-a"}, "min": {"1"}, "desired": {"2"}, "max": {"3"}}
	w.answers["UpdateFleetCapacity"] = &wire.UpdateFleetCapacityOutput{}
	w.leads(page+"/capacity", form, page+"?tab=capacity&done=capacity-changed")
	if want := (&wire.UpdateFleetCapacityInput{FleetId: "fleet-1", Location: "custom-a", MinSize: wire.Some[int32](1),
		DesiredInstances: wire.Some[int32](2),
		MaxSize:          wire.Some[int32](3)}); !reflect.DeepEqual(w.inputs["UpdateFleetCapacity"], want) {
		t.Errorf("got %+v", w.inputs["UpdateFleetCapacity"])
	}
	w.fails["UpdateFleetCapacity"] = fault.New(fault.InvalidRequest, "Desired is above the maximum.")
	form.Set("desired", "99")
	w.shows("POST", page+"/capacity", form, 400, "Desired is above the maximum.", `value="99"`,
		"<details class=\"act\" open>")
	form.Set("desired", "many")
	w.shows("POST", page+"/capacity", form, 400, "type numbers of instances")

	w.answers["StartFleetActions"], w.answers["StopFleetActions"] = &wire.StartFleetActionsOutput{},
		&wire.StopFleetActionsOutput{}
	w.leads(page+"/actions", url.Values{"location": {"custom-a"}, "to": {"start"}},
		page+"?tab=capacity&done=scaling-started")
	w.leads(page+"/actions", url.Values{"location": {"custom-a"}, "to": {"stop"}},
		page+"?tab=capacity&done=scaling-stopped")
	if in := w.inputs["StopFleetActions"].(*wire.StopFleetActionsInput); in.Location != "custom-a" ||
		in.Actions[0] != wire.FleetActionAutoScaling {
		t.Errorf("stopped %+v", in)
	}
}

func TestFurtherBuilds(t *testing.T) {
	w := newWorld(t)
	w.managedFleet()
	const page = "/console/fleets/fleet-1"
	w.answers["GET /v1/fleets/fleet-1/builds"] = `{"versions":[{"version":"my-branch","buildId":"build-2","ready":1,` +
		`"instances":2,"attached":"2026-11-24T11:59:00Z","failures":[{"instanceId":"i-2","machine":"box-2",` +
		`"code":"GENERIC_EVENT","reason":"disk <full>"}]}]}`
	w.shows("GET", page+"?tab=capacity", nil, 200, "Further builds", "my-branch", "/console/builds/build-2", "1 of 2",
		"i-2 on box-2", "disk &lt;full&gt;", "Detach my-branch")
	w.answers["DELETE /v1/fleets/fleet-1/builds/my-branch"] = "{}"
	w.leads(page+"/builds/detach", url.Values{"version": {"my-branch"}}, page+"?tab=capacity&done=build-detached")
	w.fails["muster:FleetBuildPut"] = denied
	if text := w.shows("GET", page+"?tab=capacity", nil, 200, "my-branch"); strings.Contains(text, "Detach") {
		t.Error("a form is shown to a person who may not send it")
	}
	w.fails["muster:BuildRead"] = denied
	if text := w.shows("GET", page+"?tab=capacity", nil, 200); strings.Contains(text, "my-branch") {
		t.Error("builds are shown to a person who may not read them")
	}
}

func TestScalingPolicies(t *testing.T) {
	w := newWorld(t)
	w.managedFleet()
	const page = "/console/fleets/fleet-1"
	w.answers["PutScalingPolicy"], w.answers["DeleteScalingPolicy"] = &wire.PutScalingPolicyOutput{},
		&wire.NoOutput{}
	w.leads(page+"/policies", url.Values{"policy": {"free"}, "percent": {" 12.5"}},
		page+"?tab=capacity&done=target-stored")
	want := &wire.PutScalingPolicyInput{FleetId: "fleet-1", Name: "free", PolicyType: "TargetBased",
		MetricName:          "PercentAvailableGameSessions",
		TargetConfiguration: &wire.TargetConfiguration{TargetValue: wire.Some(12.5)}}
	if !reflect.DeepEqual(w.inputs["PutScalingPolicy"], want) {
		t.Errorf("stored %+v", w.inputs["PutScalingPolicy"])
	}
	w.shows("POST", page+"/policies", url.Values{"policy": {"free"}, "percent": {"few"}}, 400, "type a number",
		`value="free"`, "<details class=\"act\" open>")
	w.leads(page+"/policies/delete", url.Values{"policy": {"rule"}}, page+"?tab=capacity&done=scaling-policy-deleted")
	if in := w.inputs["DeleteScalingPolicy"].(*wire.DeleteScalingPolicyInput); in.Name != "rule" {
		t.Errorf("deleted %+v", in)
	}
	w.fails["gamelift:PutScalingPolicy"], w.fails["gamelift:DeleteScalingPolicy"] = denied, denied
	if text := w.shows("GET", page+"?tab=capacity", nil, 200); strings.Contains(text, "fleet-1/policies") {
		t.Error("forms are shown to a person who may not send them")
	}
}
