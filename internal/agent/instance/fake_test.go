//go:build unix

package instance

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/agent/machine"
	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/internal/agent/supervisor"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
)

// patience is how long a test waits for what happens at once on an idle machine.
const patience = 30 * time.Second

// TestMain is also the supervisors and a game server of the tests.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "sdkgame" {
		if err := playSDK(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) > 2 && os.Args[1] == "supervise" {
		if supervisor.Supervise(os.Args[2], os.Stdin, os.Stdout) != nil {
			os.Exit(1)
		}
		return
	}
	leaktest.Main(m)
}

// game is a game server. It writes a line to the file RECORD and waits to be ended.
const game = "#!/bin/sh\necho \"$PWD|$*|$MUSTER_PORT|$$\" >>$RECORD\nexec sleep 1000\n"

// packed is an entry of an archive.
type packed struct {
	name, content string
	mode          fs.FileMode // 0: 0o755
}

func pack(t testing.TB, entries ...packed) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		if e.mode == 0 {
			e.mode = 0o755
		}
		h.SetMode(e.mode)
		f, err := w.CreateHeader(h)
		if err == nil {
			_, err = io.WriteString(f, e.content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A fakeService has one machine, on real sockets.
type fakeService struct {
	*testing.T
	server   *httptest.Server
	data     string // of the machine
	record   string // file of the starts of game servers
	upgrader websocket.Upgrader

	mu          sync.Mutex
	archives    map[string][]byte // by path
	cut         int               // bytes after which an answer without Range ends; 0: none
	gets        []string          // path and range
	puts        map[string]string
	generation  uint64
	wanted      protocol.Wanted
	machine     *websocket.Conn // nil: none
	observed    protocol.Observed
	stages      map[string][]protocol.InstanceState // the first reports of each
	lostTokens  int                                 // requests that are not answered
	tokenAsked  int
	lastRuntime map[string][]protocol.Process
	request     string // a build of which a process is requested, once
}

func newFakeService(t *testing.T) *fakeService {
	data, err := os.MkdirTemp("", "m") // short enough for sockets
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeService{T: t, data: data, record: filepath.Join(data, "starts"), archives: map[string][]byte{},
		puts: map[string]string{}, stages: map[string][]protocol.InstanceState{},
		lastRuntime: map[string][]protocol.Process{}}
	f.wanted.ReportSeconds, f.wanted.LostSeconds = 10, 30
	f.server = httptest.NewServer(f)
	t.Cleanup(func() {
		f.server.Close()
		_ = os.RemoveAll(data) // of the test alone
	})
	return f
}

// build stores an archive.
func (f *fakeService) build(id string, entries ...packed) protocol.Build {
	f.Helper()
	return f.archive(id, pack(f, entries...))
}

func (f *fakeService) archive(id string, data []byte) protocol.Build {
	sum := sha256.Sum256(data)
	b := protocol.Build{ID: id, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(data)), Path: "/builds/" + id}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.archives[b.Path] = data
	return b
}

// want sends the instances that are wanted.
func (f *fakeService) want(change func(w *protocol.Wanted)) {
	f.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.wanted)
	f.generation++
	f.wanted.Generation = f.generation
	for _, i := range f.wanted.Instances {
		f.lastRuntime[i.ID] = i.Runtime
	}
	if f.machine != nil {
		_ = f.machine.WriteMessage(websocket.TextMessage, protocol.Encode(&f.wanted))
	}
}

func (f *fakeService) wantInstances(instances ...protocol.Instance) {
	f.Helper()
	f.want(func(w *protocol.Wanted) { w.Instances = instances })
}

func instanceOf(id string, b protocol.Build, processes ...protocol.Process) protocol.Instance {
	return protocol.Instance{ID: id, Fleet: "fleet-1", Build: b, Runtime: processes, LogPath: "/logs/" + id}
}

func process(n int32, parameters string) protocol.Process {
	return protocol.Process{LaunchPath: "/local/game/bin/game", Parameters: parameters, Count: n}
}

