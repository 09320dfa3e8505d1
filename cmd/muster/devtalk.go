package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/muster-gg/muster/internal/testkit"
)

// A talk writes a line for each call, game session, player and failure, which it takes from the log of the service. It
// is the handler of that log. The service never waits for it: lines that cannot be written at once are dropped, and
// counted.
type talk struct {
	slog.Handler         // of lines from the log level on
	shared       *talker // also by handlers with attributes
}

// A talker is what writes the lines.
type talker struct {
	to      io.Writer
	colours palette
	lines   chan spokenLine
	dropped atomic.Int64
	opened  atomic.Int64 // when the service was ready, in ns since 1970; earlier calls are those of muster dev itself
	tokens  atomic.Int64 // calls of GetComputeAuthToken that muster dev makes for its sample game servers
	fleet   atomic.Value // id of their fleet, a string; nil: there are none
	servers int          // number of them
	rootKey string       // access key that callers use; set before opened

	// Of the goroutine that writes.
	sessions map[string]bool   // ids of the game sessions that they host
	reasons  map[string]string // of failures at the session gateway, by request, until its line comes
	recent   []string          // the newest calls, without times and durations, since a line that is none
	repeated int               // how often they were repeated
}

// maxRecent is how many calls can alternate without a line for each repetition: bots search, create and join.
const maxRecent = 4

// spokenLines is how many lines can wait to be written.
const spokenLines = 1024

// A spokenLine is a record of the log that is shown, with the text of its attributes.
type spokenLine struct {
	at      time.Time
	level   slog.Level
	message string
	text    map[string]string
	took    time.Duration
}

// newTalk returns the handler around the one for lines from the log level on.
func (a *app) newTalk(next slog.Handler, samples int) *talk {
	return &talk{next, &talker{to: a.stderr, colours: a.paletteOf(a.stderr), lines: make(chan spokenLine, spokenLines),
		servers: samples, sessions: map[string]bool{}, reasons: map[string]string{}}}
}

// open begins to show lines.
func (t *talker) open(now time.Time, rootKey string) {
	if t != nil {
		t.rootKey = rootKey
		t.opened.Store(now.UnixNano())
	}
}

// isOpen reports whether a line is shown.
func (t *talker) isOpen(at time.Time) bool {
	opened := t.opened.Load()
	return opened > 0 && at.UnixNano() >= opened
}

// Enabled implements slog.Handler. Calls and changes are logged at level Debug.
func (t *talk) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (t *talk) Handle(ctx context.Context, r slog.Record) error {
	if _, shown := sentences[r.Message]; shown {
		t.shared.take(r)
	}
	if !t.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return t.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (t *talk) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &talk{t.Handler.WithAttrs(attrs), t.shared}
}

// WithGroup implements slog.Handler.
func (t *talk) WithGroup(name string) slog.Handler { return &talk{t.Handler.WithGroup(name), t.shared} }

// take queues a line.
func (t *talker) take(r slog.Record) {
	line := spokenLine{at: r.Time, level: r.Level, message: r.Message, text: make(map[string]string, r.NumAttrs())}
	r.Attrs(func(a slog.Attr) bool {
		if a.Value.Kind() == slog.KindDuration {
			line.took = a.Value.Duration()
		} else {
			line.text[a.Key] = oneLine(a.Value.String())
		}
		return true
	})
	select {
	case t.lines <- line:
	default:
		t.dropped.Add(1)
	}
}

// run writes the lines until done is closed.
func (t *talker) run(done <-chan struct{}) {
	for {
		select {
		case line := <-t.lines:
			t.speak(&line)
		case <-done:
			for len(t.lines) > 0 {
				line := <-t.lines
				t.speak(&line)
			}
			t.endRepetition()
			return
		}
	}
}

// speak writes a line. A call that repeats one of those before is only counted: programs poll.
func (t *talker) speak(line *spokenLine) {
	if t.isReason(line) {
		return
	}
	said := sentences[line.message](line)
	if t.isOwn(line, &said) || said.what == "" || !t.isOpen(line.at) {
		t.track(line)
		return
	}
	if t.rootKey != "" {
		said.what = strings.Replace(said.what, "by "+t.rootKey, "by the root key", 1)
	}
	if n := t.dropped.Swap(0); n > 0 {
		t.write(line.at, yellow, "note", fmt.Sprintf("%d lines are missing: they came too fast", n))
	}
	if said.kind == kindCall && slices.Contains(t.recent, said.what) {
		t.repeated++
		return
	}
	t.endRepetition()
	t.recent = append(t.recent, said.what)
	if len(t.recent) > maxRecent {
		t.recent = t.recent[1:]
	}
	if said.kind != kindCall {
		t.recent = nil
	}
	if line.took > 0 {
		said.what += t.colours.paint(dim, "  "+shortDuration(line.took))
	}
	kind, colour := said.kind, kindColours[said.kind]
	if said.failed {
		colour = red
		said.what = t.colours.paint(red, said.what)
	}
	t.write(line.at, colour, kind, said.what)
	t.track(line)
}

