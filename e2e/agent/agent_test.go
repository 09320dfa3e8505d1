//go:build unix

package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/e2e/binary"
	"github.com/muster-gg/muster/e2e/child"
	"github.com/muster-gg/muster/mustertest"
)

var (
	binaries string
	build    = sync.OnceValues(func() (string, error) { return binary.Build(context.Background(), binaries) })
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == logGame {
		if err := runLogGame(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(func() int {
		var err error
		if binaries, err = os.MkdirTemp("", "muster-agent-"); err != nil {
			panic(err)
		}
		defer func() { _ = os.RemoveAll(binaries) }()
		return m.Run()
	}())
}

// A box is a machine with an agent.
type box struct {
	*mustertest.Service
	agent *child.Process
	fleet string
	data  string
	path  string // of muster, which is the game server, too
	ports string // of the game servers

	environ []string // of muster
}

func newBox(t *testing.T) *box {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	// Not the test's directory: its path would be too long for the sockets in it.
	data, err := os.MkdirTemp("", "m")
	if err != nil {
		t.Fatal(err)
	}
	b := &box{Service: mustertest.Start(t), data: data, path: path, ports: child.PortRange(t)}
	b.fleet = b.Fleet("custom-lab")
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_GAMELIFT": b.HTTP, "AWS_ACCESS_KEY_ID": b.AccessKey, "AWS_SECRET_ACCESS_KEY": b.SecretKey,
		"AWS_REGION": b.Region, "MUSTER_CA_FILE": b.CAFile, "AWS_EC2_METADATA_DISABLED": "true",
	} {
		b.environ = append(b.environ, name+"="+value)
	}
	b.agent = b.process("muster agent")
	t.Cleanup(func() {
		if b.agent.Running() {
			b.agent.Stop()
			b.agent.AwaitEnd()
		}
		_ = os.RemoveAll(data) // of the test alone
	})
	return b
}

// process returns a run of muster that does not run yet.
func (b *box) process(name string) *child.Process {
	p := child.New(b, name, b.path)
	p.Environ = b.environ
	return p
}

func (b *box) start(args ...string) {
	b.Helper()
	b.agent.Launch(append([]string{"agent", "-f", b.fleet, "-c", "box-1", "-r", b.Region, "-loc", "custom-lab",
		"-ip", "127.0.0.1", "-glc", "environment-variable", "--data", b.data, "--port-range", b.ports}, args...)...)
}

// entry is an entry with the sample game server of muster.
func (b *box) entry(count int32, parameters string) types.ServerProcess {
	parameters = strings.TrimSpace("sample-server -port={port} " + parameters) // a space would be an argument
	return types.ServerProcess{LaunchPath: &b.path, Parameters: &parameters, ConcurrentExecutions: &count}
}

func (b *box) configure(entries ...types.ServerProcess) {
	b.Helper()
	mustertest.Call(b, b.Client.UpdateRuntimeConfiguration, &gamelift.UpdateRuntimeConfigurationInput{
		FleetId: &b.fleet, RuntimeConfiguration: &types.RuntimeConfiguration{ServerProcesses: entries}})
}

// ready is how many processes are ready.
func (b *box) ready() int {
	b.Helper()
	out := mustertest.Call(b, b.Client.DescribeFleetUtilization,
		&gamelift.DescribeFleetUtilizationInput{FleetIds: []string{b.fleet}})
	return int(*out.FleetUtilization[0].ActiveServerProcessCount)
}

func (b *box) awaitReady(n int) {
	b.Helper()
	mustertest.Eventually(b, fmt.Sprint(n, " processes are ready"), func() bool { return b.ready() == n })
}

// processes returns the numbers of the game servers in the events of the agent's log.
func (b *box) processes(event string) (pids []string) {
	line := regexp.MustCompile(event + `" process=\S+ pid=(\d+)`)
	for _, m := range line.FindAllStringSubmatch(b.agent.Log.Tail(), -1) {
		pids = append(pids, m[1])
	}
	slices.Sort(pids)
	return pids
}

func (b *box) events(code types.EventCode) (n int) {
	b.Helper()
	out := mustertest.Call(b, b.Client.DescribeFleetEvents, &gamelift.DescribeFleetEventsInput{FleetId: &b.fleet})
	for _, e := range out.Events {
		if e.EventCode == code {
			n++
		}
	}
	return n
}

// TestRuntimeConfiguration: two entries; 2 becomes 4 becomes 1, while a game session goes on.
func TestRuntimeConfiguration(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.start()
	b.configure(b.entry(1, "-log"), b.entry(1, ""))
	b.awaitReady(2)
	session := mustertest.Call(t, b.Client.CreateGameSession, &gamelift.CreateGameSessionInput{FleetId: &b.fleet,
		Location: new("custom-lab"), MaximumPlayerSessionCount: new(int32(2))}).GameSession
	mustertest.Eventually(t, "the game session is active", func() bool {
		return mustertest.Call(t, b.Client.DescribeGameSessions, &gamelift.DescribeGameSessionsInput{
			GameSessionId: session.GameSessionId}).GameSessions[0].Status == types.GameSessionStatusActive
	})
	b.configure(b.entry(2, "-log"), b.entry(2, "")) // the counts differ: the processes that run hold vacancies
	b.awaitReady(4)
	if pids := b.processes("game server started"); len(pids) != 4 {
		t.Errorf("processes started: %v", pids)
	}
	b.configure(b.entry(1, ""))
	b.agent.Await(t.Context(), func() bool { return b.agent.Log.Says("agent connected") })
	if n := b.ready(); n != 4 {
		t.Errorf("after a reduction %d processes are ready", n)
	}
	b.agent.Stop()
	b.agent.AwaitEnd()
	if n := b.ready(); n != 0 {
		t.Errorf("after the agent %d processes are ready", n)
	}
	if n := b.events(types.EventCodeServerProcessCrashed); n != 0 {
		t.Errorf("%d crashes", n)
	}
}

// TestKilled: the agent is killed, and the service stops and starts, with game servers that all live on.
func TestKilled(t *testing.T) {
	t.Parallel()
	const n = 10
	b := newBox(t)
	b.configure(b.entry(n, "-log"))
	b.start()
	b.awaitReady(n)
	pids := b.processes("game server started")
	ports := regexp.MustCompile(`port=(\d+)`).FindAllString(b.agent.Log.Tail(), -1)
	slices.Sort(ports)
	if len(slices.Compact(ports)) != n {
		t.Errorf("the ports are %v", ports)
	}
	for range 3 {
		b.agent.Kill()
		for _, text := range pids {
			var pid int
			if _, err := fmt.Sscan(text, &pid); err != nil || syscall.Kill(pid, 0) != nil {
				t.Fatalf("game server %s does not live", text)
			}
		}
		began := time.Now()
		b.start()
		b.agent.Await(t.Context(), func() bool { return b.agent.Log.Says("agent connected") })
		t.Logf("adopted and connected after %s", time.Since(began))
		if adopted := slices.Compact(b.processes("game server adopted")); !slices.Equal(adopted, pids) {
			t.Errorf("adopted %v, want %v", adopted, pids)
		}
	}
	b.Service.Stop()
	b.Resume()
	b.agent.Await(t.Context(), func() bool { return b.agent.Log.Says("connected again") })
	b.awaitReady(n)
	if got := b.processes("game server started"); len(got) > n {
		t.Errorf("processes started: %v", got)
	}
	dirs, err := os.ReadDir(filepath.Join(b.data, "p"))
	if err != nil || len(dirs) != n {
		t.Errorf("%d directories: %v", len(dirs), err)
	}
	b.agent.Stop() // before the service: it asks the game servers to end
	b.agent.AwaitEnd()
}

// TestCrashes: an entry that crashes is started again with growing waits, and a missing file is reported.
func TestCrashes(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.configure(
		types.ServerProcess{LaunchPath: new("/bin/false"), ConcurrentExecutions: new(int32(1))},
		types.ServerProcess{LaunchPath: new("/local/game/none"), ConcurrentExecutions: new(int32(1))},
		b.entry(1, ""))
	b.start()
	b.awaitReady(1)
	mustertest.Eventually(t, "two crashes are reported", func() bool {
		return b.events(types.EventCodeServerProcessCrashed) >= 2 &&
			b.events(types.EventCodeServerProcessInvalidPath) >= 2
	})
	b.agent.Await(t.Context(), func() bool {
		return b.agent.Log.Says("game server crashed", "/bin/false", "crashes=2")
	})
	var waits []string
	for line := range strings.Lines(b.agent.Log.Tail()) {
		if strings.Contains(line, "/bin/false") && strings.Contains(line, "restart_in=") {
			waits = append(waits, regexp.MustCompile(`restart_in=(\S+)`).FindStringSubmatch(line)[1])
		}
	}
	for i, wait := range waits {
		got, err := time.ParseDuration(wait)
		if want := time.Second << i; err != nil || got < want*8/10 || got > want*12/10 {
			t.Errorf("wait %d is %s, want %s", i+1, wait, want)
		}
	}
}

// TestDeregistered: the agent ends its compute with the service's record of it.
func TestDeregistered(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.configure(b.entry(2, ""))
	b.start()
	b.awaitReady(2)
	mustertest.Call(t, b.Client.DeregisterCompute, &gamelift.DeregisterComputeInput{FleetId: &b.fleet,
		ComputeName: new("box-1")})
	b.agent.AwaitEnd()
	if !b.agent.Log.Says("agent terminated") || b.ready() != 0 {
		t.Errorf("%d processes are ready\n%s", b.ready(), b.agent.Log.Tail())
	}
}