func (f *fakeService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == protocol.Path:
		f.serveMachine(w, r)
	case r.URL.Path == "/agent":
		f.serveAgent(w, r)
	case r.Method == http.MethodPut:
		body, _ := io.ReadAll(r.Body)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.puts[r.URL.Path] = string(body)
	default:
		f.serveArchive(w, r)
	}
}

func (f *fakeService) serveArchive(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	data, ok := f.archives[r.URL.Path]
	cutAt := f.cut
	f.gets = append(f.gets, r.URL.Path+r.Header.Get("Range"))
	f.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	if cutAt != 0 && r.Header.Get("Range") == "" {
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		_, _ = w.Write(data[:cutAt]) // the rest is missing
		return
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

func (f *fakeService) serveMachine(w http.ResponseWriter, r *http.Request) {
	conn, err := f.upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer conn.Close()
	c := &protocol.Challenge{Nonce: make([]byte, protocol.NonceSize), Region: "region"}
	_ = conn.WriteMessage(websocket.TextMessage, protocol.Encode(c))
	for {
		_, data, err := conn.ReadMessage()
		if err != nil {
			break
		}
		message, err := protocol.DecodeFromMachine(data)
		if err != nil {
			f.Errorf("%s: %v", data, err)
			break
		}
		f.receive(conn, message)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.machine = nil
}

func (f *fakeService) receive(conn *websocket.Conn, message any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch m := message.(type) {
	case *protocol.Join:
		f.machine = conn
		_ = conn.WriteMessage(websocket.TextMessage, protocol.Encode(&f.wanted))
	case *protocol.Observed:
		f.observed = *m
		for _, s := range m.Instances {
			if all := f.stages[s.ID]; len(all) == 0 || all[len(all)-1].Stage != s.Stage {
				f.stages[s.ID] = append(all, s)
			}
		}
	case *protocol.TokenRequest:
		if f.tokenAsked++; f.tokenAsked <= f.lostTokens {
			return
		}
		expires := time.Now().Add(time.Hour).UnixMilli()
		t := &protocol.Token{Instance: m.Instance, Token: "t", Expires: expires, SDK: "ws://sdk",
			Agent: "ws" + strings.TrimPrefix(f.server.URL, "http") + "/agent"}
		if m.RoleKeys {
			t.RoleKeys = &protocol.RoleKeys{AccessKeyID: "ASIA-" + m.Instance, SecretAccessKey: "secret",
				SessionToken: "token", Expires: expires}
		}
		_ = conn.WriteMessage(websocket.TextMessage, protocol.Encode(t))
	}
}

// serveAgent answers an agent, and has the processes of a compute that ends be ended.
func (f *fakeService) serveAgent(w http.ResponseWriter, r *http.Request) {
	compute := r.URL.Query().Get("ComputeName")
	conn, err := f.upgrader.Upgrade(w, r, http.Header{"Muster-Reports": {"1"}})
	if err != nil {
		return
	}
	defer conn.Close()
	for {
		var m struct {
			Action, RequestId, Status string
			ProcessList, Builds       []string
		}
		if conn.ReadJSON(&m) != nil {
			return
		}
		answer := map[string]any{"Action": m.Action, "RequestId": m.RequestId, "StatusCode": 200}
		switch m.Action {
		case "SendHeartbeat":
			answer["Status"] = "Active"
			if m.Status == "Terminating" || m.Status == "Terminated" {
				answer["Status"] = m.Status
			}
		case "DescribeRuntimeConfiguration":
			f.mu.Lock()
			var processes []map[string]any
			for _, p := range f.lastRuntime[compute] {
				processes = append(processes, map[string]any{"LaunchPath": p.LaunchPath, "Parameters": p.Parameters,
					"ConcurrentExecutions": p.Count})
			}
			f.mu.Unlock()
			answer["ServerProcesses"] = processes
		}
		if conn.WriteJSON(answer) != nil {
			return
		}
		f.mu.Lock()
		request := f.request
		if !slices.Contains(m.Builds, request) {
			request = ""
		} else {
			f.request = ""
		}
		f.mu.Unlock()
		if request != "" {
			_ = conn.WriteJSON(map[string]any{"Action": "StartServerProcess", "ProcessId": "requested-process",
				"BuildId": request})
		}
		if m.Status == "Terminating" {
			for _, id := range m.ProcessList {
				_ = conn.WriteJSON(map[string]any{"Action": "ForceExitServerProcess", "ProcessId": id})
			}
		}
	}
}

// run runs the machine. The returned function stops it and waits.
func (f *fakeService) run(change ...func(*Config)) (stop func()) {
	f.Helper()
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	cfg := Config{Data: f.data, Service: f.server.URL, LowPort: 20000, HighPort: 20999, TLS: trust,
		Environ:    []string{"RECORD=" + f.record, "PATH=" + os.Getenv("PATH")},
		Supervisor: func(dir string) *exec.Cmd { return exec.Command(os.Args[0], "supervise", dir) },
		Clock:      clockwork.NewRealClock(), Log: slog.New(slog.NewTextHandler(f.Output(), nil))}
	for _, c := range change {
		c(&cfg)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, machine.Config{Service: f.server.URL, Name: "box", Data: f.data,
			Offer: protocol.Offer{MilliCPUs: 1000, MemoryMiB: 1000}, Clock: cfg.Clock, Log: cfg.Log}, cfg)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			f.Errorf("Run: %v", err)
		}
		if len(trust.NextProtos) > 0 { // WebSockets would offer them, too
			f.Errorf("the configuration of TLS has the protocols %v", trust.NextProtos)
		}
	})
	f.Cleanup(stop)
	return stop
}

