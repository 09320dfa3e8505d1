package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/muster-gg/muster/session"
)

// silence is the maximum time without data on a stream: the gateway sends a comment every 15 seconds.
const silence = 45 * time.Second

var errSilent = errors.New("the stream sent nothing for too long")

// WatchTicket implements session.TicketWatcher with server-sent events. It returns ErrTransport when the connection
// breaks, ErrTimeout when it is silent for too long, and ErrUnavailable when the gateway cannot watch the ticket: then
// the caller may retry.
//
// The service has no match ids. A MatchID is computed from the fields that differ between proposals, and may be the
// same for two of them; between them the ticket is SEARCHING.
func (p *provider) WatchTicket(ctx context.Context, ticketID string, changed func(session.Ticket)) error {
	const op = "WatchTicket"
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	client := *p.http
	client.Timeout = 0 // a stream lasts as long as its ticket
	r := request{op: op, method: http.MethodGet, uri: ticketURI(ticketID, "/events")}
	answer, err := p.send(ctx, &client, r)
	if err != nil {
		return err
	}
	defer answer.Body.Close() //nolint:errcheck // what was read is what counts
	if err := streaming(ctx, r, answer); err != nil {
		return err
	}
	w := watch{op: op, ticketID: ticketID, changed: changed}
	idle := p.clock.AfterFunc(silence, func() { stop(errSilent) })
	defer idle.Stop()
	err = readEvents(answer.Body, func() { idle.Reset(silence) }, w.take)
	switch {
	case w.over || w.err != nil:
		return w.err
	case errors.Is(context.Cause(ctx), errSilent):
		return &session.Error{Op: op, Kind: session.ErrTimeout, Message: errSilent.Error(), Err: errSilent}
	case errors.Is(err, io.EOF):
		return session.Errorf(op, session.ErrTransport, "the gateway ended the stream before the ticket was over")
	}
	return lost(ctx, op, err)
}

// streaming checks that an answer is a stream of events.
func streaming(ctx context.Context, r request, answer *http.Response) error {
	if answer.StatusCode == http.StatusOK {
		if kind := answer.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
			return session.Errorf(r.op, session.ErrTransport,
				"the gateway answers %q instead of a stream of events", kind)
		}
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxBody))
	if err != nil {
		return lost(ctx, r.op, err)
	}
	return refusal(r, answer.StatusCode, data)
}

// A watch is the state of WatchTicket.
type watch struct {
	op       string
	ticketID string
	changed  func(session.Ticket)

	over bool
	err  error
}

// take handles an event; false ends the stream.
func (w *watch) take(e event) bool {
	switch e.name {
	case "ticket", "end":
		ticket, err := w.read(e.data)
		if err != nil {
			w.err = err
			return false
		}
		w.changed(ticket)
		w.over = e.name == "end" || ticket.Status.Over()
		return !w.over
	case "error":
		p, failed := errorObject([]byte(e.data))
		if !failed {
			p.Error = "the gateway cannot follow the ticket"
		}
		w.err = refused(w.op, http.StatusServiceUnavailable, p)
		return false
	}
	return true // events of later versions
}

func (w *watch) read(data string) (session.Ticket, error) {
	var o ticketObject
	if err := json.Unmarshal([]byte(data), &o); err != nil {
		return session.Ticket{}, &session.Error{Op: w.op, Kind: session.ErrTransport,
			Message: "an event cannot be read: " + err.Error(), Err: err}
	}
	return o.ticket(w.op, w.ticketID)
}

// maxEvent is the maximum size of a server-sent event, in bytes.
const maxEvent = 1 << 20

var errEventSize = errors.New("an event is too large")

// An event is a server-sent event.
type event struct {
	name string // "message" if it has none
	data string
}

// readEvents calls got with each event of a stream until it returns false or the stream ends, which is io.EOF. It calls
// alive for each line, comments included. Source: HTML standard, server-sent events, "Interpreting an event stream".
func readEvents(stream io.Reader, alive func(), got func(event) bool) error {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, maxEvent)
	var name string
	var data []string
	size := 0
	for lines.Scan() {
		alive()
		line := strings.TrimSuffix(lines.Text(), "\r")
		if line == "" {
			if data != nil && !got(event{name, strings.Join(data, "\n")}) {
				return nil
			}
			name, data, size = "", nil, 0
			continue
		}
		if size += len(line); size > maxEvent {
			return errEventSize
		}
		switch field, value, _ := strings.Cut(line, ":"); field {
		case "event":
			name = strings.TrimPrefix(value, " ")
		case "data":
			data = append(data, strings.TrimPrefix(value, " "))
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return io.EOF
}
