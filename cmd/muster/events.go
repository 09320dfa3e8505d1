package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
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
--json prints them one per line, in the format of EventBridge.`,
		example: `  muster events --code PlacementFailed
  muster events --fleet fleet-1234 --follow
  muster events --last 1000 --json > events.ndjson`,
	}, cobra.NoArgs, func(ctx context.Context, o *operatorCall, _ []string) error {
		if q.last < 0 {
			return &misuseError{fmt.Errorf("--last is %d: must be a number from 1", q.last)}
		}
		return o.showEvents(ctx, &q)
	})
	f := command.Flags()
	f.StringVar(&q.fleet, "fleet", "", "only events that name a game session of this fleet, by its id")
	f.StringVar(&q.code, "code", "", "only events of this type, such as PlacementFulfilled")
	f.IntVar(&q.last, "last", 0, "begin so many records before the end (default 1000; with --follow: 10)")
	f.BoolVar(&q.follow, "follow", false, "wait for new events, until Ctrl-C")
	return command
}

// maxEvents is the limit of an answer, far more than the records that are asked for have.
const maxEvents = 1_000_000

func (q *eventQuery) parameters() url.Values {
	values := url.Values{}
	last := q.last
	switch {
	case q.follow:
		values.Set("follow", "true")
		if last == 0 {
			last = 10
		}
	case last == 0:
		last = shownRecords
	}
	if !q.follow {
		values.Set("limit", strconv.Itoa(maxEvents))
	}
	values.Set("last", strconv.Itoa(last))
	return values
}

// showEvents writes events as they come. The end of ctx is no failure of a stream that is followed.
func (o *operatorCall) showEvents(ctx context.Context, q *eventQuery) error {
	if !o.asJSON {
		if _, err := fmt.Fprintf(o.stdout, eventRow, "TIME", "EVENT", "OF", "DETAILS"); err != nil {
			return err
		}
	}
	write := func(line []byte) error { return o.writeEvent(q, line) }
	if q.follow {
		return o.followLines(ctx, path("events"), q.parameters(), write)
	}
	return o.get(ctx, path("events")+"?"+q.parameters().Encode(), func(from io.Reader) error {
		return eachLine(from, write)
	})
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
			GameSessionArn  string `json:"gameSessionArn"`
			GameSessionInfo struct {
				GameSessionArn string `json:"gameSessionArn"`
			} `json:"gameSessionInfo"`
			Tickets []struct {
				TicketID string `json:"ticketId"`
			}
		}
	}
}

// eventRow has fixed widths, because a feed that is followed has no end.
const eventRow = "%-20s  %-24s  %-24s  %s\n"

// writeEvent writes a line of the feed, if it was asked for.
func (o *operatorCall) writeEvent(q *eventQuery, line []byte) error {
	var e feedEvent
	if err := json.Unmarshal(line, &e); err != nil {
		return fmt.Errorf("decode the answer: %w", err)
	}
	d := &e.Event.Detail
	session := d.GameSessionArn + d.GameSessionInfo.GameSessionArn
	if q.code != "" && d.Type != q.code || q.fleet != "" && !strings.Contains(session, "/"+q.fleet+"/") {
		return nil
	}
	if o.asJSON {
		_, err := fmt.Fprintf(o.stdout, "%s\n", line)
		return err
	}
	var of, details []string
	for _, arn := range e.Event.Resources {
		of = append(of, arn[strings.LastIndexByte(arn, '/')+1:])
	}
	for _, word := range []string{d.PlacementID, session, d.Reason, d.Message} {
		if word != "" {
			details = append(details, word)
		}
	}
	for _, t := range d.Tickets {
		details = append(details, "ticket "+t.TicketID)
	}
	text := fmt.Sprintf(eventRow, cellText(e.Event.Time), d.Type, oneLine(strings.Join(of, ",")),
		oneLine(strings.Join(details, ", ")))
	_, err := fmt.Fprintln(o.stdout, strings.TrimRight(text, " \n"))
	return err
}
