// Package main_test runs the program as people do: a host and a searcher, each a
// process.
package main_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// patience is how long the test waits for what must happen.
const patience = 60 * time.Second

// program is the compiled program.
var program string

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "lan")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program = filepath.Join(dir, "lan")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("go build: %w\n%s", err, out)
	}
	return m.Run(), nil
}

// start runs a command until the test ends and returns the lines of its output.
func start(t *testing.T, command ...string) <-chan string {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines, read := make(chan string, 16), make(chan struct{})
	go func() {
		defer close(read)
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-read
		_ = cmd.Wait() // killed, usually
		if said.Len() > 0 {
			t.Logf("%v said on its standard error:\n%s", command, &said)
		}
	})
	return lines
}

// next is the next line; "" at the end.
func next(t *testing.T, lines <-chan string) string {
	t.Helper()
	select {
	case line := <-lines:
		return line
	case <-time.After(patience):
		t.Fatal("the program prints nothing more")
		panic("unreachable")
	}
}

// expect checks the next lines, which are regular expressions.
func expect(t *testing.T, lines <-chan string, want ...string) {
	t.Helper()
	for _, w := range want {
		line := next(t, lines)
		if !regexp.MustCompile("^" + w + "$").MatchString(line) {
			t.Fatalf("the program printed %q, want %q", line, w)
		}
	}
}

// What a searcher prints.
const (
	found  = `found %s at %s after [0-9.]+m?s, ping [0-9.]+(ms|µs|ns)`
	joined = "joined, the host says hello"
)

// expectFound checks what a searcher prints. On a slow machine a search may be over
// before the host has noticed a new link: then there is another one.
func expectFound(t *testing.T, name, address string, command ...string) {
	t.Helper()
	for range 5 {
		lines := start(t, command...)
		line := next(t, lines)
		if line == "" {
			continue
		}
		if !regexp.MustCompile("^" + fmt.Sprintf(found, name, address) + "$").MatchString(line) {
			t.Fatalf("the searcher printed %q, want %s at %s", line, name, address)
		}
		t.Log(line)
		expect(t, lines, joined, "")
		return
	}
	t.Fatal("five searches found nothing")
}

func TestTwoProcesses(t *testing.T) {
	port := strconv.Itoa(20_000 + rand.IntN(12_000)) // below those that systems give away
	host := start(t, program, "-port", port, "-host", "Friday")
	expect(t, host, `hosting Friday at \S+`)
	expectFound(t, "Friday", `\S+`, program, "-port", port)
	expect(t, start(t, program, "-port", port, "-host", "Saturday"), `hosting Saturday at \S+`)
	expectFound(t, "(Friday|Saturday)", `\S+`, program, "-port", port)
}

func TestMisuse(t *testing.T) {
	for _, args := range [][]string{{"-port", "-1"}, {"-port", "70000", "-host", "x"}, {"-unknown"}} {
		if out, err := exec.Command(program, args...).CombinedOutput(); err == nil || len(out) == 0 {
			t.Errorf("%q ends with %v and says %q", args, err, out)
		}
	}
}
