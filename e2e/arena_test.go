package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/e2e/binary"
)

// A program is a process of a test.
type program struct {
	printed lockedBuffer // standard output and standard error
	ended   chan int     // the exit status, once
	command *exec.Cmd
}

// launchProgram starts a program, which is killed at the end of the test if it
// still runs.
func launchProgram(t testing.TB, path string, args ...string) *program {
	t.Helper()
	p := &program{ended: make(chan int, 1), command: exec.CommandContext(t.Context(), path, args...)}
	p.command.Stdout, p.command.Stderr = &p.printed, &p.printed
	p.command.WaitDelay = 10 * time.Second
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = p.command.Wait() // the exit status says it all
		p.ended <- p.command.ProcessState.ExitCode()
	}()
	t.Cleanup(func() {
		<-done // the test's context has ended, and the process with it
		if t.Failed() {
			t.Logf("%s printed\n%s", filepath.Base(path), p.printed.String())
		}
	})
	return p
}

// ends waits for the end of a program.
func (p *program) ends(t testing.TB, status int) {
	t.Helper()
	if got := receive(t, "the end of "+p.command.Path, p.ended); got != status {
		t.Errorf("%s ended with exit status %d, want %d", filepath.Base(p.command.Path), got, status)
	}
}

// interrupt asks the program to end, as Ctrl+C does.
func (p *program) interrupt(t testing.TB) {
	t.Helper()
	if err := p.command.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
}

// TestArena plays a game of real processes: a game server that is registered here,
// two players with a player session, and one who has forged theirs.
func TestArena(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	if err := binary.BuildAll(t.Context(), bin, "./examples/arena/server", "./examples/arena/client"); err != nil {
		t.Fatal(err)
	}
	s := start(t)
	fleet := s.newFleet(t)
	for _, transport := range []string{"tcp", "tls", "quic"} {
		t.Run(transport, func(t *testing.T) {
			compute := s.newCompute(t, fleet, home, "Desktop-"+transport)
			server := launchProgram(t, filepath.Join(bin, "server"), "-log", "-authtoken="+compute.AuthToken,
				"-hostid="+compute.HostID,
				"-fleetid="+compute.FleetID, "-websocketurl="+compute.WebSocketURL, "-port", "0",
				"-transport="+transport)
			address := server.printed.await(t, `players connect to (\S+)`)
			client := func(playerSession string, args ...string) *program {
				args = append([]string{"-server", address, "-transport", transport, "-playersession", playerSession},
					args...)
				if transport != "tcp" {
					args = append(args, "-fingerprint",
						server.printed.await(t, `fingerprint \(SHA-256\): ([0-9a-f]{64})`))
				}
				return launchProgram(t, filepath.Join(bin, "client"), args...)
			}
			playArena(t, s, fleet, client)
			server.ends(t, 0)
			if printed := server.printed.String(); strings.Contains(printed, compute.AuthToken) ||
				!strings.Contains(printed, "Process ending") {
				t.Error("the game server prints its token, or did not say goodbye")
			}
		})
	}
}

// playArena plays on the game server that waits for a game session.
func playArena(t *testing.T, s *service, fleet string, client func(playerSession string, args ...string) *program) {
	session := call(t, s.client().CreateGameSession, &gamelift.CreateGameSessionInput{
		FleetId: &fleet, Location: new(home), MaximumPlayerSessionCount: new(int32(4)),
	}).GameSession.GameSessionId
	is := func(status types.GameSessionStatus) func() bool {
		return func() bool {
			return call(t, s.client().DescribeGameSessions,
				&gamelift.DescribeGameSessionsInput{GameSessionId: session}).GameSessions[0].Status == status
		}
	}
	eventually(t, "the game session is ACTIVE", is(types.GameSessionStatusActive))
	tickets := call(t, s.client().CreatePlayerSessions, &gamelift.CreatePlayerSessionsInput{
		GameSessionId: session, PlayerIds: []string{"ada", "bob"},
	}).PlayerSessions

	ada := client(*tickets[0].PlayerSessionId, "-player", "ada", "-say", "hello")
	ada.printed.await(t, "joined as player 1\n")
	bob := client(*tickets[1].PlayerSessionId, "-player", "bob", "-say", "hello yourself")
	bob.printed.await(t, "joined as player 2\n")
	ada.printed.await(t, `sees player 2 \(bob\) at \S+`)
	bob.printed.await(t, `sees player 1 \(ada\) at \S+`)

	forged := client("psess-00000000-0000-4000-8000-000000000000")
	forged.ends(t, 3)
	forged.printed.await(t, `^refused: NotFoundException: .*psess-00000000`)
	again := client(*tickets[0].PlayerSessionId) // which is in use
	again.ends(t, 3)

	ada.goesOn(t, 2)
	bob.goesOn(t, 1)
	ada.printed.await(t, `player 2 \(bob\) says: hello yourself`)
	bob.printed.await(t, `player 1 \(ada\) says: hello`)
	in := &gamelift.DescribePlayerSessionsInput{GameSessionId: session}
	for _, p := range call(t, s.client().DescribePlayerSessions, in).PlayerSessions {
		if p.Status != types.PlayerSessionStatusActive {
			t.Errorf("%s is %s while playing", *p.PlayerId, p.Status)
		}
	}

	bob.interrupt(t)
	bob.ends(t, 0)
	bob.printed.await(t, `received \d+\.\d ticks/s, round trip \d+\.\d+ ms\n$`)
	ada.printed.await(t, `player 2 \(bob\) left`)
	ada.interrupt(t)
	ada.ends(t, 0)
	eventually(t, "the game session is TERMINATED", is(types.GameSessionStatusTerminated))
	for _, p := range call(t, s.client().DescribePlayerSessions, in).PlayerSessions {
		if p.Status != types.PlayerSessionStatusCompleted {
			t.Errorf("%s is %s when all have left", *p.PlayerId, p.Status)
		}
	}
}

// goesOn waits until the program has seen another player at two more places.
func (p *program) goesOn(t testing.TB, other int) {
	t.Helper()
	places := regexp.MustCompile(fmt.Sprintf(`sees player %d \(\w+\) at \S+`, other))
	seen := len(places.FindAllString(p.printed.String(), -1))
	eventually(t, "two more places of the other player", func() bool {
		found := places.FindAllString(p.printed.String(), -1)
		return len(found) >= seen+2 && found[len(found)-1] != found[len(found)-2]
	})
}
