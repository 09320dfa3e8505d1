//go:build unix

package managed

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/e2e/child"
	"github.com/muster-gg/muster/gameserver"
	"github.com/muster-gg/muster/internal/agent/machine"
	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/mustertest"
)

var machineCount = flag.Int("machines", 1000, "machines of BenchmarkMachines, with four instances each")

// BenchmarkMachines is what machines with four instances each, all ACTIVE, cost a service: the share of a CPU while
// nothing changes, and the time until all have returned after a kill.
//
//	go test -run '^$' -bench Machines -benchtime 1x ./managed
func BenchmarkMachines(b *testing.B) {
	s := newCrowd(b, *machineCount)
	begun := time.Now()
	s.scale(4 * s.n)
	started := time.Since(begun)
	for range b.N {
		const idle = 20 * time.Second
		before := s.cpu()
		time.Sleep(idle)
		b.ReportMetric((s.cpu()-before)/idle.Seconds()*100, "cpu-%")
		s.service.Kill()
		begun := time.Now()
		s.start()
		s.awaitMachines()
		b.ReportMetric(time.Since(begun).Seconds(), "s-to-return")
		s.await("all processes have returned", func() bool {
			return s.metric("muster_server_process_sockets") >= float64(4*s.n)
		})
		b.ReportMetric(time.Since(begun).Seconds(), "s-to-return-processes")
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(started.Seconds(), "s-to-start")
}

// A crowd is a service, and machines in this process.
type crowd struct {
	testing.TB
	n       int
	service *child.Process
	address string
	data    string
	environ map[string]string
	client  *gamelift.Client
	fleet   string
	servers sync.Map // by instance: it has begun
	ready   chan struct{}
}

func newCrowd(b *testing.B, n int) *crowd {
	b.Helper()
	path, err := build()
	if err != nil {
		b.Fatal(err)
	}
	data := filepath.Join(b.TempDir(), "data") // removed after the end of the service
	s := &crowd{TB: b, n: n, service: child.New(b, "the service", path), data: data,
		address: child.FreeAddress(b, rand.New(rand.NewPCG(1, uint64(os.Getpid())))), //nolint:gosec // a port
		ready:   make(chan struct{}, 4*n)}
	s.start()
	s.client = gamelift.New(gamelift.Options{Region: region,
		BaseEndpoint: aws.String(s.environ["AWS_ENDPOINT_URL_GAMELIFT"]),
		Credentials:  mustertest.StaticKey(s.environ["AWS_ACCESS_KEY_ID"], s.environ["AWS_SECRET_ACCESS_KEY"])})
	root := b.TempDir()
	err = os.WriteFile(filepath.Join(root, "server"), []byte("#!/bin/sh\n"), 0o755) //nolint:gosec // a program
	push := exec.Command(path, "push", "--name", "game", root)
	push.Env = os.Environ()
	for name, value := range s.environ {
		push.Env = append(push.Env, name+"="+value)
	}
	text, failed := push.CombinedOutput()
	if err != nil || failed != nil {
		b.Fatalf("push: %v, %v: %s", err, failed, text)
	}
	builds := mustertest.Call(b, s.client.ListBuilds, &gamelift.ListBuildsInput{}).Builds
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	b.Cleanup(func() { cancel(); running.Wait() })
	for i := range n {
		running.Go(func() { s.machine(ctx, fmt.Sprintf("box-%04d", i)) })
		if i%50 == 0 {
			time.Sleep(50 * time.Millisecond)
		}
	}
	s.awaitMachines()
	s.fleet = *mustertest.Call(b, s.client.CreateFleet, &gamelift.CreateFleetInput{Name: aws.String("Arena"),
		BuildId: builds[0].BuildId, EC2InstanceType: types.EC2InstanceTypeC5Large,
		RuntimeConfiguration: &types.RuntimeConfiguration{ServerProcesses: []types.ServerProcess{arena(1)}},
	}).FleetAttributes.FleetId
	<-s.ready
	return s
}

func (s *crowd) start() {
	s.Helper()
	ready := filepath.Join(s.data, "muster.env")
	_ = os.Remove(ready) // of a killed run
	s.service.Launch("dev", "--quiet", "--no-sample", "--no-machine", "--data", s.data, "--listen", s.address,
		"--gateway-listen", "", "--region", region, "--max-connections-per-address", "100000")
	s.service.Await(context.Background(), func() bool { _, err := os.Stat(ready); return err == nil })
	text, err := os.ReadFile(ready)
	if err != nil {
		s.Fatal(err)
	}
	s.environ = child.Variables(string(text))
}

// await is for what takes minutes.
func (s *crowd) await(what string, ok func() bool) {
	s.Helper()
	for end := time.Now().Add(5 * time.Minute); !ok(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			s.Fatalf("waited in vain until %s", what)
		}
	}
}