// maxReasons is how many reasons are kept: their lines follow at once.
const maxReasons = 100

// isReason stores the reason for the failure of a request to the session gateway, and adds it to the line of that
// request, which follows.
func (t *talker) isReason(line *spokenLine) bool {
	request := line.text["request"]
	if line.message != "request failed" || line.text["route"] == "" {
		line.text["why"] = t.reasons[request]
		delete(t.reasons, request)
		return false
	}
	if len(t.reasons) >= maxReasons {
		clear(t.reasons)
	}
	t.reasons[request] = strings.TrimSuffix(line.text["code"]+": "+cmp.Or(line.text["text"], line.text["error"]), ": ")
	return true
}

// isOwn reports whether muster dev itself made the call.
func (t *talker) isOwn(line *spokenLine, said *sentence) bool {
	if said.failed || line.text["operation"] != "GetComputeAuthToken" || t.tokens.Load() == 0 {
		return false
	}
	t.tokens.Add(-1)
	return true
}

func (t *talker) endRepetition() {
	if t.repeated > 0 {
		what := "the same, " + counted(t.repeated, "more time")
		if len(t.recent) > 1 {
			what = counted(t.repeated, "more call") + " as above"
		}
		fmt.Fprintln(t.to, t.colours.paint(dim, fmt.Sprintf("%18s %s", "", what)))
	}
	t.repeated = 0
}

func (t *talker) write(at time.Time, colour, kind, what string) {
	fmt.Fprintf(t.to, "%s %s %s\n", t.colours.paint(dim, at.Format(time.TimeOnly)),
		t.colours.paint(colour, fmt.Sprintf("%-8s", kind)), what)
}

// track counts the game sessions on sample game servers, and gives a hint when all of these are in use.
func (t *talker) track(line *spokenLine) {
	if fleet := t.fleet.Load(); fleet == nil || line.text["fleet"] != fleet {
		return
	}
	switch id := line.text["game_session"]; line.message {
	case "game session created":
		if line.text["compute"] != sampleCompute {
			return
		}
		if t.sessions[id] = true; len(t.sessions) == t.servers {
			t.write(line.at, yellow, "hint", t.colours.paint(yellow, fmt.Sprintf(
				"All %d sample game servers are in use: the next game session finds none. End one, or start "+
					"muster dev with --sample-servers %d.", t.servers, min(2*t.servers, maxSamples))))
		}
	case "game session ended":
		delete(t.sessions, id)
	}
}

// A sentence is a line without its time.
type sentence struct {
	kind, what string // "" for what: the line is not shown
	failed     bool
}

const (
	kindCall      = "call"
	kindSession   = "session"
	kindPlayer    = "player"
	kindProcess   = "process"
	kindPlacement = "place"
	kindMatch     = "match"
	kindFleet     = "fleet"
)

var kindColours = map[string]string{kindCall: cyan, kindSession: green, kindPlayer: blue, kindProcess: violet,
	kindPlacement: green, kindMatch: green, kindFleet: yellow}

// sentences are what is shown of the log, by the message of the line. The messages are those of packages api, guard and
// server.
var sentences = map[string]func(*spokenLine) sentence{
	"request answered":   apiCall,
	"request failed":     apiCall,
	"request not served": apiCall,
	"request":            gatewayCall,

	"game session created": about(kindSession, "{game_session} created at {address}, for {max_players} players"),
	"game session active":  about(kindSession, "{game_session} is ACTIVE"),
	"game session ended":   endOf(kindSession, "{game_session} is TERMINATED"),

	"player slot reserved":  about(kindPlayer, "{player} has a slot in {game_session}"),
	"player joined":         about(kindPlayer, "{player} joined {game_session}: {players} of {max_players} players"),
	"player left":           about(kindPlayer, "{player} left {game_session}: {players} of {max_players} players"),
	"player slot timed out": failureOf(about(kindPlayer, "{player} did not come: the slot in {game_session} is free")),

	"server process ready": about(kindProcess, "{process} on {compute} is ready at port {port}"),
	"server process lost": failureOf(about(kindProcess,
		"{process} on {compute} lost its connection: it must connect again by {reconnect_by}")),
	"server process resumed": about(kindProcess, "{process} on {compute} is connected again"),
	"server process ended":   endOf(kindProcess, "{process} on {compute} ended"),

	"gateway fleet chosen": about(kindFleet, "the session gateway uses {fleet}: --{setting} chooses another"),

	"placement started":   about(kindPlacement, "{placement} started in queue {queue}"),
	"placement fulfilled": about(kindPlacement, "{placement} is FULFILLED"),
	"placement ended":     endOf(kindPlacement, "{placement} is {status}"),

	"ticket started":  about(kindMatch, "ticket {ticket} of {players} players searches in {configuration}"),
	"ticket ended":    endOf(kindMatch, "ticket {ticket} is {status}"),
	"match found":     about(kindMatch, "match {match} of {tickets} tickets found"),
	"match completed": about(kindMatch, "match {match} is complete"),
}

