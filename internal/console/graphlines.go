package console

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/metrics"
)

// A graphLine is one of several lines of a graph. Class has its dashes.
type graphLine struct{ Name, Class, Path, Last string }

// lineClasses are the classes of lines in their order.
var lineClasses = []string{"line", "line second", "line third"}

// A plotLine is the values of a line, ascending.
type plotLine struct {
	name   string
	points []graphPoint
}

// drawLines lays out a graph with several lines on the same axes, at most three.
func (p *plot) drawLines(title string, lines []plotLine) *graph {
	p.points = nil
	for _, l := range lines {
		p.points = append(p.points, l.points...)
	}
	top := p.top()
	g := p.axes(top)
	g.Title, g.Summary = title, title+": no value in this time"
	var cells [][]string
	var last []string
	for i, l := range lines {
		p.points = l.points
		line := graphLine{Name: l.name, Class: lineClasses[i]}
		line.Path, _ = p.paths(top)
		if n := len(l.points); n > 0 {
			line.Last = p.text(l.points[n-1].value)
			last = append(last, l.name+" "+line.Last)
		}
		g.Lines = append(g.Lines, line)
		cells = append(cells, strings.Split(p.data(), " "))
	}
	if last != nil {
		g.Summary = title + ": last " + strings.Join(last, ", ")
	}
	g.Data = joinCells(cells)
	return g
}

// joinCells joins the values of lines at the same time, each of which is in the form of graph.Data. A space would begin
// the next time.
func joinCells(lines [][]string) string {
	all := lines[0]
	for _, cells := range lines[1:] {
		for i := 2; i < len(cells) && i < len(all); i++ {
			if cells[i] != "" {
				all[i] += "\u00a0· " + cells[i]
			}
		}
	}
	for i := range all {
		all[i] = strings.ReplaceAll(all[i], " ", "\u00a0")
	}
	return strings.Join(all, " ")
}

// callQuantiles are the lines of the graph of API calls.
var callQuantiles = []struct {
	name  string
	value float64
}{{"p50", .5}, {"p95", .95}, {"p99", .99}}

// addCallTimes adds the graph of the times of API calls to those of the region.
func (v *visit) addCallTimes(view *graphsView) error {
	var quantiles []float64
	var lines []plotLine
	for _, q := range callQuantiles {
		quantiles, lines = append(quantiles, q.value), append(lines, plotLine{name: q.name})
	}
	found, err := v.h.Metrics.Spread(v.ctx, metrics.APICalls, quantiles, view.From, view.To, view.Period)
	if err != nil {
		return err
	}
	for _, each := range found {
		for i, seconds := range each.Quantiles {
			lines[i].points = append(lines[i].points, graphPoint{each.At, 1000 * seconds})
		}
	}
	p := plot{metric: "APICalls", unit: "Milliseconds", from: view.From, to: view.To, period: view.Period,
		width: graphWidth, height: graphHeight}
	view.Groups[0].Graphs = append(view.Groups[0].Graphs, p.drawLines("Time of API calls", lines))
	return nil
}

// A placedFigure is the placements that ended in the last whole minute.
type placedFigure struct {
	Count int
	P95   string // of their time; "" without one
}

// placed returns the placements of the last minute; nil for people who may not read metrics.
func (v *visit) placed() (*placedFigure, error) {
	if !v.seesMetrics() {
		return nil, nil
	}
	to := v.h.Clock.Now().Truncate(time.Minute)
	found, err := v.h.Metrics.Spread(v.ctx, metrics.Placements, []float64{.95}, to.Add(-time.Minute), to, time.Minute)
	if err != nil {
		return nil, err
	}
	f := &placedFigure{}
	for _, each := range found {
		f.Count, f.P95 = int(each.Count), secondsText(each.Quantiles[0])
	}
	return f, nil
}

// secondsText returns a time with two digits or more: "38 ms", "4.1 s", "2 m 5 s".
func secondsText(seconds float64) string {
	switch {
	case seconds < 1:
		return strconv.FormatFloat(max(1, math.Round(1000*seconds)), 'f', 0, 64) + " ms"
	case seconds < 60:
		return fmt.Sprintf("%.1f s", seconds)
	}
	return span(time.Duration(seconds * float64(time.Second)))
}
