package telemetry_test

import (
	"errors"
	"io"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/shard"
	"github.com/muster-gg/muster/internal/telemetry"
)

func scrape(t *testing.T, m *telemetry.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	body, err := io.ReadAll(w.Body)
	if err != nil || w.Code != 200 {
		t.Fatalf("%d, %v", w.Code, err)
	}
	return string(body)
}

func TestWhatHappensIsCounted(t *testing.T) {
	m := telemetry.New(func(body any) string { return body.(string) })
	known := true
	m.Levels(func() (telemetry.Levels, bool) { return telemetry.Levels{Computes: 3, PlayerSessions: 40}, known })

	m.Call("CreateFleet", "", .002, 10, 20)
	m.Call("CreateFleet", "NotFoundException", .002, 10, 20)
	m.Facts(0, []event.Fact{{Body: "PlayersReserved"}, {Body: "PlayersReserved"}})
	s := m.Shard(3)
	s.Batch(shard.BatchStats{Requests: 7, Records: 1, Bytes: 900, Append: time.Millisecond})
	s.Batch(shard.BatchStats{Requests: 1}) // a batch of reads writes nothing
	s.Recovery(shard.RecoveryStats{Duration: 2 * time.Second})
	s.Snapshot(shard.SnapshotStats{Err: errors.New("disk full")})
	s.Refused()
	k := m.Sockets()
	k.Opened()
	k.Opened()
	k.Closed()
	k.Refused(403)
	k.Replied("AcceptPlayerSession", 200, time.Millisecond)
	k.Pushed("CreateGameSession")
	k.Slow()

	if h := m.CallTimes(); h.Count != 2 || h.Sum != .004 || h.Counts[slices.Index(h.Bounds, .0025)] != 2 ||
		h.Counts[slices.Index(h.Bounds, .001)] != 0 {
		t.Errorf("the times of calls are %+v", h)
	}
	got := scrape(t, m)
	for _, line := range []string{
		`muster_api_calls_total{exception="",operation="CreateFleet"} 1`,
		`muster_api_calls_total{exception="NotFoundException",operation="CreateFleet"} 1`,
		`muster_api_bytes_total{direction="out"} 40`,
		`muster_events_total{event="PlayersReserved"} 2`,
		`muster_journal_append_seconds_count 1`,
		`muster_journal_batch_requests_sum 8`,
		`muster_journal_bytes_total 900`,
		`muster_shard_recovery_seconds 2`,
		`muster_shard_recoveries_total{outcome="done",shard="3"} 1`,
		`muster_shard_snapshots_total{outcome="failed"} 1`,
		`muster_shard_refusals_total 1`,
		`muster_server_process_sockets 1`,
		`muster_server_process_refusals_total{status="403"} 1`,
		`muster_server_process_actions_total{action="AcceptPlayerSession",status="200"} 1`,
		`muster_server_process_pushes_total{action="CreateGameSession"} 1`,
		`muster_server_process_slow_total 1`,
		`muster_computes 3`,
		`muster_player_sessions 40`,
		`muster_webhook_tries_total{outcome="dropped"} 0`,
	} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	known = false
	if strings.Contains(scrape(t, m), "muster_computes") {
		t.Error("a number that is not known was shown")
	}
}

func TestNamesFollowTheRule(t *testing.T) {
	m := telemetry.New(func(any) string { return "" })
	m.Levels(func() (telemetry.Levels, bool) { return telemetry.Levels{}, true })
	name := regexp.MustCompile(`^muster_[a-z]+(_[a-z]+)*$`)
	for _, d := range m.Definitions() {
		if !name.MatchString(d.Name) || d.Help == "" || (d.Kind == "counter") != strings.HasSuffix(d.Name, "_total") {
			t.Errorf("%+v", d)
		}
	}
}
