package console

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

var lineStart = time.Date(2026, 11, 25, 11, 0, 0, 0, time.UTC)

// fact returns a fact of a timeline. A negative duration means none.
func fact(ms int64, subject control.TimelineSubject, kind, player string, duration int64) control.TimelineFact {
	f := control.TimelineFact{Time: lineStart.Add(time.Duration(ms) * time.Millisecond), Subject: subject, Kind: kind}
	if player != "" {
		f.PlayerID, f.PlayerSessionID = player, "psess-"+player
	}
	if duration >= 0 {
		f.DurationMS = &duration
	}
	return f
}

// draw lays a timeline out that fits.
func draw(t *control.Timeline, now time.Time) *timelineView {
	w := drawOn(fit(now, t), t, now)
	w.label()
	return w
}

func played() *control.Timeline {
	soon := lineStart.Add(70 * time.Second)
	return &control.Timeline{
		Status: fleet.Active, Omitted: 3,
		Facts: []control.TimelineFact{
			fact(0, control.OfPlacement, control.FactRequested, "", -1),
			fact(5, control.OfGameSession, control.FactCreated, "", -1),
			fact(1205, control.OfGameSession, control.FactActive, "", 1200),
			fact(1205, control.OfPlacement, "FULFILLED", "", 1205),
			fact(2000, control.OfPlayerSession, control.FactReserved, "ada", -1),
			fact(2000, control.OfPlayerSession, control.FactReserved, "bob", -1),
			fact(5400, control.OfPlayerSession, control.FactAccepted, "ada", 3400),
			fact(10000, control.OfPlayerSession, control.FactReserved, "cid", -1),
			fact(11000, control.OfPlayerSession, control.FactReserved, "dan", -1),
			fact(62000, control.OfPlayerSession, control.FactTimedOut, "bob", 60000),
		},
		PlayerSessions: []control.TimelinePlayer{
			{PlayerSessionID: "psess-ada", PlayerID: "ada", Status: fleet.InGame},
			{PlayerSessionID: "psess-bob", PlayerID: "bob", Status: fleet.TimedOut},
			{PlayerSessionID: "psess-cid", PlayerID: "cid", Status: fleet.Reserved, Expires: &soon},
			{PlayerSessionID: "psess-dan", PlayerID: "dan", Status: fleet.InGame}, // it is not known since when
		},
	}
}

