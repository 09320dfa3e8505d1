package control

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/control/drivers"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestIdsAndARNs(t *testing.T) {
	w := newWorld(t)
	id, sockets := w.host(1)
	session := w.active(id, nil, sockets...)
	alias := text(w.must("CreateAlias", object{"Name": "a",
		"RoutingStrategy": object{"Type": "SIMPLE", "FleetId": id}}), "Alias", "AliasId")
	for _, prefix := range []string{
		"arn:aws:gamelift:us-west-2:111122223333:", "arn:aws:gamelift:us-west-2::",
		"arn:aws-cn:gamelift:us-west-2:444455556666:",
	} {
		for _, call := range []struct {
			operation string
			in        object
		}{
			{"DescribeFleetAttributes", object{"FleetIds": []string{prefix + "fleet/" + id}}},
			{"DescribeFleetUtilization", object{"FleetIds": []string{prefix + "fleet/" + id}}},
			{"DescribeCompute", object{"FleetId": prefix + "fleet/" + id, "ComputeName": prefix + "compute/c1"}},
			{"GetComputeAuthToken", object{"FleetId": prefix + "fleet/" + id, "ComputeName": prefix + "compute/c1"}},
			{"DescribeGameSessions", object{"FleetId": prefix + "fleet/" + id}},
			{"DescribeGameSessions", object{"AliasId": prefix + "alias/" + alias}},
			{"SearchGameSessions", object{"AliasId": prefix + "alias/" + alias}},
			{"DescribeAlias", object{"AliasId": prefix + "alias/" + alias}},
			{"ResolveAlias", object{"AliasId": prefix + "alias/" + alias}},
			{"ListTagsForResource", object{"ResourceARN": prefix + "fleet/" + id}},
			{"ListTagsForResource", object{"ResourceARN": prefix + "alias/" + alias}},
			{"ListTagsForResource", object{"ResourceARN": prefix + "location/custom-a"}},
			{"DescribeGameSessions", object{"GameSessionId": prefix +
				strings.TrimPrefix(session, "arn:aws:gamelift:us-west-2::")}},
		} {
			out := w.must(call.operation, call.in)
			for _, list := range []string{"FleetAttributes", "FleetUtilization", "GameSessions"} {
				if l, ok := out[list].([]any); ok && len(l) != 1 {
					t.Errorf("%s %v: %v", call.operation, call.in, out)
				}
			}
		}
	}
	w.must("DeleteLocation", object{"LocationName": "arn:aws:gamelift:us-west-2::location/custom-a"})
}

func TestDeleteFleet(t *testing.T) {
	w := newWorld(t)
	id, sockets := w.host(2)
	alias := text(w.must("CreateAlias", object{"Name": "a",
		"RoutingStrategy": object{"Type": "SIMPLE", "FleetId": id}}), "Alias", "AliasId")
	w.must("UpdateRuntimeConfiguration", object{"FleetId": id,
		"RuntimeConfiguration": object{"GameSessionActivationTimeoutSeconds": 30}})
	session := w.create(id, nil)
	w.refused(fault.InvalidRequest, "DeleteFleet", object{"FleetId": id}) // ACTIVATING
	for _, s := range sockets {
		for len(s.pushes) > 0 {
			<-s.pushes
			s.ok(s.activate(session))
			w.refused(fault.InvalidRequest, "DeleteFleet", object{"FleetId": id})
			s.ok(s.end())
		}
	}
	w.must("DeleteFleet", object{"FleetId": id})
	for _, s := range sockets {
		s.wasReplaced() // their processes have ended
	}
	w.refused(fault.NotFound, "DescribeCompute", object{"FleetId": id, "ComputeName": "c1"})
	w.refused(fault.NotFound, "DescribeGameSessions", object{"FleetId": id})
	w.refused(fault.NotFound, "CreateGameSession", object{"AliasId": alias, "MaximumPlayerSessionCount": 1})
	if got := text(w.must("ResolveAlias", object{"AliasId": alias}), "FleetId"); got != id {
		t.Errorf("the alias leads to %q", got)
	}
	same(t, w.must("DescribeRuntimeConfiguration", object{"FleetId": id}), `{}`)
	same(t, w.must("DescribeFleetPortSettings", object{"FleetId": id}), `{}`)
	same(t, w.must("DescribeFleetAttributes", object{"FleetIds": []string{id}}), `{"FleetAttributes":[]}`)
	if got := w.events(id); !strings.HasPrefix(got, "FLEET_DELETED ") || !strings.HasSuffix(got, "FLEET_CREATED") {
		t.Errorf("fleet events: %s", got)
	}
	w.must("DeleteLocation", `{"LocationName":"custom-a"}`)
	w.elapse(catalog.Retention + time.Hour)
	w.await("the end of the fleet's record", func() bool {
		_, err := w.call("DescribeFleetEvents", object{"FleetId": id})
		return fault.Is(err, fault.NotFound)
	})
}

