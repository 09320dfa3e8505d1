package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/internal/mustertest/leaktest"
	"github.com/muster-gg/muster/mustertest"
)

// asGame makes the test's binary be the program.
const asGame = "GUESS_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asGame) != "" {
		main()
		return
	}
	leaktest.Main(m)
}

// A program is a process of the game, whose output is read line by line.
type program struct {
	t       *testing.T
	command *exec.Cmd
	input   io.Writer
	lines   chan string // closed at the end of the output
}

// launch starts the program, which is killed with the test.
func launch(t *testing.T, args ...string) *program {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	output, writer := io.Pipe()
	p := &program{t: t, command: exec.CommandContext(t.Context(), own, args...), lines: make(chan string, 1000)}
	p.command.Env = append(os.Environ(), asGame+"=1")
	p.command.Stdout, p.command.Stderr = writer, writer
	p.command.WaitDelay = 10 * time.Second
	if p.input, err = p.command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.command.Wait() // ends checks the exit status
		_ = writer.Close()
	}()
	go func() {
		defer close(p.lines)
		for scanner := bufio.NewScanner(output); scanner.Scan(); {
			t.Logf("%s: %s", args[0], scanner.Text())
			p.lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() {
		for range p.lines { // the test's context has ended, and the process with it
			continue
		}
	})
	return p
}

// prints waits for a line that matches pattern, and returns what its groups match.
func (p *program) prints(pattern string) []string {
	p.t.Helper()
	wanted, timeout := regexp.MustCompile(pattern), time.After(mustertest.Patience)
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				p.t.Fatalf("the program ended without printing %s", pattern)
			}
			if found := wanted.FindStringSubmatch(line); found != nil {
				return found
			}
		case <-timeout:
			p.t.Fatalf("the program does not print %s", pattern)
		}
	}
}

func (p *program) types(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.input, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

// ends waits until the program ends in order.
func (p *program) ends() {
	p.t.Helper()
	timeout := time.After(mustertest.Patience)
	for {
		select {
		case _, ok := <-p.lines:
			if ok {
				continue
			}
			if got := p.command.ProcessState.ExitCode(); got != 0 {
				p.t.Errorf("exit status %d", got)
			}
			return
		case <-timeout:
			p.t.Fatal("the program does not end")
		}
	}
}

// TestGame plays a whole game: ada creates it, bob finds it, and one of them finds the number.
func TestGame(t *testing.T) {
	const home = "custom-home"
	service := mustertest.Start(t)
	fleet := service.Fleet(home)
	desk := service.Compute(fleet, home, "desk")
	server := launch(t, "server", "-authtoken="+desk.AuthToken, "-hostid="+desk.HostID, "-fleetid="+desk.FleetID,
		"-websocketurl="+desk.WebSocketURL, "-port=0")
	mustertest.Eventually(t, "a server process is ready", func() bool {
		out := mustertest.Call(t, service.Client.DescribeFleetUtilization,
			&gamelift.DescribeFleetUtilizationInput{FleetIds: []string{fleet}})
		return len(out.FleetUtilization) == 1 && *out.FleetUtilization[0].ActiveServerProcessCount == 1
	})
	ada := launch(t, "play", service.Gateway, "ada")
	ada.types("none")
	ada.prints(`^"ada" guesses 0: too low$`)
	bob := launch(t, "play", service.Gateway, "bob")
	bob.types("101")
	bob.prints(`^"bob" guesses 101: too high$`)
	ada.prints(`^"bob" guesses 101: too high$`)

	players, guess := []*program{ada, bob}, 0
	for low, high, turn := 1, 100, 0; ; turn++ {
		guess = (low + high) / 2
		players[turn%2].types(strconv.Itoa(guess))
		pattern := `guesses ` + strconv.Itoa(guess) + `: too (low|high)$|wins: it was \d+$`
		hint := ada.prints(pattern)[1]
		if bob.prints(pattern)[1] != hint {
			t.Error("the players see different hints")
		}
		if hint == "" {
			break
		}
		if hint == "low" {
			low = guess + 1
		} else {
			high = guess - 1
		}
	}
	for _, program := range []*program{ada, bob, server} {
		program.ends()
	}
	game := mustertest.Call(t, service.Client.DescribeGameSessions,
		&gamelift.DescribeGameSessionsInput{FleetId: &fleet}).GameSessions[0]
	if game.Status != types.GameSessionStatusTerminated {
		t.Errorf("the game session is %s", game.Status)
	}
	for _, player := range mustertest.Call(t, service.Client.DescribePlayerSessions,
		&gamelift.DescribePlayerSessionsInput{GameSessionId: game.GameSessionId}).PlayerSessions {
		if player.Status != types.PlayerSessionStatusCompleted {
			t.Errorf("the player session of %s is %s", *player.PlayerId, player.Status)
		}
	}
}
