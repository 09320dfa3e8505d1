package console

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/wire"
)

// A fleetLog is the events of a fleet that have a code and a text, newest first.
type fleetLog struct {
	Code, Text string   // "": all
	Codes      []string // of the events that were read
	Rows       []fleetLogRow
	Read       int    // how many events were filtered
	File, Next string // addresses
}

// A fleetLogRow is an event, or equal ones that follow one another.
type fleetLogRow struct {
	Code, Message string
	First, Last   time.Time
	Times         int64
	Links         []link
}

// fleetEvents reads more events than a page shows: a filter may leave few of them, and the codes are those of all.
func (v *visit) fleetEvents(b *fleetBody) error {
	log := fleetLog{Code: v.form("code"), Text: strings.TrimSpace(v.form("text"))}
	token, full := v.r.URL.Query().Get("next"), false
	for rest := token; ; {
		events, after, err := v.fleetEventsAfter(b.FleetId, rest)
		if err != nil {
			return err
		}
		log.Read += len(events)
		for _, e := range events {
			log.Codes = append(log.Codes, string(e.EventCode))
		}
		rows := log.merged(events, b.FleetId)
		if full = full || len(log.Rows) > 0 && len(rows) > maxEvents; !full {
			log.Rows, token = rows, after
		}
		if rest = after; rest == "" || log.Read >= recentEvents {
			break
		}
	}
	if log.Code != "" {
		log.Codes = append(log.Codes, log.Code)
	}
	slices.Sort(log.Codes)
	log.Codes = slices.Compact(log.Codes)
	page, query := "/console/fleets/"+url.PathEscape(b.FleetId), url.Values{"code": {log.Code}, "text": {log.Text}}
	log.File = page + "/events.csv?" + query.Encode()
	if token != "" {
		query.Set("tab", "events")
		query.Set("next", token)
		log.Next = page + "?" + query.Encode()
	}
	b.Log = log
	return nil
}

func (v *visit) fleetEventsAfter(fleet, token string) (events []wire.Event, next string, err error) {
	out, err := call(v, wire.OpDescribeFleetEvents, &wire.DescribeFleetEventsInput{FleetId: fleet,
		Limit: wire.Some[int32](csvPage), NextToken: token})
	if err != nil {
		return nil, "", err
	}
	return out.Events, out.NextToken, nil
}

// has reports whether an event has the code and the text, in whatever case.
func (l *fleetLog) has(e *wire.Event) bool {
	return (l.Code == "" || l.Code == string(e.EventCode)) &&
		strings.Contains(strings.ToLower(string(e.EventCode)+" "+e.Message), strings.ToLower(l.Text))
}

// merged returns the rows with those of older events, as far as they have the code and the text.
func (l *fleetLog) merged(events []wire.Event, fleet string) []fleetLogRow {
	rows := slices.Clone(l.Rows)
	for _, e := range events {
		if !l.has(&e) {
			continue
		}
		times := e.Count.Or(1)
		if n := len(rows) - 1; n >= 0 && rows[n].Code == string(e.EventCode) && rows[n].Message == e.Message {
			rows[n].First, rows[n].Times = e.EventTime, rows[n].Times+times
			continue
		}
		rows = append(rows, fleetLogRow{Code: string(e.EventCode), Message: e.Message, First: e.EventTime,
			Last: e.EventTime, Times: times, Links: eventLinks(fleet, e.Message)})
	}
	return rows
}

// What the messages of events name.
var (
	sessionOfEvent = regexp.MustCompile(`^Game session ([^ /]+) `)
	computeOfEvent = regexp.MustCompile(` on compute ([a-zA-Z0-9-]+(?:/[a-zA-Z0-9-]+)?)(?:[ .]|$)`)
)

// eventLinks returns links to the game session and the compute that the message of an event names.
func eventLinks(fleet, message string) (links []link) {
	if m := sessionOfEvent.FindStringSubmatch(message); m != nil && isSegment(m[1]) {
		links = append(links, link{"game session", "/console/game-sessions/" + url.PathEscape(m[1]) +
			"?fleet=" + url.QueryEscape(fleet)})
	}
	if m := computeOfEvent.FindStringSubmatch(message); m != nil {
		links = append(links, link{"compute " + m[1], "/console/fleets/" + url.PathEscape(fleet) +
			"?tab=computes#compute-" + url.PathEscape(m[1])})
	}
	return links
}

// fleetEventsFile has the events of a fleet that have the code and the text of the query, none merged.
func fleetEventsFile(v *visit) error {
	fleet, log := v.r.PathValue("fleet"), fleetLog{Code: v.form("code"), Text: strings.TrimSpace(v.form("text"))}
	header := []string{"time_utc", "code", "message", "count"}
	return v.download("events-"+fileName(fleet), header, func(token string) (rows [][]string, next string, err error) {
		events, next, err := v.fleetEventsAfter(fleet, token)
		for _, e := range events {
			if log.has(&e) {
				rows = append(rows, []string{instant(e.EventTime), string(e.EventCode), e.Message,
					fmt.Sprint(e.Count.Or(1))})
			}
		}
		return rows, next, err
	})
}