// A deletion that stopped in the middle is carried on with, after a restart and
// without one.
func TestDeletionsThatStoppedHalfWay(t *testing.T) {
	for _, restart := range []bool{true, false} {
		w := newWorld(t, withShards(1))
		whole, partly := w.fleetAt("custom-a", "custom-b"), w.fleetAt("custom-a", "custom-b")
		for _, f := range []string{whole, partly} {
			w.compute(f, "custom-a", "c1")
			w.compute(f, "custom-b", "c2")
		}
		w.finishing.Lock()
		for _, c := range []catalog.Command{
			catalog.DeleteFleet{Fleet: whole},
			catalog.RemoveFleetLocations{Fleet: partly, Locations: []string{"custom-b"}, EventIDs: newIDs(1)},
		} {
			if err := w.Change(w.ctx, c); err != nil {
				t.Fatal(err)
			}
		}
		w.refused(fault.InvalidFleetStatus, "DeleteFleet", object{"FleetId": whole})
		same(t, at(w.must("DescribeFleetAttributes", object{"FleetIds": []string{whole}}), "FleetAttributes", 0,
			"Status"), `"DELETING"`)
		w.finishing.Unlock()
		if restart {
			w.restart()
		}
		w.advance("the end of the deletions", drivers.TidyEvery, func() bool {
			f, _ := w.Catalog().Fleet(whole)
			return f.Status == catalog.StatusTerminated && len(w.Catalog().FleetLocations(partly)) == 1
		})
		names := texts(w.must("ListCompute", object{"FleetId": partly})["ComputeList"], "ComputeName")
		if len(names) != 1 || names[0] != "c1" {
			t.Errorf("the fleet that lost custom-b has the computes %v", names)
		}
		if counts, err := w.counts(w.ctx, whole, ""); err != nil || counts.Computes != 0 {
			t.Errorf("the deleted fleet has %d computes, %v", counts.Computes, err)
		}
		w.stop()
	}
}

// If a shard fails in the middle, the caller receives an error, and the deletion is finished anyway.
func TestDeletionBesideAFailingShard(t *testing.T) {
	w := newWorld(t, withShards(2))
	var id string
	for { // a fleet whose location is not in the catalog's shard
		id = w.fleetAt("custom-a")
		if region.ShardOf(w.room(id, "custom-a"), 2) == 1 {
			break
		}
	}
	w.compute(id, "custom-a", "c1")
	w.journals[1].FailAppend(errors.New("disk full"))
	if _, err := w.call("DeleteFleet", object{"FleetId": id}); fault.Of(err) == nil ||
		fault.Of(err).Kind != fault.InternalService {
		t.Fatalf("DeleteFleet: %v", err)
	}
	w.advance("the end of the deletion", time.Second, func() bool {
		f, _ := w.Catalog().Fleet(id)
		return f.Status == catalog.StatusTerminated
	})
}

func TestDeleteFleetLocations(t *testing.T) {
	w := newWorld(t)
	id := w.fleetAt("custom-a", "custom-b")
	w.compute(id, "custom-a", "c1")
	s := w.process(id, "c2", w.compute(id, "custom-b", "c2"), "p")
	session := w.active(id, object{"Location": "custom-b"}, s)
	w.must("DeleteFleetLocations", object{"FleetId": id, "Locations": []string{"custom-b"}})
	s.wasReplaced()
	if got := w.status(session); got != "TERMINATED" {
		t.Errorf("the game session there is %s", got)
	}
	w.refused(fault.NotFound, "DescribeCompute", object{"FleetId": id, "ComputeName": "c2"})
	w.refused(fault.InvalidRequest, "CreateGameSession",
		object{"FleetId": id, "Location": "custom-b", "MaximumPlayerSessionCount": 1})
	w.compute(id, "custom-a", "c2") // the name is free again
	w.must("CreateFleetLocations", object{"FleetId": id, "Locations": []object{{"Location": "custom-b"}}})
	w.compute(id, "custom-b", "c3")
	if got := w.events(id); !strings.Contains(got, "LOCATION_STATE_DELETING") ||
		!strings.Contains(got, "LOCATION_STATE_DELETED") {
		t.Errorf("fleet events: %s", got)
	}
	w.must("DeleteLocation", `{"LocationName":"custom-b"}`)
	same(t, w.must("DescribeFleetLocationAttributes",
		object{"FleetId": id, "Locations": []string{"custom-b"}})["LocationAttributes"],
		`[{"LocationState":{"Location":"custom-b","Status":"NOT_FOUND"}}]`)
	w.must("DeleteFleetLocations", object{"FleetId": id, "Locations": []string{"custom-b"}})
	if _, ok := w.Catalog().FleetLocation(id, "custom-b"); ok {
		t.Error("the location that is no more is still in the fleet")
	}
}

