//go:build unix

package managed

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/e2e/binary"
	"github.com/muster-gg/muster/e2e/child"
	"github.com/muster-gg/muster/e2e/clients"
	"github.com/muster-gg/muster/mustertest"
)

var (
	binaries string
	build    = sync.OnceValues(func() (string, error) {
		ctx := context.Background()
		if err := binary.BuildAll(ctx, binaries, "./examples/arena/server"); err != nil {
			return "", err
		}
		return binary.Build(ctx, binaries)
	})
)

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if binaries, err = os.MkdirTemp("", "muster-managed-"); err != nil {
			panic(err)
		}
		defer func() { _ = os.RemoveAll(binaries) }()
		return m.Run()
	}())
}

const region = "us-west-2"

// A world is a service and a machine, each a process of its own.
type world struct {
	*testing.T
	service, agent *child.Process
	address        string
	data           string // of the machine
	ports          string // of its game servers
	serviceData    string
	environ        map[string]string // from muster.env
	client         *gamelift.Client
	cli            *clients.CLI
	fleet          string
}

func newWorld(t *testing.T, agentArgs ...string) *world {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.MkdirTemp("", "m") // not the test's directory: its path would be too long for sockets
	if err != nil {
		t.Fatal(err)
	}
	serviceData := filepath.Join(t.TempDir(), "data") // before the service, so that it is removed after its end
	w := &world{T: t, service: child.New(t, "the service", path), agent: child.New(t, "the machine", path), data: data,
		serviceData: serviceData, ports: child.PortRange(t),
		address: child.FreeAddress(t, rand.New(rand.NewPCG(rand.Uint64(), 0)))}
	t.Cleanup(func() {
		if w.agent.Running() {
			w.agent.Stop()
			w.agent.AwaitEnd()
		}
		_ = os.RemoveAll(data) // of the test alone
	})
	w.startService()
	w.client = gamelift.New(gamelift.Options{Region: region,
		BaseEndpoint: aws.String(w.environ["AWS_ENDPOINT_URL_GAMELIFT"]),
		Credentials:  mustertest.StaticKey(w.environ["AWS_ACCESS_KEY_ID"], w.environ["AWS_SECRET_ACCESS_KEY"])})
	w.cli = clients.AWSCLI(t, w.variables())
	token := filepath.Join(data, "token")
	text := w.muster("machine", "token", "create", "--location", region)
	if err = os.WriteFile(token, text, 0o600); err != nil {
		t.Fatal(err)
	}
	w.startAgent(append(agentArgs, "--token-file", token)...)
	w.agent.Await(t.Context(), func() bool { return w.agent.Log.Says("connected", "machine=") })
	return w
}

// variables returns those of muster.env, NAME=value each.
func (w *world) variables() (all []string) {
	for name, value := range w.environ {
		all = append(all, name+"="+value)
	}
	return all
}

// muster runs a command of the program for the service, and returns its standard output.
func (w *world) muster(args ...string) []byte {
	w.Helper()
	path, err := build()
	if err != nil {
		w.Fatal(err)
	}
	command := exec.Command(path, args...)
	command.Env = append(os.Environ(), w.variables()...)
	out, err := command.Output()
	if err != nil {
		w.Fatalf("muster %v: %v, %s", args, err, out)
	}
	return out
}

func (w *world) startService() {
	w.Helper()
	ready := filepath.Join(w.serviceData, "muster.env")
	if err := os.Remove(ready); err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.Fatal(err) // a killed run leaves it
	}
	w.service.Launch("dev", "--no-sample", "--no-machine", "--data", w.serviceData, "--listen", w.address,
		"--gateway-listen", "", "--region", region)
	w.service.Await(w.Context(), func() bool { _, err := os.Stat(ready); return err == nil })
	text, err := os.ReadFile(ready)
	if err != nil {
		w.Fatal(err)
	}
	w.environ = child.Variables(string(text))
}

func (w *world) startAgent(args ...string) {
	w.Helper()
	w.agent.Environ = []string{"MUSTER_CA_FILE=" + w.environ["MUSTER_CA_FILE"]}
	w.agent.Launch(append([]string{"agent", "--machine", "--service", "ws://" + w.address, "--data", w.data,
		"--name", "box-1", "--ip", "127.0.0.1", "--port-range", w.ports}, args...)...)
}

// upload uploads a build with the arena's game server and more files.
func (w *world) upload(files map[string]string) (id string) {
	w.Helper()
	root := w.TempDir()
	server, err := os.ReadFile(filepath.Join(binaries, "server"))
	if err == nil {
		err = os.WriteFile(filepath.Join(root, "server"), server, 0o755) //nolint:gosec // a program
	}
	for name, content := range files {
		path := filepath.Join(root, name)
		err = errors.Join(err, os.WriteFile(path, []byte(content), 0o755)) //nolint:gosec // programs
	}
	if err != nil {
		w.Fatal(err)
	}
	out, err := w.cli.Run("gamelift", "upload-build", "--name", "arena", "--build-version", "1", "--build-root", root)
	if err != nil {
		w.Fatal(err)
	}
	_, id, _ = strings.Cut(strings.TrimSpace(string(out)), "Build ID: ")
	mustertest.Eventually(w, "the build is ready", func() bool {
		return mustertest.Call(w, w.client.DescribeBuild, &gamelift.DescribeBuildInput{BuildId: &id}).Build.Status ==
			types.BuildStatusReady
	})
	return id
}

