package control

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/api"
	"github.com/muster-gg/muster/internal/wire"
)

// A typed operation is one with the structures of its input and its output.
type typed struct {
	name    string
	in, out reflect.Type
}

func typesOf[I, O any](op wire.Operation[I, O]) typed {
	return typed{op.Name, reflect.TypeFor[I](), reflect.TypeFor[O]()}
}

// typedOperations are those of the families whose fields the table lists.
var typedOperations = []typed{
	typesOf(wire.OpCreateGameSessionQueue), typesOf(wire.OpDescribeGameSessionQueues),
	typesOf(wire.OpUpdateGameSessionQueue), typesOf(wire.OpDeleteGameSessionQueue),
	typesOf(wire.OpStartGameSessionPlacement), typesOf(wire.OpDescribeGameSessionPlacement),
	typesOf(wire.OpStopGameSessionPlacement),
	typesOf(wire.OpCreateMatchmakingConfiguration), typesOf(wire.OpDescribeMatchmakingConfigurations),
	typesOf(wire.OpUpdateMatchmakingConfiguration), typesOf(wire.OpDeleteMatchmakingConfiguration),
	typesOf(wire.OpCreateMatchmakingRuleSet), typesOf(wire.OpDescribeMatchmakingRuleSets),
	typesOf(wire.OpDeleteMatchmakingRuleSet), typesOf(wire.OpValidateMatchmakingRuleSet),
	typesOf(wire.OpStartMatchmaking), typesOf(wire.OpDescribeMatchmaking), typesOf(wire.OpStopMatchmaking),
	typesOf(wire.OpAcceptMatch), typesOf(wire.OpStartMatchBackfill),
}

// element is what pointers, lists and maps of a type hold.
func element(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	return t
}

// isShape reports whether a type is a structure of the API with members.
func isShape(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.PkgPath() == reflect.TypeFor[wire.Tag]().PkgPath() &&
		!strings.HasPrefix(t.Name(), "Opt[") && t.NumField() > 0
}

// reach collects a structure and all that it holds.
func reach(t reflect.Type, found map[reflect.Type]bool) {
	if t = element(t); !isShape(t) || found[t] {
		return
	}
	found[t] = true
	for i := range t.NumField() {
		reach(t.Field(i).Type, found)
	}
}

// fieldRows are the rows of the table by structure.
func fieldRows(t *testing.T) map[reflect.Type][]api.Field {
	rows := map[reflect.Type][]api.Field{}
	for _, f := range api.Families {
		for _, s := range f.Shapes {
			if rows[s.Type] != nil {
				t.Errorf("%s stands twice", s.Type.Name())
			}
			rows[s.Type] = s.Fields
		}
	}
	return rows
}

