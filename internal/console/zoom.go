package console

import (
	"cmp"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// An axis returns where a time since the beginning of a timeline is drawn. It may be outside of the drawing.
type axis func(since time.Duration) int

// A window is the part of timelines that is drawn, as times since their beginnings. To is 0: all is drawn.
type window struct{ From, To time.Duration }

// maxWindow is the maximum time since the beginning of a timeline that can be chosen.
const maxWindow = 400 * 24 * time.Hour

// windowOf reads a window from seconds, as in ?from=1.5&to=4. What cannot be drawn is no window.
func windowOf(from, to string) window {
	begin, _ := strconv.ParseFloat(cmp.Or(strings.TrimSpace(from), "0"), 64)
	end, err := strconv.ParseFloat(strings.TrimSpace(to), 64)
	if err != nil || !(begin >= 0) || !(end <= maxWindow.Seconds()) || !(end-begin >= 0.001) {
		return window{}
	}
	return window{seconds(begin), seconds(end)}
}

func seconds(s float64) time.Duration { return time.Duration(math.Round(s*1000)) * time.Millisecond }

// axis returns a linear axis: in a window, lengths can be compared.
func (w window) axis() axis {
	return func(since time.Duration) int {
		x := lineLeft + (lineRight-lineLeft)*float64(since-w.From)/float64(w.To-w.From)
		return int(max(-lineRight, min(2*lineRight, x))) // far outside is as good as outside
	}
}

// fit returns an axis on which all of some timelines has room. The space between two times is logarithmic, so that
// milliseconds are visible beside hours.
func fit(now time.Time, lines ...*control.Timeline) axis {
	times := []time.Duration{0}
	for _, t := range lines {
		begin, last := bounds(t, now)
		for _, f := range t.Facts {
			times = append(times, f.Time.Sub(begin))
		}
		times = append(times, last.Sub(begin))
	}
	slices.Sort(times)
	times = slices.Compact(times)
	sums := make([]float64, len(times))
	for i := 1; i < len(times); i++ {
		sums[i] = sums[i-1] + 6 + math.Log2(1+float64((times[i]-times[i-1]).Milliseconds())/20)
	}
	return func(since time.Duration) int {
		i, _ := slices.BinarySearch(times, since)
		if i = min(i, len(times)-1); i == 0 {
			return lineLeft
		}
		return lineLeft + int(sums[i]/sums[len(sums)-1]*(lineRight-lineLeft))
	}
}

// bounds returns when a timeline begins, and when it has ended, or now.
func bounds(t *control.Timeline, now time.Time) (begin, last time.Time) {
	if len(t.Facts) == 0 {
		return now, now
	}
	begin, last = t.Facts[0].Time, t.Facts[len(t.Facts)-1].Time
	if t.Status != fleet.Terminated && now.After(last) {
		last = now
	}
	return begin, last
}

func outside(x int) bool { return x < lineLeft || x > lineRight }

// clip removes what is outside of a window from the drawing and from the table, which have the same facts.
func (w *timelineView) clip(part window) {
	w.Part = true
	for i := range w.Rows {
		w.Rows[i].clip()
	}
	at := part.axis()
	w.Facts = slices.DeleteFunc(w.Facts, func(f timelineFact) bool { return outside(at(f.Time.Sub(w.Begin))) })
}

func (r *timelineRow) clip() {
	r.Marks = slices.DeleteFunc(r.Marks, func(m timelineMark) bool { return outside(m.X) })
	middles := map[int]int{} // of lines, before and after
	var lines []timelineLine
	for _, l := range r.Lines {
		if l.To <= lineLeft || l.From >= lineRight {
			continue
		}
		before := (l.From + l.To) / 2
		l.From, l.To = max(l.From, lineLeft), min(l.To, lineRight)
		middles[before] = (l.From + l.To) / 2
		lines = append(lines, l)
	}
	r.Lines = lines
	var labels []timelineLabel
	for _, l := range r.Labels {
		middle, shown := middles[l.X]
		switch {
		case l.Class == "span":
			l.X = middle
		case l.Left != "":
			shown = !outside(l.X)
		default:
			shown = !outside(l.X + markLabel)
		}
		if shown {
			labels = append(labels, l)
		}
	}
	r.Labels = labels
}

// A zoomView is how timelines are drawn, with links to other ways. All of it is in the address.
type zoomView struct {
	Action                       string
	Hidden                       []link // names and values
	From, To, With               string
	Fit, In, Out, Earlier, Later string // addresses; "": there is none
	Problem                      string // of the other game session
}

// Zoomed reports whether a part is drawn.
func (z *zoomView) Zoomed() bool { return z.To != "" }

// zoom returns the view of a window of a game session's timelines, of which the longer one has a length.
func zoom(address string, part window, length time.Duration, with string) zoomView {
	path, query, _ := strings.Cut(address, "?")
	base, _ := url.ParseQuery(query)
	z := zoomView{Action: path, With: with}
	for _, name := range slices.Sorted(maps.Keys(base)) {
		z.Hidden = append(z.Hidden, link{name, base.Get(name)})
	}
	to := func(from, until time.Duration) string {
		q, _ := url.ParseQuery(query)
		if with != "" {
			q.Set("with", with)
		}
		if until > 0 {
			q.Set("from", inSeconds(from))
			q.Set("to", inSeconds(until))
		}
		return path + "?" + q.Encode()
	}
	z.Fit = to(0, 0)
	shown := part
	if part.To > 0 {
		z.From, z.To = inSeconds(part.From), inSeconds(part.To)
	} else {
		shown = window{0, length}
	}
	size := shown.To - shown.From
	if size >= 10*time.Millisecond {
		z.In = to(shown.From+size/4, shown.To-size/4)
	}
	if part.To > 0 {
		z.Out = to(max(0, shown.From-size/2), min(maxWindow, shown.To+size/2))
		if shown.From > 0 {
			from := max(0, shown.From-size/2)
			z.Earlier = to(from, from+size)
		}
		if shown.To < length {
			z.Later = to(shown.From+size/2, shown.To+size/2)
		}
	}
	return z
}

// inSeconds returns a time as in the address.
func inSeconds(d time.Duration) string {
	return strconv.FormatFloat(d.Round(time.Millisecond).Seconds(), 'f', -1, 64)
}

// timelines adds the timelines of a game session and of the one that it is compared with.
func (v *visit) timelines(b *sessionBody) error {
	mine, err := v.timeline(b.GameSessionId, b.FleetId)
	if err != nil || mine == nil {
		return err
	}
	part, with := windowOf(v.form("from"), v.form("to")), strings.TrimSpace(v.form("with"))
	all := []*control.Timeline{mine}
	problem := ""
	if with != "" {
		other, err := v.otherTimeline(with)
		if err != nil {
			f := fault.Of(err)
			if f.Kind == fault.InternalService || f.Kind == fault.ServiceUnavailable {
				return err
			}
			problem = f.Message
		} else {
			all = append(all, other)
		}
	}
	now := v.h.Clock.Now()
	at := fit(now, all...)
	if part.To > 0 {
		at = part.axis()
	}
	var length time.Duration
	views := make([]*timelineView, len(all))
	for i, t := range all {
		begin, last := bounds(t, now)
		length = max(length, last.Sub(begin))
		views[i] = drawOn(at, t, now)
		if part.To > 0 {
			views[i].clip(part)
		}
		views[i].label()
	}
	if b.Timeline = views[0]; len(views) > 1 {
		b.Other = views[1]
		arn := all[1].GameSessionArn
		b.Other.Name, b.Other.Href = cmp.Or(all[1].Name, lastPart(arn)), gameSessionPath(arn)
	}
	b.Zoom = zoom(gameSessionPath(b.GameSessionId), part, length, with)
	b.Zoom.Problem = problem
	for _, f := range mine.Facts {
		if f.Subject == control.OfPlacement {
			b.Placement = cmp.Or(f.PlacementID, b.Placement)
			b.Trail = append(b.Trail, f)
		}
	}
	return nil
}

// otherTimeline returns the timeline of a game session by its ARN, or the last part of it, or its address here.
func (v *visit) otherTimeline(id string) (*control.Timeline, error) {
	if u, err := url.Parse(id); err == nil && strings.Contains(u.Path, "/console/game-session") {
		id = cmp.Or(u.Query().Get("id"), lastPart(u.Path))
	}
	t, err := v.h.Region.Timeline(v.ctx, id, maxRows-3)
	if err != nil {
		return nil, err
	}
	if !v.seesTimeline(t.FleetID) {
		return nil, invalid("with: the game session %.100q cannot be shown: you need the permission "+
			"muster:GameSessionRead for its fleet.", id)
	}
	return t, nil
}

func lastPart(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }
