package main

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/testkit"
)

// talkOf returns what muster dev writes about the lines of a log.
func talkOf(t *testing.T, colours bool, log func(*slog.Logger, *talker)) string {
	t.Helper()
	var out bytes.Buffer
	a := &app{stderr: &out}
	handler := a.newTalk(slog.NewTextHandler(io.Discard, nil), 2)
	handler.shared.colours = palette{colours}
	log(slog.New(handler), handler.shared)
	done := make(chan struct{})
	close(done)
	handler.shared.run(done)
	return out.String()
}

// shown returns the lines without their times.
func shown(text string) (lines []string) {
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimSpace(line[len(time.TimeOnly):]))
	}
	return lines
}

func TestTalk(t *testing.T) {
	call := func(operation, exception, principal string) []any {
		return []any{"operation", operation, "exception", exception, "principal", principal,
			"took", 12 * time.Millisecond}
	}
	session := []any{"fleet", "fleet-1", "game_session", "gs-1", "name", "S"}
	with := func(more ...any) []any { return append(slices.Clone(session), more...) }
	for _, c := range []struct {
		message    string
		attributes []any
		want       string // "": nothing
	}{
		{"request answered", call("CreateFleet", "", "key-1"), "call     CreateFleet  ok  by key-1  12 ms"},
		{"request answered", call("ListFleets", "", "console"), ""},
		{"request answered", call("DeleteFleet", "", "console"), "call     DeleteFleet  ok  by the console  12 ms"},
		{"request answered", call("ListFleets", "", testkit.Caller), ""},
		{"request answered", call("CreateFleet", "", testkit.Caller),
			"call     CreateFleet  ok  by a request of the test  12 ms"},
		{"request failed", call("ListFleets", "InternalServiceException", "console"),
			"call     ListFleets  InternalServiceException  by the console  12 ms"},
		{"request", []any{"method", "POST", "route", "POST /create_session", "status", 409, "address", "127.0.0.1",
			"duration", 2500 * time.Millisecond}, "call     POST /create_session  409  by 127.0.0.1  2.5 s"},
		{"request answered", call("CreateFleet", "", "AKIA"), "call     CreateFleet  ok  by the root key  12 ms"},
		{"request answered", call("ListFleets", "", "arn:aws:iam::1:root"), ""},
		{"request", []any{"url", "/"}, ""},
		{"game session created", with("address", "127.0.0.1:7", "max_players", 4),
			"session  gs-1 (S) created at 127.0.0.1:7, for 4 players"},
		{"game session ended", with("reason", "FORCE_TERMINATED", "took", 3*time.Minute),
			"session  gs-1 (S) is TERMINATED: FORCE_TERMINATED  3 m 0 s"},
		{"player joined", with("player", "ada\x1b[2J", "players", 1, "max_players", 4),
			"player   ada [2J joined gs-1 (S): 1 of 4 players"},
		{"player joined", with("player", "ada", "players", 1, "max_players", 1),
			"player   ada joined gs-1 (S): 1 of 1 player"},
		{"player slot timed out", with("player", "ada"), "player   ada did not come: the slot in gs-1 (S) is free"},
		{"server process ended", []any{"process", "3281758d-6de8-4d4b-8fd9-b653f543563c", "compute", "c",
			"reason", "it crashed", "failed", true},
			"process  3281758d… on c ended: it crashed"},
		{"server process lost", []any{"process", "p", "compute", "c", "reconnect_by", "12:00:20"},
			"process  p on c lost its connection: it must connect again by 12:00:20"},
		{"gateway fleet chosen", []any{"fleet", "fleet-1", "setting", "gateway-fleet"},
			"fleet    the session gateway uses fleet-1: --gateway-fleet chooses another"},
		{"ticket ended", []any{"ticket", "t", "status", "TIMED_OUT", "reason", "TimedOut"},
			"match    ticket t is TIMED_OUT: TimedOut"},
		{"snapshot written", nil, ""},
	} {
		got := shown(talkOf(t, false, func(log *slog.Logger, to *talker) {
			to.open(time.Unix(1, 0), "AKIA")
			log.Info(c.message, c.attributes...)
		}))
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%s: got %q, want %q", c.message, got, c.want)
		}
	}
}

