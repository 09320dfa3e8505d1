package console

import (
	"fmt"
	"math"
	"time"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/policy"
)

// maxRows is the maximum number of rows of a timeline. Three of them are not of players.
const maxRows = 40

// The layout of a timeline, in pixels.
const (
	lineLeft   = 180 // where the lines begin, right of the names
	lineRight  = 928
	lineWidth  = 1016
	rowHeight  = 40
	rowMiddle  = 22
	charWidth  = 8  // at most, of a label
	maxName    = 20 // characters
	sameLabels = 6  // between two labels
	markLabel  = 5  // how far left of its mark a label begins
)

// A timelineView is a timeline to be drawn. Every fact is a row of the table and a mark of the drawing.
type timelineView struct {
	Part          bool   // it is a window, to scale
	Name, Href    string // of a game session that is compared
	Begin         time.Time
	End           time.Time // of an ended game session
	Span          string
	Width, Height int
	Rows          []timelineRow
	Facts         []timelineFact // in the order of the timeline
	More          int            // player sessions that are not shown
}

// A timelineRow is a placement, game session or player session.
type timelineRow struct {
	Name, Title string
	Y, Middle   int
	Lines       []timelineLine
	Marks       []timelineMark
	Labels      []timelineLabel

	last  string // kind of the last fact
	ended bool
}

// A timelineLine is the time between two facts, or until now.
type timelineLine struct {
	From, To int
	Class    string // colour of the state
	Open     bool   // it goes on
}

// A timelineMark is a fact.
type timelineMark struct {
	X      int
	Class  string
	Hollow bool
	Cross  bool
	Title  string
}

// A timelineLabel is a text of a row.
type timelineLabel struct {
	X, Y  int
	Class string
	Text  string
	Left  string // seconds that a RESERVED player session has left
}

// A timelineFact is a row of the table.
type timelineFact struct {
	Time                       time.Time
	Who, What, Duration, Extra string
}

// timeline reads the timeline of a game session; nil if the person may not see it.
func (v *visit) timeline(id, fleetID string) (*control.Timeline, error) {
	if !v.seesTimeline(fleetID) {
		return nil, nil
	}
	return v.h.Region.Timeline(v.ctx, id, maxRows-3)
}

// seesTimeline reports whether the person may see timelines of a fleet's game sessions.
func (v *visit) seesTimeline(fleetID string) bool {
	action, _ := policy.ActionOf("muster:GameSessionRead")
	resource := "arn:aws:muster:" + v.h.RegionName + ":" + v.h.Account + ":fleet/" + fleetID
	return v.h.Access.Permits(v.id, v.from, action, resource)
}

// drawOn lays a timeline out on an axis.
func drawOn(at axis, t *control.Timeline, now time.Time) *timelineView {
	w := &timelineView{Width: lineWidth, More: t.Omitted}
	if len(t.Facts) == 0 {
		return w
	}
	open := t.Status != fleet.Terminated
	begin, last := bounds(t, now)
	w.Begin = begin
	if !open {
		w.End = last
	}
	w.Span = shortSpan(last.Sub(begin))
	end := at(last.Sub(begin))
	index := map[string]int{}
	for i := range t.Facts {
		f := &t.Facts[i]
		key := string(f.Subject) + f.PlayerSessionID
		n, ok := index[key]
		if !ok {
			n = len(w.Rows)
			index[key] = n
			y := n * rowHeight
			name := nameOf(f)
			w.Rows = append(w.Rows, timelineRow{Name: clip(name), Title: name, Y: y, Middle: y + rowMiddle})
		}
		w.add(&w.Rows[n], f, at(f.Time.Sub(begin)))
	}
	for _, p := range t.PlayerSessions {
		if n, ok := index[string(control.OfPlayerSession)+p.PlayerSessionID]; ok {
			w.Rows[n].close(&p, now, end)
		}
	}
	for _, subject := range []control.TimelineSubject{control.OfGameSession, control.OfPlacement} {
		if n, ok := index[string(subject)]; ok && open && !w.Rows[n].ended {
			w.Rows[n].extend(end)
		}
	}
	w.Height = len(w.Rows) * rowHeight
	return w
}

// label removes the labels that have no room.
func (w *timelineView) label() {
	for i := range w.Rows {
		w.Rows[i].label()
	}
}