func (f *fakeService) state(id string) (s protocol.InstanceState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.observed.Instances {
		if s.ID == id {
			return s
		}
	}
	return s
}

func (f *fakeService) eventually(what string, ok func() bool) {
	f.Helper()
	limit, tick := time.NewTimer(patience), time.NewTicker(5*time.Millisecond)
	defer limit.Stop()
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit.C:
			f.mu.Lock()
			defer f.mu.Unlock()
			text, _ := json.Marshal(f.observed.Instances)
			f.Fatalf("never happened: %s; observed %s", what, text)
		}
	}
}

func (f *fakeService) awaitProcesses(id string, n int) {
	f.Helper()
	f.eventually(fmt.Sprint(id, " runs ", n, " processes"), func() bool {
		s := f.state(id)
		return s.Stage == protocol.Running && s.Processes == n
	})
}

func (f *fakeService) awaitStage(id string, stage protocol.Stage) protocol.InstanceState {
	f.Helper()
	f.eventually(fmt.Sprint(id, " is ", stage), func() bool { return f.state(id).Stage == stage })
	return f.state(id)
}

// A start is a start of a game server.
type start struct{ dir, parameters, port, pid string }

func (f *fakeService) starts() (all []start) {
	text, _ := os.ReadFile(f.record) // none has started
	for line := range strings.Lines(string(text)) {
		if p := strings.Split(strings.TrimSpace(line), "|"); len(p) == 4 {
			all = append(all, start{p[0], p[1], p[2], p[3]})
		}
	}
	return all
}

func (f *fakeService) awaitStarts(n int) []start {
	f.Helper()
	f.eventually(fmt.Sprint(n, " game servers have started"), func() bool { return len(f.starts()) >= n })
	return f.starts()
}

// alive reports whether a process runs. One that has ended and is not waited for does not.
func alive(pid string) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", pid).Output()
	return err == nil && !strings.HasPrefix(string(out), "Z")
}

func (f *fakeService) downloads() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.gets)
}

func (f *fakeService) stagesOf(id string) []protocol.InstanceState {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.stages[id])
}
