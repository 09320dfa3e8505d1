package metrics

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
)

// at returns a time some seconds after the begin.
func at(seconds float64) event.Time {
	return event.At(begin.Add(time.Duration(seconds * float64(time.Second))))
}

// folded shows a fold facts of one room, and returns the sums that are not zero, by entity and metric.
func folded(f *fold, room uint32, bodies ...any) map[string]float64 {
	var facts []event.Fact
	for _, body := range bodies {
		facts = append(facts, event.Fact{Room: room, Body: body})
	}
	f.observe(facts, slices.Repeat([]fleet.RoomID{home}, len(facts)), nil, true)
	taken, _ := f.take(at(0))
	return sums(taken)
}

func sums(taken map[entity]counts) map[string]float64 {
	all := map[string]float64{}
	for e, c := range taken {
		for i := range e.family().base {
			if column := &e.family().columns[i]; c[i].sum != 0 {
				name := column.name
				if name == "" {
					name = column.shown + column.label
				}
				all[name+" "+e.a+" "+e.b] += c[i].sum
			}
		}
	}
	return all
}

func want(t *testing.T, what string, got, want map[string]float64) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestProcesses(t *testing.T) {
	const here = " fleet-1 custom-home"
	key := fleet.ProcessKey{Compute: "c", ID: "p"}
	f := newFold()
	want(t, "ready twice: an old game server that hosts again", folded(f, 1,
		&fleet.ProcessConnected{ProcessKey: key}, &fleet.ProcessBecameReady{ProcessKey: key},
		&fleet.ProcessBecameReady{ProcessKey: key}), map[string]float64{"ServerProcessActivations" + here: 1})
	for _, end := range []struct {
		reason   fleet.EndReason
		asked    string
		abnormal float64
		session  string
	}{
		{fleet.EndedItself, "", 0, gameSessionEnds + "reason=ended"},
		{fleet.EndedItself, "TRIGGERED_ON_PROCESS_TERMINATE", 0, gameSessionEnds + "reason=terminated"},
		{fleet.EndedCrashed, "", 1, gameSessionEnds + "reason=crashed"},
		{fleet.EndedUnhealthy, "", 1, gameSessionEnds + "reason=unhealthy"},
		{fleet.EndedByForce, "", 1, gameSessionEnds + "reason=terminated"},
	} {
		expected := map[string]float64{"ServerProcessTerminations" + here: 1, end.session + here: 1}
		if end.abnormal > 0 {
			expected["ServerProcessAbnormalTerminations"+here] = 1
		}
		if end.reason == fleet.EndedCrashed || end.reason == fleet.EndedUnhealthy {
			expected["GameSessionInterruptions"+here] = 1
		}
		want(t, end.session, folded(f, 1, &fleet.GameSessionEnded{Reason: end.asked}, &fleet.FleetEventAdded{},
			&fleet.ProcessHasEnded{ProcessKey: key, Reason: end.reason}), expected)
	}
	want(t, "a process that moves", folded(f, 1, &fleet.ProcessHasEnded{Reason: fleet.EndedByMove}), nil)
	want(t, "a game session without the end of its process", folded(f, 1, &fleet.GameSessionEnded{},
		&fleet.GameSessionEnded{}, &fleet.ProcessHasEnded{Reason: fleet.EndedCrashed}),
		map[string]float64{
			"ServerProcessTerminations" + here: 1, "ServerProcessAbnormalTerminations" + here: 1,
			"GameSessionInterruptions" + here:       1,
			gameSessionEnds + "reason=ended" + here: 1, gameSessionEnds + "reason=crashed" + here: 1,
		})
}

