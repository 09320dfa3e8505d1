package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
)

const (
	// outageLimit is how long the service may not answer while something is awaited.
	outageLimit = time.Minute
	// cleanupLimit is how long a call may take that must not be interrupted.
	cleanupLimit = 30 * time.Second
	// drainInterval is the time between two requests for the game sessions of the old fleet.
	drainInterval = time.Second
)

// runAlias uploads, creates a fleet like that of an alias, and has the alias lead to it.
func (p *push) runAlias(ctx context.Context) error {
	p.began = p.app.now()
	client := p.gamelift()
	alias, err := aliasNamed(ctx, client, p.alias)
	if err != nil {
		return err
	}
	if alias.RoutingStrategy.Type != types.RoutingStrategyTypeSimple {
		return fmt.Errorf("alias %s leads to no fleet: have it lead to one of compute type EC2 first", *alias.AliasId)
	}
	c, err := copyFleet(ctx, client, *alias.RoutingStrategy.FleetId)
	if err != nil {
		return err
	}
	p.OperatingSystem = cmp.Or(p.OperatingSystem, string(c.of.OperatingSystem))
	result, err := p.upload(ctx)
	if err != nil {
		return err
	}
	p.uploaded(result)
	// Ctrl-C must not leave a fleet whose id is not known.
	err = uninterrupted(ctx, func(ctx context.Context) (err error) {
		result.Fleet, err = c.create(ctx, result.Build)
		return err
	})
	if err != nil {
		return err
	}
	if err := p.takeOver(ctx, c, alias, result.Fleet); err != nil {
		return discard(ctx, client, result.Fleet, err)
	}
	if err := p.drain(ctx, client, *c.of.FleetId); err != nil {
		return err
	}
	return p.show(result, func(to io.Writer) { fmt.Fprintln(to, result.Build) })
}

// takeOver has the alias lead to the new fleet when that is ready. After an error it leads to the old one.
func (p *push) takeOver(ctx context.Context, c *fleetCopy, alias *types.Alias, id string) error {
	p.step("fleet %s is being created like %s", id, *c.of.FleetId)
	err := p.await(ctx, pollInterval, func() (bool, error) { return c.isActive(ctx, id) })
	if err != nil {
		return err
	}
	p.step("fleet %s is ACTIVE", id)
	needed, err := c.scale(ctx, id)
	if err != nil {
		return err
	}
	err = p.awaitNone(ctx, "waiting for %s more; add machines if they have no room for both fleets", "instance",
		func() (int32, error) { return c.missing(ctx, id, needed) })
	if err != nil {
		return err
	}
	total := int32(0)
	for _, n := range needed {
		total += n
	}
	err = p.awaitNone(ctx, "waiting until %s more are ready", "server process",
		func() (int32, error) { return c.unready(ctx, id, total) })
	if err != nil {
		return err
	}
	return uninterrupted(ctx, func(ctx context.Context) error { return p.redirect(ctx, c.client, alias, id) })
}

// awaitNone waits until nothing is missing. It reports the first number, which is of what a word names.
func (p *push) awaitNone(ctx context.Context, message, word string, missing func() (int32, error)) error {
	reported := false
	return p.await(ctx, pollInterval, func() (bool, error) {
		n, err := missing()
		if err == nil && n > 0 && !reported {
			p.step(message, counted(int(n), word))
			reported = true
		}
		return n == 0, err
	})
}

// redirect has the alias lead to the new fleet, unless it was changed.
func (p *push) redirect(ctx context.Context, client *gamelift.Client, alias *types.Alias, id string) error {
	leadsTo := func() (string, error) {
		out, err := client.DescribeAlias(ctx, &gamelift.DescribeAliasInput{AliasId: alias.AliasId})
		if err != nil {
			return "", apiError(err)
		}
		return aws.ToString(out.Alias.RoutingStrategy.FleetId), nil
	}
	switch now, err := leadsTo(); {
	case err != nil:
		return err
	case now != *alias.RoutingStrategy.FleetId:
		return fmt.Errorf("alias %s was changed meanwhile", *alias.AliasId)
	}
	_, err := client.UpdateAlias(ctx, &gamelift.UpdateAliasInput{AliasId: alias.AliasId,
		RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeSimple, FleetId: &id}})
	if err != nil { // its answer may be lost
		if now, failed := leadsTo(); failed != nil || now != id {
			return fmt.Errorf("change alias %s: %w", *alias.AliasId, apiError(err))
		}
	}
	p.step("alias %s leads to fleet %s", *alias.AliasId, id)
	return nil
}

