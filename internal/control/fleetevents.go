package control

import (
	"cmp"
	"context"
	"slices"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire"
)

// fleetEvent is an event of a fleet, from the catalog or from one of its rooms.
type fleetEvent struct {
	ID, Code, Message string
	At                event.Time
	Count             int32
	Log               string // hash of the output of an installation; "": none
}

// DescribeFleetEvents lists the events of a fleet, newest first. Deleted fleets keep their events for a while.
func (p *Plane) DescribeFleetEvents(ctx context.Context,
	in *wire.DescribeFleetEventsInput) (*wire.DescribeFleetEventsOutput, error) {
	id := fleetID(in.FleetId)
	from, to := eventWindow(in)
	if to != 0 && from > to {
		return nil, invalid("StartTime is after EndTime")
	}
	pages := p.secrets.Pages("DescribeFleetEvents", id, in.StartTime.String(), in.EndTime.String())
	var last fleetEvent // of the page before
	if err := pages.Read(in.NextToken, &last); err != nil {
		return nil, err
	}
	events, err := p.fleetEvents(ctx, id, from, to)
	if err != nil {
		return nil, err
	}
	if in.NextToken != "" {
		events = eventsBehind(events, last)
	}
	out := &wire.DescribeFleetEventsOutput{Events: []wire.Event{}}
	if size := pageSize(in.Limit); len(events) > size {
		events = events[:size]
		out.NextToken = pages.Token(fleetEvent{ID: events[size-1].ID, At: events[size-1].At})
	}
	for _, e := range events {
		shown := wire.Event{
			EventId: e.ID, ResourceId: id, EventCode: wire.EventCode(e.Code), Message: e.Message,
			EventTime: e.At.Time(),
			Count:     wire.Some(int64(max(1, e.Count))),
		}
		if e.Log != "" {
			shown.PreSignedLogUrl = callOf(ctx).URL + p.shownPath(e.Log)
		}
		out.Events = append(out.Events, shown)
	}
	return out, nil
}

// fleetEvents returns the events of a fleet and of all its rooms, newest first.
func (p *Plane) fleetEvents(ctx context.Context, id string, from, to event.Time) ([]fleetEvent, error) {
	own, _, err := p.Catalog().FleetEvents(id, from, to, 0, 0)
	if err != nil {
		return nil, err
	}
	var events []fleetEvent
	for _, e := range own {
		events = append(events, fleetEvent{ID: e.ID, Code: e.Code, Message: e.Message, At: e.At, Count: e.Count,
			Log: e.Log})
	}
	rooms, err := p.Rooms(ctx, id, "")
	if err != nil {
		return nil, err
	}
	for _, r := range rooms {
		for _, n := range r.FleetEvents(from, to) {
			events = append(events, fleetEvent{ID: n.ID, Code: n.Code, Message: n.Message, At: n.At})
		}
	}
	slices.SortStableFunc(events, func(a, b fleetEvent) int { return cmp.Compare(b.At, a.At) })
	return events, nil
}

// eventsBehind returns the events after the last one of the previous page, which may have aged out since.
func eventsBehind(events []fleetEvent, last fleetEvent) []fleetEvent {
	for i, e := range events {
		if e.ID == last.ID {
			return events[i+1:]
		}
	}
	first := slices.IndexFunc(events, func(e fleetEvent) bool { return e.At < last.At })
	if first < 0 {
		return nil
	}
	return events[first:]
}

// eventWindow returns the time window of a request; an open end is zero.
func eventWindow(in *wire.DescribeFleetEventsInput) (from, to event.Time) {
	if !in.StartTime.IsZero() {
		from = event.At(in.StartTime)
	}
	if !in.EndTime.IsZero() {
		to = event.At(in.EndTime)
	}
	return from, to
}
