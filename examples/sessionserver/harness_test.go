package main

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/gameserver"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
	"github.com/muster-gg/muster/mustertest"
)

// asGameServer makes the test's binary be the game server.
const asGameServer = "SESSIONSERVER_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asGameServer) != "" {
		main()
		return
	}
	leaktest.Main(m)
}

const home = "custom-home"

// A service is Muster in this process.
type service struct {
	*gamelift.Client
	t     *testing.T
	at    *mustertest.Service
	fleet string
}

// start runs a service with one fleet until the test ends.
func start(t *testing.T) *service {
	t.Helper()
	at := mustertest.Start(t)
	return &service{at.Client, t, at, at.Fleet(home)}
}

// compute registers a compute and gives what its game servers connect with.
func (s *service) compute(name string) gameserver.ServerParameters {
	s.t.Helper()
	return s.at.Compute(s.fleet, home, name)
}

// session creates a game session and waits until players can come.
func (s *service) session() *string {
	s.t.Helper()
	id := call(s.t, s.CreateGameSession, &gamelift.CreateGameSessionInput{
		FleetId: &s.fleet, Location: new(home), MaximumPlayerSessionCount: new(int32(4)), Name: new("Evening"),
		GameProperties: []types.GameProperty{{Key: new("level"), Value: new("harbour")}},
	}).GameSession.GameSessionId
	s.awaitStatus(id, types.GameSessionStatusActive)
	return id
}

// awaitStatus waits until a game session has a status.
func (s *service) awaitStatus(session *string, status types.GameSessionStatus) {
	s.t.Helper()
	eventually(s.t, "the game session is "+string(status), func() bool {
		return call(s.t, s.DescribeGameSessions,
			&gamelift.DescribeGameSessionsInput{GameSessionId: session}).GameSessions[0].Status == status
	})
}

// players are the player sessions of a game session, by the player's id.
func (s *service) players(session *string) map[string]types.PlayerSession {
	s.t.Helper()
	players := make(map[string]types.PlayerSession)
	in := &gamelift.DescribePlayerSessionsInput{GameSessionId: session}
	for _, p := range call(s.t, s.DescribePlayerSessions, in).PlayerSessions {
		players[*p.PlayerId] = p
	}
	return players
}

// call makes a call that must succeed.
func call[I, O any](
	t *testing.T, operation func(context.Context, *I, ...func(*gamelift.Options)) (*O, error), in *I,
) *O {
	t.Helper()
	out, err := operation(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var eventually = mustertest.Eventually

// A program is the game server as a process.
type program struct {
	t       *testing.T
	command *exec.Cmd
	ended   chan struct{}

	mu      sync.Mutex
	printed strings.Builder
}

// Write implements io.Writer.
func (p *program) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.printed.Write(b)
}

// launch starts the game server, which is killed with the test.
func launch(t *testing.T, args ...string) *program {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &program{t: t, command: exec.CommandContext(t.Context(), own, args...), ended: make(chan struct{})}
	p.command.Env = append(os.Environ(), asGameServer+"=1")
	p.command.Stdout, p.command.Stderr = p, p
	p.command.WaitDelay = 10 * time.Second
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.command.Wait() // the exit status says it all
	}()
	t.Cleanup(func() {
		<-p.ended // the test's context has ended, and the process with it
		if t.Failed() {
			t.Log(p.text())
		}
	})
	return p
}

func (p *program) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.printed.String()
}

// prints waits for a text and returns what the group in it matches.
func (p *program) prints(pattern string) (group string) {
	p.t.Helper()
	wanted := regexp.MustCompile(pattern)
	eventually(p.t, "it prints "+pattern, func() bool {
		found := wanted.FindStringSubmatch(p.text())
		if len(found) > 1 {
			group = found[1]
		}
		return found != nil
	})
	return group
}

// ends waits for the exit status.
func (p *program) ends(want int) {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(mustertest.Patience):
		p.t.Fatal("the game server does not end")
	}
	if got := p.command.ProcessState.ExitCode(); got != want {
		p.t.Errorf("exit status %d, want %d", got, want)
	}
}
