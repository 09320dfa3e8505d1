//go:build unix

package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/gameserver"
)

const (
	sessionLimit = 20 * time.Second // for a game session to reach its process
	party        = 5                // players who come together
	accepted     = 4                // of the party; the others' reservations run out
	left         = 2                // of those, before the game is over
	places       = 8
)

// A life is that of one server process, from its connection to its end.
type life struct {
	*load
	server *gameserver.Server
	where  compute
	game   string // the ARN of its game session
	ended  chan struct{}
}

// live runs one life. The game session that it creates may reach another process
// of the location, whose own then comes here: as many processes wait as calls ask
// for one.
func (l *load) live(ctx context.Context) {
	p := &life{load: l, where: l.world.anyCompute(), ended: make(chan struct{}, 1)}
	if !l.do("Connect", func() (err error) { p.server, err = l.world.connect(ctx, p.where); return err }) {
		return
	}
	defer func() {
		p.server.Close()
		p.server.Wait()
	}()
	if p.host(ctx) && p.play(ctx) {
		p.end(ctx)
		l.count("lives")
	}
}

// host is everything until the game session is ACTIVE.
func (p *life) host(ctx context.Context) bool {
	begun := make(chan string, 1)
	ready := p.do("ProcessReady", func() error {
		return p.server.ProcessReady(ctx, gameserver.ProcessParameters{
			Port: 7777, OnProcessTerminate: func() { p.ended <- struct{}{} },
			OnStartGameSession: func(g gameserver.GameSession) { begun <- g.GameSessionID },
		})
	})
	if !ready || !p.create(ctx) {
		return false
	}
	select {
	case p.game = <-begun:
	case <-time.After(sessionLimit):
		p.fail("a process that waited was given no game session")
		return false
	case <-ctx.Done():
		return false
	}
	return p.do("ActivateGameSession", func() error { return p.server.ActivateGameSession(ctx) })
}

// create asks for a game session in the life's location.
func (p *life) create(ctx context.Context) bool {
	number := p.world.number()
	return p.do("CreateGameSession", func() error {
		_, err := p.world.client.CreateGameSession(ctx, &gamelift.CreateGameSessionInput{
			FleetId: &p.world.fleet, Location: &p.where.location, Name: aws.String(fmt.Sprintf("game %d", number)),
			MaximumPlayerSessionCount: aws.Int32(int32(places + 25*p.crowd)),
			GameProperties: []types.GameProperty{{Key: aws.String("map"),
				Value: aws.String(fmt.Sprintf("map-%d", number%20))}},
		})
		return err
	})
}

// play lets players come and go while the game goes on.
func (p *life) play(ctx context.Context) bool {
	tickets, ok := p.reserve(ctx)
	if !ok {
		return false
	}
	for _, ticket := range tickets[:accepted] {
		ok = ok && p.do("AcceptPlayerSession", func() error { return p.server.AcceptPlayerSession(ctx, ticket) })
	}
	half := p.dwell/4 + rand.N(p.dwell/2)
	ok = ok && pause(ctx, half) && p.update(ctx)
	for _, ticket := range tickets[:left] {
		ok = ok && p.do("RemovePlayerSession", func() error { return p.server.RemovePlayerSession(ctx, ticket) })
	}
	return ok && pause(ctx, half)
}

// come takes places for so many players.
func (p *life) come(ctx context.Context, players int) (tickets []string, ok bool) {
	ids := make([]string, players)
	for i := range ids {
		ids[i] = fmt.Sprintf("player-%d", p.world.number())
	}
	ok = p.do("CreatePlayerSessions", func() error {
		out, err := p.world.client.CreatePlayerSessions(ctx,
			&gamelift.CreatePlayerSessionsInput{GameSessionId: &p.game, PlayerIds: ids})
		if err != nil {
			return err
		}
		for _, s := range out.PlayerSessions {
			tickets = append(tickets, *s.PlayerSessionId)
		}
		return nil
	})
	return tickets, ok
}

// reserve takes places for a party, for a crowd, and for one more.
func (p *life) reserve(ctx context.Context) (tickets []string, ok bool) {
	tickets, ok = p.come(ctx, party)
	for range p.crowd {
		_, came := p.come(ctx, 25)
		ok = ok && came
	}
	return tickets, ok && p.do("CreatePlayerSession", func() error {
		_, err := p.world.client.CreatePlayerSession(ctx,
			&gamelift.CreatePlayerSessionInput{GameSessionId: &p.game, PlayerId: aws.String("late")})
		return err
	})
}

// update changes the game session, by a call or as its game server.
func (p *life) update(ctx context.Context) bool {
	if rand.IntN(2) == 0 {
		return p.do("UpdatePlayerSessionCreationPolicy", func() error {
			return p.server.UpdatePlayerSessionCreationPolicy(ctx, gameserver.DenyAll)
		})
	}
	return p.do("UpdateGameSession", func() error {
		_, err := p.world.client.UpdateGameSession(ctx,
			&gamelift.UpdateGameSessionInput{GameSessionId: &p.game, Name: aws.String("renamed")})
		return err
	})
}

// end is one of three: the game server has enough, is asked to end, or dies.
func (p *life) end(ctx context.Context) {
	switch n := rand.IntN(100); {
	case n < 2 && !p.orderly:
		p.count("crashes") // the service finds out
		return
	case n < 50:
		p.do("TerminateGameSession", func() error {
			_, err := p.world.client.TerminateGameSession(ctx,
				&gamelift.TerminateGameSessionInput{GameSessionId: &p.game,
					TerminationMode: types.TerminationModeTriggerOnProcessTerminate})
			return err
		})
		select {
		case <-p.ended:
		case <-time.After(sessionLimit):
			p.fail("a process was not asked to end")
		case <-ctx.Done():
		}
	}
	if p.do("ProcessEnding", func() error { return p.server.ProcessEnding(ctx) }) {
		p.finished(p.game)
	}
}

// pause waits; false if ctx ends before.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
