//go:build unix

package supervisor

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/agent/plan"
)

// TestMain is also the supervisors and the game servers of the tests.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 2 && os.Args[1] == "supervise":
		if Supervise(os.Args[2], os.Stdin, os.Stdout) != nil {
			os.Exit(1)
		}
	case len(os.Args) > 1 && os.Args[1] == "game":
		game(os.Args[2:])
	default:
		os.Exit(m.Run())
	}
}

// game is a game server: it prints what it is given, listens for lines on a TCP port, and exits with a code.
func game(args []string) {
	fmt.Println("started", strings.Join(args, "|"), os.Getenv("GAME"))
	fmt.Fprintln(os.Stderr, "to stderr")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println("port", l.Addr())
	for {
		conn, err := l.Accept()
		if err != nil {
			panic(err)
		}
		lines := bufio.NewScanner(conn)
		for lines.Scan() {
			var code int
			if n, _ := fmt.Sscanf(lines.Text(), "exit %d", &code); n == 1 {
				os.Exit(code)
			}
			fmt.Println(lines.Text())
			fmt.Fprintln(conn, "ok")
		}
	}
}

func command(dir string) *exec.Cmd { return exec.Command(os.Args[0], "supervise", dir) }

var record = Record{ID: "p-1", Fleet: "fleet-1", Compute: "box-1", Entry: plan.Entry{LaunchPath: "/s", Count: 2},
	Port: 20000, Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}

// A server is a game server under test.
type server struct {
	*testing.T
	*Process
}

func launch(t *testing.T) *server {
	t.Helper()
	return launchSpec(t, Spec{Program: os.Args[0], Args: []string{"game", "a", ""}, Dir: "/",
		Env: []string{"GAME=arena"}})
}

func launchSpec(t *testing.T, spec Spec) *server {
	t.Helper()
	dir, err := os.MkdirTemp("", "m") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p, err := Start(filepath.Join(dir, "p"), record, spec, command(filepath.Join(dir, "p")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(p.PID, syscall.SIGKILL) })
	return &server{t, p}
}

