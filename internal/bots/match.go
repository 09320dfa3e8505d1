package bots

import (
	"context"
	"errors"
	"fmt"

	"github.com/muster-gg/muster/session"
)

// match waits for a match, accepts it if it must be accepted, and joins its game session. If ctx ends before, it
// cancels the ticket.
func (b *bot) match(ctx context.Context) error {
	ended := make(chan error, 1)
	defer b.client.Subscribe(func(e session.Event) {
		switch e := e.(type) {
		case session.MatchAcceptance:
			b.client.Async(ctx, func(ctx context.Context) error {
				return b.client.AcceptMatch(ctx, session.AcceptMatchRequest{
					TicketID: e.Ticket.TicketID, PlayerIDs: []string{b.id}, AcceptMatch: true})
			})
		case session.MatchComplete:
			ended <- nil
		case session.MatchFailure:
			ended <- noMatch(e.Ticket)
		case session.MatchError:
			if e.Final {
				ended <- e.Err
			}
		}
	})()
	ticket, err := b.client.StartMatchmaking(ctx, b.Ticket(b.id))
	if err != nil {
		return err
	}
	if err := b.client.StartTracking(ticket, b.id); err != nil {
		return err
	}
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		release, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
		defer cancel()
		return errors.Join(ctx.Err(), b.client.StopTracking(release),
			b.client.StopMatchmaking(release, session.StopMatchmakingRequest{TicketID: ticket}))
	}
}

// noMatch returns the error of a ticket that has ended without a match.
func noMatch(t session.Ticket) error {
	return &session.Error{Op: "StartMatchmaking", Kind: session.ErrUnavailable, Code: "ticket " + string(t.Status),
		Message: fmt.Sprintf("the ticket ended without a match: %s", t.StatusMessage)}
}