// Continuing an old removal must not change a location that was added again.
func TestFinishLocationLeavesNewOnesAlone(t *testing.T) {
	w := newWorld(t)
	id := w.fleetAt("custom-a", "custom-b")
	w.compute(id, "custom-b", "c1")
	if err := w.finishLocations(w.ctx, id, []string{"custom-b", "custom-x"}); err != nil {
		t.Fatal(err)
	}
	w.must("DescribeCompute", object{"FleetId": id, "ComputeName": "c1"})
}

func TestFleetEvents(t *testing.T) {
	w := newWorld(t)
	id, sockets := w.host(1)
	w.elapse(time.Second)
	w.must("UpdateFleetAttributes", object{"FleetId": id, "NewGameSessionProtectionPolicy": "FullProtection"})
	w.elapse(time.Second)
	for range 3 {
		_ = sockets[0].heartbeat(false)
	}
	got, want := w.events(id), "SERVER_PROCESS_TERMINATED_UNHEALTHY FLEET_NEW_GAME_SESSION_PROTECTION_POLICY_UPDATED "
	if !strings.HasPrefix(got, want) {
		t.Errorf("fleet events: %s", got)
	}
	message := text(w.must("DescribeFleetEvents", object{"FleetId": id}), "Events", 1, "Message")
	if !strings.Contains(message, "NoProtection") || !strings.Contains(message, "FullProtection") {
		t.Errorf("the event does not name the old and the new policy: %s", message)
	}
	start := w.seconds() - 1
	out := w.must("DescribeFleetEvents", object{"FleetId": id, "StartTime": start, "EndTime": start})
	if codes := texts(out["Events"], "EventCode"); len(codes) != 1 || !strings.HasPrefix(codes[0], "FLEET_NEW") {
		t.Errorf("in the window: %v", codes)
	}
}

func TestAliases(t *testing.T) {
	w := newWorld(t)
	id, _ := w.host(1)
	out := w.must("CreateAlias", object{"Name": "live", "RoutingStrategy": object{"Type": "SIMPLE", "FleetId": id},
		"Tags": []object{{"Key": "k", "Value": "v"}}})
	alias := text(out, "Alias", "AliasId")
	// Names may be the same.
	w.must("CreateAlias", object{"Name": "live", "RoutingStrategy": object{"Type": "TERMINAL", "Message": "m"}})
	got := w.must("CreateGameSession", object{"AliasId": alias, "MaximumPlayerSessionCount": 1})
	if text(got, "GameSession", "FleetId") != id {
		t.Errorf("through the alias: %v", got)
	}
	w.elapse(time.Second)
	out = w.must("UpdateAlias", object{"AliasId": alias,
		"RoutingStrategy": object{"Type": "TERMINAL", "Message": "Come back tomorrow"}})
	same(t, at(out, "Alias", "RoutingStrategy"), `{"Type":"TERMINAL","Message":"Come back tomorrow"}`)
	if a := at(out, "Alias").(object); a["LastUpdatedTime"].(float64)-a["CreationTime"].(float64) != 1 ||
		a["Name"] != "live" {
		t.Errorf("after the update: %v", a)
	}
	w.refused(fault.TerminalRoutingStrategy, "CreateGameSession",
		object{"AliasId": alias, "MaximumPlayerSessionCount": 1})
	for in, want := range map[string]int{
		`{}`: 2, `{"Name":"live"}`: 2, `{"Name":"liv"}`: 0, `{"RoutingStrategyType":"SIMPLE"}`: 0,
		`{"RoutingStrategyType":"TERMINAL","Limit":9}`: 2,
	} {
		if got := len(w.must("ListAliases", in)["Aliases"].([]any)); got != want {
			t.Errorf("ListAliases %s: %d, want %d", in, got, want)
		}
	}
	w.must("DeleteAlias", object{"AliasId": alias})
	w.refused(fault.NotFound, "DescribeAlias", object{"AliasId": alias})
	w.refused(fault.NotFound, "ListTagsForResource",
		object{"ResourceARN": "arn:aws:gamelift:us-west-2::alias/" + alias})
}

