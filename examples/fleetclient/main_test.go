package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/examples/arena/game"
	"github.com/muster-gg/muster/mustertest"
	"github.com/muster-gg/muster/session"
)

const home = "custom-home"

// printed collects output.
type printed struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *printed) has(text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Contains(p.text.String(), text)
}

// start runs a service with one fleet, and makes it that of the environment.
func start(t *testing.T) (s *mustertest.Service, fleet string) {
	s = mustertest.Start(t)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_GAMELIFT": s.HTTP, "AWS_REGION": s.Region,
		"AWS_ACCESS_KEY_ID": s.AccessKey, "AWS_SECRET_ACCESS_KEY": s.SecretKey,
	} {
		t.Setenv(name, value)
	}
	return s, s.Fleet(home)
}

// arena runs a game server until the test ends.
func arena(t *testing.T, s *mustertest.Service, fleet string) {
	t.Helper()
	host := s.Compute(fleet, home, "desk")
	var log printed
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- game.Run(ctx, []string{
			"-log", "-port=0", "-authtoken=" + host.AuthToken, "-hostid=" + host.HostID,
			"-fleetid=" + host.FleetID, "-websocketurl=" + host.WebSocketURL,
		}, &log)
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the arena ended with %v", err)
		}
	})
	mustertest.Eventually(t, "the arena is ready", func() bool { return log.has("players connect to") })
}

// A player is one run of the client.
type player struct {
	printed

	says  *io.PipeWriter
	ended chan error
}

// launch runs the client.
func launch(ctx context.Context, o options) *player {
	in, says := io.Pipe()
	p := &player{says: says, ended: make(chan error, 1)}
	go func() { p.ended <- run(ctx, o, in, p) }()
	return p
}

// play runs the client and waits until it is in the game.
func play(t *testing.T, o options) *player {
	t.Helper()
	p := launch(t.Context(), o)
	p.joins(t)
	return p
}

func (p *player) joins(t *testing.T) {
	t.Helper()
	mustertest.Eventually(t, "the player is in the game", func() bool { return p.has("in arn:") })
}

// leaves ends the input and waits for the end.
func (p *player) leaves(t *testing.T) {
	t.Helper()
	_ = p.says.Close()
	if err := <-p.ended; err != nil {
		t.Error(err)
	}
}

// TestEvening has one player create a session and another one find it. They talk, and
// leave.
func TestEvening(t *testing.T) {
	s, fleet := start(t)
	arena(t, s, fleet)
	ada := play(t, options{fleet: fleet, player: "ada"})
	bob := play(t, options{fleet: fleet, player: "bob"})
	if !ada.has("CreateSession: done") || bob.has("CreateSession") || !bob.has("a slot at 127.0.0.1:") {
		t.Errorf("ada printed %s\nbob printed %s", &ada.text, &bob.text)
	}
	if _, err := io.WriteString(ada.says, "hello\n"); err != nil {
		t.Fatal(err)
	}
	mustertest.Eventually(t, "bob receives what ada says", func() bool { return bob.has(": hello\n") })
	ada.leaves(t)
	bob.leaves(t)
	found := mustertest.Call(t, s.Client.DescribeGameSessions, &gamelift.DescribeGameSessionsInput{FleetId: &fleet})
	if len(found.GameSessions) != 1 {
		t.Fatalf("there are %d game sessions", len(found.GameSessions))
	}
	in := &gamelift.DescribePlayerSessionsInput{GameSessionId: found.GameSessions[0].GameSessionId}
	mustertest.Eventually(t, "both have left", func() bool {
		left := 0
		for _, p := range mustertest.Call(t, s.Client.DescribePlayerSessions, in).PlayerSessions {
			if p.Status == types.PlayerSessionStatusCompleted {
				left++
			}
		}
		return left == 2
	})
}

// queue makes a queue of the fleet.
func queue(t *testing.T, s *mustertest.Service, fleet string) *types.GameSessionQueue {
	t.Helper()
	in := &gamelift.DescribeFleetAttributesInput{FleetIds: []string{fleet}}
	arn := mustertest.Call(t, s.Client.DescribeFleetAttributes, in).FleetAttributes[0].FleetArn
	return mustertest.Call(t, s.Client.CreateGameSessionQueue, &gamelift.CreateGameSessionQueueInput{
		Name: new("arenas"), Destinations: []types.GameSessionQueueDestination{{DestinationArn: arn}},
	}).GameSessionQueue
}

// TestQueue has a queue create a session.
func TestQueue(t *testing.T) {
	s, fleet := start(t)
	arena(t, s, fleet)
	play(t, options{queue: *queue(t, s, fleet).Name, player: "ada"}).leaves(t)
}

// TestMatch has the matchmaker take two players into a session. A third one waits, and gives up.
func TestMatch(t *testing.T) {
	s, fleet := start(t)
	arena(t, s, fleet)
	mustertest.Call(t, s.Client.CreateMatchmakingRuleSet, &gamelift.CreateMatchmakingRuleSetInput{
		Name: new("duel"), RuleSetBody: new(`{"ruleLanguageVersion": "1.0", "teams": [
			{"name": "all", "minPlayers": 2, "maxPlayers": 2}]}`),
	})
	mustertest.Call(t, s.Client.CreateMatchmakingConfiguration, &gamelift.CreateMatchmakingConfigurationInput{
		Name: new("duel"), RuleSetName: new("duel"), AcceptanceRequired: new(true),
		AcceptanceTimeoutSeconds: new(int32(60)), RequestTimeoutSeconds: new(int32(120)),
		GameSessionQueueArns: []string{*queue(t, s, fleet).GameSessionQueueArn},
	})
	duel := func(name string) options { return options{configuration: "duel", player: name} }
	ada, bob := launch(t.Context(), duel("ada")), launch(t.Context(), duel("bob"))
	ada.joins(t)
	bob.joins(t)
	ada.leaves(t)
	bob.leaves(t)

	ctx, stop := context.WithCancel(t.Context())
	eve := launch(ctx, duel("eve"))
	mustertest.Eventually(t, "eve has a ticket", func() bool { return eve.has("StartMatchmaking: done") })
	stop()
	if err := <-eve.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("eve's program ended with %v", err)
	}
}

// TestNoGame returns why there is no game.
func TestNoGame(t *testing.T) {
	_, fleet := start(t)
	for id, want := range map[string]error{fleet: session.ErrUnavailable, "": session.ErrInvalid} {
		err := run(t.Context(), options{fleet: id, player: "ada"}, strings.NewReader(""), io.Discard)
		if !errors.Is(err, want) {
			t.Errorf("fleet %q: %v, want %v", id, err, want)
		}
	}
}
