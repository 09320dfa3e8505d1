//go:build unix

package soak

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
)

// A load is the steady work of a soak.
type load struct {
	*recorder
	world   *world
	rate    int           // lives that begin each second
	dwell   time.Duration // that a game goes on, on average
	orderly bool          // no process dies
	crowd   int           // calls for 25 further players, of each life
	running sync.WaitGroup

	mu   sync.Mutex
	over []string // game sessions that have ended, oldest first
}

// keptOver is how many of the game sessions that have ended are asked for again.
const keptOver = 10_000

// finished notes that a game session has ended.
func (l *load) finished(game string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over = append(l.over, game); len(l.over) > keptOver {
		l.over = append([]string(nil), l.over[keptOver/2:]...)
	}
}

// recent is a game session that was over so many game sessions ago, at most.
func (l *load) recent(ago int) (game string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.over) == 0 {
		return "", false
	}
	return l.over[len(l.over)-1-rand.IntN(min(ago, len(l.over)))], true
}

// run works until ctx is done, and waits for the lives that go on. What ctx cuts
// short is no failure.
func (l *load) run(ctx context.Context) {
	lives, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	every := func(interval time.Duration, work func(context.Context)) {
		l.running.Go(func() {
			for tick := time.NewTicker(interval); ; {
				select {
				case <-tick.C:
					work(lives)
				case <-ctx.Done():
					tick.Stop()
					return
				}
			}
		})
	}
	every(time.Second/time.Duration(l.rate), func(ctx context.Context) { l.running.Go(func() { l.live(ctx) }) })
	every(time.Second/50, l.search)
	every(time.Second/20, l.lookBack)
	every(2*time.Second, l.rearrange)
	l.running.Wait()
}

// search looks for a game session with a free place.
func (l *load) search(ctx context.Context) {
	l.do("SearchGameSessions", func() error {
		out, err := l.world.client.SearchGameSessions(ctx, &gamelift.SearchGameSessionsInput{
			FleetId: &l.world.fleet, Limit: aws.Int32(10), SortExpression: aws.String("creationTimeMillis ASC"),
			FilterExpression: aws.String(fmt.Sprintf("hasAvailablePlayerSessions=true AND "+
				"gameSessionProperties.map='map-%d'", rand.IntN(20))),
		})
		if err == nil && len(out.GameSessions) > 0 {
			l.count("game sessions found")
		}
		return err
	})
}

var (
	// errForgotten says that a game session is neither in memory nor in the history.
	errForgotten = errors.New("a game session that ended a moment ago is not found")
	// errTwice says that the pages of a question show a player session more than once.
	errTwice = errors.New("a player session is on two pages")
)

// lookBack describes a game session that has ended: it is still in memory, or in
// the history already. Some seconds' worth of them are asked for, which is less
// than the history keeps.
func (l *load) lookBack(ctx context.Context) {
	game, ok := l.recent(30 * l.rate)
	if !ok {
		return
	}
	l.do("DescribeGameSessions", func() error {
		out, err := l.world.client.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{GameSessionId: &game})
		if err == nil && (len(out.GameSessions) != 1 ||
			out.GameSessions[0].Status != types.GameSessionStatusTerminated) {
			return errForgotten
		}
		return err
	})
	l.do("DescribePlayerSessions", func() error {
		ids := map[string]bool{}
		for pages := gamelift.NewDescribePlayerSessionsPaginator(l.world.client,
			&gamelift.DescribePlayerSessionsInput{GameSessionId: &game}); pages.HasMorePages(); {
			out, err := pages.NextPage(ctx)
			if err != nil {
				return err
			}
			for _, s := range out.PlayerSessions {
				if ids[*s.PlayerSessionId] {
					return errTwice
				}
				ids[*s.PlayerSessionId] = true
			}
		}
		if len(ids) != party+1+25*l.crowd {
			return errForgotten
		}
		return nil
	})
}

// rearrange makes a location, a fleet with a compute in it and an alias, changes
// them, and takes them away again.
func (l *load) rearrange(ctx context.Context) {
	name := fmt.Sprintf("custom-passing-%d", l.world.number())
	var fleet, alias *string
	client := l.world.client
	steps := []struct {
		name string
		call func() error
	}{
		{"CreateLocation", func() error {
			_, err := client.CreateLocation(ctx, &gamelift.CreateLocationInput{LocationName: &name})
			return err
		}},
		{"CreateFleet", func() error {
			out, err := client.CreateFleet(ctx, &gamelift.CreateFleetInput{
				Name: &name, ComputeType: types.ComputeTypeAnywhere,
				Locations: []types.LocationConfiguration{{Location: &l.world.locations[0]}},
			})
			if err == nil {
				fleet = out.FleetAttributes.FleetId
			}
			return err
		}},
		{"CreateFleetLocations", func() error {
			_, err := client.CreateFleetLocations(ctx,
				&gamelift.CreateFleetLocationsInput{FleetId: fleet,
					Locations: []types.LocationConfiguration{{Location: &name}}})
			return err
		}},
		{"RegisterCompute", func() error {
			_, err := client.RegisterCompute(ctx, &gamelift.RegisterComputeInput{FleetId: fleet, ComputeName: &name,
				Location: &name, IpAddress: aws.String("127.0.0.1")})
			return err
		}},
		{"CreateAlias", func() error {
			out, err := client.CreateAlias(ctx, &gamelift.CreateAliasInput{Name: &name,
				RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeSimple, FleetId: fleet}})
			if err == nil {
				alias = out.Alias.AliasId
			}
			return err
		}},
		{"UpdateFleetAttributes", func() error {
			_, err := client.UpdateFleetAttributes(ctx,
				&gamelift.UpdateFleetAttributesInput{FleetId: fleet, Description: aws.String("passing")})
			return err
		}},
		{"DescribeFleetAttributes", func() error {
			_, err := client.DescribeFleetAttributes(ctx, &gamelift.DescribeFleetAttributesInput{})
			return err
		}},
		{"DeleteAlias", func() error {
			_, err := client.DeleteAlias(ctx, &gamelift.DeleteAliasInput{AliasId: alias})
			return err
		}},
		{"DeregisterCompute", func() error {
			_, err := client.DeregisterCompute(ctx,
				&gamelift.DeregisterComputeInput{FleetId: fleet, ComputeName: &name})
			return err
		}},
		{"DeleteFleet", func() error {
			_, err := client.DeleteFleet(ctx, &gamelift.DeleteFleetInput{FleetId: fleet})
			return err
		}},
		{"DeleteLocation", func() error {
			_, err := client.DeleteLocation(ctx, &gamelift.DeleteLocationInput{LocationName: &name})
			return err
		}},
	}
	for _, s := range steps {
		if !l.do(s.name, s.call) {
			return
		}
	}
	l.count("fleets made and deleted")
}
