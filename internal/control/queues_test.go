package control

import (
	"fmt"
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

func arnOf(rest string) string { return "arn:aws:gamelift:us-west-2:111122223333:" + rest }

// queueOf makes a queue and returns its ARN.
func (w *world) queueOf(name string, destinations ...string) string {
	w.t.Helper()
	list := []object{}
	for _, d := range destinations {
		list = append(list, object{"DestinationArn": d})
	}
	out := w.must("CreateGameSessionQueue", object{"Name": name, "Destinations": list})
	return text(out, "GameSessionQueue", "GameSessionQueueArn")
}

func TestQueueShapes(t *testing.T) {
	w := newWorld(t, withShards(1))
	fleet := w.fleetAt("custom-a")
	alias := text(w.must("CreateAlias", object{"Name": "a",
		"RoutingStrategy": object{"Type": "SIMPLE", "FleetId": fleet}}), "Alias", "AliasArn")

	plain := fmt.Sprintf(`{"Name":"plain","GameSessionQueueArn":%q,"TimeoutInSeconds":600,"Destinations":[],`+
		`"PlayerLatencyPolicies":[]}`, arnOf("gamesessionqueue/plain"))
	same(t, w.must("CreateGameSessionQueue", `{"Name":"plain"}`), `{"GameSessionQueue":%s}`, plain)

	sent := func(policies string) string {
		return fmt.Sprintf(`"Name":"harbor","TimeoutInSeconds":60,"PlayerLatencyPolicies":%s,
			"Destinations":[{"DestinationArn":%q},{"DestinationArn":"arn:aws:gamelift:us-west-2::fleet/%s"},
			{"DestinationArn":"arn:aws:gamelift:eu-west-1::fleet/fleet-far"}],
			"FilterConfiguration":{"AllowedLocations":["custom-a","custom-b"]},
			"PriorityConfiguration":{"PriorityOrder":["LOCATION","COST"],"LocationOrder":["custom-b"]},
			"CustomEventData":"any \u0001 data",
			"NotificationTarget":"arn:aws:sns:us-west-2:111122223333:topic.fifo"`, policies, alias, fleet)
	}
	out := w.must("CreateGameSessionQueue", "{"+
		sent(`[{"MaximumIndividualPlayerLatencyMilliseconds":200},{"MaximumIndividualPlayerLatencyMilliseconds":100,`+
			`"PolicyDurationSeconds":60}]`)+
		`,"Tags":[{"Key":"k","Value":"v"}]}`)
	harbor := fmt.Sprintf(`{"GameSessionQueueArn":%q,%s}`, arnOf("gamesessionqueue/harbor"),
		sent(`[{"MaximumIndividualPlayerLatencyMilliseconds":100,"PolicyDurationSeconds":60},`+
			`{"MaximumIndividualPlayerLatencyMilliseconds":200}]`))
	same(t, out, `{"GameSessionQueue":%s}`, harbor)
	same(t, w.must("ListTagsForResource", object{"ResourceARN": arnOf("gamesessionqueue/harbor")}),
		`{"Tags":[{"Key":"k","Value":"v"}]}`)

	same(t, w.must("DescribeGameSessionQueues", `{}`), `{"GameSessionQueues":[%s,%s]}`, harbor, plain)
	same(t, w.must("DescribeGameSessionQueues",
		object{"Names": []string{"plain", "none", arnOf("gamesessionqueue/harbor"),
			"arn:aws:gamelift:eu-west-1::gamesessionqueue/plain"}}),
		`{"GameSessionQueues":[%s,%s]}`, plain, harbor)
	same(t, w.must("DescribeGameSessionQueues", `{"Names":["none"]}`), `{"GameSessionQueues":[]}`)

	same(t, w.must("UpdateGameSessionQueue", `{"Name":"harbor"}`), `{"GameSessionQueue":%s}`, harbor)
	same(t, w.must("UpdateGameSessionQueue", object{"Name": arnOf("gamesessionqueue/harbor"), "TimeoutInSeconds": 600,
		"Destinations": []object{}, "PlayerLatencyPolicies": []object{},
		"FilterConfiguration": object{}, "PriorityConfiguration": object{}, "CustomEventData": "",
		"NotificationTarget": ""}),
		`{"GameSessionQueue":{"Name":"harbor","GameSessionQueueArn":%q,"TimeoutInSeconds":600,"Destinations":[],`+
			`"PlayerLatencyPolicies":[]}}`, arnOf("gamesessionqueue/harbor"))

	same(t, w.must("DeleteGameSessionQueue", object{"Name": "arn:aws:gamelift:us-west-2::gamesessionqueue/plain"}),
		`{}`)
	w.refused(fault.NotFound, "DeleteGameSessionQueue", `{"Name":"plain"}`)
	w.restart()
	if got := texts(w.must("DescribeGameSessionQueues", `{}`)["GameSessionQueues"], "Name"); len(got) != 1 ||
		got[0] != "harbor" {
		t.Errorf("after a restart there are %v", got)
	}
}

// Each member of an update changes that member alone.
func TestUpdateQueueLeavesTheRest(t *testing.T) {
	w := newWorld(t, withShards(1))
	w.must("CreateGameSessionQueue", `{"Name":"q","TimeoutInSeconds":60,
		"PlayerLatencyPolicies":[{"MaximumIndividualPlayerLatencyMilliseconds":1}],
		"Destinations":[{"DestinationArn":"arn:aws:gamelift:eu-west-1::fleet/fleet-far"}],
		"FilterConfiguration":{"AllowedLocations":["custom-a"]},
		"PriorityConfiguration":{"PriorityOrder":["COST"]},"CustomEventData":"a","NotificationTarget":"arn:aws:sns:a"}`)
	w.changesAlone("UpdateGameSessionQueue", "GameSessionQueue", object{"Name": "q"}, object{
		"TimeoutInSeconds": 61., "CustomEventData": "b", "NotificationTarget": "arn:aws:sns:b",
		"PlayerLatencyPolicies": []any{object{"MaximumIndividualPlayerLatencyMilliseconds": 2.}},
		"Destinations":          []any{object{"DestinationArn": "arn:aws:gamelift:eu-west-1::fleet/fleet-farther"}},
		"FilterConfiguration":   object{"AllowedLocations": []any{"custom-b"}},
		"PriorityConfiguration": object{"LocationOrder": []any{"custom-b"}},
	}, nil)
}

// changesAlone sends each member by itself to an update and holds that the answer
// differs from the one before in that member alone: it is as it was sent. with
// has what a member needs beside it.
func (w *world) changesAlone(operation, member string, target, changes object, with map[string]object) {
	w.t.Helper()
	before, _ := w.must(operation, target)[member].(object)
	for name, value := range changes {
		in, want := clone(target), clone(before)
		in[name], want[name] = value, value
		for also, value := range with[name] {
			in[also] = value
		}
		after, _ := w.must(operation, in)[member].(object)
		if fmt.Sprint(after) != fmt.Sprint(want) {
			w.t.Errorf("%s with %s gave\n%v\nwant\n%v", operation, name, after, want)
		}
		before = after
	}
}