// TestFieldsCoverTheModel holds the table to the structures of the API, member for
// member.
func TestFieldsCoverTheModel(t *testing.T) {
	rows, reached := fieldRows(t), map[reflect.Type]bool{}
	operations := map[string]bool{}
	for _, op := range typedOperations {
		operations[op.name] = true
		reach(op.in, reached)
		reach(op.out, reached)
	}
	limited := func(f api.Field) bool { return f.Support != api.Full }
	for _, f := range api.Families {
		for _, o := range f.Offers {
			switch {
			case f.Shapes == nil:
			case !operations[o.Info.Name]:
				t.Errorf("%s is not among the operations of this test", o.Info.Name)
			case (o.Support == api.Full) == slices.ContainsFunc(rows[inputOf(o.Info.Name)], limited):
				t.Errorf("%s is %q, which does not fit its fields", o.Info.Name, o.Support)
			}
		}
	}
	for shape := range reached {
		var want, got []string
		for i := range shape.NumField() {
			want = append(want, shape.Field(i).Name)
		}
		for _, f := range rows[shape] {
			got = append(got, f.Name)
			if f.Support != api.Full && f.Note == "" {
				t.Errorf("%s.%s is %q without a note", shape.Name(), f.Name, f.Support)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has the rows %v, want %v", shape.Name(), got, want)
		}
	}
	for shape := range rows {
		if !reached[shape] {
			t.Errorf("%s belongs to none of the operations", shape.Name())
		}
	}
}

// An experiment is a request that is answered, and for each member of its
// operation's input a value that makes a difference.
type experiment struct {
	operation string
	base      object
	members   object
}

func queueExperiments(fleetArn string) []experiment {
	policies := []object{{"MaximumIndividualPlayerLatencyMilliseconds": 100, "PolicyDurationSeconds": 60}}
	settings := object{
		"TimeoutInSeconds": 60, "PlayerLatencyPolicies": policies,
		"Destinations":        []object{{"DestinationArn": fleetArn}},
		"FilterConfiguration": object{"AllowedLocations": []string{"custom-a"}}, "CustomEventData": "blue",
		"NotificationTarget":    "arn:aws:sns:x",
		"PriorityConfiguration": object{"PriorityOrder": []string{"COST"}, "LocationOrder": []string{"custom-a"}},
	}
	latencies := []object{{"PlayerId": "p", "RegionIdentifier": "custom-a", "LatencyInMilliseconds": 20}}
	return []experiment{
		{"CreateGameSessionQueue", object{"Name": "new"},
			with(settings, object{"Name": "newer", "Tags": []object{{"Key": "k", "Value": "v"}}})},
		{"DescribeGameSessionQueues", object{}, object{"Names": []string{"none"}, "Limit": 1, "NextToken": "x"}},
		{"UpdateGameSessionQueue", object{"Name": "idle"}, with(settings, object{"Name": "none"})},
		{"DeleteGameSessionQueue", object{"Name": "games"}, object{"Name": "none"}},
		{"StartGameSessionPlacement", object{
			"PlacementId": "new", "GameSessionQueueName": "idle", "MaximumPlayerSessionCount": 1,
		}, object{
			"PlacementId": "newer", "GameSessionQueueName": "none",
			"GameProperties": []object{{"Key": "k", "Value": "v"}}, "MaximumPlayerSessionCount": 2,
			"GameSessionName": "n", "GameSessionData": "d", "PlayerLatencies": latencies,
			// These are more than the maximum.
			"DesiredPlayerSessions": []object{{"PlayerId": "p"}, {"PlayerId": "q", "PlayerData": "d"}},
			// The queue has no order of locations.
			"PriorityConfigurationOverride": object{"LocationOrder": []string{"custom-a"}},
		}},
		{"DescribeGameSessionPlacement", object{"PlacementId": "p1"}, object{"PlacementId": "none"}},
		{"StopGameSessionPlacement", object{"PlacementId": "p1"}, object{"PlacementId": "none"}},
	}
}

func matchmakingExperiments() []experiment {
	settings := object{
		"Description": "d", "GameSessionQueueArns": []string{arnOf("gamesessionqueue/idle")},
		"RequestTimeoutSeconds": 61, "AcceptanceTimeoutSeconds": 20,
		"AcceptanceRequired": true, "RuleSetName": "spare", "NotificationTarget": "arn:aws:sns:x",
		"AdditionalPlayerCount": 1, "CustomEventData": "blue",
		"GameProperties": []object{{"Key": "k", "Value": "v"}}, "GameSessionData": "d", "BackfillMode": "AUTOMATIC",
		"FlexMatchMode": "STANDALONE", // without a queue
	}
	tags := object{"Tags": []object{{"Key": "k", "Value": "v"}}}
	return []experiment{
		{"CreateMatchmakingConfiguration", object{"Name": "new", "RuleSetName": "duel", "AcceptanceRequired": false,
			"RequestTimeoutSeconds": 60,
			"GameSessionQueueArns":  []string{arnOf("gamesessionqueue/games")}},
			with(settings, tags, object{"Name": "newer"})},
		{"DescribeMatchmakingConfigurations", object{},
			object{"Names": []string{"none"}, "RuleSetName": "none", "Limit": 1, "NextToken": "x"}},
		{"UpdateMatchmakingConfiguration", object{"Name": "duel"}, with(settings, object{"Name": "none"})},
		{"DeleteMatchmakingConfiguration", object{"Name": "duel"}, object{"Name": "none"}},
		{"CreateMatchmakingRuleSet", object{"Name": "new", "RuleSetBody": duelRules},
			with(tags, object{"Name": "newer", "RuleSetBody": crewRules})},
		{"DescribeMatchmakingRuleSets", object{}, object{"Names": []string{"none"}, "Limit": 1, "NextToken": "x"}},
		{"DeleteMatchmakingRuleSet", object{"Name": "spare"}, object{"Name": "none"}},
		{"ValidateMatchmakingRuleSet", object{"RuleSetBody": duelRules}, object{"RuleSetBody": "{}"}},
		{"StartMatchmaking", object{"TicketId": "new", "ConfigurationName": "duel", "Players": players("p")}, object{
			"TicketId": "newer", "ConfigurationName": "careful", "Players": players("q")}},
		{"DescribeMatchmaking", object{"TicketIds": []string{"t1"}}, object{"TicketIds": []string{"none"}}},
		{"StopMatchmaking", object{"TicketId": "t1"}, object{"TicketId": "none"}},
		{"AcceptMatch", object{"TicketId": "c1", "PlayerIds": []string{"c1"}, "AcceptanceType": "ACCEPT"}, object{
			"TicketId": "c2", "PlayerIds": []string{"none"}, "AcceptanceType": "REJECT"}},
		{"StartMatchBackfill", object{"TicketId": "new", "ConfigurationName": "alone", "Players": seated("p")}, object{
			"TicketId": "newer", "ConfigurationName": "none", "Players": seated("q"),
			// A standalone matchmaker has no game sessions.
			"GameSessionArn": "arn:aws:gamelift:us-west-2::gamesession/fleet-1/gsess-1"}},
	}
}

// seated are players of a team.
func seated(id string) []object { return []object{{"PlayerId": id, "Team": "alpha"}} }

// with merges objects.
func with(all ...object) object {
	merged := object{}
	for _, o := range all {
		maps.Copy(merged, o)
	}
	return merged
}

// laboratory makes a world in which the experiments make sense: the placement p1
// and the ticket t1 wait, and the tickets c1 and c2 await acceptance.
func laboratory(t *testing.T) *arcade {
	a := matchmakers(t, 0, withShards(1))
	a.queueOf("idle")
	a.must("CreateMatchmakingRuleSet", object{"Name": "spare", "RuleSetBody": crewRules})
	a.configure("alone", duelRules, object{"FlexMatchMode": "STANDALONE"})
	a.configure("careful", crewRules, object{"AcceptanceRequired": true})
	a.must("StartGameSessionPlacement",
		`{"PlacementId":"p1","GameSessionQueueName":"idle","MaximumPlayerSessionCount":1}`)
	a.seek("alone", "t1", "t1")
	a.seek("careful", "c1", "c1")
	a.seek("careful", "c2", "c2")
	a.becomes("REQUIRES_ACCEPTANCE", "c1", "c2")
	return a
}

// random are the parts of ids that differ from world to world.
var random = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// outcome is what came of a request: its answer, and what others then see.
func (a *arcade) outcome(operation string, in object) string {
	a.t.Helper()
	var seen strings.Builder
	look := func(operation string, in object) {
		out, err := a.call(operation, in)
		seen.WriteString(operation + " " + fmt.Sprint(out, err) + "\n")
	}
	look(operation, in)
	for _, describe := range []string{
		"DescribeGameSessionQueues", "DescribeMatchmakingConfigurations", "DescribeMatchmakingRuleSets",
	} {
		look(describe, object{})
	}
	for _, kind := range []string{"gamesessionqueue", "matchmakingconfiguration", "matchmakingruleset"} {
		look("ListTagsForResource", object{"ResourceARN": arnOf(kind + "/new")})
	}
	for _, id := range []string{"p1", "new", "newer"} {
		look("DescribeGameSessionPlacement", object{"PlacementId": id})
	}
	a.rest("t1", "new")
	look("DescribeMatchmaking", object{"TicketIds": []string{"t1", "c1", "c2", "new", "newer"}})
	return random.ReplaceAllString(seen.String(), "ID")
}

// rest returns when the matches of tickets that can be made are proposed: a question
// is answered by who matches, before the next look for a match.
func (a *arcade) rest(tickets ...string) {
	for range 2 {
		for _, id := range tickets {
			_, _ = a.ExplainTicket(a.ctx, id) // one that does not search has come to rest
		}
	}
}

// TestFieldsTakeEffect sends each member of each input by itself: what the table
// calls offered makes a difference that clients see.
func TestFieldsTakeEffect(t *testing.T) {
	rows, tried := fieldRows(t), map[string]bool{}
	fleet := "arn:aws:gamelift:eu-west-1::fleet/fleet-far"
	for _, e := range slices.Concat(queueExperiments(fleet), matchmakingExperiments()) {
		tried[e.operation] = true
		t.Run(e.operation, func(t *testing.T) {
			base := laboratory(t).outcome(e.operation, e.base)
			if again := laboratory(t).outcome(e.operation, e.base); again != base {
				t.Fatalf("the experiment does not always come out the same:\n%s", difference(base, again))
			}
			for _, f := range rows[inputOf(e.operation)] {
				value, ok := e.members[f.Name]
				if f.Support == api.No || !ok {
					t.Errorf("%s is %q, and there is an experiment: %v", f.Name, f.Support, ok)
					continue
				}
				if laboratory(t).outcome(e.operation, with(e.base, object{f.Name: value})) == base {
					t.Errorf("%s makes no difference", f.Name)
				}
			}
		})
	}
	for _, op := range typedOperations {
		if !tried[op.name] {
			t.Errorf("there is no experiment with %s", op.name)
		}
	}
}

// difference is the first line in which two texts differ.
func difference(a, b string) string {
	lines := strings.Split(b, "\n")
	for i, line := range strings.Split(a, "\n") {
		if i >= len(lines) || lines[i] != line {
			return line + "\n" + strings.Join(lines[i:min(i+1, len(lines))], "")
		}
	}
	return "the second one is longer"
}

func inputOf(operation string) reflect.Type {
	i := slices.IndexFunc(typedOperations, func(op typed) bool { return op.name == operation })
	return typedOperations[i].in
}

// A spectator notes which members of which structures answers have had.
type spectator struct {
	*arcade
	seen map[string]bool // "GameSessionQueue.Name"
}

// see makes a call that has to succeed and notes the members of its answer.
func (s *spectator) see(operation string, in any) object {
	s.t.Helper()
	out := s.must(operation, in)
	i := slices.IndexFunc(typedOperations, func(op typed) bool { return op.name == operation })
	s.note(typedOperations[i].out, out)
	return out
}

// note walks a JSON value along its type.
func (s *spectator) note(t reflect.Type, value any) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch value := value.(type) {
	case []any:
		for _, e := range value {
			s.note(t.Elem(), e)
		}
	case object:
		for name, member := range value {
			if t.Kind() == reflect.Map {
				s.note(t.Elem(), member)
				continue
			}
			s.seen[t.Name()+"."+name] = true
			if f, ok := t.FieldByName(name); ok {
				s.note(f.Type, member)
			}
		}
	}
}

