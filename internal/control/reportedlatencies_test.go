package control

import (
	"reflect"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/control/latencies"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// TestLatencies: reports of placements and of tickets count for their queue, each once, also after a restart.
func TestLatencies(t *testing.T) {
	a := matchmakers(t, 2)
	a.queueOf("other", a.FleetARN(a.fleet))
	a.must("StartGameSessionPlacement", object{"PlacementId": "p", "GameSessionQueueName": "other",
		"MaximumPlayerSessionCount": 2, "PlayerLatencies": []object{
			{"PlayerId": "x", "RegionIdentifier": "custom-a", "LatencyInMilliseconds": 20.4},
			{"PlayerId": "x", "RegionIdentifier": "custom-b", "LatencyInMilliseconds": 31}}})
	a.must("StartMatchmaking", object{"ConfigurationName": "duel", "TicketId": "t1", "Players": []object{
		{"PlayerId": "p1", "LatencyInMs": object{"custom-a": 10}}}})
	a.must("StartMatchmaking", object{"ConfigurationName": "duel", "TicketId": "t2", "Players": []object{
		{"PlayerId": "p2", "LatencyInMs": object{"custom-a": 30}}}})
	a.becomes("PLACING", "t1", "t2") // the placement of the match reports the same latencies
	a.placed("t1")
	check := func(when, queue string, want ...latencies.Reported) {
		t.Helper()
		if want == nil {
			want = []latencies.Reported{}
		}
		if got, err := a.Latencies(queue); err != nil || !reflect.DeepEqual(got.Locations, want) {
			t.Errorf("%s, queue %q: %+v %v, want %+v", when, queue, got, err, want)
		}
	}
	rows := func(when string) {
		t.Helper()
		check(when, "other", latencies.Reported{Location: "custom-a", Reports: 1, P50: 20, P90: 20},
			latencies.Reported{Location: "custom-b", Reports: 1, P50: 31, P90: 31})
		check(when, "games", latencies.Reported{Location: "custom-a", Reports: 2, P50: 10, P90: 30})
		check(when, "", latencies.Reported{Location: "custom-a", Reports: 3, P50: 20, P90: 30},
			latencies.Reported{Location: "custom-b", Reports: 1, P50: 31, P90: 31})
	}
	rows("at first")
	a.restart()
	rows("after a restart")
	a.jump(2 * time.Hour)
	check("after two hours", "")
	_, err := a.Latencies("none")
	wantKind(t, "no queue", err, fault.NotFound)
}
