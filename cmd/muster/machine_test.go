package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/mustertest"
)

// A cable is a TCP proxy whose connections a test can cut.
type cable struct {
	listener net.Listener
	to       string
	running  sync.WaitGroup

	mu   sync.Mutex
	ends map[net.Conn]bool // open
	down bool
}

func newCable(t *testing.T, to string) *cable {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{listener: listener, to: to, ends: map[net.Conn]bool{}}
	c.running.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			c.running.Go(func() { c.carry(from) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		c.cut()
		c.running.Wait()
	})
	return c
}

func (c *cable) carry(from net.Conn) {
	to, err := net.Dial("tcp", c.to)
	if err != nil || !c.plug(from, to) {
		_ = from.Close()
		if to != nil {
			_ = to.Close()
		}
		return
	}
	var copying sync.WaitGroup
	for _, ends := range [][2]net.Conn{{from, to}, {to, from}} {
		copying.Go(func() {
			_, _ = io.Copy(ends[0], ends[1])
			_, _ = ends[0].Close(), ends[1].Close()
		})
	}
	copying.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.ends, from)
	delete(c.ends, to)
}

func (c *cable) plug(ends ...net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, end := range ends {
		c.ends[end] = true
	}
	return !c.down
}

// cut closes all connections, and those to come.
func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = true
	for end := range c.ends {
		_ = end.Close()
	}
}

func (c *cable) mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = false
}

// An agentRun is "muster agent --machine" in this process.
type agentRun struct {
	stop   func()
	ended  chan struct{}
	status int // set when ended is closed, as are the messages
	stderr strings.Builder
}

func startAgent(t *testing.T, args ...string) *agentRun {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &agentRun{stop: cancel, ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		r.status = run(ctx, append([]string{"agent", "--machine"}, args...), nil, strings.NewReader(""), io.Discard,
			&r.stderr)
	}()
	t.Cleanup(func() {
		cancel()
		<-r.ended
	})
	return r
}

// want waits for the end of the agent.
func (r *agentRun) want(t *testing.T, status int, message string) {
	t.Helper()
	select {
	case <-r.ended:
	case <-time.After(mustertest.Patience):
		t.Fatal("the agent runs on")
	}
	if out := r.stderr.String(); r.status != status || !strings.Contains(out, message) {
		t.Errorf("the agent ended with %d: %s; want %d with %q", r.status, out, status, message)
	}
}

// TestMachine follows a machine from its token to its deletion, through a network that fails and a service that
// restarts.
func TestMachine(t *testing.T) {
	s := mustertest.Start(t)
	s.Fleet("custom-office")
	environ := rootEnviron(s)
	do := func(status int, line string, want ...string) string {
		t.Helper()
		r := execute(t, environ, strings.Fields(line)...)
		for _, text := range want {
			if r.status != status || !strings.Contains(r.stdout+r.stderr, text) {
				t.Errorf("%s: status %d, %s%s, want %d with %q", line, r.status, r.stdout, r.stderr, status, text)
			}
		}
		return r.stdout
	}
	is := func(status string, drained bool) func() bool {
		return func() bool {
			var list control.MachineList
			err := json.Unmarshal([]byte(do(exitOK, "machine list --json")), &list)
			if err != nil || len(list.Machines) != 1 {
				return false
			}
			m := list.Machines[0]
			return string(m.Status) == status && m.Drained == drained &&
				(status != "ONLINE" || m.Acting == m.Generation)
		}
	}
	token := writeFile(t, "token", do(exitOK, "machine token create --location custom-office --ttl 1h"))
	do(exitOK, "machine token list", "mt-", "custom-office")
	data, network := filepath.Join(t.TempDir(), "box"), newCable(t, strings.TrimPrefix(s.HTTP, "http://"))
	args := []string{"--service", "http://" + network.listener.Addr().String(), "--name", "box-1", "--data", data,
		"--cpus", "1.5", "--memory", "2048", "--port-range", "20000-20099", "--dns", "box.example.com"}

	args = args[:len(args):len(args)] // so that append copies
	startAgent(t, append(args, "--token-file", token, "--location", s.Region)...).
		want(t, exitFailure, "not for location "+s.Region)
	agent := startAgent(t, append(args, "--token-file", token)...)
	mustertest.Eventually(t, "the machine is online", is("ONLINE", false))
	do(exitOK, "get machines -o wide", "box-1", "custom-office", "20000-20099", "box.example.com", "1.5", "2048")
	if list := do(exitOK, "machine token list", "EXPIRES"); strings.Contains(list, "mt-") {
		t.Errorf("the token was not used up: %s", list)
	}

	for name, want := range map[string]string{"box-1": "joined with another key", "box-2": "token is not valid"} {
		startAgent(t, "--service", s.HTTP, "--token-file", token, "--memory", "1024", "--name", name, "--data",
			t.TempDir()).want(t, exitFailure, want)
	}

	do(exitFailure, "machine delete box-1", "neither drained nor lost")
	do(exitOK, "machine drain box-1", "Machine box-1 is drained.")
	mustertest.Eventually(t, "the machine acts on the drain", is("ONLINE", true))
	network.cut()
	mustertest.Eventually(t, "the cut is seen", is("RECONNECTING", true))
	do(exitOK, "machine undrain box-1", "not drained any more")
	network.mend()
	mustertest.Eventually(t, "the machine is back, with the state of now", is("ONLINE", false))
	s.Stop()
	s.Resume()
	mustertest.Eventually(t, "the machine finds the restarted service", is("ONLINE", false))
	agent.stop()
	agent.want(t, exitOK, "not connected")
	if err := os.Remove(token); err != nil { // it is not needed any more
		t.Fatal(err)
	}
	agent = startAgent(t, append(args, "--token-file", token)...)
	mustertest.Eventually(t, "the restarted agent is online", is("ONLINE", false))
	do(exitOK, "machine drain box-1", "is drained")
	do(exitOK, "machine delete box-1", "Deleted machine box-1.")
	agent.want(t, exitFailure, "was deleted")
	do(exitFailure, "machine drain box-1", "NotFoundException")
	do(exitOK, "machine list", "LAST REPORT")
	another := do(exitOK, "machine token create --location custom-office")
	if err := os.WriteFile(token, []byte(another), 0o600); err != nil {
		t.Fatal(err)
	}
	startAgent(t, append(args, "--token-file", token)...)
	mustertest.Eventually(t, "the deleted machine has joined again", is("ONLINE", false))
}

