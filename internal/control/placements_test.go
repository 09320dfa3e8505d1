package control

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/control/drivers"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// pool is processes that wait in fleet locations, by location.
type pool struct {
	*world
	fleet   string
	sockets map[string][]*socket
}

// poolAt makes a fleet with the given cost in locations, and registers a compute and
// ready processes in each.
func (w *world) poolAt(cost string, processes int, locations ...string) *pool {
	w.t.Helper()
	p := &pool{world: w, sockets: map[string][]*socket{}}
	var list []object
	for _, l := range locations {
		if _, err := w.call("CreateLocation", object{"LocationName": l}); err != nil && !fault.Is(err, fault.Conflict) {
			w.t.Fatal(err)
		}
		list = append(list, object{"Location": l})
	}
	in := object{"Name": "fleet", "ComputeType": "ANYWHERE", "Locations": list}
	if cost != "" {
		in["AnywhereConfiguration"] = object{"Cost": cost}
	}
	p.fleet = text(w.must("CreateFleet", in), "FleetAttributes", "FleetId")
	for _, l := range locations {
		w.compute(p.fleet, l, l)
		for range processes {
			p.add(l)
		}
	}
	return p
}

// add connects a process that is ready to host.
func (p *pool) add(location string) *socket {
	p.t.Helper()
	id := fmt.Sprintf("%s-%d", location, len(p.sockets[location]))
	s := p.process(p.fleet, location, p.token(p.fleet, location), id)
	p.sockets[location] = append(p.sockets[location], s)
	return s
}

func (p *pool) arn() string { return p.FleetARN(p.fleet) }

// addQueue makes a queue of destinations, with more members.
func (w *world) addQueue(name string, more object, pools ...*pool) {
	w.t.Helper()
	in := object{"Name": name, "TimeoutInSeconds": 600}
	var destinations []object
	for _, p := range pools {
		destinations = append(destinations, object{"DestinationArn": p.arn()})
	}
	in["Destinations"] = destinations
	for k, v := range more {
		in[k] = v
	}
	w.must("CreateGameSessionQueue", in)
}

// startPlace starts a placement in queue "q".
func (w *world) startPlace(id string, more object) object {
	w.t.Helper()
	return w.must("StartGameSessionPlacement", placementOfQ(id, more))
}

func placementOfQ(id string, more object) object {
	in := object{"PlacementId": id, "GameSessionQueueName": "q", "MaximumPlayerSessionCount": 4}
	for k, v := range more {
		in[k] = v
	}
	return in
}

func (w *world) place(id string) object {
	w.t.Helper()
	return w.must("DescribeGameSessionPlacement", object{"PlacementId": id})["GameSessionPlacement"].(object)
}

// placed waits until the placement is in one of the states: "waiting", "trying" or a
// status.
func (w *world) placed(id, state string) object {
	w.t.Helper()
	var last object
	w.await("placement "+id+" to be "+state, func() bool {
		r := w.record(id)
		now := string(r.Status)
		switch {
		case r.AttemptRunning():
			now = "trying"
		case !r.HasEnded():
			now = "waiting"
		}
		last = nil
		if now == state {
			last = w.place(id)
			return state != "trying" || last["GameSessionArn"] != nil
		}
		return false
	})
	return last
}

