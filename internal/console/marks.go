package console

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// fleetMarks adds to the graphs of a fleet the links to their values, and marks of its events. A person who may not
// read them sees none.
func (v *visit) fleetMarks(b *fleetBody) error {
	if b.Graphs == nil {
		return nil
	}
	for _, group := range b.Graphs.Groups {
		for _, g := range group.Graphs {
			g.File = "/console/fleets/" + url.PathEscape(b.FleetId) + "/metrics.csv" + g.Href
		}
	}
	out, err := call(v, wire.OpDescribeFleetEvents, &wire.DescribeFleetEventsInput{FleetId: b.FleetId,
		StartTime: b.Graphs.From, EndTime: b.Graphs.To, Limit: wire.Some[int32](csvPage)})
	if f := (*fault.Error)(nil); errors.As(err, &f) && f.Kind == fault.AccessDenied {
		return nil
	}
	if err != nil {
		return err
	}
	b.Events = slices.DeleteFunc(slices.Clone(out.Events), func(e wire.Event) bool {
		return e.EventTime.Before(b.Graphs.From) || !e.EventTime.Before(b.Graphs.To)
	})
	for _, group := range b.Graphs.Groups {
		for _, g := range group.Graphs {
			g.Marks = b.Graphs.marks(g, b.Events)
		}
	}
	return nil
}

// marks returns the marks of events on a graph.
func (g *graphsView) marks(of *graph, events []wire.Event) (marks []graphMark) {
	width := of.Right - of.Left
	cells := make([]graphMark, graphMarks)
	for _, e := range events {
		share := float64(e.EventTime.Sub(g.From)) / float64(g.To.Sub(g.From))
		cell := &cells[min(int(share*graphMarks), graphMarks-1)]
		text := e.EventTime.UTC().Format("15:04:05 ") + string(e.EventCode)
		cell.X, cell.count, cell.Bad = of.Left+int(share*float64(width)), cell.count+1, cell.Bad || failing(e.EventCode)
		switch {
		case cell.count == 1:
			cell.Title = text
		case cell.count <= 3:
			cell.Title += ", " + text
		}
	}
	for _, c := range cells {
		if c.count > 3 {
			c.Title += fmt.Sprintf(" and %d more", c.count-3)
		}
		if c.count > 0 {
			marks = append(marks, c)
		}
	}
	return marks
}

// failing reports whether an event is about a failure.
func failing(code wire.EventCode) bool {
	return slices.ContainsFunc([]string{"ERROR", "FAIL", "CRASH", "UNHEALTHY", "TIMEOUT", "TIMED_OUT", "INVALID",
		"NOT_FOUND", "INTERRUPTED", "FORCE"}, func(word string) bool { return strings.Contains(string(code), word) })
}
