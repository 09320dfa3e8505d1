package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/publish"
)

// An eventQuery is a run of muster events.
type eventQuery struct {
	fleet, code string
	last        int // 0: not given
	follow      bool
}

func (a *app) eventsCommand() *cobra.Command {
	var q eventQuery
	command := a.showCommand(help{
		use:   "events",
		short: "Show the events of queues and matchmaking",
		long: `Show the event feed, oldest first: what happened to placements and tickets. --follow
waits for new events, until Ctrl-C, and connects again when the connection is lost.
--last counts the events of all fleets and types, of which --fleet and --code choose.
--json prints them one per line, in the format of EventBridge.`,
		example: `  muster events --code PlacementFailed
  muster events --fleet fleet-1234 -f
  muster events --last 1000 --json > events.ndjson`,
	}, cobra.NoArgs, func(ctx context.Context, o *operatorCall, _ []string) error {
		if q.last < 0 {
			return &misuseError{fmt.Errorf("--last is %d: must be a number from 1", q.last)}
		}
		if q.code != "" && !slices.Contains(publish.Types, q.code) {
			return &misuseError{fmt.Errorf("--code is %q: must be one of %s", q.code,
				strings.Join(publish.Types, ", "))}
		}
		return o.showEvents(ctx, &q)
	})
	f := command.Flags()
	f.StringVar(&q.fleet, "fleet", "", "only events that name a game session of this fleet, by its id")
	f.StringVar(&q.code, "code", "", "only events of this type, such as PlacementFulfilled")
	f.IntVar(&q.last, "last", 0, "begin with so many earlier events (default 1000; with --follow: 10)")
	f.BoolVarP(&q.follow, "follow", "f", false, "wait for new events, until Ctrl-C")
	return command
}

// earlierLines is with how many earlier lines an output begins that is followed.
const earlierLines = 10

func (q *eventQuery) parameters() url.Values {
	last := q.last
	switch {
	case last > 0:
	case q.follow:
		last = earlierLines
	default:
		last = shownRecords
	}
	values := url.Values{"last": {strconv.Itoa(last)}}
	if q.follow {
		values.Set("follow", "true")
	} else {
		values.Set("limit", strconv.Itoa(last))
	}
	return values
}

// showEvents writes events as they come. The end of ctx is no failure of a stream that is followed.
func (o *operatorCall) showEvents(ctx context.Context, q *eventQuery) error {
	t := eventTable{operatorCall: o, eventQuery: q}
	if q.follow {
		if err := o.checkFleet(ctx, q.fleet); err != nil {
			return err
		}
		return o.followLines(ctx, path("events"), q.parameters(), o.eventHeading, t.write)
	}
	err := o.get(ctx, path("events")+"?"+q.parameters().Encode(), func(from io.Reader) error {
		if err := o.eventHeading(); err != nil {
			return err
		}
		return eachLine(from, t.write)
	})
	if err != nil || t.wrote {
		return err
	}
	return o.checkFleet(ctx, q.fleet) // a deleted one can have events
}

// checkFleet returns the error for a fleet that the region does not have; nil if the caller may not know, and for "".
func (o *operatorCall) checkFleet(ctx context.Context, id string) error {
	if id == "" {
		return nil
	}
	if err := o.ask(ctx, path("fleets", id, "computes")+"?limit=1", nil); isNotFound(err) {
		return err
	}
	return nil
}

// A feedEvent is what is shown of an event. Source: FlexMatch developer guide, "FlexMatch matchmaking events", and
// developer guide, "Game session placement events".
type feedEvent struct {
	Event struct {
		Time      time.Time
		Resources []string
		Detail    struct {
			Type            string
			PlacementID     string `json:"placementId"`
			Reason, Message string
			FleetID         string `json:"fleetId"`
			Location        string
			eventSession
			GameSessionInfo eventSession `json:"gameSessionInfo"`
			Tickets         []struct {
				TicketID string `json:"ticketId"`
			}
		}
	}
}

type eventSession struct {
	GameSessionArn string `json:"gameSessionArn"`
	IPAddress      string `json:"ipAddress"`
	Port           any    // a string in placement events, a number in matchmaking events
}

// text returns a game session as people read it; "" for none.
func (s eventSession) text() string {
	if s.GameSessionArn == "" {
		return ""
	}
	return shortID(s.GameSessionArn) + "  " + net.JoinHostPort(s.IPAddress, fmt.Sprint(s.Port))
}

// An eventTable writes events.
type eventTable struct {
	*operatorCall
	*eventQuery
	wrote bool // an event
}

// eventRow has fixed widths, because a feed that is followed has no end.
const eventRow = "%-20s  %-21s  %-10s  %s\n"

// eventHeading writes the names of the columns.
func (o *operatorCall) eventHeading() error {
	if o.asJSON {
		return nil
	}
	_, err := fmt.Fprintf(o.stdout, eventRow, "TIME", "EVENT", "OF", "DETAILS")
	return err
}

// write writes a line of the feed, if it was asked for.
func (t *eventTable) write(line []byte) error {
	var e feedEvent
	if err := json.Unmarshal(line, &e); err != nil {
		return fmt.Errorf("decode the answer: %w", err)
	}
	d := &e.Event.Detail
	arn := d.GameSessionArn + d.GameSessionInfo.GameSessionArn
	if t.code != "" && d.Type != t.code || t.fleet != "" && d.FleetID != t.fleet &&
		!strings.Contains(arn, "/"+t.fleet+"/") {
		return nil
	}
	t.wrote = true
	if t.asJSON {
		_, err := fmt.Fprintf(t.stdout, "%s\n", line)
		return err
	}
	var of []string
	for _, arn := range e.Event.Resources {
		of = append(of, shortID(arn))
	}
	text := fmt.Sprintf(eventRow, cellText(e.Event.Time), d.Type, oneLine(briefIDs(strings.Join(of, ","))),
		oneLine(e.details()))
	_, err := fmt.Fprintln(t.stdout, strings.TrimRight(text, " \n"))
	return err
}

// details returns what an event is about, and what happened to it: "ticket t: removed from matchmaking".
func (e *feedEvent) details() string {
	d := &e.Event.Detail
	var about, happened, tickets []string
	for _, t := range d.Tickets {
		tickets = append(tickets, t.TicketID)
	}
	switch len(tickets) {
	case 0:
	case 1:
		about = append(about, "ticket "+tickets[0])
	default:
		about = append(about, "tickets "+strings.Join(tickets, ", "))
	}
	if d.PlacementID != shortID(d.GameSessionArn) { // of a match, they are the same
		about = append(about, d.PlacementID)
	}
	if d.Location != "" {
		about = append(about, d.Location)
	}
	for _, text := range []string{d.eventSession.text(), d.GameSessionInfo.text(),
		asClause(cmp.Or(d.Message, d.Reason))} {
		if text != "" {
			happened = append(happened, text)
		}
	}
	parts := []string{strings.Join(about, ", "), strings.Join(happened, ", ")}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ": ")
}

// asClause returns a sentence in the form that it has after a colon.
func asClause(sentence string) string {
	first, rest, _ := strings.Cut(sentence, " ")
	if len(first) > 1 && first[1:] == strings.ToLower(first[1:]) { // no abbreviation, and no name like GameLift
		sentence = strings.TrimSpace(strings.ToLower(first) + " " + rest)
	}
	return strings.TrimSuffix(sentence, ".")
}