func (s *crowd) awaitMachines() {
	s.Helper()
	s.await("all machines are connected", func() bool {
		return s.metric(`muster_machines{location="us-west-2",status="ONLINE"}`) == float64(s.n)
	})
}

// scale starts instances until all have a process that is ready.
func (s *crowd) scale(n int) {
	s.Helper()
	mustertest.Eventually(s, "the fleet is ACTIVE", func() bool {
		number := int32(n) //nolint:gosec // some thousands
		_, err := s.client.UpdateFleetCapacity(context.Background(), &gamelift.UpdateFleetCapacityInput{
			FleetId: &s.fleet, MaxSize: &number, DesiredInstances: &number})
		return err == nil
	})
	for range n - 1 {
		<-s.ready
	}
	s.await("all instances are ACTIVE", func() bool {
		out := mustertest.Call(s, s.client.DescribeFleetCapacity, &gamelift.DescribeFleetCapacityInput{
			FleetIds: []string{s.fleet}}).FleetCapacity
		return int(*out[0].InstanceCounts.ACTIVE) == n
	})
}

// machine runs a machine whose instances are one game server each.
func (s *crowd) machine(ctx context.Context, name string) {
	var m *machine.Machine
	var states []protocol.InstanceState
	var mu sync.Mutex
	m, err := machine.Open(machine.Config{
		Service: "ws://" + s.address, Name: name, Data: filepath.Join(s.TempDir(), name),
		Offer: protocol.Offer{MilliCPUs: 8000, MemoryMiB: 64 << 10, IP: "127.0.0.1", OS: "linux", Arch: "amd64"},
		Token: s.token, Log: slog.New(slog.DiscardHandler),
		Instances: func() []protocol.InstanceState {
			mu.Lock()
			defer mu.Unlock()
			return states
		},
		Wanted: func(w protocol.Wanted) {
			mu.Lock()
			defer mu.Unlock()
			states = nil
			for _, i := range w.Instances {
				states = append(states, protocol.InstanceState{ID: i.ID, Stage: protocol.Running, Processes: 1})
				if _, begun := s.servers.LoadOrStore(i.ID, true); !begun {
					go s.serve(ctx, m, i)
				}
			}
		},
	})
	if err == nil {
		err = m.Run(ctx)
	}
	if err != nil {
		s.Error(err)
	}
}

// serve runs a game server of an instance.
func (s *crowd) serve(ctx context.Context, m *machine.Machine, i protocol.Instance) {
	t, err := m.Token(ctx, i.ID)
	server := gameserver.New(gameserver.Config{Getenv: func(string) string { return "" }})
	if err == nil {
		err = server.Connect(ctx, gameserver.ServerParameters{WebSocketURL: "ws://" + s.address, HostID: i.ID,
			FleetID: i.Fleet, AuthToken: t.Token})
	}
	if err == nil {
		err = server.ProcessReady(ctx, gameserver.ProcessParameters{Port: 7777,
			OnStartGameSession: func(gameserver.GameSession) {}, OnProcessTerminate: func() {}})
	}
	if err != nil && ctx.Err() == nil {
		s.Errorf("server of %s: %v", i.ID, err)
	}
	s.ready <- struct{}{}
	<-ctx.Done()
	server.Close()
	server.Wait()
}

// token creates a join token.
func (s *crowd) token() (string, error) {
	body := []byte(`{"location":"` + region + `","ttlSeconds":600}`)
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost,
		"http://"+s.address+"/v1/machine-tokens", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(body)
	keys := aws.Credentials{AccessKeyID: s.environ["AWS_ACCESS_KEY_ID"],
		SecretAccessKey: s.environ["AWS_SECRET_ACCESS_KEY"]}
	r.Header.Set("Content-Type", "application/json")
	if err := v4.NewSigner().SignHTTP(r.Context(), keys, r, hex.EncodeToString(sum[:]), "gamelift", region,
		time.Now()); err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	var made struct{ Token, Message string }
	if err := json.NewDecoder(answer.Body).Decode(&made); err != nil || made.Token == "" {
		return "", fmt.Errorf("join token: %w, %s: %s", err, answer.Status, made.Message)
	}
	return made.Token, nil
}

func (s *crowd) cpu() float64 { return s.metric("process_cpu_seconds_total") }

// metric returns the value of a metric; 0 if there is none.
func (s *crowd) metric(name string) float64 {
	answer, err := http.Get("http://" + s.address + "/metrics")
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	_, rest, _ := strings.Cut(string(text), "\n"+name+" ")
	value, _, _ := strings.Cut(rest, "\n")
	n, _ := strconv.ParseFloat(value, 64)
	return n
}
