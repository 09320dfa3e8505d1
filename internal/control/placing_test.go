package control

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// serveAll makes processes activate what they are asked to start, until the returned
// function is called. It counts what each was asked for.
func (w *world) serveAll(sockets ...*socket) (stop func() (started map[string]int)) {
	started := map[string]int{}
	var mu sync.Mutex
	done := make(chan struct{})
	var group sync.WaitGroup
	for _, s := range sockets {
		group.Go(func() {
			for {
				select {
				case push := <-s.pushes:
					if c, ok := push.(processes.CreateGameSessionPush); ok {
						mu.Lock()
						started[c.GameSessionID]++
						mu.Unlock()
						_ = s.activate(c.GameSessionID) // it may have been terminated
					}
				case <-done:
					return
				}
			}
		})
	}
	return func() map[string]int {
		close(done)
		group.Wait()
		return started
	}
}

func (p *pool) all() (sockets []*socket) {
	for _, list := range p.sockets {
		sockets = append(sockets, list...)
	}
	return sockets
}

// noneLeft checks that the driver holds on to nothing.
func (w *world) noneLeft() {
	w.t.Helper()
	w.await("the driver to be at rest", w.drivers.PlacementsIdle)
}

// As many placements as processes, all at once: each gets one, wherever it is.
func TestABurstOfPlacements(t *testing.T) {
	const each = 20
	w := newWorld(t)
	pools := []*pool{w.poolAt("", each, "custom-a", "custom-b"), w.poolAt("", each, "custom-a", "custom-c")}
	w.addQueue("q", nil, pools...)
	var sockets []*socket
	for _, p := range pools {
		sockets = append(sockets, p.all()...)
	}
	stop := w.serveAll(sockets...)
	var group sync.WaitGroup
	for i := range len(sockets) {
		group.Go(func() {
			id := fmt.Sprintf("p-%d", i)
			in := placementOfQ(id, object{"DesiredPlayerSessions": []object{{"PlayerId": id}}})
			if _, err := w.call("StartGameSessionPlacement", in); err != nil {
				t.Error(err)
				return
			}
			got, err := w.AwaitPlacement(w.ctx, id)
			if err != nil || got.Status != "FULFILLED" || len(got.PlacedPlayerSessions) != 1 {
				t.Errorf("%s: %v, %v", id, got, err)
			}
		})
	}
	group.Wait()
	started := stop()
	if len(started) != len(sockets) {
		t.Errorf("%d game sessions were started for %d placements", len(started), len(sockets))
	}
	for id, n := range started {
		if n != 1 {
			t.Errorf("%s was started %d times", id, n)
		}
	}
	w.noneLeft()
}

// A process that comes free serves the oldest placement that can use it.
func TestTheOldestIsServedFirst(t *testing.T) {
	w := newWorld(t)
	a := w.poolAt("", 0, "custom-a")
	b := w.poolAt("", 0, "custom-b")
	w.addQueue("q", nil, a, b)
	w.addQueue("only-b", nil, b)
	for i, queue := range []string{"q", "only-b", "q", "only-b"} {
		id := fmt.Sprintf("p-%d", i)
		w.startPlace(id, object{"GameSessionQueueName": queue})
		w.placed(id, "waiting")
		w.elapse(time.Second)
	}
	for _, step := range []struct {
		add  *pool
		in   string
		want string
	}{{b, "custom-b", "p-0"}, {b, "custom-b", "p-1"}, {a, "custom-a", "p-2"}, {b, "custom-b", "p-3"}} {
		session := step.add.add(step.in).serve()
		if got := session[strings.LastIndex(session, "/")+1:]; !strings.HasPrefix(got, step.want) {
			t.Errorf("in %s %s was placed, want %s", step.in, got, step.want)
		}
		w.placed(step.want, "FULFILLED")
	}
	w.noneLeft()
}

// With one activation at a time on a compute, the end of each lets the next begin.
func TestActivationLimits(t *testing.T) {
	w := newWorld(t)
	p := w.poolAt("", 3, "custom-a")
	w.must("UpdateRuntimeConfiguration", object{"FleetId": p.fleet, "RuntimeConfiguration": object{
		"MaxConcurrentGameSessionActivations": 1,
		"ServerProcesses":                     []object{{"LaunchPath": "/local/game/x", "ConcurrentExecutions": 1}}}})
	w.addQueue("q", nil, p)
	for i := range 3 {
		w.startPlace(fmt.Sprint("p-", i), nil)
	}
	w.placed("p-0", "trying")
	w.placed("p-1", "waiting")
	stop := w.serveAll(p.all()...)
	for i := range 3 {
		w.placed(fmt.Sprint("p-", i), "FULFILLED")
	}
	stop()
	w.noneLeft()
}