// TestFieldsOfAnswersAreThere goes through all that answers can show: each member
// that the table calls offered is there at some time.
func TestFieldsOfAnswersAreThere(t *testing.T) {
	s := &spectator{matchmakers(t, 2), map[string]bool{}}
	s.seeResources()
	s.seePlacements()
	s.seeTickets()

	reached := map[reflect.Type]bool{}
	for _, op := range typedOperations {
		reach(op.out, reached)
	}
	rows := fieldRows(t)
	for shape := range reached {
		for _, f := range rows[shape] {
			if name := shape.Name() + "." + f.Name; s.seen[name] != (f.Support != api.No) {
				t.Errorf("%s is %q, and seen: %v", name, f.Support, s.seen[name])
			}
		}
	}
}

// seeResources looks at queues, configurations and rule sets.
func (s *spectator) seeResources() {
	experiments := slices.Concat(queueExperiments(s.FleetARN(s.fleet))[:1], matchmakingExperiments()[:1])
	s.queueOf("idle")
	s.must("CreateMatchmakingRuleSet", object{"Name": "spare", "RuleSetBody": crewRules})
	for _, e := range experiments {
		delete(e.members, "FlexMatchMode")
		s.see(e.operation, with(e.base, e.members, object{"Name": "full"}))
	}
	s.see("UpdateGameSessionQueue", `{"Name":"full","TimeoutInSeconds":600}`)
	s.see("UpdateMatchmakingConfiguration", `{"Name":"full","Description":"e"}`)
	s.see("CreateMatchmakingRuleSet", object{"Name": "full", "RuleSetBody": duelRules})
	s.see("ValidateMatchmakingRuleSet", object{"RuleSetBody": duelRules})
	for _, operation := range []string{
		"DescribeGameSessionQueues", "DescribeMatchmakingConfigurations", "DescribeMatchmakingRuleSets",
	} {
		s.see(operation, `{"Limit":1}`)
	}
}