// TestDraw: the rows and lines of a timeline.
func TestDraw(t *testing.T) {
	w := draw(played(), lineStart.Add(65*time.Second))
	var got []string
	for _, r := range w.Rows {
		row := r.Name + ":"
		for i, m := range r.Marks {
			switch {
			case m.Cross:
				row += " x"
			case m.Hollow:
				row += " o"
			default:
				row += " *"
			}
			row += m.Class
			if i < len(r.Lines) {
				row += " -" + r.Lines[i].Class
				if r.Lines[i].Open {
					row += ">"
				}
			}
		}
		for _, l := range r.Labels {
			if l.Class == "span" || l.Left != "" {
				row += " " + l.Text
			}
		}
		got = append(got, row)
	}
	want := []string{"Placement: owait -wait *good 1.2 s", "Game session: owait -wait *good -good> 1.2 s",
		"ada: owait -wait *good -good> 3.4 s", "bob: owait -wait xbad 1 m 0 s", "cid: owait -wait> 5 s left",
		"dan: owait -good>"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if w.Span != "1 m 5 s" || !w.End.IsZero() || w.More != 3 || len(w.Facts) != 10 {
		t.Errorf("%s, ends %v, %d more, %d facts", w.Span, w.End, w.More, len(w.Facts))
	}
}

// TestDrawEnded: nothing goes on, and the time does not.
func TestDrawEnded(t *testing.T) {
	line := &control.Timeline{Status: fleet.Terminated, Facts: []control.TimelineFact{
		fact(0, control.OfGameSession, control.FactCreated, "", -1),
		fact(90_000, control.OfGameSession, control.FactTerminated, "", 90_000)}}
	w := draw(line, lineStart.Add(time.Hour))
	if w.Span != "1 m 30 s" || !w.End.Equal(lineStart.Add(90*time.Second)) || len(w.Rows[0].Lines) != 1 {
		t.Errorf("%+v", w)
	}
	if w = draw(&control.Timeline{}, lineStart); len(w.Rows) > 0 {
		t.Errorf("without facts: %+v", w)
	}
}

// TestDrawings: whatever happened, marks are in order and inside the drawing, and each fact has a mark and a row of the
// table.
func TestDrawings(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	kinds := []string{control.FactReserved, control.FactAccepted, control.FactCompleted, string(placement.StepRefused)}
	for range 500 {
		line := &control.Timeline{Status: fleet.Active}
		last := map[string]int64{}
		ms := int64(0)
		for range random.IntN(60) {
			ms += random.Int64N(3) * random.Int64N(1<<random.IntN(30))
			player, duration := fmt.Sprint("p", random.IntN(5)), int64(-1)
			if before, ok := last[player]; ok {
				duration = ms - before
			}
			last[player] = ms
			line.Facts = append(line.Facts, fact(ms, control.OfPlayerSession, kinds[random.IntN(4)], player, duration))
		}
		w := draw(line, lineStart.Add(time.Duration(ms)*time.Millisecond))
		marks := 0
		for _, r := range w.Rows {
			x := lineLeft
			for _, m := range r.Marks {
				if m.X < x || m.X > lineRight {
					t.Fatalf("a mark at %d, after %d", m.X, x)
				}
				x = m.X
				marks++
			}
			for _, l := range r.Labels {
				if l.X < 0 || l.X > lineWidth {
					t.Fatalf("a label at %d", l.X)
				}
			}
		}
		if marks != len(line.Facts) || len(w.Facts) != len(line.Facts) {
			t.Fatalf("%d marks and %d rows of %d facts", marks, len(w.Facts), len(line.Facts))
		}
	}
}

func TestSpans(t *testing.T) {
	for ms, want := range map[int64][2]string{
		0: {"0 ms", "0 ms"}, 999: {"999 ms", "999 ms"}, 1000: {"1.000 s", "1.0 s"}, 59_999: {"59.999 s", "59.9 s"},
		60_001: {"1 m 0.001 s", "1 m 0 s"}, 3_723_004: {"1 h 2 m 3.004 s", "1 h 2 m"},
	} {
		got := [2]string{exactSpan(ms), shortSpan(time.Duration(ms) * time.Millisecond)}
		if got != want {
			t.Errorf("%d: %q, want %q", ms, got, want)
		}
	}
}

// TestTimelinePage: the page has the drawing and the table with the same facts, to those who may see it.
func TestTimelinePage(t *testing.T) {
	const id = "arn:aws:gamelift:eu-west-1::gamesession/fleet-1/custom-a/g"
	w := newWorld(t, func(c *Config) { c.Account = "111122223333" })
	w.answers["DescribeGameSessions"] = &wire.DescribeGameSessionsOutput{GameSessions: []wire.GameSession{
		{GameSessionId: id, FleetId: "fleet-1", Name: hostile}}}
	w.answers["DescribePlayerSessions"] = &wire.DescribePlayerSessionsOutput{}
	line := played()
	line.Facts[0].Text, line.Facts[0].Location = hostile, hostile
	for i := range line.Facts {
		if line.Facts[i].PlayerID == "ada" {
			line.Facts[i].PlayerID = hostile
		}
	}
	w.answers["Timeline"] = line
	page := func() string { return w.do("GET", gameSessionPath(id), nil).Body.String() }
	text := page()
	for _, want := range []string{`<section data-live id="timeline"`, `<svg width="1016" height="240"`,
		`<td>bob</td><td>TIMEDOUT </td><td>1 m 0.000 s</td>`, `<td>3.400 s</td>`,
		"3 more player sessions are not drawn"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	for _, bad := range []string{"<script>alert", "<img src=x", "style="} {
		if strings.Contains(text, bad) {
			t.Errorf("%s is in %s", bad, text)
		}
	}
	drawing, table, _ := strings.Cut(text, "</svg>")
	title := regexp.MustCompile(` at \d\d:\d\d:\d\d\.\d{3}(, after ([^<]*))?</title>`)
	titles := title.FindAllStringSubmatch(drawing, -1)
	if n := strings.Count(table, "<tr><td><time"); n != len(line.Facts) || len(titles) != n {
		t.Errorf("the table has %d facts, the drawing %d, of %d", n, len(titles), len(line.Facts))
	}
	for _, title := range titles {
		if title[2] != "" && !strings.Contains(table, "<td>"+title[2]+"</td>") {
			t.Errorf("the table has no %s", title[2])
		}
	}
	if got := w.inputs["Timeline"]; got != id+" 37" {
		t.Errorf("asked for %s", got)
	}
	const action = "muster:GameSessionRead"
	if got := fmt.Sprint(w.inputs[action]); got != "[arn:aws:muster:eu-west-1:111122223333:fleet/fleet-1]" {
		t.Errorf("the permission is for %s", got)
	}
	w.fails[action] = fault.New(fault.AccessDenied, "no")
	delete(w.answers, "Timeline")
	if text := page(); strings.Contains(text, "<svg") || !strings.Contains(text, "<code>muster:GameSessionRead") {
		t.Errorf("without permission: %s", text)
	}
}
