package console

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/metrics"
)

// The layout of a graph, in pixels.
const (
	graphWidth, graphHeight = 360, 150
	aloneWidth, aloneHeight = 960, 240 // of one that is shown alone

	plotLeft, plotRight, plotTop, plotBottom = 44, 8, 12, 26 // between the plot and the edges
)

// A graph is the values of a metric over time, to be drawn.
type graph struct {
	Metric, Title, Unit string
	Width, Height       int
	Line, Area          string      // paths
	Lines               []graphLine // of a graph with several, which has no Line
	Rows                []graphTick
	Columns             []graphTick
	Left, Right, Bottom int
	Data                string // for the cross-hair: begin, period and values, "" where there is none
	Last                string // value
	Summary             string // for those who do not see it
	Values              []graphValue
	Href                string // of the page with its values; "": none
	File                string // of its values; "": none
	Commands            []copyItem
	Dots                string // the path of the points, "" unless they are shown
	Marks               []graphMark
}

// A graphTick is a mark of an axis.
type graphTick struct {
	At   int
	Text string
	Time int64 // in Unix seconds, of a mark of the axis of time
}

// A graphValue is a row of the table of a graph.
type graphValue struct {
	At    time.Time
	Value string
}

// A plot is what is to be drawn.
type plot struct {
	metric   string
	unit     string
	width    int
	height   int
	from, to time.Time
	period   time.Duration
	points   []graphPoint
	dots     bool // to draw a dot for each of them
}

type graphPoint struct {
	at    time.Time
	value float64
}

// draw lays a graph out. A period without a value is a gap.
func (p *plot) draw() *graph {
	top := p.top()
	g := p.axes(top)
	g.Line, g.Area = p.paths(top)
	g.Data, g.Summary = p.data(), p.summary()
	for _, each := range p.points {
		g.Last = p.text(each.value)
		g.Values = append(g.Values, graphValue{each.at, p.text(each.value)})
	}
	if p.dots {
		g.Dots = p.dotted(top)
	}
	return g
}

// axes lays out a graph without its values.
func (p *plot) axes(top float64) *graph {
	g := &graph{Metric: p.metric, Title: titleOf(p.metric), Unit: p.unit, Width: p.width, Height: p.height,
		Left: plotLeft, Right: p.right(), Bottom: p.bottom()}
	for i := range 3 {
		share := float64(i) / 2
		g.Rows = append(g.Rows, graphTick{p.y(top*share, top), p.text(top * share), 0})
	}
	length := p.to.Sub(p.from)
	layout := "15:04"
	if length > 24*time.Hour {
		layout = "2 Jan"
	}
	for i := range 3 {
		at := p.from.Add(length * time.Duration(i) / 2)
		g.Columns = append(g.Columns, graphTick{p.x(at), at.UTC().Format(layout), at.Unix()})
	}
	return g
}

// dotted returns the path of a dot for each value.
func (p *plot) dotted(top float64) string {
	var b strings.Builder
	for _, each := range p.points {
		fmt.Fprintf(&b, "M%d %dh0", p.x(each.at), p.y(each.value, top))
	}
	return b.String()
}

func (p *plot) right() int { return p.width - plotRight }

func (p *plot) bottom() int { return p.height - plotBottom }

func (p *plot) x(t time.Time) int {
	return plotLeft + int(math.Round(float64(p.right()-plotLeft)*float64(t.Sub(p.from))/float64(p.to.Sub(p.from))))
}

func (p *plot) y(value, top float64) int {
	return p.bottom() - int(math.Round(float64(p.bottom()-plotTop)*value/top))
}

// top returns the end of the axis of values: 1, 2 or 4 times a power of ten, so that counts have whole marks.
func (p *plot) top() float64 {
	if p.unit == "Percent" {
		return 100
	}
	most := 2.0
	for _, each := range p.points {
		most = max(most, each.value)
	}
	power := math.Pow(10, math.Floor(math.Log10(most)))
	for _, factor := range []float64{1, 2, 4, 10} {
		if factor*power >= most {
			return factor * power
		}
	}
	return most
}

// paths returns the line through the values, and the area below it.
func (p *plot) paths(top float64) (line, area string) {
	var l, a strings.Builder
	last := time.Time{}
	x := 0
	for i, each := range p.points {
		y := p.y(each.value, top)
		begins := i == 0 || each.at.Sub(last) > p.period
		if begins && i > 0 {
			fmt.Fprintf(&a, "V%dZ", p.bottom())
		}
		x = p.x(each.at)
		if begins {
			fmt.Fprintf(&l, "M%d %dh0", x, y) // a value alone is a dot
			fmt.Fprintf(&a, "M%d %dV%d", x, p.bottom(), y)
		} else {
			fmt.Fprintf(&l, "L%d %d", x, y)
			fmt.Fprintf(&a, "L%d %d", x, y)
		}
		last = each.at
	}
	if len(p.points) > 0 {
		fmt.Fprintf(&a, "V%dZ", p.bottom())
	}
	return l.String(), a.String()
}

// data returns the begin and the period in seconds, and the text of each value.
func (p *plot) data() string {
	count := int(p.to.Sub(p.from) / p.period)
	cells := make([]string, 2+max(0, count))
	cells[0], cells[1] = strconv.FormatInt(p.from.Unix(), 10), strconv.Itoa(int(p.period/time.Second))
	for _, each := range p.points {
		if i := int(each.at.Sub(p.from) / p.period); i >= 0 && i < count {
			cells[2+i] = p.text(each.value)
		}
	}
	return strings.Join(cells, " ")
}

func (p *plot) summary() string {
	if len(p.points) == 0 {
		return titleOf(p.metric) + ": no value in this time"
	}
	least, most := p.points[0].value, p.points[0].value
	for _, each := range p.points {
		least, most = min(least, each.value), max(most, each.value)
	}
	return fmt.Sprintf("%s: last %s, between %s and %s", titleOf(p.metric), p.text(p.points[len(p.points)-1].value),
		p.text(least), p.text(most))
}

// text formats a value: whole numbers as they are, others with three digits at most. A unit follows a space that ends
// no cell of graph.Data.
func (p *plot) text(value float64) string {
	unit := p.unit
	if unit == "Milliseconds" && value >= 1000 {
		value, unit = value/1000, "Seconds"
	}
	text := strconv.FormatFloat(value, 'g', 3, 64)
	if value == math.Trunc(value) || math.Abs(value) >= 1000 {
		text = strconv.FormatFloat(value, 'f', 0, 64)
	}
	switch unit {
	case "Percent":
		return text + "%"
	case "Seconds":
		return text + "\u00a0s"
	case "Milliseconds":
		return text + "\u00a0ms"
	}
	return text
}

// titleOf returns the words of a metric's name: "Percent idle instances".
func titleOf(metric string) string {
	var b strings.Builder
	for i, r := range metric {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte(' ')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// valuesOf returns the values of points: the sums of what is counted, otherwise averages.
func valuesOf(points []metrics.Point, counted bool) (values []graphPoint) {
	for _, p := range points {
		value := p.Sum
		if !counted {
			value /= p.Count
		}
		values = append(values, graphPoint{p.At, value})
	}
	return values
}
