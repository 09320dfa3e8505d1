package figures

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/muster-gg/muster/e2e/browser"
	"github.com/muster-gg/muster/internal/control/access/hasher"
	"github.com/muster-gg/muster/internal/server"
)

// roleVariable names, in the environment, what a process of this test binary is
// to do instead of running tests.
const roleVariable = "FIGURES_ROLE"

// hashPasswords is the argument of a process that hashes passwords, as muster serve starts it.
const hashPasswords = "hash-passwords"

// A role is a program that hears orders as lines of JSON, answers each with a
// line, and ends when there are no more.
type role func(orders *json.Decoder, answer func(any) error) error

var roles = map[string]role{
	"service": serveMuster, "console": serveConsole, "bare": serveBare, "generator": generate,
	"node": serveNode, "gateway": serveGateway, "polling": servePolling, "callers": callGateways,
}

func TestMain(m *testing.M) {
	server.PaceCollector() // as muster serve does; the peers get the same
	if len(os.Args) > 1 && os.Args[1] == hashPasswords {
		_ = hasher.Serve(os.Stdin, os.Stdout)
		return
	}
	name := os.Getenv(roleVariable)
	if name == "" {
		status := m.Run()
		if err := browser.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = max(status, 1)
		}
		os.Exit(status)
	}
	if err := roles[name](json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout).Encode); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A player is a process that plays a role, so that what it spends is not mixed
// up with what the others spend.
type player struct {
	tb      testing.TB
	command *exec.Cmd
	orders  io.WriteCloser
	answers *bufio.Reader
}

// playLimit is how long a process may take to end after its last order.
const playLimit = 5 * time.Minute

// play starts a process in a role. It ends with tb, if not before.
func play(tb testing.TB, name string) *player {
	tb.Helper()
	program, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	p := &player{tb: tb, command: exec.Command(program)}
	p.command.Env = append(os.Environ(), roleVariable+"="+name)
	p.command.Stderr = os.Stderr
	p.orders, err = p.command.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	answers, err := p.command.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	p.answers = bufio.NewReader(answers)
	if err := p.command.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.end)
	return p
}

// order gives an order and reads the answer.
func (p *player) order(order, answer any) {
	p.tb.Helper()
	p.tell(order)
	p.hear(answer)
}

// tell gives an order, whose answer is to be heard.
func (p *player) tell(order any) {
	p.tb.Helper()
	line, err := json.Marshal(order)
	if err == nil {
		_, err = p.orders.Write(append(line, '\n'))
	}
	if err != nil {
		p.tb.Fatal(err)
	}
}

// hear reads the answer to an order.
func (p *player) hear(answer any) {
	p.tb.Helper()
	line, err := p.answers.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, answer)
	}
	if err != nil {
		p.tb.Fatal(err)
	}
}

// kill ends the process at once.
func (p *player) kill() {
	p.tb.Helper()
	if err := p.command.Process.Kill(); err != nil {
		p.tb.Error(err)
	}
	_ = p.command.Wait() // says that it was killed
}

// end ends the process and waits until it has tidied up.
func (p *player) end() {
	if p.command.ProcessState != nil {
		return
	}
	_ = p.orders.Close() // no more orders
	limit := time.AfterFunc(playLimit, func() { _ = p.command.Process.Kill() })
	defer limit.Stop()
	if err := p.command.Wait(); err != nil {
		p.tb.Errorf("a process of the measure: %v", err)
	}
}

// untilNoMore waits for the end of the orders of a role that has but one.
func untilNoMore(orders *json.Decoder) error {
	var none any
	if err := orders.Decode(&none); !errors.Is(err, io.EOF) {
		return fmt.Errorf("unexpected order %v: %w", none, err)
	}
	return nil
}