// seePlacements looks at placements of all kinds.
func (s *spectator) seePlacements() {
	s.must("UpdateGameSessionQueue", `{"Name":"games","PriorityConfiguration":{"PriorityOrder":["LOCATION"]}}`)
	s.see("StartGameSessionPlacement", `{"PlacementId":"full","GameSessionQueueName":"games",
		"MaximumPlayerSessionCount":2,"GameProperties":[{"Key":"k","Value":"v"}],
		"GameSessionName":"n","GameSessionData":"d","DesiredPlayerSessions":[{"PlayerId":"p","PlayerData":"d"}],
		"PriorityConfigurationOverride":{"LocationOrder":["custom-a"]}}`)
	s.see("StartGameSessionPlacement", `{"PlacementId":"stopped","GameSessionQueueName":"idle",
		"MaximumPlayerSessionCount":2,
		"PlayerLatencies":[{"PlayerId":"p","RegionIdentifier":"custom-a","LatencyInMilliseconds":20}]}`)
	s.see("StopGameSessionPlacement", `{"PlacementId":"stopped"}`)
	host, _ := s.arcade.play()
	s.await("the placement", func() bool {
		return text(s.see("DescribeGameSessionPlacement", `{"PlacementId":"full"}`), "GameSessionPlacement",
			"Status") == "FULFILLED"
	})
	s.sockets = slices.DeleteFunc(s.sockets, func(other *socket) bool { return other == host })
}

