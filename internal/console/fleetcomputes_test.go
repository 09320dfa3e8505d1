package console

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/wire"
)

// TestComputes: the tab shows the server processes of the computes, and of a chosen one each; without the permission it
// shows the computes alone.
func TestComputes(t *testing.T) {
	w := newFleetList(t)
	w.answers["DescribeFleetLocationAttributes"] = &wire.DescribeFleetLocationAttributesOutput{}
	now := w.clock.Now()
	ago := func(d time.Duration) *time.Time { at := now.Add(-d); return &at }
	const session = "arn:aws:gamelift:us-west-2::gamesession/one/custom-a/gsess-1"
	w.answers["GET /v1/fleets/one/computes"] = control.ComputeList{NextToken: "more", Computes: []control.ComputeRow{
		{Name: "pc-a", Location: "custom-a", IPAddress: "10.0.0.1", CreationTime: now.Add(-time.Hour),
			TokenExpires: ago(-2 * time.Hour), Processes: []control.ProcessRow{
				{ProcessID: "p1", State: control.ProcessHosting, Connected: true, SDKLanguage: "Go",
					SDKVersion: "5.3.0", Port: 7777, StartTime: now, LastReport: ago(20 * time.Second),
					GameSession: session},
				{ProcessID: "p2", State: control.ProcessHosting, SDKLanguage: "Go", SDKVersion: "5.3.0",
					ReconnectBy: ago(-time.Minute)},
				{ProcessID: "p3", State: control.ProcessIdle, Connected: true, SDKLanguage: "CSharp",
					SDKVersion: "5.2.0", LastReport: ago(70 * time.Second), Unhealthy: 2, EndBy: ago(-3 * time.Minute)},
			}},
		{Name: "pc/b", Location: "custom-b", DNSName: "b.example.com", CreationTime: now.Add(-time.Hour),
			Backoffs: []control.BackoffRow{{LaunchPath: "/local/game/s", ProcessID: "p9", ExitCode: 139, Crashes: 4,
				NextTry: now.Add(8 * time.Second), Output: "no map <m1>"}}},
	}}
	body := w.shows("GET", "/console/fleets/one?tab=computes&next=this", nil, 200,
		`href="/console/fleets/one?tab=computes&amp;next=this&amp;compute=pc-a#processes"`,
		`2 hosting <span aria-hidden="true">■■</span>`, `1 idle <span aria-hidden="true">□</span>`,
		"1 without a connection", "1 unhealthy", "CSharp 5.2.0<br>Go 5.3.0", "1 m 10 s ago", "in 2 h 0 m",
		"b.example.com", "1 in back-off", "next=more", "Deregister")
	if strings.Contains(body, "Server processes of") {
		t.Error("the processes of no compute are listed")
	}
	w.shows("GET", "/console/fleets/one?tab=computes&compute=pc-a", nil, 200, "Server processes of pc-a", "p1", "p2",
		`href="/console/game-sessions/gsess-1?fleet=one&amp;location=custom-a"`, "no connection", "in 1 m 0 s",
		"to end", "in 3 m 0 s", "20 s ago")
	w.shows("GET", "/console/fleets/one?tab=computes&compute=pc/b", nil, 200, "Server processes of pc/b", "p9",
		"BACKOFF", "in 8 s", "/local/game/s", "4 crashes in a row, the last one with exit code 139",
		"no map &lt;m1&gt;")

	w.fails["GET /v1/fleets/one/computes"] = denied
	w.answers["ListCompute"] = &wire.ListComputeOutput{ComputeList: []wire.Compute{
		{ComputeName: "pc-a", Location: "custom-a", IpAddress: "10.0.0.1", CreationTime: now}}}
	body = w.shows("GET", "/console/fleets/one?tab=computes", nil, 200, "pc-a", "10.0.0.1")
	if strings.Contains(body, "Token ends") {
		t.Error("a person who may not read server processes sees their columns")
	}
}
