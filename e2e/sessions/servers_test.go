package sessions

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/examples/arena/game"
	"github.com/muster-gg/muster/gameserver"
)

// A printed is what a program has printed. It is a buffer that one goroutine
// writes and another reads.
type printed struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

// Write implements io.Writer.
func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.buffer.Write(b)
}

func (p *printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.buffer.String()
}

// await waits for a text and gives what the group in the pattern matches.
func (p *printed) await(t *testing.T, pattern string) (group string) {
	t.Helper()
	wanted := regexp.MustCompile(pattern)
	eventually(t, pattern+" is printed", func() bool {
		found := wanted.FindStringSubmatch(p.String())
		if len(found) > 1 {
			group = found[1]
		}
		return found != nil
	})
	return group
}

// ready is what an arena prints when it can host a game session.
const ready = `Initialization Successful, players connect to (\S+)`

// arenaArgs is the command line of an arena on a new compute.
func (w *world) arenaArgs() []string {
	w.Helper()
	p := w.compute()
	return []string{
		"-log", "-authtoken=" + p.AuthToken, "-hostid=" + p.HostID, "-fleetid=" + p.FleetID,
		"-websocketurl=" + p.WebSocketURL, "-port", "0",
	}
}

// arena runs the arena's server in this process until the test ends, and gives the
// address for its players.
func (w *world) arena() (address string) {
	w.Helper()
	args, log := w.arenaArgs(), new(printed)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- game.Run(ctx, args, log) }()
	w.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			w.Errorf("the arena ended with: %v", err)
		}
		if w.Failed() {
			w.Logf("the arena printed\n%s", log)
		}
	})
	return log.await(w.T, ready)
}

// A process is one of programs, running.
type process struct {
	t       *testing.T
	name    string
	printed printed // standard output and standard error
	stdin   io.WriteCloser
	command *exec.Cmd
	ended   chan struct{}
}

// launch starts a program, which is killed with the test.
func launch(t *testing.T, name string, args ...string) *process {
	t.Helper()
	own, err := os.Executable()
	must(t, err)
	p := &process{t: t, name: name, command: exec.CommandContext(t.Context(), own, args...), ended: make(chan struct{})}
	p.command.Env = append(os.Environ(), asProgram+"="+name)
	p.command.Stdout, p.command.Stderr = &p.printed, &p.printed
	p.command.WaitDelay = 10 * time.Second
	p.stdin, err = p.command.StdinPipe()
	must(t, err)
	must(t, p.command.Start())
	go func() {
		defer close(p.ended)
		_ = p.command.Wait() // the exit status says it all
	}()
	t.Cleanup(func() {
		<-p.ended // the test's context has ended, and the process with it
		if t.Failed() {
			t.Logf("%s printed\n%s", name, &p.printed)
		}
	})
	return p
}

// ends waits for the end of a process, which must be a good one.
func (p *process) ends() {
	p.t.Helper()
	receive(p.t, "the end of "+p.name, p.ended)
	if got := p.command.ProcessState.ExitCode(); got != 0 {
		p.t.Errorf("%s ended with exit status %d", p.name, got)
	}
}

// arenaProcess starts the arena's server as a process of its own that waits for a
// game session.
func (w *world) arenaProcess() *process {
	w.Helper()
	p := launch(w.T, "arena", w.arenaArgs()...)
	p.printed.await(w.T, ready)
	return p
}

// A server is a server process without a game.
type server struct {
	*gameserver.Server
	started chan gameserver.GameSession // the game session that it was given
}

// server starts a server process until the test ends. It activates its game
// session when activate returns true.
func (w *world) server(port int, activate func() bool) *server {
	w.Helper()
	s := &server{gameserver.New(gameserver.Config{Getenv: noEnvironment}), make(chan gameserver.GameSession, 1)}
	w.Cleanup(func() { s.Close(); s.Wait() })
	must(w.T, s.Connect(w.Context(), w.compute()))
	must(w.T, s.ProcessReady(w.Context(), gameserver.ProcessParameters{
		Port: port,
		OnStartGameSession: func(g gameserver.GameSession) {
			s.started <- g
			if activate() {
				w.report("activate", s.ActivateGameSession(context.Background()))
			}
		},
		OnProcessTerminate: func() { w.report("end", s.ProcessEnding(context.Background())) },
	}))
	return s
}

func noEnvironment(string) string { return "" }

func atOnce() bool { return true }
func never() bool  { return false }

// report fails the test when a game server's call failed, unless the test is over.
func (w *world) report(what string, err error) {
	if err != nil && !errors.Is(err, gameserver.ErrClosed) {
		w.Errorf("%s: %v", what, err)
	}
}