// add adds a fact to its row and to the table.
func (w *timelineView) add(r *timelineRow, f *control.TimelineFact, x int) {
	row := timelineFact{Time: f.Time, Who: r.Title, What: f.Kind, Extra: f.Text}
	if f.Location != "" {
		row.Extra = f.Location + " " + f.Text
	}
	title := r.Title + ": " + f.Kind + " at " + f.Time.UTC().Format(clockTime)
	if f.DurationMS != nil {
		row.Duration = exactSpan(*f.DurationMS)
		title += ", after " + row.Duration
		from := r.Marks[len(r.Marks)-1].X
		r.Lines = append(r.Lines, timelineLine{From: from, To: x, Class: classAfter(r.last)})
		r.Labels = append(r.Labels, timelineLabel{X: (from + x) / 2, Y: r.Middle + 15, Class: "span",
			Text: shortSpan(time.Duration(*f.DurationMS) * time.Millisecond)})
	}
	w.Facts = append(w.Facts, row)
	class := classOf(f.Kind)
	r.Marks = append(r.Marks, timelineMark{X: x, Class: class, Hollow: class == "wait", Cross: class == "bad",
		Title: title})
	r.Labels = append(r.Labels, timelineLabel{X: x - markLabel, Y: r.Middle - 9, Class: class, Text: f.Kind})
	r.last, r.ended = f.Kind, finals[f.Kind]
}

const clockTime = "15:04:05.000"

// close extends the row of a player session that has not ended, and counts its reservation down.
func (r *timelineRow) close(p *control.TimelinePlayer, now time.Time, x int) {
	if r.ended {
		return
	}
	if p.Status == fleet.InGame { // also if it is not known when the player connected
		r.last = control.FactAccepted
	}
	r.extend(x)
	if p.Status == fleet.Reserved && p.Expires != nil {
		left := max(0, p.Expires.Sub(now)).Truncate(time.Second)
		r.Labels = append(r.Labels, timelineLabel{X: x, Y: r.Middle + 15, Class: "left",
			Text: fmt.Sprintf("%d s left", int(left.Seconds())), Left: fmt.Sprint(int(left.Seconds()))})
	}
}

// extend adds a line from the last fact until now.
func (r *timelineRow) extend(x int) {
	from := r.Marks[len(r.Marks)-1].X
	r.Lines = append(r.Lines, timelineLine{From: from, To: x, Class: classAfter(r.last), Open: true})
}

// label removes the labels that have no room. Of marks in one place, the last one keeps its label.
func (r *timelineRow) label() {
	var kept []timelineLabel
	end := math.MaxInt // where the kind after this one begins
	for i := len(r.Labels) - 1; i >= 0; i-- {
		l := r.Labels[i]
		size := charWidth * len(l.Text)
		switch {
		case l.Left != "":
			kept = append(kept, l)
		case l.Class == "span":
			if r.width(l.X) >= size+2*sameLabels {
				kept = append(kept, l)
			}
		default:
			l.X = min(l.X, lineWidth-size) // the text of the last mark ends with the drawing
			if l.X+size <= end {
				kept = append(kept, l)
				end = l.X - sameLabels
			}
		}
	}
	r.Labels = kept
}

// width returns the length of the line with a middle.
func (r *timelineRow) width(middle int) int {
	for _, l := range r.Lines {
		if (l.From+l.To)/2 == middle && !l.Open {
			return l.To - l.From
		}
	}
	return 0
}

func nameOf(f *control.TimelineFact) string {
	switch f.Subject {
	case control.OfGameSession:
		return "Game session"
	case control.OfPlacement:
		return "Placement"
	case control.OfBackfill:
		return "Backfill"
	}
	return f.PlayerID
}

// clip shortens a name to the space left of the lines.
func clip(name string) string {
	if r := []rune(name); len(r) > maxName {
		return string(r[:maxName-1]) + "…"
	}
	return name
}

// classOf returns the class of a fact: of the status that begins with it.
func classOf(kind string) string {
	switch kind {
	case control.FactRequested, control.FactCreated, string(placement.StepAttempt), string(placement.StepWaiting):
		return "wait"
	case control.FactAccepted, control.FactBackfilled:
		return "good"
	case string(placement.StepRefused), string(placement.StepEnded):
		return "bad"
	}
	return chip(kind)
}

// classAfter returns the class of the time after a fact.
func classAfter(kind string) string {
	if class := classOf(kind); class != "bad" {
		return class
	}
	return "wait" // a placement tries again
}

// finals are the kinds after which nothing happens.
var finals = map[string]bool{
	control.FactTerminated: true, control.FactCompleted: true, control.FactTimedOut: true, control.FactBackfilled: true,
	string(placement.StepFulfilled): true, string(placement.StepCancelled): true, string(placement.StepTimedOut): true,
	string(placement.StepFailed): true,
}

// shortSpan returns a duration as a label: "340 ms", "1.2 s", "4 m 12 s".
func shortSpan(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%d.%d s", d/time.Second, d%time.Second/(100*time.Millisecond))
	}
	return span(d)
}

// exactSpan returns milliseconds as a person says them: "4 m 12.034 s".
func exactSpan(ms int64) string {
	s := fmt.Sprintf("%d.%03d s", ms/1000%60, ms%1000)
	switch {
	case ms < 1000:
		return fmt.Sprintf("%d ms", ms)
	case ms < 60_000:
		return s
	case ms < 3_600_000:
		return fmt.Sprintf("%d m %s", ms/60_000, s)
	}
	return fmt.Sprintf("%d h %d m %s", ms/3_600_000, ms/60_000%60, s)
}