func entry(program, parameters string, count int32) types.ServerProcess {
	e := types.ServerProcess{LaunchPath: aws.String("/local/game/" + program), ConcurrentExecutions: &count}
	if parameters != "" {
		e.Parameters = &parameters
	}
	return e
}

// arena is an entry with the arena's game server.
func arena(count int32) types.ServerProcess { return entry("server", "-port={port} -log", count) }

func (w *world) create(buildID string, processes ...types.ServerProcess) {
	w.Helper()
	w.fleet = *mustertest.Call(w, w.client.CreateFleet, &gamelift.CreateFleetInput{Name: aws.String("Arena"),
		BuildId: &buildID, EC2InstanceType: types.EC2InstanceTypeC5Large,
		RuntimeConfiguration: &types.RuntimeConfiguration{ServerProcesses: processes}}).FleetAttributes.FleetId
}

func (w *world) status() types.FleetStatus {
	w.Helper()
	out := mustertest.Call(w, w.client.DescribeFleetAttributes,
		&gamelift.DescribeFleetAttributesInput{FleetIds: []string{w.fleet}})
	if len(out.FleetAttributes) == 0 {
		return ""
	}
	return out.FleetAttributes[0].Status
}

func (w *world) awaitStatus(want types.FleetStatus) {
	w.Helper()
	defer func() {
		if w.Failed() {
			w.Logf("the fleet is %s, its events are %v", w.status(), w.events())
		}
	}()
	mustertest.Eventually(w, fmt.Sprint("the fleet is ", want), func() bool { return w.status() == want })
}

// events returns the codes of the fleet's events, the oldest first.
func (w *world) events() (codes []types.EventCode) {
	w.Helper()
	for _, e := range w.described() {
		codes = append(codes, e.EventCode)
	}
	return codes
}

func (w *world) described() []types.Event {
	w.Helper()
	all := mustertest.Call(w, w.client.DescribeFleetEvents,
		&gamelift.DescribeFleetEventsInput{FleetId: &w.fleet}).Events
	slices.Reverse(all)
	return all
}

// ready is how many processes are ready.
func (w *world) ready() int {
	w.Helper()
	out := mustertest.Call(w, w.client.DescribeFleetUtilization,
		&gamelift.DescribeFleetUtilizationInput{FleetIds: []string{w.fleet}})
	return int(*out.FleetUtilization[0].ActiveServerProcessCount)
}

func (w *world) awaitReady(n int) {
	w.Helper()
	mustertest.Eventually(w, fmt.Sprint(n, " processes are ready"), func() bool { return w.ready() == n })
}

func (w *world) configure(entries ...types.ServerProcess) {
	w.Helper()
	mustertest.Call(w, w.client.UpdateRuntimeConfiguration, &gamelift.UpdateRuntimeConfigurationInput{
		FleetId: &w.fleet, RuntimeConfiguration: &types.RuntimeConfiguration{ServerProcesses: entries}})
}

// session creates a game session, which becomes active.
func (w *world) session() *types.GameSession {
	w.Helper()
	s := mustertest.Call(w, w.client.CreateGameSession, &gamelift.CreateGameSessionInput{FleetId: &w.fleet,
		MaximumPlayerSessionCount: aws.Int32(2)}).GameSession
	mustertest.Eventually(w, "the game session is active", func() bool {
		return w.sessionStatus(*s.GameSessionId) == types.GameSessionStatusActive
	})
	return s
}

func (w *world) sessionStatus(id string) types.GameSessionStatus {
	w.Helper()
	return mustertest.Call(w, w.client.DescribeGameSessions, &gamelift.DescribeGameSessionsInput{
		GameSessionId: &id}).GameSessions[0].Status
}

// pids returns the numbers of the game servers in the events of the agent's log.
func (w *world) pids(event string) (pids []string) {
	line := regexp.MustCompile(event + `".* pid=(\d+)`)
	for _, m := range line.FindAllStringSubmatch(w.agent.Log.Tail(), -1) {
		pids = append(pids, m[1])
	}
	slices.Sort(pids)
	return pids
}

// alive reports whether a process runs. One that has ended and is not waited for does not.
func alive(pid string) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", pid).Output()
	return err == nil && !strings.HasPrefix(string(out), "Z")
}

func (w *world) get(url string) string {
	w.Helper()
	request, err := http.NewRequestWithContext(w.Context(), http.MethodGet, url, nil)
	if err != nil {
		w.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		w.Fatal(err)
	}
	defer answer.Body.Close()
	var text strings.Builder
	if err := answer.Write(&text); err != nil {
		w.Fatal(err)
	}
	return text.String()
}
