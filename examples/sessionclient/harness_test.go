package main_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/mustertest"
)

const home = "custom-home"

// programs is the directory with the compiled client and its game server.
var programs string

func TestMain(m *testing.M) {
	code, err := compileAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func compileAndRun(m *testing.M) (code int, err error) {
	if programs, err = os.MkdirTemp("", "sessionclient"); err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(programs) }()
	out, err := exec.Command("go", "build", "-o", programs+string(filepath.Separator), ".",
		"../sessionserver").CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("go build: %w\n%s", err, out)
	}
	return m.Run(), nil
}

// A service is Muster in this process, with one fleet.
type service struct {
	*gamelift.Client
	t     *testing.T
	at    *mustertest.Service
	fleet string
}

// start runs a service until the test ends.
func start(t *testing.T) *service {
	t.Helper()
	at := mustertest.Start(t)
	return &service{at.Client, t, at, at.Fleet(home)}
}

// host starts the game server and waits until it has a free process.
func (s *service) host() *program {
	s.t.Helper()
	desk := s.at.Compute(s.fleet, home, "desk")
	server := launch(s.t, "sessionserver",
		"-authtoken="+desk.AuthToken, "-hostid="+desk.HostID, "-fleetid="+desk.FleetID,
		"-websocketurl="+desk.WebSocketURL, "-port=0")
	server.prints(`ready players=`)
	return server
}

// player starts a client and waits until it is in the game.
func (s *service) player(name string) *program {
	s.t.Helper()
	p := launch(s.t, "sessionclient", "-gateway", s.at.Gateway, "-player", name)
	p.prints(`in the game at 127\.0\.0\.1:\d+ as ` + name)
	return p
}

// statuses are those of the player sessions of the fleet's only game session, by
// player.
func (s *service) statuses() map[string]types.PlayerSessionStatus {
	s.t.Helper()
	sessions := mustertest.Call(s.t, s.DescribeGameSessions,
		&gamelift.DescribeGameSessionsInput{FleetId: &s.fleet}).GameSessions
	if len(sessions) != 1 {
		s.t.Fatalf("there are %d game sessions", len(sessions))
	}
	all := make(map[string]types.PlayerSessionStatus)
	in := &gamelift.DescribePlayerSessionsInput{GameSessionId: sessions[0].GameSessionId}
	for _, p := range mustertest.Call(s.t, s.DescribePlayerSessions, in).PlayerSessions {
		all[*p.PlayerId] = p.Status
	}
	return all
}

var eventually = mustertest.Eventually

// A program is one of the two as a process.
type program struct {
	t       *testing.T
	command *exec.Cmd
	input   io.WriteCloser
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

// launch starts a program, which is killed with the test.
func launch(t *testing.T, name string, args ...string) *program {
	t.Helper()
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	p := &program{t: t, command: exec.CommandContext(t.Context(), filepath.Join(programs, name), args...),
		ended: make(chan struct{})}
	p.command.Stdout, p.command.Stderr = p, p
	p.command.WaitDelay = 10 * time.Second
	var err error
	if p.input, err = p.command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
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
			t.Logf("%s printed:\n%s", name, p.text())
		}
	})
	return p
}

func (p *program) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.printed.String()
}

// prints waits for a text.
func (p *program) prints(pattern string) {
	p.t.Helper()
	wanted := regexp.MustCompile(pattern)
	eventually(p.t, "it prints "+pattern, func() bool { return wanted.MatchString(p.text()) })
}

// types types a line.
func (p *program) types(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.input, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

// leaves ends the input and waits for an orderly end.
func (p *program) leaves() {
	p.t.Helper()
	if err := p.input.Close(); err != nil {
		p.t.Fatal(err)
	}
	p.ends(0)
}

// ends waits for the exit status.
func (p *program) ends(want int) {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(mustertest.Patience):
		p.t.Fatal("the program does not end")
	}
	if got := p.command.ProcessState.ExitCode(); got != want {
		p.t.Errorf("exit status %d, want %d", got, want)
	}
}
