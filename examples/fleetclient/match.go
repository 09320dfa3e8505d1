package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/muster-gg/muster/session"
)

// match has the matchmaker find a match, accepts it, and returns when the player is in its session.
func match(ctx context.Context, client *session.Client, configuration string) error {
	player := client.PlayerID()
	ended := make(chan error, 1)
	defer client.Subscribe(func(e session.Event) {
		switch e := e.(type) {
		case session.MatchAcceptance: // your game: ask the player
			r := session.AcceptMatchRequest{TicketID: e.Ticket.TicketID, PlayerIDs: []string{player}, AcceptMatch: true}
			client.Async(ctx, func(ctx context.Context) error { return client.AcceptMatch(ctx, r) })
		case session.MatchComplete:
			ended <- nil
		case session.MatchFailure:
			ended <- fmt.Errorf("no match: %s: %s", e.Ticket.Status, e.Ticket.StatusMessage)
		case session.MatchError:
			if e.Final {
				ended <- e.Err
			}
		}
	})()
	var ticket string
	start := client.Async(ctx, func(ctx context.Context) (err error) {
		ticket, err = client.StartMatchmaking(ctx, session.StartMatchmakingRequest{
			ConfigurationName: configuration, Players: []session.Player{{PlayerID: player}},
		})
		return err
	})
	if err := start.Wait(ctx); err != nil {
		return err
	}
	if err := client.StartTracking(ticket, player); err != nil {
		return err
	}
	select {
	case err := <-ended:
		return err
	case <-ctx.Done(): // Ctrl+C
		release := context.WithoutCancel(ctx)
		stopped := client.StopTracking(release)
		canceled := client.StopMatchmaking(release, session.StopMatchmakingRequest{TicketID: ticket})
		return errors.Join(ctx.Err(), stopped, canceled)
	}
}
