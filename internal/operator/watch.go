package operator

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/listen/sse"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const (
	watchPause = 500 * time.Millisecond // at least, between two looks at a topic
	watchBeat  = 2 * time.Second        // at most, and the pause: changes on other nodes send no signal
	keepAlive  = 15 * time.Second       // without a snapshot, until a comment is sent
)

// topics are what clients can watch. A topic shows the answer of a request, whose permission it needs.
var topics = []struct {
	name    string // with the place of the parameter: queue:{name}
	request string // pattern of the route
}{
	{"overview", "GET /v1/overview"},
	{"fleets", "GET /v1/fleets"},
	{"fleet:{fleet}", "GET /v1/game-sessions"},
	{"session:{id}", "GET /v1/game-sessions/{id}/timeline"},
	{"queue:{name}", "GET /v1/queues/{name}/placements"},
	{"configuration:{name}", "GET /v1/configurations/{name}/tickets"},
	{"nodes", "GET /v1/nodes"},
}

// A topic is what one client watches.
type topic struct {
	route       *route
	name, value string // of the parameter; "": there is none
}

// topicOf returns the topic of a request.
func (d *Handler) topicOf(c *call) (topic, error) {
	values, err := c.parameters()
	if err != nil {
		return topic{}, err
	}
	kind, value, _ := strings.Cut(values["topic"], ":")
	var names []string
	for _, t := range topics {
		known, name, _ := strings.Cut(t.name, ":")
		if known == kind && (name == "") == (value == "") {
			return topic{d.table[t.request], strings.Trim(name, "{}"), value}, nil
		}
		names = append(names, t.name)
	}
	return topic{}, fault.New(fault.InvalidRequest, "Parameter topic is %.200q. The topics are %s.", values["topic"],
		strings.Join(names, ", "))
}

// watch sends a topic as it is, and again whenever it has changed, until the client goes or the handler stops. A
// revoked key, or any other error, ends the stream with an event.
func (d *Handler) watch(w http.ResponseWriter, c *call) error {
	t, err := d.topicOf(c)
	if err != nil {
		return err
	}
	changed, end := d.Region.Changes() // before the first look
	defer end()
	shown, err := d.look(&t, c, true)
	if err != nil {
		return err
	}
	stream := sse.Start(w)
	defer stream.End()
	pace := sse.Pace{Clock: d.Clock, Changed: changed, Stop: d.stopped, Pause: watchPause, Beat: watchBeat}
	last, sent := c.Header.Get("Last-Event-ID"), d.Clock.Now()
	more := stream.Comment(t.route.pattern) // the client sees that the stream has started
	for more {
		switch now := d.Clock.Now(); {
		case shown.id != last:
			more, last, sent = stream.Send(shown.event("snapshot")), shown.id, now
		case now.Sub(sent) >= keepAlive:
			more, sent = stream.Comment("keep-alive"), now
		}
		if !more || !pace.Wait(c.Context()) {
			break
		}
		if shown, err = d.look(&t, c, false); err != nil {
			stream.Send(snapshot{body: d.failureOf(err)}.event("error"))
			break
		}
	}
	return nil
}

// A snapshot is the answer of a topic's request.
type snapshot struct {
	body any
	id   string // a hash of what does not change by the passing of time
}

func (s snapshot) event(name string) sse.Event {
	var data bytes.Buffer
	_ = json.NewEncoder(&data).Encode(s.body) // as Handler.write
	return sse.Event{Name: name, ID: s.id, Data: bytes.TrimSuffix(data.Bytes(), []byte("\n"))}
}

// look makes the request of a topic as the caller, whose key may have been revoked since the last time.
// Other clients may share the answer.
func (d *Handler) look(t *topic, from *call, first bool) (s snapshot, err error) {
	c := &call{Request: from.Clone(from.Context()), from: from.from, query: t.route.query}
	if c.id, err = d.identityNow(from); err != nil {
		return s, err
	}
	c.URL.RawQuery = ""
	switch {
	case strings.Contains(t.route.pattern, "{"+t.name+"}"):
		c.SetPathValue(t.name, t.value)
	case t.name != "":
		c.URL.RawQuery = url.Values{t.name: {t.value}}.Encode()
	}
	if err = d.authorise(t.route, c, d.resources(t.route, c)); err != nil {
		return s, err
	}
	read := func() (snapshot, error) { return d.read(t, c) }
	return d.looks.take(c.Context(), keyOf(t, c), d.Clock.Now(), first, read)
}

func (d *Handler) read(t *topic, c *call) (s snapshot, err error) {
	if s.body, err = t.route.answer(d, c); err != nil {
		return s, err
	}
	text, err := json.Marshal(timeless(s.body))
	sum := sha256.Sum256(text)
	s.id = hex.EncodeToString(sum[:16])
	return s, err
}

// identityNow returns whom the key of a request that was verified authenticates now. A person who uses this program
// stays who they were.
func (d *Handler) identityNow(c *call) (*access.Identity, error) {
	if c.id == nil || localOf(c.Request) != nil {
		return c.id, nil
	}
	signed := listen.RequestOf(c.Request)
	caller, err := d.verifier.Caller(&signed, d.Clock.Now())
	if err != nil {
		return nil, err
	}
	id, _ := caller.Identity.(*access.Identity)
	return id, nil
}

// timeless returns an answer without what changes by the passing of time alone.
func timeless(answer any) any {
	switch a := answer.(type) {
	case *Overview:
		o, still := *a, *a.Overview
		still.Time, still.OldestPlacementMS, still.OldestTicketMS = time.Time{}, 0, 0
		o.Overview = &still
		return o
	case *control.PlacementList:
		still := control.PlacementList{Placements: slices.Clone(a.Placements), NextToken: a.NextToken}
		for i := range still.Placements {
			still.Placements[i].AgeMS = 0
		}
		return still
	case *control.TicketList:
		still := control.TicketList{Tickets: slices.Clone(a.Tickets), NextToken: a.NextToken}
		for i := range still.Tickets {
			still.Tickets[i].AgeMS = 0
		}
		if a.Searching != nil {
			still.Searching = &control.TicketAges{Tickets: a.Searching.Tickets}
		}
		return still
	}
	return answer
}

const (
	defaultFleets = 100
	maxFleets     = 1000
)

func (d *Handler) fleets(c *call) (*control.FleetList, error) {
	values, err := c.parameters()
	if err != nil {
		return nil, err
	}
	limit, err := optional(values, "limit", limitOf)
	if err != nil || limit > maxFleets {
		return nil, fault.New(fault.InvalidRequest, "Parameter limit is %.100q: it must be a number from 1 to %d.",
			values["limit"], maxFleets)
	}
	return d.Region.FleetRows(c.Context(), d.hidden(c), cmp.Or(limit, defaultFleets))
}
