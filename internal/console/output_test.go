package console

import (
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// TestOutput shows what a game server writes, and the log that is stored afterwards.
func TestOutput(t *testing.T) {
	const session = "arn:aws:gamelift:eu-west-1::gamesession/fleet-1/gsess-1"
	w := newWorld(t)
	w.shows("GET", "/console/output", nil, 200, "Which output?")
	w.answers["GET /v1/processes/p1/log"] = `{"time":"2026-11-25T11:58:00.123Z","stream":"err","text":"a <b>"}` + "\n" +
		`{"text":"Lines are missing.","note":true}` + "\n"
	w.shows("GET", "/console/output?id=p1", nil, 200, "a &lt;b&gt;", ">err<", "11:58:00", "Lines are missing.",
		`data-stream="/console/output/live?id=p1"`, "muster logs --follow p1")
	w.answers["GET /v1/game-sessions/"+session+"/log"] = ""
	w.shows("GET", "/console/output?id="+session, nil, 200, "No line", "data-stream", "Game session gsess-1")
	w.answers["GetGameSessionLogUrl"] = &wire.GetGameSessionLogUrlOutput{
		PreSignedUrl: "http://elsewhere:9080/logs/0a1b.zip?expires=1&signature=s"}
	text := w.shows("GET", "/console/output?id="+session, nil, 200,
		`href="/logs/0a1b.zip?expires=1&amp;signature=s" download`)
	if strings.Contains(text, "data-stream") {
		t.Error("a page of what is stored is read again")
	}
	w.fails["GET /v1/processes/p2/log"] = fault.New(fault.NotFound, "Server process p2 not found.")
	w.shows("GET", "/console/output?id=p2", nil, 404, "Server process p2 not found.")
	w.shows("GET", "/console/output/live?id=p2", nil, 404)
}

// TestOutputLive signals how many lines have come.
func TestOutputLive(t *testing.T) {
	node := followedNode{lines: make(chan string), query: make(chan string, 1)}
	w := newWorld(t, func(c *Config) {
		node.world = c.Requests.(*world)
		c.Requests = node
	})
	w.answers["GET /v1/game-sessions/gsess-1/log"] = ""
	answer := w.openLive("/console/output/live?id=gsess-1")
	w.reads(answer, "retry: 1000\n\nevent: open\ndata: \n\n")
	if q := <-node.query; q != "follow=true&tail=0" {
		t.Errorf("followed %s", q)
	}
	node.lines <- "{}\n{}\n"
	if err := w.clock.BlockUntilContext(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(logPause)
	w.reads(answer, "event: changed\ndata: 2\n\n")
	w.h.Stop()
}
