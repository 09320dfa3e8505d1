// Package echo_test runs the echo server and its client as people do.
package echo_test

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

// patience is how long the test waits for what must happen.
const patience = 20 * time.Second

// A process is one of the two programs.
type process struct {
	cmd   *exec.Cmd
	lines chan string // of its standard output; closed at its end
}

// start runs a program until the test ends.
func start(t *testing.T, program string, args ...string) *process {
	t.Helper()
	p := &process{exec.Command(program, args...), make(chan string, 1024)}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	p.cmd.Stderr = &said
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(p.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		<-read
		_ = p.cmd.Wait() // killed, usually
		if t.Failed() && said.Len() > 0 {
			t.Logf("%s said on its standard error:\n%s", filepath.Base(program), &said)
		}
	})
	return p
}

// next is the next line; "" at the end.
func (p *process) next(t *testing.T) string {
	t.Helper()
	select {
	case line := <-p.lines:
		return line
	case <-time.After(patience):
		t.Fatalf("%s prints nothing more", p.cmd.Path)
		panic("unreachable")
	}
}

// expect checks the next lines, which are regular expressions.
func (p *process) expect(t *testing.T, want ...string) {
	t.Helper()
	for _, w := range want {
		if line := p.next(t); !regexp.MustCompile("^" + w + "$").MatchString(line) {
			t.Fatalf("%s printed %q, want %q", filepath.Base(p.cmd.Path), line, w)
		}
	}
}

// expectEcho checks the two lines of one greeting: writing and reading are not one
// goroutine's, so a quick server may be noticed first.
func (p *process) expectEcho(t *testing.T) {
	t.Helper()
	const send, receive = "OnSend Len = 12", "OnRecv Len = 12"
	if a, b := p.next(t), p.next(t); a+b != send+receive && a+b != receive+send {
		t.Fatalf("the client printed %q, %q", a, b)
	}
}

// expectEnd checks the next line that is not about a greeting: on a slow machine
// there may be one more of them.
func (p *process) expectEnd(t *testing.T, want string) {
	t.Helper()
	line := p.next(t)
	for strings.HasPrefix(line, "OnSend") || strings.HasPrefix(line, "OnRecv") {
		line = p.next(t)
	}
	if !regexp.MustCompile("^" + want + "$").MatchString(line) {
		t.Fatalf("%s printed %q, want %q", filepath.Base(p.cmd.Path), line, want)
	}
}

// kill ends the process as kill -9 does.
func (p *process) kill(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
}

// build compiles both programs.
func build(t *testing.T) (server, client string) {
	t.Helper()
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "./server", "./client")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	suffix := ""
	if runtime.GOOS == "windows" {
		suffix = ".exe"
	}
	return filepath.Join(dir, "server"+suffix), filepath.Join(dir, "client"+suffix)
}

// listen starts a server and finds its address.
func listen(t *testing.T, program string, args ...string) (p *process, address string) {
	t.Helper()
	p = start(t, program, append([]string{"-address", "127.0.0.1:0"}, args...)...)
	address, found := strings.CutPrefix(p.next(t), "Listening on ")
	if !found {
		t.Fatal("the server does not say where it listens")
	}
	return p, address
}

const greeted = "Connected To Server"

func TestEcho(t *testing.T) {
	serverProgram, clientProgram := build(t)
	server, address := listen(t, serverProgram)

	first := start(t, clientProgram, "-address", address)
	first.expect(t, greeted)
	for range 2 {
		first.expectEcho(t)
		server.expect(t, "OnRecv Len = 12", "OnSend Len = 12")
	}

	first.kill(t)
	server.expectEnd(t, `OnDisconnected: gamenet: .+; 0 sessions left`)

	second := start(t, clientProgram, "-address", address)
	second.expect(t, greeted)
	second.expectEcho(t)
	server.expect(t, "OnRecv Len = 12", "OnSend Len = 12")
	server.kill(t)
	second.expectEnd(t, "Disconnected")
	second.expect(t, "") // it said so once, and ended by itself
}

func TestSessions(t *testing.T) {
	serverProgram, clientProgram := build(t)
	server, address := listen(t, serverProgram, "-max", "3")
	client := start(t, clientProgram, "-address", address, "-sessions", "3")
	printed := map[string]int{}
	for printed[greeted] < 3 || printed["OnSend Len = 12"] < 3 || printed["OnRecv Len = 12"] < 3 {
		line := client.next(t)
		if printed[line]++; line == "" || line == "Disconnected" {
			t.Fatalf("three sessions printed %v", printed)
		}
	}
	refused := start(t, clientProgram, "-address", address)
	for line := refused.next(t); line != "Disconnected"; line = refused.next(t) {
		if line != greeted && line != "OnSend Len = 12" { // it may have sent before it was refused
			t.Fatalf("the fourth session printed %q", line)
		}
	}
	server.kill(t)
	left := 0
	for line := client.next(t); line != ""; line = client.next(t) {
		if line == "Disconnected" {
			left++
		}
	}
	if left != 3 {
		t.Errorf("%d sessions were disconnected, want 3", left)
	}
}

func TestMisuse(t *testing.T) {
	serverProgram, clientProgram := build(t)
	for _, c := range [][]string{
		{serverProgram, "-max", "-1"}, {serverProgram, "-address", "nowhere"}, {clientProgram, "-sessions", "-1"},
		{clientProgram, "-unknown"},
	} {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err == nil || len(out) == 0 {
			t.Errorf("%q ends with %v and says %q", c[1:], err, out)
		}
	}
}