// await waits for a line of the output, and returns what follows prefix.
func (s *server) await(prefix string) string {
	s.Helper()
	for range 2000 {
		for _, line := range Tail(s.Dir, 100) {
			if _, text, _ := strings.Cut(line, " "); strings.HasPrefix(text, prefix) {
				return strings.TrimPrefix(text, prefix)
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	s.Fatalf("no line %q in %q", prefix, Tail(s.Dir, 100))
	return ""
}

// send sends a line to the game server.
func (s *server) send(line string) {
	s.Helper()
	conn, err := net.Dial("tcp", s.await("out port "))
	if err != nil {
		s.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintln(conn, line)
	_, _ = conn.Read(make([]byte, 8)) // the game server has it, or has ended
}

func (s *server) wait() Exit {
	s.Helper()
	exit, err := s.Wait()
	if err != nil {
		s.Fatal(err)
	}
	return exit
}

func TestExit(t *testing.T) {
	s := launch(t)
	s.await("out started a| arena")
	s.await("err to stderr")
	s.send("exit 7")
	if exit := s.wait(); exit.Code != 7 {
		t.Errorf("the exit is %+v", exit)
	}
	found, err := Find(s.Dir)
	if err != nil || found.Running != nil || found.Exit.Code != 7 || found.Record != record || found.Reported {
		t.Errorf("found %+v, %v", found, err)
	}
	if err := Reported(s.Dir); err != nil {
		t.Fatal(err)
	}
	if found, err = Find(s.Dir); err != nil || !found.Reported || found.Record.Port != 20000 {
		t.Errorf("found %+v, %v", found, err)
	}
}

// TestExitBeforeConnect: the supervisor has ended when the agent receives its answer.
func TestExitBeforeConnect(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "p")
	late := exec.Command("/bin/sh", "-c", `answer=$("$@"); echo "$answer"`, "sh", os.Args[0], "supervise", dir)
	p, err := Start(dir, record, Spec{Program: "/bin/sh", Args: []string{"-c", "echo failed; exit 3"}, Dir: "/"}, late)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(true); err == nil {
		t.Error("a signal was sent")
	}
	if exit, err := p.Wait(); err != nil || exit.Code != 3 || p.PID == 0 {
		t.Errorf("the exit of process %d is %+v, %v", p.PID, exit, err)
	}
	if lines := Tail(dir, 1); len(lines) != 1 || !strings.HasSuffix(lines[0], " out failed") {
		t.Errorf("the output is %q", lines)
	}
}

func TestSignals(t *testing.T) {
	for kill, want := range map[bool]int{false: -int(syscall.SIGTERM), true: -int(syscall.SIGKILL)} {
		s := launch(t)
		s.await("out port ")
		if err := s.Signal(kill); err != nil {
			t.Fatal(err)
		}
		if exit := s.wait(); exit.Code != want {
			t.Errorf("kill %v: the exit is %+v", kill, exit)
		}
	}
}

// TestAdopt: the game server and its output go on without an agent.
func TestAdopt(t *testing.T) {
	s := launch(t)
	s.Detach()
	if _, err := s.Wait(); !errors.Is(err, ErrDetached) {
		t.Errorf("Wait after Detach: %v", err)
	}
	s.send("in the gap")
	found, err := Find(s.Dir)
	if err != nil || found.Running == nil || found.Running.PID != s.PID || found.Record != record {
		t.Fatalf("found %+v, %v", found, err)
	}
	s.await("out in the gap")
	s.send("exit 0")
	if exit, err := found.Running.Wait(); err != nil || exit.Code != 0 {
		t.Errorf("the exit is %+v, %v", exit, err)
	}
}

// TestSupervisorKilled: the game server does not run on unseen.
func TestSupervisorKilled(t *testing.T) {
	s := launch(t)
	s.await("out port ")
	parent, err := exec.Command("ps", "-o", "ppid=", "-p", fmt.Sprint(s.PID)).Output()
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(string(parent), &pid); err != nil || pid == os.Getpid() {
		t.Fatalf("the parent is %q", parent)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if exit := s.wait(); exit.Code != -1 {
		t.Errorf("the exit is %+v", exit)
	}
	for range 1000 {
		if syscall.Kill(-s.PID, 0) != nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Error("the game server runs on")
}

func TestStartErrors(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "p")
	_, err := Start(dir, record, Spec{Program: "/does/not/exist", Dir: "/"}, command(dir))
	if _, ok := errors.AsType[*StartError](err); !ok {
		t.Errorf("a missing program: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory is left: %v", err)
	}
	if _, err := Find(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Find: %v", err)
	}
}

// TestAbandoned: a supervisor that starts too late starts nothing.
func TestAbandoned(t *testing.T) {
	dir := t.TempDir()
	if err := writeJSON(dir, recordFile, record); err != nil {
		t.Fatal(err)
	}
	found, err := Find(dir)
	if err != nil || found.Running != nil || found.Exit.Code != -1 {
		t.Fatalf("found %+v, %v", found, err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	err = Supervise(dir, strings.NewReader(`{"Program":"`+os.Args[0]+`"}`), w)
	answer, _ := io.ReadAll(r)
	if err == nil || !bytes.Contains(answer, []byte("given this process up")) {
		t.Errorf("Supervise: %v, %s", err, answer)
	}
}

func TestOutput(t *testing.T) {
	dir := t.TempDir()
	o := newOutput(dir, func() time.Time { return record.Started })
	var text bytes.Buffer
	text.WriteString(strings.Repeat("x", maxLine+10) + "\nafter\r\n\nlast without newline")
	o.copyLines("out", &text)
	tail := Tail(dir, 3)
	const at = "2026-01-02T03:04:05.000000Z "
	want := []string{at + "out after", at + "out ", at + "out last without newline"}
	if !slices.Equal(tail, want) {
		t.Errorf("the tail is %q", tail)
	}
	newest, before := outputPaths(dir)
	data, err := os.ReadFile(newest)
	if err != nil || !bytes.Contains(data, []byte("xxx [truncated]\n")) {
		t.Errorf("a long line is not marked: %v", err)
	}
	for i := range 2*maxOutput/(maxLine/2) + 1 {
		o.copyLines("err", strings.NewReader(fmt.Sprintf("%0*d\n", maxLine/2, i)))
	}
	o.close()
	for _, path := range []string{newest, before} {
		if info, err := os.Stat(path); err != nil || info.Size() > maxOutput+maxLine {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	o.copyLines("out", strings.NewReader("lost 1\nlost 2\n"))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	o.copyLines("out", strings.NewReader("back\n"))
	if tail := Tail(dir, 3); !slices.Equal(tail, []string{at + "err [2 lines lost]", at + "out back"}) {
		t.Errorf("after a failure: %q", tail)
	}
	o.close()
}