// longID matches a UUID, whose first part is enough to recognise it.
var longID = regexp.MustCompile("([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

// briefIDs shortens UUIDs. "muster get find" finds what has such a beginning.
func briefIDs(text string) string { return longID.ReplaceAllString(text, "$1…") }

// about returns a sentence with attributes of the line in the place of their keys.
func about(kind, format string) func(*spokenLine) sentence {
	return func(line *spokenLine) sentence {
		what := format
		for key, text := range line.text {
			if key == "process" || key == "game_session" && line.message != "game session created" {
				text = briefIDs(text)
			}
			if name := line.text["name"]; key == "game_session" && name != "" {
				text = fmt.Sprintf("%s (%s)", text, name)
			}
			key = "{" + key + "}"
			if text == "1" {
				what = strings.NewReplacer(key+" players", "1 player", key+" tickets", "1 ticket").Replace(what)
			}
			what = strings.ReplaceAll(what, key, text)
		}
		return sentence{kind: kind, what: what}
	}
}

// endOf is about with the reason, which may be a failure.
func endOf(kind, format string) func(*spokenLine) sentence {
	begin := about(kind, format)
	return func(line *spokenLine) sentence {
		s := begin(line)
		if reason := line.text["reason"]; reason != "" {
			s.what += ": " + reason
		}
		switch line.text["status"] {
		case "FAILED", "TIMED_OUT":
			s.failed = true
		}
		s.failed = s.failed || line.text["failed"] == "true"
		return s
	}
}

func failureOf(say func(*spokenLine) sentence) func(*spokenLine) sentence {
	return func(line *spokenLine) sentence {
		s := say(line)
		s.failed = true
		return s
	}
}

// apiCall is an answer of the API. Calls of this process, for the console or a request of a test, are shown if they
// fail or change something.
func apiCall(line *spokenLine) sentence {
	operation, exception, who := line.text["operation"], line.text["exception"], line.text["principal"]
	if who == "console" || strings.HasPrefix(who, "arn:") {
		who = "the console"
	}
	if (who == "the console" || who == testkit.Caller) && exception == "" && isRead(operation) {
		return sentence{}
	}
	return callOf(operation, cmp.Or(exception, "ok"), who, exception != "")
}

// isRead reports whether an operation changes nothing.
func isRead(operation string) bool {
	for _, verb := range []string{"Describe", "List", "Get", "Search"} {
		if strings.HasPrefix(operation, verb) {
			return true
		}
	}
	return false
}

// gatewayCall is an answer of the session gateway.
func gatewayCall(line *spokenLine) sentence {
	route, status := line.text["route"], line.text["status"]
	if route == "" || line.level < slog.LevelInfo { // a probe
		return sentence{}
	}
	who := cmp.Or(line.text["subject"], line.text["key"], line.text["address"])
	if why := line.text["why"]; why != "" {
		status += " " + why
	}
	method := line.text["method"] + " "
	if route == "unknown" {
		route = "on an unknown path"
	}
	return callOf(method+strings.TrimPrefix(route, method), status, who, status >= "400")
}

func callOf(what, result, who string, failed bool) sentence {
	text := what + "  " + result
	if who != "" {
		text += "  by " + who
	}
	return sentence{kindCall, text, failed}
}

// shortDuration rounds a duration for people: 410 ms, 6.9 s, 4 m 59 s, 2 h 3 m, 3 d 4 h.
func shortDuration(d time.Duration) string {
	const day = 24 * time.Hour
	two := func(unit, below time.Duration, names string) string {
		d = d.Round(below)
		return fmt.Sprintf("%d %c %d %c", d/unit, names[0], d%unit/below, names[1])
	}
	switch {
	case d == 0:
		return "0 s"
	case d < time.Millisecond:
		return "<1 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute-50*time.Millisecond:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour-time.Second/2:
		return two(time.Minute, time.Second, "ms")
	case d < day-time.Minute/2:
		return two(time.Hour, time.Minute, "hm")
	}
	return two(day, time.Hour, "dh")
}