// An attempt that fails does not end its placement, unless the placement was cancelled.
func TestAttemptsThatFail(t *testing.T) {
	for name, c := range map[string]struct {
		fail func(*world, *socket, string)
		want string
	}{
		"process ends":          {func(_ *world, s *socket, _ string) { s.ok(s.end()) }, "FULFILLED"},
		"not activated in time": {func(w *world, _ *socket, _ string) { w.elapse(10 * time.Second) }, "FULFILLED"},
		"terminated": {func(w *world, _ *socket, session string) {
			w.must("TerminateGameSession", object{"GameSessionId": session,
				"TerminationMode": "TRIGGER_ON_PROCESS_TERMINATE"})
		}, "FAILED"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			p := w.poolAt("", 1, "custom-a", "custom-b")
			w.must("UpdateRuntimeConfiguration", object{"FleetId": p.fleet, "RuntimeConfiguration": object{
				"GameSessionActivationTimeoutSeconds": 10,
				"ServerProcesses": []object{{"LaunchPath": "/local/game/x",
					"ConcurrentExecutions": 1}}}})
			w.addQueue("q", nil, p)
			w.startPlace("p", nil)
			s := p.sockets["custom-a"][0]
			c.fail(w, s, s.next().(processes.CreateGameSessionPush).GameSessionID)
			if c.want == "FULFILLED" {
				if session := p.sockets["custom-b"][0].serve(); !strings.Contains(session, "/custom-b/p-") {
					t.Errorf("the next attempt started %s", session)
				}
			}
			w.placed("p", c.want)
			w.noneLeft()
		})
	}
}

// Without another candidate the placement waits until it times out.
func TestTimeoutAfterAFailedAttempt(t *testing.T) {
	w := newWorld(t)
	p := w.poolAt("", 1, "custom-a")
	w.addQueue("q", object{"TimeoutInSeconds": 60}, p)
	w.startPlace("p", nil)
	w.elapse(10 * time.Second)
	s := p.sockets["custom-a"][0]
	s.next()
	s.ok(s.end())
	w.placed("p", "waiting")
	w.elapse(50 * time.Second)
	got := w.placed("p", "TIMED_OUT")
	if got["GameSessionArn"] != nil || got["EndTime"] == nil {
		t.Errorf("TIMED_OUT is %v", got)
	}
	w.noneLeft()
}

// The time of a placement ends an attempt that runs.
func TestTimeoutOfARunningAttempt(t *testing.T) {
	w := newWorld(t)
	p := w.poolAt("", 2, "custom-a")
	w.addQueue("q", object{"TimeoutInSeconds": 60}, p)
	w.startPlace("p", nil)
	session := text(w.placed("p", "trying"), "GameSessionArn")
	w.elapse(59 * time.Second)
	w.placed("p", "trying")
	w.elapse(time.Second)
	w.placed("p", "TIMED_OUT")
	if got := w.status(session); got != "TERMINATED" {
		t.Errorf("the game session is %s", got)
	}
	w.noneLeft()
}

func TestQueueDeletedUnderPlacements(t *testing.T) {
	w := newWorld(t)
	p := w.poolAt("", 1, "custom-a")
	w.addQueue("q", nil, p)
	w.startPlace("tries", nil)
	session := text(w.placed("tries", "trying"), "GameSessionArn")
	w.startPlace("waits", nil)
	w.placed("waits", "waiting")
	w.must("DeleteGameSessionQueue", object{"Name": "q"})
	w.addQueue("q", nil, p) // a new one does not bring them back
	w.placed("waits", "FAILED")
	w.placed("tries", "FAILED")
	w.await("the game session to be terminated", func() bool { return w.status(session) == "TERMINATING" })
	if r := w.record("waits"); !strings.Contains(r.Reason, "deleted") {
		t.Errorf("the reason is %q", r.Reason)
	}
	w.noneLeft()
}

