package console

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/wire"
)

// answersFleet makes the world answer for a fleet f.
func (w *world) answersFleet() {
	w.answers["DescribeFleetAttributes"] = &wire.DescribeFleetAttributesOutput{FleetAttributes: []wire.FleetAttributes{
		{FleetId: "f", FleetArn: "arn:f", Name: "arena", Status: wire.FleetStatusActive}}}
	w.answers["DescribeFleetUtilization"] = &wire.DescribeFleetUtilizationOutput{
		FleetUtilization: []wire.FleetUtilization{{FleetId: "f"}}}
	w.answers["DescribeFleetLocationAttributes"] = &wire.DescribeFleetLocationAttributesOutput{}
}

func crash(process int, minute time.Duration) wire.Event {
	return wire.Event{EventCode: "SERVER_PROCESS_CRASHED", EventTime: noon.Add(-minute * time.Minute),
		Message: fmt.Sprintf("Server process p%d on compute fra/1 lost its connection and did not come back.", process)}
}

// TestFleetEvents: equal events that follow one another are one row, and the filter is kept.
func TestFleetEvents(t *testing.T) {
	w := newWorld(t)
	w.answersFleet()
	created := wire.Event{EventCode: "FLEET_CREATED", EventTime: noon.Add(-time.Hour), Message: "made"}
	late := wire.Event{EventCode: "GAME_SESSION_ACTIVATION_TIMEOUT", EventTime: noon, Count: wire.Some[int64](3),
		Message: "Game session g-1 was not activated in time by server process p on compute c."}
	w.answers["DescribeFleetEvents"] = &wire.DescribeFleetEventsOutput{
		Events: []wire.Event{late, crash(1, 1), crash(1, 2), crash(2, 3), crash(1, 4), created}}
	for _, c := range []struct {
		query string
		rows  int
		texts []string
	}{
		{"", 5, []string{"CRASHED</code> ×2", "TIMEOUT</code> ×3", `title="` + noon.Add(-2*time.Minute).Format(csvTime),
			`href="/console/game-sessions/g-1?fleet=f"`, `href="/console/fleets/f?tab=computes#compute-fra%2F1"`,
			`href="/console/fleets/f/events.csv?code=&amp;text="`, `<option>FLEET_CREATED</option>`}},
		{"&code=SERVER_PROCESS_CRASHED", 3, []string{`<option selected>SERVER_PROCESS_CRASHED</option>`,
			`<option>FLEET_CREATED</option>`}},
		{"&text=P1+on", 1, []string{"CRASHED</code> ×3", `value="P1 on"`}},
		{"&text=fleet_c", 1, []string{"FLEET_CREATED"}},
		{"&code=NONE&text=x", 0, []string{"None of the 6 events", `<option selected>NONE</option>`}},
	} {
		body := w.shows("GET", "/console/fleets/f?tab=events"+c.query, nil, 200, c.texts...)
		if n := strings.Count(body, "<tr><td><time"); n != c.rows {
			t.Errorf("%q: %d rows, want %d", c.query, n, c.rows)
		}
	}
	file := w.shows("GET", "/console/fleets/f/events.csv?code=SERVER_PROCESS_CRASHED&text=p1", nil, 200)
	if n := strings.Count(file, "\r\n"); n != 4 || !strings.HasPrefix(file, "time_utc,code,message,count\r\n") {
		t.Errorf("file of %d lines: %s", n, file)
	}
}

// TestFleetEventPages: a filter searches more events than a page has, and the next page begins where a page ends.
func TestFleetEventPages(t *testing.T) {
	w := newWorld(t)
	w.answersFleet()
	reads := 0
	w.answers["DescribeFleetEvents"] = func(in any) any { // 8 pages of 100; the last of each fifth was created
		reads++
		page := 0
		_, _ = fmt.Sscan(in.(*wire.DescribeFleetEventsInput).NextToken, &page)
		out := &wire.DescribeFleetEventsOutput{NextToken: fmt.Sprint(page + 1)}
		for i := range csvPage {
			out.Events = append(out.Events, crash(100*page+i, 1))
		}
		if page == 3 {
			out.Events[99].EventCode = "FLEET_CREATED"
		}
		if page == 7 {
			out.NextToken = ""
		}
		return out
	}
	for _, c := range []struct {
		query string
		rows  int
		next  string
	}{
		{"", 100, "?code=&amp;next=1&amp;tab=events&amp;text="},
		{"&next=1", 100, "?code=&amp;next=2&amp;tab=events&amp;text="},
		{"&next=7", 100, ""},
		{"&code=FLEET_CREATED", 1, "?code=FLEET_CREATED&amp;next=5&amp;tab=events&amp;text="},
		{"&text=7+on", 50, "?code=&amp;next=5&amp;tab=events&amp;text=7&#43;on"},
	} {
		reads = 0
		body := w.shows("GET", "/console/fleets/f?tab=events"+c.query, nil, 200, "<option")
		if n := strings.Count(body, "<tr><td><time"); n != c.rows || reads > 5 {
			t.Errorf("%q: %d rows in %d reads, want %d in at most 5", c.query, n, reads, c.rows)
		}
		if has := strings.Contains(body, `href="/console/fleets/f`+c.next+`">Next page`); has == (c.next == "") {
			t.Errorf("%q: the next page is not %s: %s", c.query, c.next, body[max(0, len(body)-3000):])
		}
	}
}