func (w *world) record(id string) (r *placement.Placement) {
	w.t.Helper()
	r, err := w.findPlacement(w.ctx, id)
	for fault.Is(err, fault.InternalService) && w.ctx.Err() == nil { // the shard is about to recover
		r, err = w.findPlacement(w.ctx, id)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// serve activates the game session that a process was asked to start.
func (s *socket) serve() (gameSession string) {
	s.w.t.Helper()
	push, ok := s.next().(processes.CreateGameSessionPush)
	if !ok {
		s.w.t.Fatalf("not asked to start a game session")
	}
	s.ok(s.activate(push.GameSessionID))
	return push.GameSessionID
}

func TestPlacementFulfilled(t *testing.T) {
	w := newWorld(t)
	p := w.poolAt("", 1, "custom-a")
	w.addQueue("q", nil, p)
	out := w.startPlace("place-1", object{
		"GameSessionName": "n", "GameSessionData": "d", "GameProperties": []object{{"Key": "k", "Value": "v"}},
		"DesiredPlayerSessions": []object{{"PlayerId": "p1", "PlayerData": "x"}, {"PlayerId": "p2"}},
	})
	start := w.seconds()
	same(t, out["GameSessionPlacement"], `{"PlacementId":"place-1","GameSessionQueueName":"q","Status":"PENDING",
		"GameProperties":[{"Key":"k","Value":"v"}],
		"MaximumPlayerSessionCount":4,"GameSessionName":"n","GameSessionData":"d","StartTime":%v,
		"PlayerGatewayStatus":"DISABLED"}`, start)
	push := p.sockets["custom-a"][0].next().(processes.CreateGameSessionPush)
	arn := "arn:aws:gamelift:us-west-2::gamesession/" + p.fleet + "/custom-a/place-1"
	if push.GameSessionID != arn {
		t.Errorf("asked to start %s", push.GameSessionID)
	}
	same(t, w.placed("place-1", "trying"), `{"PlacementId":"place-1","GameSessionQueueName":"q","Status":"PENDING",
		"GameProperties":[{"Key":"k","Value":"v"}],
		"MaximumPlayerSessionCount":4,"GameSessionName":"n","GameSessionData":"d","StartTime":%v,
		"PlayerGatewayStatus":"DISABLED",
		"GameSessionId":%q,"GameSessionArn":%q,"GameSessionRegion":"custom-a","IpAddress":"10.0.0.1",
		"DnsName":"custom-a.example","Port":7777}`, start, arn, arn)
	w.elapse(2 * time.Second)
	p.sockets["custom-a"][0].ok(p.sockets["custom-a"][0].activate(arn))
	got := w.placed("place-1", "FULFILLED")
	players := got["PlacedPlayerSessions"].([]any)
	same(t, got, `{"PlacementId":"place-1","GameSessionQueueName":"q","Status":"FULFILLED",
		"GameProperties":[{"Key":"k","Value":"v"}],
		"MaximumPlayerSessionCount":4,"GameSessionName":"n","GameSessionData":"d","StartTime":%v,"EndTime":%v,
		"PlayerGatewayStatus":"DISABLED",
		"GameSessionId":%q,"GameSessionArn":%q,"GameSessionRegion":"custom-a","IpAddress":"10.0.0.1",
		"DnsName":"custom-a.example","Port":7777,
		"PlacedPlayerSessions":[{"PlayerId":"p1","PlayerSessionId":%q},{"PlayerId":"p2","PlayerSessionId":%q}]}`,
		start, w.seconds(), arn, arn, text(players, 0, "PlayerSessionId"), text(players, 1, "PlayerSessionId"))
	out = w.must("DescribePlayerSessions", object{"GameSessionId": arn})
	if got := texts(out["PlayerSessions"], "PlayerId"); strings.Join(got, " ") != "p1 p2" ||
		text(out, "PlayerSessions", 0, "Status") != "RESERVED" {
		t.Errorf("the players' sessions are %v", out)
	}
}

// The vectors of the reference: where a placement goes. Queue q leads to F1 (custom-a
// and custom-b, cost 2.0) and F2 (custom-b and custom-c, cost 1.0).
func TestWhereAPlacementGoes(t *testing.T) {
	latency := func(values ...any) object { // player, location, milliseconds
		var list []object
		for i := 0; i < len(values); i += 3 {
			list = append(list, object{"PlayerId": values[i], "RegionIdentifier": values[i+1],
				"LatencyInMilliseconds": values[i+2]})
		}
		return object{"PlayerLatencies": list}
	}
	policies := func(values ...int) object { // cap, seconds
		var list []object
		for i := 0; i < len(values); i += 2 {
			policy := object{"MaximumIndividualPlayerLatencyMilliseconds": values[i]}
			if values[i+1] > 0 {
				policy["PolicyDurationSeconds"] = values[i+1]
			}
			list = append(list, policy)
		}
		return object{"PlayerLatencyPolicies": list}
	}
	priority := func(order []string, locations ...string) object {
		p := object{"PriorityOrder": order}
		if len(locations) > 0 {
			p["LocationOrder"] = locations
		}
		return object{"PriorityConfiguration": p}
	}
	override := func(strategy string, locations ...string) object {
		o := object{"LocationOrder": locations}
		if strategy != "" {
			o["PlacementFallbackStrategy"] = strategy
		}
		return object{"PriorityConfigurationOverride": o}
	}
	both := latency("p1", "custom-a", 20, "p1", "custom-b", 90, "p2", "custom-a", 80, "p2", "custom-b", 20)
	byPlace := priority([]string{"LOCATION", "DESTINATION"}, "custom-c")
	for _, c := range []struct {
		name           string
		queue, request object
		full           string // "F1" or a location: nothing is free there
		after          time.Duration
		want           string // "" for none
	}{
		{name: "P1", want: "F1/custom-a"},
		{name: "P2", full: "F1", want: "F2/custom-b"},
		{name: "P3", request: latency("p1", "custom-a", 50, "p1", "custom-b", 30, "p1", "custom-c", 30),
			want: "F2/custom-b"},
		{name: "P4", request: both, want: "F1/custom-a"},
		{name: "P5", queue: policies(70, 0), request: both, after: 10 * time.Minute},
		{name: "P6 before", queue: policies(85, 0, 70, 30), request: both, after: 29 * time.Second},
		{name: "P6", queue: policies(85, 0, 70, 30), request: both, after: 30 * time.Second, want: "F1/custom-a"},
		{name: "P7", queue: object{"FilterConfiguration": object{"AllowedLocations": []string{"custom-c"}}},
			want: "F2/custom-c"},
		{name: "P8", queue: priority([]string{"COST"}), want: "F2/custom-b"},
		{name: "P9", queue: byPlace, want: "F2/custom-c"},
		{name: "P10", queue: byPlace, request: override("NONE", "custom-b"), full: "custom-b", after: 10 * time.Minute},
		{name: "P11", queue: byPlace, request: override("", "custom-b"), full: "custom-b", want: "F2/custom-c"},
		{name: "policies without latencies", queue: policies(70, 0), want: "F1/custom-a"},
		{name: "override", queue: byPlace, request: override("NONE", "custom-b"), want: "F1/custom-b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			fleets := map[string]*pool{}
			for _, f := range []struct {
				name, cost string
				locations  []string
			}{{"F1", "2.0", []string{"custom-a", "custom-b"}}, {"F2", "1.0", []string{"custom-b", "custom-c"}}} {
				p := w.poolAt(f.cost, 0, f.locations...)
				for _, l := range f.locations {
					if c.full != f.name && c.full != l {
						p.add(l)
					}
				}
				fleets[f.name] = p
			}
			w.addQueue("q", c.queue, fleets["F1"], fleets["F2"])
			w.startPlace("p", c.request)
			if c.after > 0 {
				w.placed("p", "waiting")
				w.elapse(c.after)
			}
			if c.want == "" {
				state := "waiting"
				if c.after >= 10*time.Minute {
					state = "TIMED_OUT"
				}
				w.placed("p", state)
				return
			}
			name, location, _ := strings.Cut(c.want, "/")
			s := fleets[name].sockets[location][0]
			want := w.GameSessionARN(w.room(fleets[name].fleet, location), "p")
			started := s.serve()
			id := placement.SessionID("p", w.record("p").Attempt.Number)
			if id != started[strings.LastIndex(started, "/")+1:] || !strings.HasPrefix(started, want) {
				t.Errorf("started %s, want %s", started, want)
			}
			got := w.placed("p", "FULFILLED")
			if text(got, "GameSessionRegion") != location {
				t.Errorf("placed in %v", got)
			}
		})
	}
}

func TestRefusedPlacements(t *testing.T) {
	w := newWorld(t)
	p := w.poolAt("", 1, "custom-a")
	w.addQueue("q", nil, p)
	w.addQueue("q-cost", object{"PriorityConfiguration": object{"PriorityOrder": []string{"COST", "LOCATION"}}}, p)
	w.addQueue("q-place", object{"PriorityConfiguration": object{"PriorityOrder": []string{"LOCATION"}}}, p)
	w.startPlace("taken", nil)
	override := object{"LocationOrder": []string{"custom-a"}}
	latencies := []object{{"PlayerId": "p", "RegionIdentifier": "custom-a", "LatencyInMilliseconds": 1}}
	before := w.state()
	for name, c := range map[string]struct {
		more object
		kind fault.Kind
	}{
		"no queue": {object{"GameSessionQueueName": "none"}, fault.NotFound},
		"elsewhere": {object{"GameSessionQueueName": "arn:aws:gamelift:eu-west-1:111122223333:gamesessionqueue/q"},
			fault.NotFound},
		"P12": {object{"GameSessionQueueName": "q-cost", "PriorityConfigurationOverride": override},
			fault.InvalidRequest},
		"no LOCATION": {object{"PriorityConfigurationOverride": override}, fault.InvalidRequest},
		"P13": {object{"GameSessionQueueName": "q-place", "PriorityConfigurationOverride": override,
			"PlayerLatencies": latencies}, fault.InvalidRequest},
		"P14":      {object{"PlacementId": "taken"}, fault.InvalidRequest},
		"too many": {object{"MaximumPlayerSessionCount": 201}, fault.InvalidRequest},
		"more than may": {object{"MaximumPlayerSessionCount": 1,
			"DesiredPlayerSessions": []object{{"PlayerId": "a"}, {"PlayerId": "b"}}}, fault.InvalidRequest},
		"a player twice": {object{"DesiredPlayerSessions": []object{{"PlayerId": "a"}, {"PlayerId": "a"}}},
			fault.InvalidRequest},
		"no player": {object{"DesiredPlayerSessions": []object{{"PlayerData": "a"}}}, fault.InvalidRequest},
		"a property twice": {object{"GameProperties": []object{{"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}}},
			fault.InvalidRequest},
		"no location": {object{"PlayerLatencies": []object{{"PlayerId": "p", "LatencyInMilliseconds": 1}}},
			fault.InvalidRequest},
		"negative": {object{"PlayerLatencies": []object{{"PlayerId": "p", "RegionIdentifier": "a",
			"LatencyInMilliseconds": -1}}}, fault.InvalidRequest},
		"endless": {object{"PlayerLatencies": []object{{"PlayerId": "p", "RegionIdentifier": "a",
			"LatencyInMilliseconds": 1e30}}}, fault.InvalidRequest},
	} {
		in := placementOfQ("new", c.more)
		if _, err := w.call("StartGameSessionPlacement", in); !fault.Is(err, c.kind) {
			t.Errorf("%s: got %v, want %s", name, err, c.kind)
		}
	}
	if after := w.state(); after != before {
		t.Error("a refused request has changed something")
	}
	w.refused(fault.NotFound, "DescribeGameSessionPlacement", object{"PlacementId": "new"})
	w.refused(fault.NotFound, "StopGameSessionPlacement", object{"PlacementId": "new"})
}

// A client that repeats a call, because its answer got lost, sends the same
// invocation id.
func TestRetriesOfACallGiveTheSamePlacement(t *testing.T) {
	w := newWorld(t)
	p := w.poolAt("", 1, "custom-a")
	w.addQueue("q", nil, p)
	call := func(principal, invocation string) error {
		_, err := w.callAs(WithCall(w.ctx, Call{Principal: principal, Invocation: invocation}),
			"StartGameSessionPlacement", placementOfQ("p", nil))
		return err
	}
	for range 2 {
		if err := call("AKIA1", "0001"); err != nil {
			t.Fatal(err)
		}
	}
	wantKind(t, "another caller", call("AKIA2", "0001"), fault.InvalidRequest)
	p.sockets["custom-a"][0].serve()
	w.placed("p", "FULFILLED")
	p.sockets["custom-a"][0].quiet()
	w.elapse(2 * time.Hour)
	w.advance("the placement to be in the history", drivers.TidyEvery, func() bool { return !w.inMemory("p") })
	if err := call("AKIA1", "0001"); err != nil {
		t.Errorf("the same call, when the placement is in the history: %v", err)
	}
	wantKind(t, "another call", call("AKIA1", "0002"), fault.InvalidRequest)
	if got := w.place("p"); got["Status"] != "FULFILLED" || got["GameSessionArn"] == nil {
		t.Errorf("in the history it is %v", got)
	}
	w.refused(fault.InvalidRequest, "StopGameSessionPlacement", object{"PlacementId": "p"})
}

func (w *world) inMemory(id string) (found bool) {
	w.t.Helper()
	err := w.PlacementShard(id).Read(w.ctx, func(m *region.Machine) { _, found = m.Placements().Placement(id) })
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

func TestStopPlacement(t *testing.T) {
	w := newWorld(t)
	p := w.poolAt("", 0, "custom-a")
	w.addQueue("q", nil, p)
	w.startPlace("waits", nil)
	w.placed("waits", "waiting")
	w.elapse(time.Second)
	out := w.must("StopGameSessionPlacement", object{"PlacementId": "waits"})
	same(t, out["GameSessionPlacement"], `{"PlacementId":"waits","GameSessionQueueName":"q","Status":"CANCELLED",
		"GameProperties":[],
		"MaximumPlayerSessionCount":4,"StartTime":%v,"EndTime":%v,
		"PlayerGatewayStatus":"DISABLED"}`, w.seconds()-1, w.seconds())
	w.refused(fault.InvalidRequest, "StopGameSessionPlacement", object{"PlacementId": "waits"})
	s := p.add("custom-a")
	w.startPlace("tries", nil)
	session := text(w.placed("tries", "trying"), "GameSessionArn")
	w.refused(fault.InvalidRequest, "StopGameSessionPlacement", object{"PlacementId": "tries"})
	w.must("TerminateGameSession", object{"GameSessionId": session, "TerminationMode": "TRIGGER_ON_PROCESS_TERMINATE"})
	got := w.placed("tries", "FAILED")
	if got["GameSessionArn"] != session || got["EndTime"] == nil || got["IpAddress"] != nil {
		t.Errorf("FAILED is %v", got)
	}
	w.refused(fault.InvalidRequest, "StopGameSessionPlacement", object{"PlacementId": "tries"})
	s.next()
	s.next()
	p.add("custom-a").quiet()
}
