package control

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// row is a row as a line, with times as seconds from begin.
func (r ComputeRow) row(begin time.Time) string {
	after := func(t *time.Time) string {
		if t == nil {
			return "-"
		}
		return fmt.Sprint(t.Sub(begin).Seconds())
	}
	lines := []string{strings.Join([]string{r.Name, r.Location, r.IPAddress, after(r.TokenExpires)}, " ")}
	for _, p := range r.Processes {
		session := p.GameSession[strings.LastIndexByte(p.GameSession, '/')+1:]
		lines = append(lines, fmt.Sprint(p.ProcessID, " ", p.State, " ", p.Connected, " ", p.Port, " ",
			after(p.LastReport), " ", p.Unhealthy, " ", after(p.ReconnectBy), " ", after(p.EndBy), " ", session))
	}
	return strings.Join(lines, "; ")
}

// TestComputeRows: each state of a process as its computes list it, page by page over the locations.
func TestComputeRows(t *testing.T) {
	w := newWorld(t)
	begin := w.clock.Now()
	id := w.fleetAt("custom-a", "custom-b")
	a, _ := w.compute(id, "custom-a", "c1"), w.compute(id, "custom-b", "c2")
	w.must("RegisterCompute", object{"FleetId": id, "ComputeName": "c3", "Location": "custom-a",
		"IpAddress": "10.0.0.3"})
	list := func(limit int, token string) *ComputeList {
		t.Helper()
		got, err := w.ComputeRows(w.ctx, ComputeQuery{FleetID: id, Limit: limit, NextToken: token})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	want := func(first string) {
		t.Helper()
		if got := list(1, "").Computes[0].row(begin); got != first {
			t.Errorf("got  %s\nwant %s", got, first)
		}
	}
	first := list(2, "")
	rest := list(2, first.NextToken)
	if len(first.Computes) != 2 || len(rest.Computes) != 1 || rest.NextToken != "" {
		t.Fatalf("pages %+v and %+v", first, rest)
	}
	if got := first.Computes[1].row(begin) + ", " + rest.Computes[0].row(begin); got !=
		"c2 custom-b 10.0.0.1 10800, c3 custom-a 10.0.0.3 -" {
		t.Errorf("got %s", got)
	}

	s := w.mustDial(processes.ConnectRequest{FleetID: id, ComputeName: "c1", ProcessID: "p1", Authorization: a,
		IdempotencyToken: "i1"})
	want("c1 custom-a 10.0.0.1 10800; p1 STARTING true 0 - 0 - - ")
	w.elapse(time.Second)
	s.ok(s.ready(7777))
	want("c1 custom-a 10.0.0.1 10800; p1 IDLE true 7777 1 0 - - ")
	w.elapse(9 * time.Second)
	s.ok(s.heartbeat(false))
	want("c1 custom-a 10.0.0.1 10800; p1 IDLE true 7777 10 1 - - ")
	s.ok(s.heartbeat(true))
	session := w.create(id, object{"Location": "custom-a", "IdempotencyToken": "g"})
	s.next()
	want("c1 custom-a 10.0.0.1 10800; p1 ACTIVATING true 7777 10 0 - - g")
	s.ok(s.activate(session))
	want("c1 custom-a 10.0.0.1 10800; p1 HOSTING true 7777 10 0 - - g")
	s.Disconnected()
	w.await("the process to be lost", func() bool { return !s.inRoom().Connected })
	want("c1 custom-a 10.0.0.1 10800; p1 HOSTING false 7777 - 0 210 - g")
	s = w.mustDial(s.connect)
	w.must("TerminateGameSession", object{"GameSessionId": session, "TerminationMode": "TRIGGER_ON_PROCESS_TERMINATE"})
	want("c1 custom-a 10.0.0.1 10800; p1 HOSTING true 7777 10 0 - 310 g")
	s.ok(s.end())
	want("c1 custom-a 10.0.0.1 10800")

	bare := w.fleetAt("custom-c")
	w.must("DeleteFleetLocations", object{"FleetId": bare, "Locations": []string{"custom-c"}})
	if got, err := w.ComputeRows(w.ctx, ComputeQuery{FleetID: bare, Limit: 1}); err != nil || len(got.Computes) != 0 {
		t.Errorf("a fleet without locations: %+v, %v", got, err)
	}
	for _, unknown := range []string{"fleet-none", "arn:aws:gamelift:us-west-2:111122223333:fleet/" + id} {
		_, err := w.ComputeRows(w.ctx, ComputeQuery{FleetID: unknown, Limit: 1})
		wantKind(t, unknown, err, fault.NotFound)
	}
	_, err := w.ComputeRows(w.ctx, ComputeQuery{FleetID: id, Limit: 1, NextToken: "x"})
	wantKind(t, "a broken token", err, fault.InvalidRequest)
}
