package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/muster-gg/muster/session"
)

const (
	slots    = 4
	patience = 20 * time.Second       // for a new session to become active
	tryEvery = 250 * time.Millisecond // while it is not
)

// join takes the player into a session, in the way that the options have.
func (o options) join(ctx context.Context, client *session.Client) error {
	switch {
	case o.configuration != "":
		return match(ctx, client, o.configuration)
	case o.queue != "":
		return place(ctx, client, o.queue)
	default:
		return search(ctx, client, o.fleet)
	}
}

// search joins the oldest session of a fleet with a free slot, or a new one.
func search(ctx context.Context, client *session.Client, fleet string) error {
	var page session.SearchSessionsResponse
	searched := client.Async(ctx, func(ctx context.Context) (err error) {
		page, err = client.SearchSessions(ctx, session.SearchSessionsRequest{
			FleetID: fleet, FilterExpression: "hasAvailablePlayerSessions=true",
			SortExpression: "creationTimeMillis ASC",
		})
		return err
	})
	if err := searched.Wait(ctx); err != nil {
		return err
	}
	for _, found := range page.SessionConfigs {
		if err := joinSession(ctx, client, found.SessionID); !late(err) {
			return err
		}
	}
	var id string
	create := client.Async(ctx, func(ctx context.Context) (err error) {
		r := session.CreateSessionRequest{FleetID: fleet, SessionName: "arena", MaxPlayer: slots}
		id, err = client.CreateSession(ctx, r)
		return err
	})
	if err := create.Wait(ctx); err != nil {
		return err
	}
	return until(ctx, id, func() (bool, error) { // its game server has activated it
		err := joinSession(ctx, client, id)
		return !errors.Is(err, session.ErrState), err
	})
}

// place has a queue create a session, and joins it.
func place(ctx context.Context, client *session.Client, queue string) error {
	id, err := client.CreateSessionOnQueue(ctx, session.CreateSessionOnQueueRequest{
		QueueName: queue, PlacementID: client.CreatePlayerID(false, true), SessionName: "arena", MaxPlayer: slots,
	})
	if err != nil {
		return err
	}
	return until(ctx, id, func() (bool, error) {
		p, err := client.Placement(ctx, id)
		switch {
		case err != nil || p.Status == "PENDING":
			return err != nil, err
		case p.Status != "FULFILLED":
			return true, fmt.Errorf("the placement is %s", p.Status)
		}
		return true, joinSession(ctx, client, p.SessionID)
	})
}

// until tries something until it is done, and returns its last error.
func until(ctx context.Context, id string, try func() (done bool, err error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if done, err := try(); done {
			return err
		}
		select {
		case <-time.After(tryEvery):
		case <-ctx.Done():
			return fmt.Errorf("%s does not become active: %w", id, ctx.Err())
		}
	}
}

func joinSession(ctx context.Context, client *session.Client, id string) error {
	return client.Async(ctx, func(ctx context.Context) error {
		return client.JoinSession(ctx, session.JoinSessionRequest{SessionID: id, PlayerID: client.PlayerID()})
	}).Wait(ctx)
}

// late reports whether a session has filled up or ended since the search.
func late(err error) bool {
	return errors.Is(err, session.ErrFull) || errors.Is(err, session.ErrNotFound) || errors.Is(err, session.ErrState)
}
