package gateway_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/gateway"
)

// stream makes a gateway that sends a text as a stream of events, and then ends it
// or, if it is to stay, waits for the client to go.
func stream(t *testing.T, text string, stay bool) *script {
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = io.WriteString(w, text)
		w.(http.Flusher).Flush()
		if stay {
			<-r.Context().Done()
		}
	})
}

func ticketEvent(name, members string) string {
	return "id: 7\r\nevent: " + name + "\ndata: {\"id\": \"t-1\",\ndata:" + members + "}\n\n"
}

func TestWatchTicket(t *testing.T) {
	t.Parallel()
	s := stream(t, ": hello\n\n"+
		ticketEvent("ticket", `"status": "SEARCHING"`)+": still here\n\nevent: later\ndata: {}\n\nevent: empty\n\n"+
		ticketEvent("ticket", `"status": "REQUIRES_ACCEPTANCE", "players": [{"id": "ada", "team": "red"}]`)+
		ticketEvent("ticket", `"status": "REQUIRES_ACCEPTANCE", "players": [{"id": "ada", "team": "blue"}]`)+
		ticketEvent("end", `"status": "COMPLETED", "match": `+strings.ReplaceAll(matchObject, "\n", "\ndata: ")), true)
	p := s.provider(t, func(c *gateway.Config) { c.HTTPClient.Timeout = patience })
	var seen []session.Ticket
	err := p.WatchTicket(t.Context(), "t-1", func(ticket session.Ticket) { seen = append(seen, ticket) })
	if err != nil {
		t.Fatal(err)
	}
	if len(seen) != 4 || seen[0].Status != session.TicketSearching || seen[0].MatchID != "" || seen[3].MatchID != "" {
		t.Fatalf("saw %+v", seen)
	}
	if seen[1].MatchID == "" || seen[1].MatchID == seen[2].MatchID {
		t.Errorf("the proposals are %q and %q", seen[1].MatchID, seen[2].MatchID)
	}
	match := place
	match.DNSName = "host-1.example.com"
	if want := (session.Ticket{
		TicketID: "t-1", Status: session.TicketCompleted, Reservations: map[string]session.Reservation{"ada": match},
	}); !reflect.DeepEqual(seen[3], want) {
		t.Errorf("%+v, want %+v", seen[3], want)
	}
	wantCall(t, s, "GET /v1/tickets/t-1/events", "")
}

func TestWatchEnds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		want error
		code string
	}{
		"ends early":    {ticketEvent("ticket", `"status": "SEARCHING"`), session.ErrTransport, ""},
		"cannot follow": {"event: error\ndata: " + object("stopping") + "\n\n", session.ErrUnavailable, "stopping"},
		"ticket is gone": {"event: error\ndata: " + object("ticket_not_found") + "\n\n", session.ErrNotFound,
			"ticket_not_found"},
		"error of no form": {"event: error\ndata: 7\n\n", session.ErrUnavailable, ""},
		"no JSON":          {"event: ticket\ndata: {\n\n", session.ErrTransport, ""},
		"no status":        {"event: ticket\ndata: {}\n\n", session.ErrTransport, ""},
		"no address": {ticketEvent("end",
			`"status":"COMPLETED","match":{"players":[{"id":"ada","playerSessionId":"p"}]}`), session.ErrTransport, ""},
		"long line":  {"data: " + strings.Repeat("x", 2<<20), session.ErrTransport, ""},
		"long event": {strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", 2000), session.ErrTransport, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := stream(t, test.text, false).provider(t).WatchTicket(t.Context(), "t-1", func(session.Ticket) {})
			wantError(t, err, test.want, test.code)
		})
	}
	t.Run("no stream", func(t *testing.T) {
		t.Parallel()
		wantError(t, answer(t, 200, `{}`).provider(t).WatchTicket(t.Context(), "t-1", nil), session.ErrTransport, "")
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		err := answer(t, 404, object("ticket_not_found")).provider(t).WatchTicket(t.Context(), "t-1", nil)
		wantError(t, err, session.ErrNotFound, "ticket_not_found")
	})
}

// TestWatchCanceled ends a watch from its own callback.
func TestWatchCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	p := stream(t, ticketEvent("ticket", `"status": "SEARCHING"`), true).provider(t)
	err := p.WatchTicket(ctx, "t-1", func(session.Ticket) { cancel() })
	wantError(t, err, session.ErrCanceled, "")
}

// TestWatchSilent has a stream that brings nothing any more.
func TestWatchSilent(t *testing.T) {
	t.Parallel()
	clock := clockwork.NewFakeClock()
	p := stream(t, ticketEvent("ticket", `"status": "SEARCHING"`), true).provider(t,
		func(c *gateway.Config) { *c = c.WithClock(clock) })
	seen, ended := make(chan session.Ticket, 1), make(chan error, 1)
	go func() { ended <- p.WatchTicket(t.Context(), "t-1", func(ticket session.Ticket) { seen <- ticket }) }()
	<-seen
	clock.Advance(44 * time.Second)
	select {
	case err := <-ended:
		t.Fatalf("ended too early: %v", err)
	default:
	}
	clock.Advance(time.Second)
	err := <-ended
	wantError(t, err, session.ErrTimeout, "")
	if errors.Is(err, session.ErrCanceled) {
		t.Errorf("%v blames the caller", err)
	}
}
