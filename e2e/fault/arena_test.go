//go:build unix

package fault

import (
	"fmt"
	"net"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/e2e/calls"
	"github.com/muster-gg/muster/e2e/child"
	"github.com/muster-gg/muster/e2e/history"
	"github.com/muster-gg/muster/examples/arena/bot"
)

// An arena is a game server that is a process of its own, with its game session, and a
// player who stays in it.
type arena struct {
	*child.Process
	caller
	number  int
	game    *game
	server  string // where players connect
	witness *bot.Bot
}

// openArenas starts the arenas, each with a game session and a player.
func (t *trial) openArenas() {
	t.t.Helper()
	p := t.parameters("host-" + arenaLocation)
	for n := range *arenas {
		a := &arena{Process: child.New(t.t, fmt.Sprintf("arena %d", n), t.cluster.nodes[0].Path),
			caller: t.newCaller(n), number: n}
		a.Launch("sample-server", "-websocketurl="+p.WebSocketURL, "-hostid="+p.HostID, "-fleetid="+p.FleetID,
			"-authtoken="+p.AuthToken, "-port=0", "-linger", "-log")
		t.arenas = append(t.arenas, a)
		a.open()
		a.witness = a.join()
		t.t.Cleanup(func() { _ = a.witness.Leave() }) // of a trial that fails; else it has left
	}
}

// open creates the game session and waits until it is ACTIVE.
func (a *arena) open() {
	a.t.Helper()
	token := fmt.Sprintf("arena-%d", a.number)
	arn := a.arn(arenaLocation, token)
	a.games.change(arn, func(k *game) { k.arena, k.location, a.game = true, arenaLocation, k })
	a.history.Begin(history.Operation{Session: arn, Action: history.Activate}) // nobody tells when
	a.await("an arena is given its game session", func() bool {
		return a.create(arenaLocation, &gamelift.CreateGameSessionInput{
			FleetId: &a.fleet, Location: aws.String(arenaLocation), IdempotencyToken: &token,
			MaximumPlayerSessionCount: aws.Int32(places),
		}) == calls.Acknowledged
	})
	a.await("an arena is ACTIVE", func() bool {
		out, err := a.clients[a.node].DescribeGameSessions(a.ctx,
			&gamelift.DescribeGameSessionsInput{GameSessionId: &arn})
		if err != nil || out.GameSessions[0].Status != types.GameSessionStatusActive {
			return false
		}
		a.server = net.JoinHostPort(*out.GameSessions[0].IpAddress, fmt.Sprint(*out.GameSessions[0].Port))
		return true
	})
}

// join sends a player into the arena.
func (a *arena) join() *bot.Bot {
	a.t.Helper()
	var seats []*seat
	a.await("a place in an arena", func() bool { seats = a.reserve(a.game, 1); return len(seats) == 1 })
	a.history.Begin(history.Operation{Session: a.game.arn, Action: history.Accept, Players: []string{seats[0].player}})
	player, err := bot.Join(a.ctx, bot.Config{Server: a.server, PlayerSession: seats[0].id, Name: seats[0].player})
	if err != nil {
		a.t.Fatalf("a player cannot join arena %d: %v", a.number, err)
	}
	// When it leaves, or is cut off.
	a.history.Begin(history.Operation{Session: a.game.arn, Action: history.Remove, Players: []string{seats[0].player}})
	return player
}

// playArenas checks that each arena is the process that it was, that its player has noticed
// nothing, and that another one can come. It counts them.
func (t *trial) playArenas() (resumed int) {
	t.t.Helper()
	for _, a := range t.arenas {
		if !a.Running() {
			t.found.Lost("arena %d has ended: %v", a.number, a.Err())
			continue
		}
		select {
		case <-a.witness.Done():
			t.found.Lost("the player in arena %d was cut off: %v", a.number, a.witness.Err())
		default:
		}
		if err := a.join().Leave(); err != nil {
			t.found.Lost("a player could not leave arena %d: %v", a.number, err)
		}
		resumed++
	}
	return resumed
}

// closeArenas stops the arenas. Their nodes still run.
func (t *trial) closeArenas() {
	t.t.Helper()
	for _, a := range t.arenas {
		if err := a.witness.Leave(); err != nil {
			t.t.Errorf("the player of arena %d: %v", a.number, err)
		}
		a.Stop()
		a.AwaitEnd()
	}
}
