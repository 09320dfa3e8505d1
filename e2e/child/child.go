// Package child runs a program as a process of its own, run after run, for the tests that kill it, stop it, or damage
// what it keeps.
//
// What goes wrong ends the test with Fatal, so that only the test's own goroutine may call these functions, unless they
// say otherwise.
package child

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/mustertest/ports"
)

// StartLimit is how long a program may take to be ready, or to end.
const StartLimit = 60 * time.Second

// A Process is a program over all its runs.
type Process struct {
	T    testing.TB
	Name string // in errors
	Path string // of the binary
	Log  *Log   // of all runs

	Environ []string // variables beside those of the test

	command *exec.Cmd     // of the present run
	ended   chan struct{} // closed when the present run has ended, and its log has been read
	err     error         // how it has ended
}

// New gives a program that does not run yet. What runs at the end of the test is killed then, and its log is shown if
// the test has failed.
func New(t testing.TB, name, path string) *Process {
	p := &Process{T: t, Name: name, Path: path, Log: &Log{}, ended: make(chan struct{})}
	close(p.ended)
	t.Cleanup(func() {
		if p.Running() {
			p.Kill()
		}
		if t.Failed() {
			t.Logf("the end of the log of %s:\n%s", name, p.Log.Tail())
		}
	})
	return p
}

// Launch runs the program. What it writes is its log.
func (p *Process) Launch(args ...string) {
	p.T.Helper()
	p.command = exec.Command(p.Path, args...)
	p.command.Env = append(os.Environ(), p.Environ...)
	bind(p.command)
	output, err := p.command.StderrPipe()
	if err != nil {
		p.T.Fatal(err)
	}
	p.command.Stdout = p.command.Stderr
	p.Log.begin()
	p.ended = make(chan struct{})
	begun := make(chan error)
	go func(command *exec.Cmd, ended chan struct{}) {
		runtime.LockOSThread() // which the process is bound to
		begin := command.Start()
		begun <- begin
		if begin == nil {
			p.Log.follow(output)
			p.err = command.Wait()
		}
		close(ended)
	}(p.command, p.ended)
	if err := <-begun; err != nil {
		p.T.Fatal(err)
	}
}

// PID is the number of the present run's process.
func (p *Process) PID() int { return p.command.Process.Pid }

// Running reports whether the present run has not ended.
func (p *Process) Running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// Ended is closed when the present run has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Err is how the present run has ended.
func (p *Process) Err() error {
	<-p.ended
	return p.err
}

// AwaitFailure waits until the program ends by itself, which must be with a failure and these words.
func (p *Process) AwaitFailure(ctx context.Context, words string) {
	p.T.Helper()
	ctx, cancel := context.WithTimeout(ctx, StartLimit)
	defer cancel()
	select {
	case <-p.ended:
		if exit, ok := errors.AsType[*exec.ExitError](p.err); !ok || exit.ExitCode() != 1 {
			p.T.Fatalf("%s ended with %v; want the exit status of a failure\n%s", p.Name, p.err, p.Log.Tail())
		}
		if !p.Log.Says(words) {
			p.T.Fatalf("%s ended and did not say %q\n%s", p.Name, words, p.Log.Tail())
		}
	case <-ctx.Done():
		p.T.Fatalf("%s does not end\n%s", p.Name, p.Log.Tail())
	}
}

// Await waits for a condition on the running program. It checks the condition less and less often, down to 50 times a
// second: the program may wait for the processor that a check keeps busy.
func (p *Process) Await(ctx context.Context, condition func() bool) {
	p.T.Helper()
	p.await(ctx, condition, 20*time.Millisecond)
}

// Catch waits for a condition that may hold for a moment only.
func (p *Process) Catch(ctx context.Context, condition func() bool) {
	p.T.Helper()
	p.await(ctx, condition, shortestPause)
}

// shortestPause is between two checks of a condition.
const shortestPause = 500 * time.Microsecond

func (p *Process) await(ctx context.Context, condition func() bool, longest time.Duration) {
	p.T.Helper()
	ctx, cancel := context.WithTimeout(ctx, StartLimit)
	defer cancel()
	pause := shortestPause
	next := time.NewTimer(pause)
	defer next.Stop()
	for !condition() {
		select {
		case <-next.C:
			pause = min(pause*9/8, longest)
			next.Reset(pause)
		case <-p.ended:
			p.T.Fatalf("%s ended by itself: %v\n%s", p.Name, p.err, p.Log.Tail())
		case <-ctx.Done():
			p.T.Fatalf("still waiting for %s\n%s", p.Name, p.Log.Tail())
		}
	}
}

// Kill ends the program at once, as kill -9 does.
func (p *Process) Kill() {
	p.T.Helper()
	if err := p.command.Process.Kill(); err != nil {
		p.T.Errorf("kill %s: %v", p.Name, err)
	}
	if p.Err() == nil {
		p.T.Errorf("%s had stopped by itself before it was killed", p.Name)
	}
}

// Stop asks the program to stop.
func (p *Process) Stop() {
	p.T.Helper()
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		p.T.Errorf("stop %s: %v", p.Name, err)
	}
}

// AwaitEnd waits until the program has stopped gracefully.
func (p *Process) AwaitEnd() {
	p.T.Helper()
	limit := time.NewTimer(StartLimit)
	defer limit.Stop()
	select {
	case <-p.ended:
		if p.err != nil {
			p.T.Errorf("a graceful stop of %s ended with %v\n%s", p.Name, p.err, p.Log.Tail())
		}
	case <-limit.C:
		p.T.Errorf("a graceful stop of %s took more than %s", p.Name, StartLimit)
		p.Kill()
	}
}

// PeakMemory is the most memory that the present run has had, in MiB; 0 where the system does not tell. What wait4
// reports would count the test's own memory.
func (p *Process) PeakMemory() (mib int) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kib int
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
			return kib >> 10
		}
	}
	return 0
}

// FreeAddress finds a port of this host below those that systems give to outgoing connections, which would else take it
// while the program does not run.
func FreeAddress(t testing.TB, random *rand.Rand) string {
	t.Helper()
	return ports.Free(t, random.IntN, 1)[0]
}

// PortRange finds successive ports of this host on which no program listens, for the option --port-range of an agent.
// They are below those of FreeAddress, and no other test has them as long as this one runs.
func PortRange(t testing.TB) string {
	t.Helper()
	const first, blocks, size = 10000, 100, 100
	for range blocks {
		at := first + size*rand.IntN(blocks)
		// The first port of a block shows other tests that it is in use.
		taken, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", at))
		if err != nil {
			continue
		}
		if !free(at+1, at+size-1) {
			_ = taken.Close()
			continue
		}
		t.Cleanup(func() { _ = taken.Close() })
		return fmt.Sprintf("%d-%d", at+1, at+size-1)
	}
	t.Fatal("no free ports")
	return ""
}

// free reports whether no program listens on ports.
func free(first, last int) bool {
	for port := first; port <= last; port++ {
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port))
		if err != nil {
			return false
		}
		_ = l.Close()
	}
	return true
}

// Variables reads the lines of a shell's environment: export NAME='value'.
func Variables(text string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		all[name] = strings.Trim(value, "'")
	}
	return all
}