// discard deletes the new fleet after an error, which it returns.
func discard(ctx context.Context, client *gamelift.Client, id string, why error) error {
	err := uninterrupted(ctx, func(ctx context.Context) error {
		_, err := client.DeleteFleet(ctx, &gamelift.DeleteFleetInput{FleetId: &id})
		return err
	})
	if err != nil {
		return fmt.Errorf("%w\nthe alias is as it was; fleet %s could not be deleted (%w): "+
			"aws gamelift delete-fleet --fleet-id %s", why, id, apiError(err), id)
	}
	return fmt.Errorf("%w\nthe alias is as it was, and fleet %s is deleted", why, id)
}

// drain deletes the old fleet when it has no game session.
func (p *push) drain(ctx context.Context, client *gamelift.Client, old string) error {
	finish := "aws gamelift delete-fleet --fleet-id " + old
	if p.keep {
		p.step("fleet %s is kept; delete it with: %s", old, finish)
		return nil
	}
	shown, empty := -1, 0
	err := p.await(ctx, drainInterval, func() (bool, error) {
		n, err := liveSessions(ctx, client, old)
		if err != nil {
			return false, err
		}
		if n != shown && n > 0 {
			p.step("fleet %s has %s", old, counted(n, "game session"))
		}
		shown = n
		if empty++; n > 0 {
			empty = 0
		}
		return empty == 2, nil // a creation that had found the old fleet may have been under way
	})
	if err == nil {
		_, err = client.DeleteFleet(ctx, &gamelift.DeleteFleetInput{FleetId: &old})
	}
	if err != nil {
		return fmt.Errorf("%w\nthe alias leads to the new fleet; when fleet %s has no game session, delete it with: %s",
			apiError(err), old, finish)
	}
	p.step("fleet %s is being deleted", old)
	return nil
}

// liveSessions returns the number of game sessions of a fleet that have not ended.
func liveSessions(ctx context.Context, client *gamelift.Client, fleet string) (n int, err error) {
	for _, status := range []string{"ACTIVATING", "ACTIVE", "TERMINATING"} {
		sessions, err := rowsOf(ctx, gamelift.NewDescribeGameSessionsPaginator(client,
			&gamelift.DescribeGameSessionsInput{FleetId: &fleet, StatusFilter: &status}),
			func(page *gamelift.DescribeGameSessionsOutput) []types.GameSession { return page.GameSessions })
		if err != nil {
			return 0, err
		}
		n += len(sessions)
	}
	return n, nil
}

// await calls done until it reports true or fails. A service that does not answer is asked again for a while.
func (p *push) await(ctx context.Context, interval time.Duration, done func() (bool, error)) error {
	answered := p.app.now()
	for {
		ok, err := done()
		if _, unanswered := errors.AsType[*url.Error](err); !unanswered {
			answered = p.app.now()
		} else if p.app.now().Sub(answered) < outageLimit {
			ok, err = false, nil
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case ok || err != nil:
			return apiError(err)
		}
		if err := p.pause(ctx, interval); err != nil {
			return err
		}
	}
}

// uninterrupted makes calls that go on after Ctrl-C.
func uninterrupted(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupLimit)
	defer cancel()
	return do(ctx)
}

// aliasNamed finds an alias by its id, ARN or name.
func aliasNamed(ctx context.Context, client *gamelift.Client, text string) (*types.Alias, error) {
	aliases, err := rowsOf(ctx, gamelift.NewListAliasesPaginator(client, nil),
		func(page *gamelift.ListAliasesOutput) []types.Alias { return page.Aliases })
	if err != nil {
		return nil, err
	}
	return named("alias", "aliases", text, aliases, func(a *types.Alias) (id, arn, name *string) {
		return a.AliasId, a.AliasArn, a.Name
	})
}

// named finds the resource with an id, an ARN, or a name that no other one has. kind and kinds are words for it.
func named[R any](kind, kinds, text string, rows []R, of func(*R) (id, arn, name *string)) (*R, error) {
	var found *R
	var ids []string
	for i := range rows {
		id, arn, name := of(&rows[i])
		switch text {
		case *id, *arn:
			return &rows[i], nil
		case *name:
			found, ids = &rows[i], append(ids, *id)
		}
	}
	switch len(ids) {
	case 1:
		return found, nil
	case 0:
		return nil, fmt.Errorf("there is no %s with the id, ARN or name %q", kind, text)
	}
	return nil, fmt.Errorf("%d %s have the name %q; name one by its id: %s", len(ids), kinds, text,
		strings.Join(ids, ", "))
}