// TestTalkRepeats: a poller fills one line, and the calls before the service is ready, and those that muster dev makes
// itself, none.
func TestTalkRepeats(t *testing.T) {
	got := shown(talkOf(t, false, func(log *slog.Logger, to *talker) {
		log.Debug("request answered", "operation", "Before")
		to.tokens.Add(1)
		to.open(time.Now(), "AKIA")
		log.Debug("request answered", "operation", "GetComputeAuthToken")
		for range 5 {
			log.Debug("request answered", "operation", "DescribeGameSessions", "took", time.Second)
		}
		log.Debug("request answered", "operation", "GetComputeAuthToken")
		alternating := strings.Fields("Search Create Create Search Create Search Create Search Create")
		for _, calls := range [][]string{alternating, {"Search", "Search"}} {
			log.Debug("server process ready", "process", "p", "compute", "c", "port", 7)
			for _, operation := range calls {
				log.Debug("request answered", "operation", operation)
			}
		}
	}))
	want := []string{"call     DescribeGameSessions  ok  1.0 s", "the same, 4 more times",
		"call     GetComputeAuthToken  ok", "process  p on c is ready at port 7",
		"call     Search  ok", "call     Create  ok", "7 more calls as above", "process  p on c is ready at port 7",
		"call     Search  ok", "the same, 1 more time"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// TestTalkReasons adds the reason of a failure at the session gateway to the line of the request.
func TestTalkReasons(t *testing.T) {
	got := shown(talkOf(t, true, func(log *slog.Logger, to *talker) {
		to.open(time.Unix(1, 0), "AKIA")
		log.Debug("request failed", "route", "POST /v1/sessions", "request", "1", "code", "no_capacity",
			"text", "None is free.")
		log.Info("request", "route", "POST /v1/sessions", "method", "POST", "status", 503, "request", "1", "key", "k")
	}))
	if len(got) != 1 || !strings.Contains(got[0], "\x1b[31mPOST /v1/sessions  503 no_capacity: None is free.  by k") {
		t.Errorf("got %q", got)
	}
}

// TestTalkNeverWaits drops lines that nothing writes, and counts them.
func TestTalkNeverWaits(t *testing.T) {
	got := talkOf(t, false, func(log *slog.Logger, to *talker) {
		to.open(time.Unix(1, 0), "AKIA")
		for range spokenLines + 7 {
			log.Debug("request answered", "operation", "ListFleets")
		}
	})
	if !strings.Contains(got, "note     7 lines are missing") {
		t.Errorf("got %s", got)
	}
}

// TestTalkHint gives the hint each time when the last sample game server is taken.
func TestTalkHint(t *testing.T) {
	got := talkOf(t, true, func(log *slog.Logger, to *talker) {
		to.open(time.Unix(1, 0), "AKIA")
		to.fleet.Store("fleet-1")
		for _, e := range []struct{ what, fleet, compute, id string }{
			{"created", "fleet-1", sampleCompute, "1"}, {"created", "fleet-2", sampleCompute, "2"},
			{"created", "fleet-1", "desk", "5"}, {"created", "fleet-1", sampleCompute, "3"},
			{"ended", "fleet-1", "", "1"}, {"ended", "fleet-1", "", "5"}, {"created", "fleet-1", sampleCompute, "4"},
		} {
			log.Debug("game session "+e.what, "fleet", e.fleet, "compute", e.compute, "game_session", e.id)
		}
	})
	if n := strings.Count(got, "All 2 sample game servers are in use"); n != 2 ||
		!strings.Contains(got, "--sample-servers 4") || !strings.Contains(got, "\x1b["+yellow+"m") {
		t.Errorf("%d hints in %s", n, got)
	}
}

// TestPalette has colours on terminals alone.
func TestPalette(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // a device, as terminals are
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, c := range []struct {
		to      io.Writer
		environ []string
		want    bool
	}{
		{&bytes.Buffer{}, nil, false}, {null, nil, true}, {null, []string{"NO_COLOR=1"}, false},
		{null, []string{"NO_COLOR="}, true}, {null, []string{"TERM=dumb"}, false},
	} {
		if got := (&app{environ: c.environ}).paletteOf(c.to); got.on != c.want {
			t.Errorf("%v: %v", c.environ, got)
		}
	}
}

func TestShortDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", time.Microsecond: "<1 ms", 410 * time.Millisecond: "410 ms", 6870 * time.Millisecond: "6.9 s",
		59940 * time.Millisecond: "59.9 s", 59960 * time.Millisecond: "1 m 0 s", 299 * time.Second: "4 m 59 s",
		time.Hour - time.Millisecond: "1 h 0 m", 123*time.Minute + time.Second: "2 h 3 m",
		24*time.Hour - time.Second: "1 d 0 h", 76 * time.Hour: "3 d 4 h",
	} {
		if got := shortDuration(d); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
}
