//go:build unix

package crash

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// startLimit is how long a service may take to be ready.
const startLimit = 60 * time.Second

// A service is the binary with its data directory and its address, over all its
// runs.
type service struct {
	t       *testing.T
	binary  string
	data    string
	address string
	options []string
	command *exec.Cmd     // of the present run
	ended   chan error    // gives the end of the present run
	log     *logFile      // of all runs
	read    chan struct{} // closed when the present run's log has been read
	stopped bool
}

func newService(t *testing.T, random *rand.Rand, options []string) *service {
	binary, err := build()
	if err != nil {
		t.Fatal(err)
	}
	s := &service{t: t, binary: binary, data: filepath.Join(t.TempDir(), "data"), address: freeAddress(t, random), options: options, log: &logFile{}, stopped: true}
	t.Cleanup(func() {
		if !s.stopped {
			s.kill()
		}
		if t.Failed() {
			t.Logf("the end of the service's log:\n%s", s.log.tail())
		}
	})
	return s
}

// freeAddress finds a port below those that systems give to outgoing
// connections, which would else take it while the service is down.
func freeAddress(t *testing.T, random *rand.Rand) string {
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20000+random.IntN(10000)))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("no free port")
	return ""
}

// start runs the service and returns when it is ready, and how long that took.
func (s *service) start(ctx context.Context) time.Duration {
	s.t.Helper()
	ready := filepath.Join(s.data, "muster.env")
	if err := os.Remove(ready); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err) // a killed run leaves it
	}
	begin := time.Now()
	s.launch()
	s.await(ctx, func() bool { _, err := os.Stat(ready); return err == nil })
	return time.Since(begin)
}

// refuse runs the service, which must not start but say these words.
func (s *service) refuse(ctx context.Context, words string) {
	s.t.Helper()
	s.launch()
	s.awaitFailure(ctx, words)
}

// launch runs the service.
func (s *service) launch() {
	s.t.Helper()
	s.command = exec.Command(s.binary, append([]string{"dev", "--no-sample", "--data", s.data, "--listen", s.address, "--gateway-listen", ""}, s.options...)...)
	stderr, err := s.command.StderrPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	s.log.begin()
	if err := s.command.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.stopped, s.read, s.ended = false, make(chan struct{}), make(chan error, 1)
	go func(command *exec.Cmd, read chan struct{}, ended chan error) {
		s.log.follow(stderr)
		close(read)
		ended <- command.Wait()
	}(s.command, s.read, s.ended)
}

// awaitFailure waits until the service ends by itself, which must be with a
// failure and these words.
func (s *service) awaitFailure(ctx context.Context, words string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	select {
	case err := <-s.ended:
		s.stopped = true
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 {
			s.t.Fatalf("the service ended with %v; want the exit status of a failure\n%s", err, s.log.tail())
		}
		if !s.log.says(words) {
			s.t.Fatalf("the service ended and did not say %q\n%s", words, s.log.tail())
		}
	case <-ctx.Done():
		s.t.Fatalf("the service does not end\n%s", s.log.tail())
	}
}

// await waits for a condition on the running service.
func (s *service) await(ctx context.Context, condition func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	tick := time.NewTicker(500 * time.Microsecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case err := <-s.ended:
			s.stopped = true
			s.t.Fatalf("the service ended by itself: %v\n%s", err, s.log.tail())
		case <-ctx.Done():
			s.t.Fatalf("still waiting for the service\n%s", s.log.tail())
		}
	}
}

// environment reads what the service says about itself.
func (s *service) environment() map[string]string {
	text, err := os.ReadFile(filepath.Join(s.data, "muster.env"))
	if err != nil {
		s.t.Fatal(err)
	}
	variables := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		variables[name] = strings.Trim(value, "'")
	}
	return variables
}

// kill ends the service at once, as kill -9 does.
func (s *service) kill() {
	s.t.Helper()
	if err := s.command.Process.Kill(); err != nil {
		s.t.Errorf("kill: %v", err)
	}
	if err := <-s.ended; err == nil {
		s.t.Error("the service had stopped by itself before it was killed")
	}
	s.stopped = true
}

// signal asks the service to stop.
func (s *service) signal() {
	s.t.Helper()
	if err := s.command.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Errorf("stop: %v", err)
	}
}

// awaitEnd waits until the service has stopped gracefully.
func (s *service) awaitEnd() {
	s.t.Helper()
	select {
	case err := <-s.ended:
		if err != nil {
			s.t.Errorf("a graceful stop ended with %v\n%s", err, s.log.tail())
		}
		s.stopped = true
	case <-time.After(startLimit):
		s.t.Errorf("a graceful stop took more than %s", startLimit)
		s.kill()
	}
	if _, err := os.Stat(filepath.Join(s.data, "muster.env")); !errors.Is(err, fs.ErrNotExist) {
		s.t.Errorf("muster.env after a graceful stop: %v; want none", err)
	}
}

// peakMemory is the most memory that the present run has had, in MiB; 0 where the
// system does not tell. What wait4 reports would count this test's own memory.
func (s *service) peakMemory() (mib int) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.command.Process.Pid))
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

// snapshotWritten is what a shard logs when a snapshot is whole.
const snapshotWritten = "a snapshot was written"

// killInSnapshot waits until the one shard writes a snapshot and kills the
// service then. It reports whether that cut the snapshot short.
func (s *service) killInSnapshot(ctx context.Context) (cut bool) {
	s.t.Helper()
	const snapshots = "OBJ_*"
	whole, before := s.log.snapshotsWritten(), s.files(snapshots)
	s.await(ctx, func() bool {
		if n := s.log.snapshotsWritten(); n != whole { // too late for that one
			whole, before = n, s.files(snapshots)
		}
		return s.files(snapshots) != before
	})
	s.kill()
	return s.log.snapshotsWritten() == whole
}

// killInArchiving waits until game sessions that are over move to the history,
// and kills the service then.
func (s *service) killInArchiving(ctx context.Context) {
	s.t.Helper()
	const history = "MUSTER_HISTORY"
	before := s.files(history)
	s.await(ctx, func() bool { return s.files(history) != before })
	s.kill()
}

// files describes the files of the journal's streams with such a name.
func (s *service) files(stream string) string {
	blocks, err := filepath.Glob(filepath.Join(s.data, "journal", "jetstream", "*", "streams", stream, "msgs", "*.blk"))
	if err != nil {
		s.t.Fatal(err)
	}
	var description strings.Builder
	for _, block := range blocks {
		if info, err := os.Stat(block); err == nil {
			fmt.Fprintln(&description, block, info.Size())
		}
	}
	return description.String()
}

// logFile keeps the end of a log, and counts what it says.
type logFile struct {
	mu        sync.Mutex
	lines     []string
	snapshots int
	present   []string // all of the present run
}

// begin begins the log of another run.
func (l *logFile) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.present = nil
}

// says reports whether a line of the present run has all these words.
func (l *logFile) says(words ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.present, func(line string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) })
	})
}

func (l *logFile) follow(r io.Reader) {
	for scanner := bufio.NewScanner(r); scanner.Scan(); {
		l.add(scanner.Text())
	}
}

func (l *logFile) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if strings.Contains(line, snapshotWritten) {
		l.snapshots++
	}
	l.present = append(l.present, line)
	const most = 300
	if l.lines = append(l.lines, line); len(l.lines) > 2*most {
		l.lines = append([]string(nil), l.lines[most:]...)
	}
}

func (l *logFile) snapshotsWritten() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.snapshots
}

func (l *logFile) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}
