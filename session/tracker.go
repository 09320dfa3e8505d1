package session

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// StartTracking tracks a ticket until it has ended, and then connects the player to the match. It publishes the events
// MatchAcceptance, MatchComplete, MatchFailure and MatchError, and returns at once. One ticket is tracked at a time:
// while another is, StartTracking returns a *StateError.
//
// A provider that is a TicketWatcher reports changes by itself; others are polled: at once, at once after AcceptMatch,
// 250 ms after each change, and then in intervals that double up to Config.PollInterval. Temporary failures are
// published as MatchError and retried in such intervals; permanent ones, such as a ticket that does not exist, end the
// tracking.
func (c *Client) StartTracking(ticketID, playerID string) error {
	return c.tickets.start(ticketID, playerID)
}

// StopTracking ends the tracking, if there is any, and returns when nothing of it is left; it interrupts connecting to
// a match. It does not cancel the ticket: StopMatchmaking does. A player who is in a match stays there. Events that
// were published before may be delivered afterwards.
func (c *Client) StopTracking(ctx context.Context) error { return c.tickets.stop(ctx) }

// tickets tracks one ticket.
type tickets struct {
	client *Client
	mu     sync.Mutex
	now    *tracker // nil while no ticket is tracked
}

// A tracker tracks a ticket.
type tracker struct {
	*tickets
	matchmaker Matchmaker
	watch      bool // the provider reports changes
	ticketID   string
	playerID   string
	seen       Ticket        // the last one; zero before
	wait       time.Duration // before the next request
	accepted   chan struct{} // has one after AcceptMatch
	stopped    context.Context
	stop       context.CancelCauseFunc
	ended      chan struct{} // closed when nothing of it is running
}

// firstWait is the time until the next request after a change of the ticket, and after a stream that has broken. It
// doubles with each request, up to Config.PollInterval.
const firstWait = 250 * time.Millisecond

// trackingOp is the call that errors of the tracker name.
const trackingOp = "StartTracking"

func (t *tickets) start(ticketID, playerID string) error {
	const op = trackingOp
	check := checker{op: op}
	check.given("the ticket's id", ticketID)
	check.player("the player's id", playerID)
	m, err := t.client.matchmaker(op)
	switch {
	case err != nil:
		return err
	case check.err != nil:
		return check.err
	}
	ctx, leave, err := t.client.calls.enter(context.Background(), op)
	if err != nil {
		return err
	}
	now, err := t.begin(m, ticketID, playerID)
	if err != nil {
		leave()
		return err
	}
	go func() {
		defer leave()
		defer close(now.ended)
		now.run(ctx)
	}()
	return nil
}

// begin makes the tracker, if there is none.
func (t *tickets) begin(m Matchmaker, ticketID, playerID string) (*tracker, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now != nil {
		return nil, &StateError{Op: trackingOp, Name: ticketID, State: "Tracking"}
	}
	_, watch := m.(TicketWatcher)
	now := &tracker{tickets: t, matchmaker: m, watch: watch, ticketID: ticketID, playerID: playerID,
		accepted: make(chan struct{}, 1), ended: make(chan struct{})}
	now.resetWait()
	now.stopped, now.stop = context.WithCancelCause(context.Background())
	t.now = now
	return now, nil
}

func (t *tickets) stop(ctx context.Context) error {
	t.mu.Lock()
	now := t.now
	t.mu.Unlock()
	if now == nil {
		return nil
	}
	now.stop(errStopped)
	select {
	case <-now.ended:
		return nil
	case <-ctx.Done():
		return failure(ctx, "StopTracking", ctx.Err())
	}
}

// look makes the tracker of a ticket, if there is one, request the ticket at once.
func (t *tickets) look(ticketID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now == nil || t.now.ticketID != ticketID {
		return
	}
	select {
	case t.now.accepted <- struct{}{}:
	default:
	}
}