// Whatever changes where a queue leads is found by those who wait.
func TestChangesUnderWaitingPlacements(t *testing.T) {
	destinations := func(arns ...string) object {
		var list []object
		for _, a := range arns {
			list = append(list, object{"DestinationArn": a})
		}
		return object{"Name": "q", "Destinations": list}
	}
	for name, change := range map[string]func(w *world, empty, rich *pool, alias string){
		"destination": func(w *world, empty, rich *pool, _ string) {
			w.must("UpdateGameSessionQueue", destinations(empty.arn(), rich.arn()))
		},
		"fleet without account": func(w *world, _, rich *pool, _ string) {
			w.must("UpdateGameSessionQueue", destinations(strings.Replace(rich.arn(), testAccount, "", 1)))
		},
		"alias": func(w *world, _, rich *pool, alias string) {
			w.must("UpdateAlias", object{"AliasId": alias,
				"RoutingStrategy": object{"Type": "SIMPLE", "FleetId": rich.fleet}})
		},
		"location": func(w *world, empty, _ *pool, _ string) {
			w.must("CreateFleetLocations", object{"FleetId": empty.fleet,
				"Locations": []object{{"Location": "custom-b"}}})
			w.compute(empty.fleet, "custom-b", "later")
			w.process(empty.fleet, "later", w.token(empty.fleet, "later"), "later")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			empty, rich := w.poolAt("", 0, "custom-a"), w.poolAt("", 1, "custom-b")
			alias := w.must("CreateAlias", object{"Name": "a",
				"RoutingStrategy": object{"Type": "TERMINAL", "Message": "closed"}})
			w.addQueue("q", nil, empty)
			w.must("UpdateGameSessionQueue", destinations(empty.arn(), text(alias, "Alias", "AliasArn")))
			w.startPlace("p", nil)
			w.placed("p", "waiting")
			if r := w.record("p"); len(r.Trail.Candidates) != 2 || r.Trail.Candidates[1].Dropped != "closed" {
				t.Errorf("the trail is %+v", r.Trail)
			}
			change(w, empty, rich, text(alias, "Alias", "AliasId"))
			w.placed("p", "trying")
		})
	}
}

// A fleet that is deleted is no candidate any more.
func TestFleetDeletedUnderPlacements(t *testing.T) {
	w := newWorld(t)
	gone, other := w.poolAt("", 0, "custom-a"), w.poolAt("", 0, "custom-b")
	w.addQueue("q", nil, gone, other)
	w.startPlace("p", nil)
	w.placed("p", "waiting")
	w.must("DeregisterCompute", object{"FleetId": gone.fleet, "ComputeName": "custom-a"})
	w.must("DeleteFleet", object{"FleetId": gone.fleet})
	w.await("the fleet to be no candidate", func() bool {
		positions, _, _ := w.drivers.Waits("p")
		return len(positions) == 1
	})
	other.add("custom-b").serve()
	w.placed("p", "FULFILLED")
}

// An id that another game session has already in the room costs an attempt.
func TestATakenGameSessionID(t *testing.T) {
	w := newWorld(t)
	p := w.poolAt("", 2, "custom-a")
	w.create(p.fleet, object{"IdempotencyToken": "p"})
	w.addQueue("q", nil, p)
	stop := w.serveAll(p.all()...)
	w.startPlace("p", nil)
	got := w.placed("p", "FULFILLED")
	if session := text(got, "GameSessionArn"); !strings.HasSuffix(session, "/p-2") {
		t.Errorf("placed in %s", session)
	}
	stop()
}

// sessions lists the game sessions of placements that are not over.
func (w *world) sessions() (found []*fleet.GameSession) {
	w.t.Helper()
	for _, s := range w.shards {
		view, err := s.View(w.ctx)
		for fault.Is(err, fault.InternalService) && w.ctx.Err() == nil { // the shard is about to recover
			view, err = s.View(w.ctx)
		}
		if err != nil {
			w.t.Fatal(err)
		}
		for _, r := range view.Rooms() {
			r.GameSessions(0, func(g *fleet.GameSession) bool {
				if g.Placement != "" && (g.Status == fleet.Activating || g.Status == fleet.Active) {
					found = append(found, g)
				}
				return true
			})
		}
	}
	return found
}