// TestContinuing: draining prints what a machine still runs.
func TestContinuing(t *testing.T) {
	for want, m := range map[string]control.MachineRow{
		"": {Drained: true},
		" Until they end, these continue: 1 instance with 2 game sessions.": {Drained: true, Instances: 1,
			GameSessions: new(2)},
		" Until they end, these continue: 2 instances.": {Drained: true, Instances: 2},
	} {
		if got := continuing(&m); got != want {
			t.Errorf("%+v: %q, want %q", m, got, want)
		}
	}
	if got := continuing(&control.MachineRow{Instances: 1}); got != "" {
		t.Errorf("of a machine that is not drained: %q", got)
	}
}

func TestMachineTokenCommands(t *testing.T) {
	s := mustertest.Start(t)
	for line, want := range map[string]string{
		"machine token create":                                    `required flag(s) "location" not set`,
		"machine token create --location nowhere":                 "location must be a custom location",
		"machine token create --location custom-no":               "Location custom-no not found",
		"machine token create --location us-west-2 --ttl 31d":     "within the next 30 days",
		"machine token create --location us-west-2 --ttl 10ms":    "--ttl must be at least 1s",
		"machine token revoke mt-1":                               "There is no join token mt-1",
		"machine list --status GONE":                              "status must be",
		"agent --name box-1":                                      "--name needs --machine",
		"agent --machine --fleet-id fleet-1":                      "--fleet-id has no effect with --machine",
		"agent --machine":                                         "give --service",
		"agent --machine --service ws://x --port-range 9-1":       "--port-range",
		"agent --machine --service ws://x --cpus 5000":            "--cpus",
		"agent --machine --service ws://x --memory -1":            "--memory",
		"agent --machine --service ws://x --ip box":               "--ip",
		"agent --machine --service x --memory 1 --data /dev/null": "must be a URL",
	} {
		r := execute(t, rootEnviron(s), strings.Fields(line)...)
		if r.status == exitOK || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: status %d, %s, want %q", line, r.status, r.stderr, want)
		}
	}
	made := execute(t, rootEnviron(s), "machine", "token", "create", "--location", s.Region, "--json")
	var token control.MachineTokenCreated
	if err := json.Unmarshal([]byte(made.stdout), &token); err != nil || token.Location != s.Region {
		t.Fatalf("%+v, %v", made, err)
	}
	r := execute(t, rootEnviron(s), "machine", "token", "revoke", token.ID)
	if r.status != exitOK || !strings.Contains(r.stdout, token.ID) {
		t.Errorf("revoke: %+v", r)
	}
}
