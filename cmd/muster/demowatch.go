package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster"
)

const (
	watchServers = 4 // game servers behind the demo
	watchPlaces  = 4 // of a game session
	arriving     = 3 * time.Second
	playing      = 15 * time.Second // and as long again at most
)

// A crowd is the players who come and go for the console to show, until the demo is stopped.
type crowd struct {
	*sampleSetup
	mu     sync.Mutex
	games  int
	joined int
}

// watch keeps game servers and players running until ctx is done.
func (a *app) watch(ctx context.Context, config muster.Config, e muster.Endpoints) error {
	setup, err := newSampleSetup(&development{app: a, config: config, samples: watchServers}, e)
	if err != nil {
		return err
	}
	if err := setup.setUp(ctx); err != nil {
		return stopped(ctx, err)
	}
	fmt.Fprintf(a.stdout, "\nGame servers and players come and go until Ctrl-C. Watch them at %s/console/\n", e.HTTP)
	c := &crowd{sampleSetup: setup}
	var running sync.WaitGroup
	running.Go(func() { setup.keepRunning(ctx) })
	for range watchServers - 1 { // one server stays free
		running.Go(func() { c.play(ctx) })
	}
	running.Wait()
	return nil
}

// stopped returns nil for the error of what was stopped.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// play plays one game after the other.
func (c *crowd) play(ctx context.Context) {
	for ctx.Err() == nil {
		if err := c.game(ctx); err != nil && ctx.Err() == nil {
			c.config.Log.Warn("a game has failed", "err", err)
		}
		rest(ctx, arriving)
	}
}

// game plays one: players arrive one after the other, stay for a while and leave, with whom the game ends. Now and then
// a player does not come, whose reservation times out.
func (c *crowd) game(ctx context.Context) (err error) {
	session, err := c.create(ctx)
	if err != nil {
		return err
	}
	var players []*demoPlayer
	defer func() {
		for _, p := range players {
			err = errors.Join(err, p.leave())
		}
	}()
	for range 2 + rand.IntN(watchPlaces-1) {
		rest(ctx, rand.N(arriving))
		p, err := c.join(ctx, session)
		if err != nil {
			return err
		}
		if p != nil {
			players = append(players, p)
		}
	}
	rest(ctx, playing+rand.N(playing))
	return nil
}

// create creates a game session, as soon as there is a free game server, and waits until it is active.
func (c *crowd) create(ctx context.Context) (id *string, err error) {
	c.mu.Lock()
	c.games++
	name := fmt.Sprintf("Match %d", c.games)
	c.mu.Unlock()
	maps, modes := []string{"harbour", "ridge", "old town"}, []string{"duel", "capture"}
	err = until(ctx, func() (bool, error) {
		out, err := c.client.CreateGameSession(ctx, &gamelift.CreateGameSessionInput{
			FleetId: &c.fleet, Location: aws.String(sampleLocation), Name: &name,
			MaximumPlayerSessionCount: aws.Int32(watchPlaces),
			GameProperties: []types.GameProperty{
				{Key: aws.String("map"), Value: aws.String(maps[rand.IntN(len(maps))])},
				{Key: aws.String("mode"), Value: aws.String(modes[rand.IntN(len(modes))])},
			},
		})
		if _, none := errors.AsType[*types.FleetCapacityExceededException](err); none {
			rest(ctx, time.Second)
			return false, nil
		}
		if err == nil {
			id = out.GameSession.GameSessionId
		}
		return err == nil, err
	})
	if err != nil {
		return nil, err
	}
	return id, until(ctx, func() (bool, error) {
		out, err := c.client.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{GameSessionId: id})
		return err == nil && out.GameSessions[0].Status == types.GameSessionStatusActive, err
	})
}

// join reserves a player slot and connects the player. One of eight does not come: nil.
func (c *crowd) join(ctx context.Context, session *string) (*demoPlayer, error) {
	c.mu.Lock()
	c.joined++
	player := fmt.Sprintf("guest-%d", c.joined)
	c.mu.Unlock()
	out, err := c.client.CreatePlayerSession(ctx,
		&gamelift.CreatePlayerSessionInput{GameSessionId: session, PlayerId: &player})
	if err != nil || rand.IntN(8) == 0 {
		return nil, err
	}
	return joinGame(ctx, *out.PlayerSession, aws.ToString(out.PlayerSession.PlayerSessionId))
}

// rest waits, unless ctx is done.
func rest(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