// How many placements a second come from the request to FULFILLED, without a network
// and a disk. The game servers activate at once.
func BenchmarkPlacement(b *testing.B) {
	w := newWorld(b, withFleet(func(s *fleet.Settings) { s.Processes = b.N + 1 }))
	p := w.poolAt("", 0, "custom-a", "custom-b")
	w.addQueue("q", nil, p)
	token := w.token(p.fleet, "custom-a")
	for i := range b.N {
		var l processes.Connection
		l, err := w.processes.Connect(w.ctx, processes.ConnectRequest{
			FleetID: p.fleet, ComputeName: "custom-a", ProcessID: fmt.Sprint(i), Authorization: token,
			Replaced: func() {},
			Push: func(push processes.Push) {
				if start, ok := push.(processes.CreateGameSessionPush); ok {
					l.ActivateGameSession(start.GameSessionID, func(error) {})
				}
			},
		})
		if err != nil {
			b.Fatal(err)
		}
		if err := wait(func(done func(error)) { l.Activate(processes.ProcessReady{Port: 7777}, done) }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	var next atomic.Int64
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			id := fmt.Sprint("p-", next.Add(1))
			in := &wire.StartGameSessionPlacementInput{PlacementId: id, GameSessionQueueName: "q",
				MaximumPlayerSessionCount: wire.Some(int32(4))}
			if _, err := w.StartGameSessionPlacement(w.ctx, in); err != nil {
				b.Fatal(err)
			}
			if got, err := w.AwaitPlacement(w.ctx, id); err != nil || got.Status != "FULFILLED" {
				b.Fatal(got, err)
			}
		}
	})
}

// The trail says what a placement waits for.
func TestPlacementTrail(t *testing.T) {
	w := newWorld(t)
	p := w.poolAt("0.5", 0, "custom-a", "custom-b")
	w.addQueue("q", object{"PlayerLatencyPolicies": []object{
		{"MaximumIndividualPlayerLatencyMilliseconds": 50, "PolicyDurationSeconds": 30},
		{"MaximumIndividualPlayerLatencyMilliseconds": 100},
	}}, p)
	latencies := object{"PlayerLatencies": []object{
		{"PlayerId": "x", "RegionIdentifier": "custom-a", "LatencyInMilliseconds": 80},
		{"PlayerId": "x", "RegionIdentifier": "custom-b", "LatencyInMilliseconds": 20},
	}}
	w.startPlace("older", latencies)
	w.elapse(time.Second)
	w.startPlace("p", latencies)
	w.placed("p", "waiting")
	var trail *PlacementTrail
	w.await("the placement to stand in line", func() (ok bool) {
		trail, _ = w.PlacementTrail(w.ctx, "p")
		return trail != nil && trail.Waiting != nil && len(trail.Waiting.Lines) == 1 &&
			trail.Waiting.Lines[0].Length == 2
	})
	if line := trail.Waiting.Lines[0]; line.Location != "custom-b" || line.Position != 2 ||
		!trail.Waiting.NextChoice.Equal(trail.StartTime.Add(30*time.Second)) {
		t.Errorf("waits for %+v, %v", line, trail.Waiting.NextChoice)
	}
	if len(trail.Candidates) != 2 || trail.Candidates[1].Dropped == "" || trail.Candidates[0].CostPerHour != 0.5 ||
		trail.Candidates[0].AverageLatencyMS != 20 {
		t.Errorf("candidates %+v", trail.Candidates)
	}
	w.elapse(30 * time.Second)
	w.await("the next policy", func() bool {
		trail, _ := w.PlacementTrail(w.ctx, "p")
		return trail != nil && trail.Waiting != nil && len(trail.Waiting.Lines) == 2 && trail.Waiting.NextChoice == nil
	})
	p.add("custom-a").serve()
	w.placed("older", "FULFILLED")
	trail, err := w.PlacementTrail(w.ctx, "older")
	if err != nil || trail.Waiting != nil || trail.EndTime == nil ||
		!strings.Contains(trail.GameSessionArn, "/custom-a/older") ||
		trail.Steps[len(trail.Steps)-1].Kind != "FULFILLED" {
		t.Errorf("the trail of a placement that is over: %+v, %v", trail, err)
	}
	_, err = w.PlacementTrail(w.ctx, "nobody")
	wantKind(t, "an unknown placement", err, fault.NotFound)
}