// seeTickets looks at tickets of all kinds, and at the placement of a match.
func (s *spectator) seeTickets() {
	for _, id := range []string{"one", "two"} {
		s.elapse(time.Second) // so that there is a waiting time to estimate
		s.see("StartMatchmaking", object{"TicketId": id, "ConfigurationName": "duel",
			"Players": []object{{"PlayerId": id, "LatencyInMs": object{"custom-a": 20},
				"PlayerAttributes": object{"mmr": object{"N": 5}, "mode": object{"S": "casual"},
					"tags": object{"SL": []string{"x"}}, "votes": object{"SDM": object{"keep": 9}}}}}})
	}
	_, push := s.arcade.play()
	s.becomes("COMPLETED", "one", "two")
	id := push.GameSessionID[strings.LastIndex(push.GameSessionID, "/")+1:]
	s.see("DescribeGameSessionPlacement", object{"PlacementId": id})
	s.see("StartMatchmaking", object{"TicketId": "three", "ConfigurationName": "duel", "Players": players("three")})
	s.see("DescribeMatchmaking", `{"TicketIds":["one","three"]}`)
	s.must("StopMatchmaking", `{"TicketId":"three"}`)
	s.see("DescribeMatchmaking", `{"TicketIds":["three"]}`)
	s.configure("alone", duelRules, object{"FlexMatchMode": "STANDALONE"})
	s.see("StartMatchBackfill", object{"TicketId": "fill", "ConfigurationName": "alone", "Players": seated("p")})
}