func TestPlacements(t *testing.T) {
	near := fleet.RoomID{Fleet: "fleet-1", Location: "near"}
	far := fleet.RoomID{Fleet: "fleet-2", Location: "far"}
	begun := func(id string, considered ...placement.Considered) *placement.PlacementStarted {
		return &placement.PlacementStarted{
			Request: placement.Request{ID: id, Queue: "arena", Latencies: []placement.Latency{{}}},
			At:      at(0), Deadline: at(60), Room: &near, Candidates: considered,
		}
	}
	fulfilled := func(id string, room fleet.RoomID) any {
		return &placement.PlacementFulfilled{ID: id, At: at(2), Session: placement.Session{Room: room}}
	}
	cheap := placement.Considered{Room: near, Latency: 20, Cost: 2}
	slow := placement.Considered{Room: far, Latency: 60, Cost: 1}
	out := slow
	out.Dropped = "over the limit"
	common := map[string]float64{
		"PlacementsStarted arena ": 1, "PlacementsSucceeded arena ": 1, "muster_queue_wait_seconds arena ": 2,
	}
	for _, c := range []struct {
		name   string
		facts  []any
		expect map[string]float64
	}{
		{"first choice", []any{begun("p", cheap, slow), fulfilled("p", near)},
			map[string]float64{"Placement  arena near": 1, "LowestLatencyPlacement arena ": 1}},
		{"second choice", []any{begun("p", cheap, slow), &placement.AttemptEnded{ID: "p"},
			&placement.AttemptBegun{ID: "p", Room: far}, fulfilled("p", far)},
			map[string]float64{"Placement  arena far": 1, "LowestPricePlacement arena ": 1,
				"FirstChoiceOutOfCapacity arena ": 1}},
		{"not viable", []any{begun("p", cheap, out), fulfilled("p", near)},
			map[string]float64{"Placement  arena near": 1, "LowestLatencyPlacement arena ": 1,
				"LowestPricePlacement arena ": 1, "FirstChoiceNotViable arena ": 1}},
	} {
		maps.Copy(c.expect, common)
		want(t, c.name, folded(newFold(), region.PlacementsRoom, c.facts...), c.expect)
	}
	f := newFold()
	want(t, "cancelled before its start", folded(f, region.PlacementsRoom,
		&placement.PlacementStarted{Request: placement.Request{ID: "c", Queue: "arena"}, At: at(0), Deadline: at(0)},
		&placement.PlacementEnded{ID: "c", At: at(0), Status: placement.Cancelled}), nil)
	folded(f, region.PlacementsRoom, begun("one"), begun("two"), &placement.AttemptEnded{ID: "two"})
	_, w := f.take(at(3))
	if got := w.queues[entity{set: byQueue, a: "arena"}]; got != (waits{2, 6}) {
		t.Errorf("the queue has %+v", got)
	}
	if got := w.queues[entity{byQueueLocation, "arena", "near"}]; got != (waits{1, 3}) {
		t.Errorf("the queue has %+v at the location", got)
	}
	want(t, "ends", folded(f, region.PlacementsRoom,
		&placement.PlacementEnded{ID: "one", At: at(1), Status: placement.TimedOut},
		&placement.PlacementEnded{ID: "two", At: at(2), Status: placement.Failed}),
		map[string]float64{
			"PlacementsTimedOut arena ": 1, "PlacementsFailed arena ": 1, "muster_queue_wait_seconds arena ": 3,
		})
}

