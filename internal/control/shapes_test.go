package control

import (
	"fmt"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/processes"
)

// TestShapes goes the main way once and compares every answer, member for
// member, with what clients expect.
func TestShapes(t *testing.T) {
	w := newWorld(t)
	const born = 1767323045
	arn := func(rest string) string { return "arn:aws:gamelift:us-west-2:111122223333:" + rest }

	out := w.must("CreateLocation", `{"LocationName":"custom-a","Tags":[{"Key":"k","Value":"v"}]}`)
	same(t, out, `{"Location":{"LocationName":"custom-a","LocationArn":%q}}`, arn("location/custom-a"))
	same(t, w.must("ListLocations", `{}`), `{"Locations":[{"LocationName":"custom-a","LocationArn":%q}]}`,
		arn("location/custom-a"))
	same(t, w.must("ListLocations", `{"Filters":["AWS"]}`), `{"Locations":[]}`)
	same(t, w.must("ListTagsForResource", object{"ResourceARN": arn("location/custom-a")}),
		`{"Tags":[{"Key":"k","Value":"v"}]}`)

	out = w.must("CreateFleet", `{"Name":"f","Description":"d","ComputeType":"ANYWHERE",
		"Locations":[{"Location":"custom-a"}],"AnywhereConfiguration":{"Cost":"0.25"},
		"ResourceCreationLimitPolicy":{"NewGameSessionsPerCreator":3,"PolicyPeriodInMinutes":15},"Tags":[{"Key":"k",
		"Value":"v"}]}`)
	id := text(out, "FleetAttributes", "FleetId")
	fleet := fmt.Sprintf(`"FleetId":%q,"FleetArn":%q`, id, arn("fleet/"+id))
	attributes := fmt.Sprintf(`{%s,"Name":"f","Description":"d","CreationTime":%d,"Status":"ACTIVE",
		"ComputeType":"ANYWHERE","AnywhereConfiguration":{"Cost":"0.25"},
		"NewGameSessionProtectionPolicy":"NoProtection","ResourceCreationLimitPolicy":{"NewGameSessionsPerCreator":3,
		"PolicyPeriodInMinutes":15},"MetricGroups":["default"]}`, fleet, born)
	same(t, out, `{"FleetAttributes":%s,"LocationStates":[{"Location":"custom-a","Status":"ACTIVE"}]}`, attributes)
	same(t, w.must("DescribeFleetAttributes", object{"FleetIds": []string{id}}), `{"FleetAttributes":[%s]}`, attributes)
	same(t, w.must("ListFleets", `{}`), `{"FleetIds":[%q]}`, id)
	same(t, w.must("ListFleets", `{"BuildId":"build-1"}`), `{"FleetIds":[]}`)
	same(t, w.must("UpdateFleetAttributes", object{"FleetId": id, "NewGameSessionProtectionPolicy": "FullProtection"}),
		`{%s}`, fleet)
	w.must("CreateLocation", `{"LocationName":"custom-b"}`)
	same(t, w.must("CreateFleetLocations", object{"FleetId": id, "Locations": []object{{"Location": "custom-b"}}}),
		`{%s,"LocationStates":[{"Location":"custom-b","Status":"NEW"}]}`, fleet)
	same(t, w.must("DescribeFleetLocationAttributes",
		object{"FleetId": id, "Locations": []string{"custom-b", "custom-x", "custom-a"}}),
		`{%s,"LocationAttributes":[{"LocationState":{"Location":"custom-b","Status":"ACTIVE"}},`+
			`{"LocationState":{"Location":"custom-a","Status":"ACTIVE"}}]}`, fleet)
	same(t, w.must("DeleteFleetLocations", object{"FleetId": id, "Locations": []string{"custom-b"}}),
		`{%s,"LocationStates":[{"Location":"custom-b","Status":"DELETING"}]}`, fleet)
	runtime := `{"RuntimeConfiguration":{"GameSessionActivationTimeoutSeconds":60,` +
		`"MaxConcurrentGameSessionActivations":2,"ServerProcesses":[{"LaunchPath":"/local/game/x",` +
		`"Parameters":"-p 1","ConcurrentExecutions":2}]}}`
	same(t, w.must("DescribeRuntimeConfiguration", object{"FleetId": id}), `{}`)
	same(t, w.must("UpdateRuntimeConfiguration", `{"FleetId":"`+id+`",`+runtime[1:]), "%s", runtime)
	same(t, w.must("DescribeRuntimeConfiguration", object{"FleetId": id}), "%s", runtime)
	same(t, w.must("DescribeFleetPortSettings", object{"FleetId": id}), `{%s,"InboundPermissions":[]}`, fleet)
	same(t, w.must("DescribeFleetPortSettings", object{"FleetId": id, "Location": "custom-a"}),
		`{%s,"InboundPermissions":[],"Location":"custom-a"}`, fleet)

	compute := fmt.Sprintf(`{%s,"ComputeName":"c1","ComputeArn":%q,"ComputeStatus":"Active","Location":"custom-a",
		"CreationTime":%d,"IpAddress":"10.0.0.1","DnsName":"c1.example",
		"GameLiftServiceSdkEndpoint":"wss://127.0.0.1:9080",
		"GameLiftAgentEndpoint":"wss://127.0.0.1:9080"}`, fleet, arn("compute/c1"), born)
	same(t, w.must("RegisterCompute", object{"FleetId": id, "ComputeName": "c1", "Location": "custom-a",
		"IpAddress": "10.0.0.1", "DnsName": "c1.example"}), `{"Compute":%s}`, compute)
	same(t, w.must("DescribeCompute", object{"FleetId": id, "ComputeName": "c1"}), `{"Compute":%s}`, compute)
	same(t, w.must("ListCompute", object{"FleetId": id}), `{"ComputeList":[%s]}`, compute)
	same(t, w.must("ListCompute", object{"FleetId": id, "ComputeStatus": "IMPAIRED"}), `{"ComputeList":[]}`)
	out = w.must("GetComputeAuthToken", object{"FleetId": id, "ComputeName": "c1"})
	token := text(out, "AuthToken")
	same(t, out, `{%s,"ComputeName":"c1","ComputeArn":%q,"AuthToken":%q,"ExpirationTimestamp":%d}`, fleet,
		arn("compute/c1"), token, born+3*3600)

	server := w.process(id, "c1", token, "p1")
	capacity := func(location string, idle int) string {
		return fmt.Sprintf(`{%s,"Location":%q,"InstanceCounts":{"DESIRED":1,"MINIMUM":0,"MAXIMUM":1,"PENDING":0,`+
			`"ACTIVE":1,"IDLE":%d,"TERMINATING":0}}`, fleet, location, idle)
	}
	same(t, w.must("DescribeFleetCapacity", `{}`), `{"FleetCapacity":[%s]}`, capacity("us-west-2", 1))

	w.elapse(1500 * time.Millisecond)
	out = w.must("CreateGameSession", object{
		"FleetId": id, "Location": "custom-a", "MaximumPlayerSessionCount": 4, "Name": "n", "CreatorId": "me",
		"GameSessionData": "data",
		"GameProperties":  []object{{"Key": "mode", "Value": "duel"}}, "IdempotencyToken": "t-1",
	})
	session := "arn:aws:gamelift:us-west-2::gamesession/" + id + "/custom-a/t-1"
	described := func(status, count string) string {
		return fmt.Sprintf(`{"GameSessionId":%q,"Name":"n",%s,"CreationTime":%d.5,"CurrentPlayerSessionCount":%s,
			"MaximumPlayerSessionCount":4,"Status":%q,
			"GameProperties":[{"Key":"mode","Value":"duel"}],"IpAddress":"10.0.0.1","DnsName":"c1.example",
			"Port":7777,"PlayerSessionCreationPolicy":"ACCEPT_ALL",
			"CreatorId":"me","GameSessionData":"data","Location":"custom-a","ComputeName":"c1",
			"PlayerGatewayStatus":"DISABLED"}`, session, fleet, born+1, count, status)
	}
	same(t, out, `{"GameSession":%s}`, described("ACTIVATING", "0"))
	push := server.next()
	if got, want := fmt.Sprintf("%+v", push), fmt.Sprintf("%+v", processes.CreateGameSessionPush{
		GameSessionID: session, Name: "n", FleetID: id, GameSessionData: "data",
		IPAddress: "10.0.0.1", DNSName: "c1.example",
		Port: 7777, MaximumPlayerSessionCount: 4, GameProperties: map[string]string{"mode": "duel"},
	}); got != want {
		t.Errorf("pushed %s, want %s", got, want)
	}
	server.ok(server.activate(session))
	same(t, w.must("DescribeGameSessions", object{"FleetId": id}), `{"GameSessions":[%s]}`, described("ACTIVE", "0"))
	same(t, w.must("DescribeGameSessionDetails", object{"GameSessionId": session}),
		`{"GameSessionDetails":[{"GameSession":%s,"ProtectionPolicy":"FullProtection"}]}`, described("ACTIVE", "0"))
	same(t, w.must("SearchGameSessions", object{"FleetId": id,
		"FilterExpression": "gameSessionProperties.mode = 'duel'"}), `{"GameSessions":[%s]}`, described("ACTIVE", "0"))
	same(t, w.must("UpdateGameSession", object{"GameSessionId": session, "Name": "n"}), `{"GameSession":%s}`,
		described("ACTIVE", "0"))
	same(t, w.must("GetPlayerConnectionDetails", object{"GameSessionId": session, "PlayerIds": []string{"x"}}),
		`{"GameSessionId":%q,"PlayerConnectionDetails":[{"PlayerId":"x","Endpoints":[{"IpAddress":"10.0.0.1",`+
			`"Port":7777}]}]}`, session)

	out = w.must("CreatePlayerSession", object{"GameSessionId": session, "PlayerId": "anna", "PlayerData": "red"})
	player := func(id, name, status, more string) string {
		return fmt.Sprintf(`{"PlayerSessionId":%q,"PlayerId":%q,"GameSessionId":%q,%s,"CreationTime":%d.5,`+
			`"Status":%q,"IpAddress":"10.0.0.1","DnsName":"c1.example","Port":7777%s}`,
			id, name, session, fleet, born+1, status, more)
	}
	anna := text(out, "PlayerSession", "PlayerSessionId")
	same(t, out, `{"PlayerSession":%s}`, player(anna, "anna", "RESERVED", `,"PlayerData":"red"`))
	out = w.must("CreatePlayerSessions", object{"GameSessionId": session, "PlayerIds": []string{"zoe", "bob"},
		"PlayerDataMap": object{"bob": "blue", "nobody": "x"}})
	zoe, bob := text(out, "PlayerSessions", 0, "PlayerSessionId"), text(out, "PlayerSessions", 1, "PlayerSessionId")
	same(t, out, `{"PlayerSessions":[%s,%s]}`, player(zoe, "zoe", "RESERVED", ""),
		player(bob, "bob", "RESERVED", `,"PlayerData":"blue"`))
	server.ok(server.accept(session, anna))
	same(t, w.must("DescribePlayerSessions", object{"PlayerSessionId": anna}), `{"PlayerSessions":[%s]}`,
		player(anna, "anna", "ACTIVE", `,"PlayerData":"red"`))
	server.ok(server.remove(session, anna))
	gone := player(anna, "anna", "COMPLETED", fmt.Sprintf(`,"PlayerData":"red","TerminationTime":%d.5`, born+1))
	same(t, w.must("DescribePlayerSessions", object{"PlayerId": "anna"}), `{"PlayerSessions":[%s]}`, gone)
	same(t, w.must("DescribePlayerSessions", object{"GameSessionId": session}), `{"PlayerSessions":[%s,%s,%s]}`,
		gone, player(zoe, "zoe", "RESERVED", ""), player(bob, "bob", "RESERVED", `,"PlayerData":"blue"`))

	use := func(location string) string {
		return fmt.Sprintf(`{%s,"Location":%q,"ActiveServerProcessCount":1,"ActiveGameSessionCount":1,`+
			`"CurrentPlayerSessionCount":2,"MaximumPlayerSessionCount":4}`, fleet, location)
	}
	same(t, w.must("DescribeFleetUtilization", object{"FleetIds": []string{id}}), `{"FleetUtilization":[%s]}`,
		use("us-west-2"))
	same(t, w.must("DescribeFleetLocationUtilization", object{"FleetId": id, "Location": "custom-a"}),
		`{"FleetUtilization":%s}`, use("custom-a"))
	same(t, w.must("DescribeFleetLocationCapacity", object{"FleetId": id, "Location": "custom-a"}),
		`{"FleetCapacity":%s}`, capacity("custom-a", 0))

	out = w.must("TerminateGameSession", object{"GameSessionId": session,
		"TerminationMode": "TRIGGER_ON_PROCESS_TERMINATE"})
	same(t, out, `{"GameSession":%s}`, described("TERMINATING", "2"))
	server.ok(server.end())
	out = w.must("DescribeGameSessions", object{"GameSessionId": session})
	over := at(out, "GameSessions", 0).(object)
	if over["Status"] != "TERMINATED" || over["StatusReason"] != "TRIGGERED_ON_PROCESS_TERMINATE" ||
		over["TerminationTime"] != born+1.5 {
		t.Errorf("after its end the game session is %v", over)
	}

	out = w.must("CreateAlias", object{"Name": "a", "Description": "d",
		"RoutingStrategy": object{"Type": "SIMPLE", "FleetId": id}})
	aliasID := text(out, "Alias", "AliasId")
	alias := fmt.Sprintf(`{"Alias":{"AliasId":%q,"AliasArn":%q,"Name":"a","Description":"d",`+
		`"RoutingStrategy":{"Type":"SIMPLE","FleetId":%q},"CreationTime":%d.5,"LastUpdatedTime":%d.5}}`,
		aliasID, arn("alias/"+aliasID), id, born+1, born+1)
	same(t, out, "%s", alias)
	same(t, w.must("DescribeAlias", object{"AliasId": aliasID}), "%s", alias)
	same(t, w.must("ResolveAlias", object{"AliasId": aliasID}), `{%s}`, fleet)
	for _, call := range []struct {
		operation string
		in        object
		want      string
	}{
		{"TagResource", object{"ResourceARN": arn("fleet/" + id), "Tags": []object{{"Key": "k", "Value": "v"}}}, `{}`},
		{"UntagResource", object{"ResourceARN": arn("fleet/" + id), "TagKeys": []string{"k"}}, `{}`},
		{"DeregisterCompute", object{"FleetId": id, "ComputeName": "c1"}, `{}`},
		{"DeleteLocation", object{"LocationName": "custom-b"}, `{}`},
		{"DeleteAlias", object{"AliasId": aliasID}, `null`},
		{"DeleteFleet", object{"FleetId": id}, `null`},
	} {
		if out := w.must(call.operation, call.in); out == nil {
			same(t, nil, "%s", call.want)
		} else {
			same(t, out, "%s", call.want)
		}
	}
	out = w.must("DescribeFleetEvents", object{"FleetId": id, "Limit": 1})
	same(t, out["Events"], `[{"EventId":%q,"ResourceId":%q,"EventCode":"FLEET_DELETED",`+
		`"Message":"Fleet %s was deleted","EventTime":%d.5,"Count":1}]`,
		text(out, "Events", 0, "EventId"), id, id, born+1)
}

// Clients of some languages cannot do without the empty list.
func TestNoGamePropertiesAreTheEmptyList(t *testing.T) {
	w := newWorld(t)
	fleet, _ := w.host(1)
	out := w.must("CreateGameSession", object{"FleetId": fleet, "MaximumPlayerSessionCount": 0})
	same(t, at(out, "GameSession", "GameProperties"), `[]`)
	if got := text(out, "GameSession", "Location"); got != "custom-a" {
		t.Errorf("the only location was not chosen: %q", got)
	}
}
