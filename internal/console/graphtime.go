package console

import (
	"cmp"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"time"
)

const (
	maxGraphPoints   = 1440 // of a line
	usualGraphPoints = 400  // of a line whose period was not chosen
	maxGraphTime     = 455 * 24 * time.Hour
	minGraphTime     = time.Minute
)

// graphPeriods are the lengths of periods that can be chosen, and for how long values of such periods are kept by
// default.
var graphPeriods = []struct {
	length, kept time.Duration
	text         string
}{
	{10 * time.Second, 3 * time.Hour, "10 seconds"},
	{time.Minute, 15 * 24 * time.Hour, "1 minute"},
	{5 * time.Minute, 63 * 24 * time.Hour, "5 minutes"},
	{time.Hour, maxGraphTime, "1 hour"},
	{3 * time.Hour, maxGraphTime, "3 hours"},
	{24 * time.Hour, maxGraphTime, "1 day"},
}

// graphPaces are how often a page of graphs is read again, in seconds; "off": never.
var graphPaces = []choice{{"", "Every 10 seconds", false}, {"60", "Every minute", false}, {"off", "Off", false}}

// A choice is an option of a form.
type choice struct {
	Value, Text string
	On          bool
}

// setTime sets the time that graphs show, and its period: from the query's from and to, or else of its range until the
// last whole period.
func (v *visit) setTime(view *graphsView) error {
	now := v.h.Clock.Now()
	if from := v.form("from"); from == "" {
		view.Period = v.period(view.Range.period, view.Range.length)
		view.To = now.Truncate(view.Period)
		view.From = view.To.Add(-view.Range.length)
	} else {
		to := now
		begin, err := graphTime("From", from)
		if text := v.form("to"); err == nil && text != "" {
			to, err = graphTime("To", text)
		}
		if err != nil {
			return err
		}
		if length := to.Sub(begin); length < minGraphTime || length > maxGraphTime {
			return invalid("From, To: From must be before To, by a minute at least and 455 days at most.")
		}
		view.Absolute = true
		view.Period = v.period(usualPeriod(begin, to, now), to.Sub(begin))
		view.From, view.To = begin.Truncate(view.Period), to.Add(view.Period-1).Truncate(view.Period)
		view.ZoomOut = v.zoomedOut(begin, to, now)
	}
	for _, p := range graphPeriods {
		view.Periods = append(view.Periods, choice{strconv.Itoa(int(p.length / time.Second)), p.text,
			v.form("period") != "" && p.length == view.Period})
	}
	for _, p := range graphPaces {
		p.On = p.Value == v.form("refresh")
		view.Paces = append(view.Paces, p)
	}
	return nil
}

// graphTime parses a time of a link, or of a field of a form, which is in UTC.
func graphTime(field, text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if t, err := time.Parse(layout, text); err == nil && t.Year() >= 1970 && t.Year() <= 2200 {
			return t.UTC(), nil
		}
	}
	return time.Time{}, invalid("%s: %.64q is not a time like 2026-01-31T12:00.", field, text)
}

// usualPeriod returns the shortest period that is kept for long enough and has not too many values.
func usualPeriod(from, to, now time.Time) time.Duration {
	for _, p := range graphPeriods {
		if now.Sub(from) <= p.kept && to.Sub(from)/p.length <= usualGraphPoints {
			return p.length
		}
	}
	return graphPeriods[len(graphPeriods)-1].length
}

// period returns the period of the query, or the usual one; a longer one if there were too many values.
func (v *visit) period(usual, length time.Duration) time.Duration {
	chosen := usual
	for _, p := range graphPeriods {
		if v.form("period") == strconv.Itoa(int(p.length/time.Second)) {
			chosen = p.length
		}
	}
	for _, p := range graphPeriods {
		if p.length >= chosen && length/p.length <= maxGraphPoints {
			return p.length
		}
	}
	return chosen
}

// zoomedOut returns the link to twice the time.
func (v *visit) zoomedOut(from, to, now time.Time) string {
	length := min(2*to.Sub(from), maxGraphTime)
	end := to.Add(length / 4)
	if end.After(now) {
		end = now
	}
	return v.withAll("from", end.Add(-length).Format(time.RFC3339), "to", end.Format(time.RFC3339))
}

// pace returns how many seconds at least are between two readings of a page of graphs; live: it is read again.
func (v *visit) pace() (seconds int, live bool) {
	text := v.form("refresh")
	if text == "off" {
		return 0, false
	}
	seconds, err := strconv.Atoi(cmp.Or(text, strconv.Itoa(graphPace)))
	if err != nil || seconds != 60 {
		seconds = graphPace
	}
	return seconds, true
}

// withAll returns the link to this page with other parameters, by pairs of name and value; "": without it. The address
// of a form is one level below that of its page.
func (v *visit) withAll(pairs ...string) string {
	to := ""
	if v.r.Method == http.MethodPost {
		to = path.Dir(v.r.URL.EscapedPath())
	}
	q := v.r.URL.Query()
	for i := 0; i+1 < len(pairs); i += 2 {
		if q.Set(pairs[i], pairs[i+1]); pairs[i+1] == "" {
			q.Del(pairs[i])
		}
	}
	return to + "?" + q.Encode()
}

// Field formats a time for a field of the form; "" unless a time was chosen.
func (g *graphsView) Field(t time.Time) string {
	if !g.Absolute {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04")
}

// graphMarks is how many marks a graph has at most: those that would overlap are one.
const graphMarks = 25

// A graphMark is what happened at a time of all graphs.
type graphMark struct {
	X     int
	Title string
	Bad   bool
	count int
}

// Shape returns the path of a mark, of a graph whose plot ends at a height.
func (m graphMark) Shape(bottom int) string {
	return fmt.Sprintf("M%d %dV%dm-4 7h8l-4 -7z", m.X, plotTop, bottom)
}
