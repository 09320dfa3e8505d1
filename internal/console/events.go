package console

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/wire"
)

// An eventsBody is events of queues and matchmaking, or of a fleet, newest first.
type eventsBody struct {
	Fleets []fleetRow
	Fleet  string // whose events are shown; "": those of queues and matchmaking
	Filter string
	Events []eventRow
	Read   int  // how many were filtered
	All    bool // there are no older ones
}

// An eventRow is an event.
type eventRow struct {
	Time    time.Time
	Kind    string
	Details string
	Links   []link
	JSON    string // "": none
}

// recentEvents is how many events a page filters.
const recentEvents = 500

func eventsPage(v *visit) error {
	b := eventsBody{Fleet: v.form("fleet"), Filter: strings.TrimSpace(v.form("filter"))}
	var err error
	if b.Fleets, _, err = v.fleetRows(""); err != nil {
		return err
	}
	if b.Fleet == "" {
		err = v.feedEvents(&b)
	} else {
		err = v.eventsOfFleet(&b)
	}
	if err != nil {
		return err
	}
	b.Read = len(b.Events)
	b.Events = slices.DeleteFunc(b.Events, func(e eventRow) bool {
		text := strings.ToLower(e.Kind + " " + e.Details + " " + e.JSON)
		return !strings.Contains(text, strings.ToLower(b.Filter))
	})
	b.Events = b.Events[:min(len(b.Events), maxEvents)]
	return v.show("events", page{Title: "Events", Nav: "/console/events", Live: true, Body: b})
}

// maxEvents is how many events a page shows.
const maxEvents = 100

// feedEvents reads the newest events of the feed.
func (v *visit) feedEvents(b *eventsBody) error {
	lines := tail{most: recentEvents}
	if err := v.requestTo(&lines, "GET", "/v1/events?last=500&limit=100000", nil); err != nil {
		return err
	}
	b.All = lines.count < recentEvents
	for _, line := range slices.Backward(lines.lines) {
		if row, ok := feedRow(line); ok {
			b.Events = append(b.Events, row)
		}
	}
	return nil
}

// feedRow returns an event of the feed. Source: FlexMatch developer guide, "FlexMatch matchmaking events", and
// developer guide, "Game session placement events".
func feedRow(line []byte) (row eventRow, ok bool) {
	var read struct{ Event json.RawMessage }
	var event struct {
		Time      time.Time
		Resources []string
		Detail    struct {
			Type        string
			PlacementID string `json:"placementId"`
			MatchID     string `json:"matchId"`
			Reason      string
			Message     string
			Tickets     []struct {
				TicketID string `json:"ticketId"`
			}
			GameSessionArn string `json:"gameSessionArn"`
		}
	}
	if json.Unmarshal(line, &read) != nil || json.Unmarshal(read.Event, &event) != nil {
		return row, false
	}
	d := event.Detail
	row = eventRow{Time: event.Time, Kind: d.Type, JSON: formatted(string(read.Event))}
	var words []string
	for _, arn := range event.Resources {
		words = append(words, arn[strings.LastIndexByte(arn, '/')+1:])
	}
	words = append(words, d.Reason, d.Message)
	row.Details = strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " · ")
	if d.PlacementID != "" {
		row.Links = append(row.Links, link{"placement " + d.PlacementID, "/console/placements/" + d.PlacementID})
	}
	for _, t := range d.Tickets[:min(len(d.Tickets), maxEventTickets)] {
		row.Links = append(row.Links, link{"ticket " + t.TicketID, "/console/tickets/" + t.TicketID})
	}
	if d.GameSessionArn != "" {
		row.Links = append(row.Links, link{"game session", gameSessionPath(d.GameSessionArn)})
	}
	return row, true
}

// maxEventTickets is to how many tickets an event links.
const maxEventTickets = 5

func (v *visit) eventsOfFleet(b *eventsBody) error {
	out, err := call(v, wire.OpDescribeFleetEvents, &wire.DescribeFleetEventsInput{FleetId: b.Fleet,
		Limit: wire.Some[int32](maxEvents)})
	if err != nil {
		return err
	}
	b.All = out.NextToken == ""
	for _, e := range out.Events {
		b.Events = append(b.Events, eventRow{Time: e.EventTime, Kind: string(e.EventCode), Details: e.Message})
	}
	return nil
}