func TestTickets(t *testing.T) {
	duel := matchmaking.Configuration{Name: "duel"}
	f := newFold()
	start := func(id string, players int, backfill bool) any {
		return &matchmaking.TicketStarted{
			ID: id, Configuration: duel, Players: make([]matchmaking.Player, players), Backfill: backfill, At: at(0),
		}
	}
	want(t, "starts",
		folded(f, region.MatchmakingRoom, start("a", 2, false), start("b", 1, false), start("c", 3, true)),
		map[string]float64{"TicketsStarted duel ": 3, "PlayersStarted duel ": 3})
	settings := matchmaking.MatchSettings{Configuration: duel}
	want(t, "a match", folded(f, region.MatchmakingRoom, &matchmaking.MatchProposed{
		ID: "m", Settings: settings, Tickets: []string{"a", "b"}, At: at(4),
		Metrics: []matchmaking.Metric{{Rule: "fair-skill", Passed: 7, Failed: 5}},
	}), map[string]float64{
		"MatchesCreated duel ": 1, "TimeToMatch duel ": 8, "RuleEvaluationsPassed duel fair-skill": 7,
		"RuleEvaluationsFailed duel fair-skill": 5,
	})
	want(t, "rejected", folded(f, region.MatchmakingRoom, &matchmaking.MatchDropped{
		ID: "m", At: at(5), Acceptance: matchmaking.RejectedAcceptance,
		Ended: []matchmaking.Ending{{ID: "b", Status: matchmaking.Cancelled}},
	}), map[string]float64{"MatchesRejected duel ": 1, "TimeToTicketCancel duel ": 5})
	want(t, "another match", folded(f, region.MatchmakingRoom,
		&matchmaking.MatchProposed{ID: "n", Settings: settings, Tickets: []string{"a"}, At: at(6)},
		&matchmaking.MatchAccepted{ID: "n", At: at(7), Asked: true},
		&matchmaking.MatchCompleted{ID: "n", At: at(9), Connection: &matchmaking.Connection{}}),
		map[string]float64{
			"MatchesCreated duel ": 1, "TimeToMatch duel ": 6, "MatchesAccepted duel ": 1, "MatchesPlaced duel ": 1,
			"TimeToTicketSuccess duel ": 9,
		})
	_, w := f.take(at(9))
	if w.tickets["duel"] != 1 || len(f.matches) != 0 {
		t.Errorf("%d tickets and %d matches remain, want 1 and 0", w.tickets["duel"], len(f.matches))
	}
	want(t, "timed out", folded(f, region.MatchmakingRoom,
		&matchmaking.TicketEnded{ID: "c", Status: matchmaking.TimedOut, At: at(60)}),
		map[string]float64{"TicketsTimedOut duel ": 1})
}

// TestFollower shows a fold facts of a shard that another node owns, and then its state.
func TestFollower(t *testing.T) {
	settings := region.Settings{Shards: 1}
	m := region.New(0, &settings)
	facts, _, err := m.Handle(begin, region.PlacementCommand{Command: placement.Start{
		Request: placement.Request{ID: "p", Queue: "arena"}, Timeout: 60,
	}})
	if err != nil {
		t.Fatal(err)
	}
	f := newFold()
	f.observe(facts, make([]fleet.RoomID, len(facts)), nil, false)
	if taken, w := f.take(at(1)); len(taken) != 0 || w.queues[entity{set: byQueue, a: "arena"}].n != 1 {
		t.Errorf("a follower counted %v, and knows of %v", sums(taken), w.queues)
	}
	f = newFold()
	f.observe(nil, nil, m.Freeze(), true)
	if taken, w := f.take(at(1)); len(taken) != 0 || w.queues[entity{set: byQueue, a: "arena"}] != (waits{1, 1}) {
		t.Errorf("after a recovery: counted %v, and knows of %v", sums(taken), w.queues)
	}
}

// BenchmarkFold measures a fact of each kind that is frequent, in commits of 8.
func BenchmarkFold(b *testing.B) {
	for _, c := range []struct {
		name string
		body any
	}{
		{"PlayersReserved", &fleet.PlayersReserved{Session: 1}}, {"PlayerAccepted", &fleet.PlayerAccepted{Session: 1}},
		{"GameSessionEnded", &fleet.GameSessionEnded{}},
	} {
		b.Run(c.name, func(b *testing.B) {
			f := newFold()
			facts := slices.Repeat([]event.Fact{{Room: 1, Body: c.body}}, 8)
			rooms := slices.Repeat([]fleet.RoomID{home}, 8)
			for b.Loop() {
				f.observe(facts, rooms, nil, true)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(8*b.N), "ns/fact")
		})
	}
	b.Run("placement", func(b *testing.B) {
		f := newFold()
		facts := []event.Fact{
			{Room: region.PlacementsRoom, Body: &placement.PlacementStarted{
				Request: placement.Request{ID: "p", Queue: "arena"}, At: at(0), Deadline: at(60),
				Candidates: []placement.Considered{{Room: home}},
			}},
			{Room: region.PlacementsRoom, Body: &placement.PlacementFulfilled{
				ID: "p", At: at(1), Session: placement.Session{Room: home},
			}},
		}
		rooms := make([]fleet.RoomID, 2)
		for b.Loop() {
			f.observe(facts, rooms, nil, true)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(2*b.N), "ns/fact")
	})
}