// run tracks the ticket until it has ended.
func (t *tracker) run(ctx context.Context) {
	ctx, release := until(ctx, t.stopped)
	defer release()
	for {
		ticket, err := t.fetch(ctx)
		switch {
		case ctx.Err() != nil:
			t.finish(nil)
			return
		case err == nil && ticket.Status.Over():
			t.over(ctx, ticket)
			return
		case permanent(err):
			t.finish(MatchError{t.ticketID, err, true})
			return
		case err != nil:
			t.client.events.publish(MatchError{t.ticketID, err, false})
		}
		t.pause(ctx)
	}
}

// pause waits before the next request.
func (t *tracker) pause(ctx context.Context) {
	timer := t.client.cfg.clock.NewTimer(t.wait)
	defer timer.Stop()
	select {
	case <-timer.Chan():
		t.wait = min(2*t.wait, t.client.cfg.PollInterval)
	case <-t.accepted:
		t.resetWait()
	case <-ctx.Done():
	}
}

func (t *tracker) resetWait() { t.wait = min(firstWait, t.client.cfg.PollInterval) }

// fetch returns the current ticket; from a provider that reports changes, the ended one.
func (t *tracker) fetch(ctx context.Context) (last Ticket, err error) {
	if t.watch {
		began := t.client.cfg.clock.Now()
		err = t.matchmaker.(TicketWatcher).WatchTicket(ctx, t.ticketID, func(ticket Ticket) {
			last = ticket
			t.see(ticket)
		})
		if t.client.cfg.clock.Since(began) >= t.client.cfg.PollInterval {
			t.resetWait() // the stream was usable
		}
		if !errors.Is(err, ErrUnsupported) {
			return last, failure(ctx, trackingOp, err)
		}
		t.watch = false
	}
	if last, err = t.matchmaker.Ticket(ctx, t.ticketID); err == nil {
		t.see(last)
	}
	return last, failure(ctx, trackingOp, err)
}

// see publishes a match that has to be accepted, once. After a change another one often follows soon.
func (t *tracker) see(ticket Ticket) {
	if ticket.Status != t.seen.Status || ticket.MatchID != t.seen.MatchID {
		t.resetWait()
		if ticket.Status == TicketRequiresAcceptance {
			t.client.events.publish(MatchAcceptance{ticket})
		}
	}
	t.seen = ticket
}

// permanent reports whether a retry cannot succeed.
func permanent(err error) bool {
	kinds := []error{ErrNotFound, ErrInvalid, ErrDenied, ErrUnsupported, ErrNotConfigured, ErrClosed}
	return slices.ContainsFunc(kinds, func(kind error) bool { return errors.Is(err, kind) })
}

// over connects the player to the match, if there is one.
func (t *tracker) over(ctx context.Context, ticket Ticket) {
	if ticket.Status != TicketCompleted {
		t.finish(MatchFailure{ticket})
		return
	}
	place, err := t.enter(ctx, ticket)
	switch {
	case err == nil:
		t.finish(MatchComplete{ticket, place})
	case ctx.Err() != nil:
		t.finish(nil)
	default:
		t.finish(MatchError{t.ticketID, err, true})
	}
}

// enter connects the player to the match with the ticket's reservation.
func (t *tracker) enter(ctx context.Context, ticket Ticket) (Reservation, error) {
	const op = trackingOp
	place, ok := ticket.Reservations[t.playerID]
	if !ok {
		return place, Errorf(op, ErrNotFound, "player %s is not in the match of ticket %s", t.playerID, t.ticketID)
	}
	var w *work
	err := t.client.connector(op)
	if err == nil {
		w, err = t.client.beginGame(op, t.ticketID)
	}
	if err != nil {
		t.client.release(ctx, place, false)
		return place, err
	}
	return place, t.client.enterGame(ctx, w, 0, op, func(context.Context) (Reservation, error) { return place, nil })
}

// finish ends the tracking and publishes e, unless it is nil. A subscriber may then start to track another ticket.
func (t *tracker) finish(e Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now = nil
	t.stop(nil)
	if e != nil {
		t.client.events.publish(e)
	}
}
