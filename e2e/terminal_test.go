//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminalLimit is how long something in a terminal may take: it may have to build muster on a busy machine.
const terminalLimit = 5 * time.Minute

// A terminal runs an interactive bash. It closes with its test.
type terminal struct {
	*testing.T
	name  string
	pty   *os.File
	block int  // where the output of the last block of commands begins
	seen  int  // where output begins that was not awaited yet
	busy  bool // a program runs

	mu      sync.Mutex
	printed string
	changed chan struct{} // closed when printed is longer, or bash has ended
}

// prompt is printed when bash reads the next command, with the exit status of the last one.
var prompt = regexp.MustCompile(`<status (\d+)>\n`)

func openTerminal(t *testing.T, name string, environ []string) *terminal {
	t.Helper()
	pty, end, err := openPTY()
	if err != nil {
		t.Fatal("no terminal: ", err)
	}
	command := exec.Command("bash", "--norc", "--noprofile", "--noediting", "-i")
	command.Dir = ".."
	command.Env = append(os.Environ(), "PS1=<status $?>\n", "PS2=", "HISTFILE=/dev/null", "TERM=dumb", "AWS_PAGER=")
	command.Env = append(command.Env, environ...)
	command.Stdin, command.Stdout, command.Stderr = end, end, end
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := errors.Join(command.Start(), end.Close()); err != nil {
		t.Fatal(err)
	}
	term := &terminal{T: t, name: name, pty: pty, busy: true, changed: make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		term.read()
		_ = command.Wait() // a hangup ends it
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(command.Process.Pid, syscall.SIGHUP) // which bash sends to its jobs
		select {
		case <-ended:
		case <-time.After(terminalLimit):
			t.Error("the terminal does not close")
		}
		_ = pty.Close()
		if t.Failed() {
			t.Logf("the %s terminal printed\n%s", name, term.since(0))
		}
	})
	return term
}

// openPTY opens a pseudo-terminal that does not echo: the terminal, and the end that programs have.
// Source: pts(4), ioctl_tty(2).
func openPTY() (pty, end *os.File, err error) {
	if pty, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	if err := unix.IoctlSetPointerInt(int(pty.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, err
	}
	number, err := unix.IoctlGetInt(int(pty.Fd()), unix.TIOCGPTN)
	if err != nil {
		return nil, nil, err
	}
	if end, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	settings, err := unix.IoctlGetTermios(int(end.Fd()), unix.TCGETS)
	if err != nil {
		return nil, nil, err
	}
	settings.Lflag &^= unix.ECHO
	settings.Oflag &^= unix.OPOST // no \r
	return pty, end, unix.IoctlSetTermios(int(end.Fd()), unix.TCSETS, settings)
}

// read collects what is printed until bash has ended.
func (t *terminal) read() {
	buffer := make([]byte, 4096)
	for {
		n, err := t.pty.Read(buffer)
		t.mu.Lock()
		t.printed += string(buffer[:n])
		close(t.changed)
		t.changed = make(chan struct{})
		t.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// since returns what was printed from a place on.
func (t *terminal) since(place int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.printed[place:]
}

// await waits until something is printed, and returns what was found, with its parts.
func (t *terminal) await(pattern *regexp.Regexp) []string {
	t.Helper()
	limit := time.NewTimer(terminalLimit)
	defer limit.Stop()
	for {
		t.mu.Lock()
		printed, changed := t.printed[t.seen:], t.changed
		t.mu.Unlock()
		if m := pattern.FindStringSubmatchIndex(printed); m != nil {
			t.seen += m[1]
			return pattern.FindStringSubmatch(printed)
		}
		select {
		case <-changed:
		case <-limit.C:
			t.Fatalf("the %s terminal does not print %s", t.name, pattern)
		}
	}
}

// awaitPrompt waits until bash reads a command, and returns the exit status of the last one.
func (t *terminal) awaitPrompt() (status string) {
	t.Helper()
	status = t.await(prompt)[1]
	t.busy = false
	return status
}

func (t *terminal) write(text string) {
	t.Helper()
	if _, err := t.pty.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// run types commands, each when the one before has succeeded. The last one goes on if it keeps the terminal.
func (t *terminal) run(commands string, keeps bool) {
	t.Helper()
	if t.busy { // with a program that ends, or bash starts
		t.awaitPrompt()
	}
	t.block = t.seen
	lines := strings.Split(strings.TrimSuffix(commands, "\n"), "\n")
	for i, line := range lines {
		t.write(line + "\n")
		if strings.HasSuffix(line, `\`) {
			continue // with the next line
		}
		if t.busy = keeps && i == len(lines)-1; t.busy {
			return
		}
		if status := t.awaitPrompt(); status != "0" {
			t.Fatalf("%s\nended with status %s:\n%s", line, status, t.since(t.block))
		}
	}
}