func TestTags(t *testing.T) {
	w := newWorld(t)
	w.must("CreateLocation", `{"LocationName":"custom-a"}`)
	arn := "arn:aws:gamelift:us-west-2:111122223333:location/custom-a"
	tags := func() any { return w.must("ListTagsForResource", object{"ResourceARN": arn})["Tags"] }
	same(t, tags(), `[]`)
	w.must("TagResource", object{"ResourceARN": arn,
		"Tags": []object{{"Key": "b", "Value": "1"}, {"Key": "a", "Value": ""}}})
	w.must("TagResource", object{"ResourceARN": arn, "Tags": []object{{"Key": "b", "Value": "2"}}})
	same(t, tags(), `[{"Key":"a","Value":""},{"Key":"b","Value":"2"}]`)
	w.must("UntagResource", object{"ResourceARN": arn, "TagKeys": []string{"a", "x"}})
	w.must("UntagResource", object{"ResourceARN": arn, "TagKeys": []string{"a"}})
	same(t, tags(), `[{"Key":"b","Value":"2"}]`)
}

func TestRegisterCompute(t *testing.T) {
	w := newWorld(t)
	id := w.fleetAt("custom-a", "custom-b")
	in := object{"FleetId": id, "ComputeName": "c1", "Location": "custom-a", "IpAddress": "10.0.0.1"}
	first := w.must("RegisterCompute", in)
	w.elapse(time.Minute)
	second := w.must("RegisterCompute", in)
	if at(first, "Compute", "CreationTime") != at(second, "Compute", "CreationTime") {
		t.Error("the compute that was there was made anew")
	}
	in["IpAddress"] = "10.0.0.2"
	w.refused(fault.Conflict, "RegisterCompute", in)
	in["IpAddress"], in["Location"] = "10.0.0.1", "custom-b"
	w.refused(fault.Conflict, "RegisterCompute", in)
	w.must("DeregisterCompute", object{"FleetId": id, "ComputeName": "c1"})
	w.must("RegisterCompute", in)
	w.refused(fault.NotFound, "DescribeCompute", object{"FleetId": id, "ComputeName": "c2"})
	w.must("RegisterCompute", object{"FleetId": id, "ComputeName": "task/1", "Location": "custom-a",
		"DnsName": "x.example"})
	same(t, len(w.must("ListCompute", object{"FleetId": id, "Location": "custom-a"})["ComputeList"].([]any)) == 1,
		`true`)
}

// Both steps of a registration and of its end can be repeated when the call
// stopped between them.
func TestComputesHalfDone(t *testing.T) {
	w := newWorld(t)
	id := w.fleetAt("custom-a")
	if err := w.Change(w.ctx, catalog.ClaimCompute{Fleet: id, Name: "c1", Location: "custom-a"}); err != nil {
		t.Fatal(err)
	}
	w.refused(fault.NotFound, "DescribeCompute", object{"FleetId": id, "ComputeName": "c1"})
	w.refused(fault.NotFound, "GetComputeAuthToken", object{"FleetId": id, "ComputeName": "c1"})
	same(t, w.must("ListCompute", object{"FleetId": id}), `{"ComputeList":[]}`)
	w.compute(id, "custom-a", "c1")

	room := w.room(id, "custom-a")
	_, err := w.RoomShard(room).Do(w.ctx, region.RoomCommand{Room: room, Command: fleet.DeregisterCompute{Name: "c1"}})
	if err != nil {
		t.Fatal(err)
	}
	w.must("DeregisterCompute", object{"FleetId": id, "ComputeName": "c1"})
	w.refused(fault.NotFound, "DeregisterCompute", object{"FleetId": id, "ComputeName": "c1"})
	w.compute(id, "custom-a", "c1")
}

func TestAuthTokens(t *testing.T) {
	w := newWorld(t)
	id := w.fleetAt("custom-a")
	first := w.compute(id, "custom-a", "c1")
	w.elapse(2*time.Hour + 44*time.Minute)
	if got := w.token(id, "c1"); got != first {
		t.Errorf("16 minutes before its end the token was replaced")
	}
	w.restart()
	if got := w.token(id, "c1"); got != first {
		t.Errorf("a restart replaced the token")
	}
	w.elapse(2 * time.Minute)
	fresh := w.must("GetComputeAuthToken", object{"FleetId": id, "ComputeName": "c1"})
	if text(fresh, "AuthToken") == first || at(fresh, "ExpirationTimestamp") != w.seconds()+3*3600 {
		t.Errorf("14 minutes before its end: %v", fresh)
	}
	if len(first) > 64 || strings.Trim(first, "0123456789abcdef-") != "" {
		t.Errorf("the token %q is not of the form that agents check", first)
	}
	if other := w.compute(id, "custom-a", "c2"); other == first || other == text(fresh, "AuthToken") {
		t.Error("two computes have the same token")
	}
}
