package console

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/metrics"
	"github.com/muster-gg/muster/internal/wire"
)

// TestOverviewTimes: the overview draws the times of API calls, and has the placements of the last minute.
func TestOverviewTimes(t *testing.T) {
	w, m := newMeasured(t)
	w.answers["ListFleets"] = &wire.ListFleetsOutput{FleetIds: []string{"fleet-1"}}
	const title = "Time of API calls"
	w.shows("GET", "/console/", nil, 200, title+": no value in this time", "<dt>Placements/min</dt><dd>0</dd>",
		"<dt>Tickets waiting</dt><dd>0</dd>")
	at := func(minute int) time.Time { return noon.Add(time.Duration(minute) * time.Minute) }
	m.spread = map[metrics.Timing][]metrics.Spread{
		metrics.APICalls: {{At: at(-60), Count: 9, Quantiles: []float64{.0004, .001, .002}},
			{At: at(-59), Count: 9, Quantiles: []float64{.0005, .002, .0075}}},
		metrics.Placements: {{At: at(-2), Count: 5, Quantiles: []float64{9}},
			{At: at(-1), Count: 418, Quantiles: []float64{.0381}}},
	}
	w.answers["GET /v1/overview"] = `{"pendingPlacements":2,"oldestPlacementMs":7000,"waitingTickets":96,` +
		`"oldestTicketMs":65000}`
	body := w.shows("GET", "/console/", nil, 200, title+": last p50 0.5 ms, p95 2 ms, p99 7.5 ms",
		`data-values="1795604400 60 0.4 ms · 1 ms · 2 ms 0.5 ms · 2 ms · 7.5 ms `,
		`<path class="line second" d="M44 1`, "</svg> p99 7.5 ms",
		"<dt>Placements/min</dt><dd>418 <small>p95 38 ms</small>", "<dd>2 <small>oldest 7 s</small>",
		"<dd>96 <small>oldest 1 m 5 s</small>")
	if n := strings.Count(body, "<figure"); n != 3 {
		t.Errorf("%d graphs", n)
	}
	w.fails["cloudwatch:GetMetricData"] = denied
	if body := w.shows("GET", "/console/", nil, 200); strings.Contains(body, title) ||
		strings.Contains(body, "Placements/min") {
		t.Error("metrics are shown without the permission")
	}
	for seconds, text := range map[float64]string{.0002: "1 ms", .9: "900 ms", 4.12: "4.1 s", 125: "2 m 5 s"} {
		if got := secondsText(seconds); got != text {
			t.Errorf("%v is %q, want %q", seconds, got, text)
		}
	}
}

// TestGraphUnits: a graph's values have the units that people read.
func TestGraphUnits(t *testing.T) {
	for want, c := range map[string]struct {
		unit  string
		value float64
	}{
		"12\u00a0ms": {"Milliseconds", 12}, "0.25\u00a0ms": {"Milliseconds", .25}, "1.5\u00a0s": {"Milliseconds", 1500},
		"4\u00a0s": {"Seconds", 4}, "33.3%": {"Percent", 100. / 3}, "1200": {"Count", 1200},
	} {
		if got := (&plot{unit: c.unit}).text(c.value); got != want {
			t.Errorf("%v %s is %q, want %q", c.value, c.unit, got, want)
		}
	}
}
