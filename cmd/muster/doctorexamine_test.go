package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/internal/listen/localca"
	"github.com/muster-gg/muster/internal/mustertest/ports"
	"github.com/muster-gg/muster/mustertest"
)

// healthyProbes are those of a machine with nothing wrong.
func healthyProbes() probes {
	return probes{
		owners: func(context.Context, []int) map[int][]portOwner { return nil },
		disk:   func(string) (uint64, uint64) { return 100 << 30, 50 << 30 },
		syncs:  func(string) ([]time.Duration, error) { return []time.Duration{time.Millisecond}, nil },
		files:  func(int) int { return 65536 },
		synced: func() (bool, bool) { return true, true },
		owner:  func(string) string { return "" },
	}
}

// examineMachine runs muster doctor --json in an empty directory, and returns its exit status and findings. Each
// warning and failure must have a fix.
func examineMachine(t *testing.T, p probes, now time.Time, environ []string, args ...string) (int, []finding) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	a := &app{environ: environ, stdout: &stdout, stderr: &stderr}
	d := &doctor{operatorCall: &operatorCall{app: a}, probes: p, now: func() time.Time { return now }}
	command := d.command()
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetArgs(append([]string{"--json"}, args...))
	status := exitOK
	if err := command.ExecuteContext(t.Context()); err != nil {
		status = exitFailure
	}
	var answer struct{ Findings []finding }
	if err := json.Unmarshal(stdout.Bytes(), &answer); err != nil {
		t.Fatal(err, &stdout, &stderr)
	}
	for _, f := range answer.Findings {
		if f.Fix == "" && (f.Status == checkWarning || f.Status == checkFailure) {
			t.Errorf("no fix: %+v", f)
		}
	}
	return status, answer.Findings
}

// expectFinding fails unless there is a finding of a check with this status, and parts of its text and fix.
func expectFinding(t *testing.T, found []finding, want finding) {
	t.Helper()
	for _, f := range found {
		if f.Check == want.Check && f.Status == want.Status && strings.Contains(f.Text, want.Text) &&
			strings.Contains(f.Fix, want.Fix) {
			return
		}
	}
	t.Errorf("no %+v in %+v", want, found)
}

// write writes a file below dir, with its directories.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

const someRegion = `{"version":1,"region":"us-west-2","account":"111122223333","shards":4}`

// TestDoctorExamines one thing wrong at a time.
func TestDoctorExamines(t *testing.T) {
	type world struct {
		*probes
		dir string // data directory; it does not exist
		now time.Time
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	issue := func(w *world) (cert, key string) {
		s, err := localca.Load(filepath.Join(filepath.Dir(w.dir), "issued"), nil, w.now)
		if err != nil {
			t.Fatal(err)
		}
		return s.CertificateFile, s.KeyFile
	}
	withTLS := func(w *world, more ...string) []string {
		cert, key := issue(w)
		return append(more, "MUSTER_TLS_CERT="+cert, "MUSTER_TLS_KEY="+key)
	}
	sync := func(each time.Duration) func(*world) []string {
		return func(w *world) []string {
			w.syncs = func(string) ([]time.Duration, error) { return []time.Duration{each, each, each}, nil }
			return nil
		}
	}
	free := func(n uint64) func(*world) []string {
		return func(w *world) []string {
			w.disk = func(string) (uint64, uint64) { return 100 << 30, n }
			return nil
		}
	}
	for _, c := range []struct {
		name    string
		prepare func(w *world) (environ []string)
		want    finding
	}{
		{"nothing", func(*world) []string { return nil }, finding{"settings", checkOK, "valid", ""}},
		{"a cluster without peers", func(*world) []string { return []string{"MUSTER_NODE=a"} },
			finding{"settings", checkFailure, "setting peer (default): is missing", "setting peer"}},
		{"an unknown setting", func(*world) []string { return []string{"MUSTER_LISTENN=:1"} },
			finding{"settings", checkFailure, "MUSTER_LISTENN", "muster config"}},
		{"a clock that nothing synchronises", func(w *world) []string {
			w.synced = func() (bool, bool) { return false, true }
			return nil
		}, finding{"clock", checkWarning, "does not synchronise", "timedatectl"}},
		{"a clock that was set back", func(w *world) []string {
			write(t, w.dir, "journal/block", "")
			w.now = time.Now().Add(-time.Hour)
			return nil
		}, finding{"clock", checkFailure, "the clock is behind", "set back"}},
		{"a port in use", func(w *world) []string {
			w.owners = func(_ context.Context, list []int) map[int][]portOwner {
				return map[int][]portOwner{list[0]: {{PID: 12, Process: "nginx"}}}
			}
			return []string{"MUSTER_METRICS_LISTEN=" + taken.Addr().String()}
		}, finding{"ports", checkFailure, "in use by nginx (pid 12)", "the setting metrics-listen"}},
		{"an address of another machine", func(*world) []string { return []string{"MUSTER_PPROF_LISTEN=192.0.2.1:7"} },
			finding{"ports", checkFailure, "pprof-listen:", "address of this machine"}},
		{"a target of the gateway that is none", func(*world) []string {
			return []string{"MUSTER_GATEWAY_ALIAS=alias-x…"}
		}, finding{"settings", checkFailure, "gateway-alias (environment MUSTER_GATEWAY_ALIAS)", "gateway-alias"}},
		{"a directory that cannot be written", func(w *world) []string {
			write(t, w.dir, "region.json", someRegion)
			w.syncs = func(string) ([]time.Duration, error) { return nil, os.ErrPermission }
			return nil
		}, finding{"disk", checkFailure, "cannot be written", "chown"}},
		{"a directory that cannot be created", func(w *world) []string {
			w.syncs = func(string) ([]time.Duration, error) { return nil, os.ErrPermission }
			return nil
		}, finding{"disk", checkFailure, "does not let this user create it", "name it with --data"}},
		{"a disk that fails", func(w *world) []string {
			w.syncs = func(string) ([]time.Duration, error) { return nil, os.ErrInvalid }
			return nil
		}, finding{"disk", checkFailure, "cannot be written", "repair the disk"}},
		{"a full disk", free(1 << 20), finding{"disk", checkFailure, "1 of 102400 MiB are free", "Free some space"}},
		{"a disk that will be full", free(1 << 30), finding{"disk", checkWarning, "1024 of", "Free some space"}},
		{"a slow disk", sync(20 * time.Millisecond), finding{"disk", checkWarning, "an fsync takes 20ms", "SSD"}},
		{"a very slow disk", sync(time.Second), finding{"disk", checkFailure, "an fsync takes 1s", "SSD"}},
		{"a file for a directory", func(w *world) []string {
			write(t, filepath.Dir(w.dir), filepath.Base(w.dir), "")
			return nil
		}, finding{"disk", checkFailure, "is a file", "another directory"}},
		{"the directory of another region", func(w *world) []string {
			write(t, w.dir, "region.json", someRegion)
			return []string{"MUSTER_REGION=eu-west-1"}
		}, finding{"disk", checkFailure, "has region us-west-2", "another directory"}},
		{"the directory of a newer release", func(w *world) []string {
			write(t, w.dir, "region.json", `{"version":99}`)
			return nil
		}, finding{"disk", checkFailure, "newer Muster", "a release that is as new"}},
		{"the directory of another user", func(w *world) []string {
			w.owner = func(string) string { return "65534" }
			return nil
		}, finding{"disk", checkWarning, "belongs to user 65534", "sudo -u '#65534'"}},
		{"few descriptors", func(w *world) []string {
			w.files = func(int) int { return 1024 }
			return nil
		}, finding{"descriptors", checkWarning, "is 1024, enough for 688", "LimitNOFILE"}},
		{"too few descriptors", func(w *world) []string {
			w.files = func(int) int { return 128 }
			return nil
		}, finding{"descriptors", checkFailure, "less than the journals need", "LimitNOFILE"}},
		{"more connections than descriptors", func(*world) []string { return []string{"MUSTER_MAX_CONNECTIONS=70000"} },
			finding{"descriptors", checkFailure, "max-connections is 70000", "lower max-connections"}},
		{"a certificate that has expired", func(w *world) []string {
			environ := withTLS(w)
			w.now = w.now.AddDate(20, 0, 0)
			return environ
		}, finding{"certificates", checkFailure, "has expired", "Renew it"}},
		{"a certificate of the future", func(w *world) []string {
			environ := withTLS(w)
			w.now = w.now.AddDate(-1, 0, 0)
			return environ
		}, finding{"certificates", checkFailure, "is valid from", "Check the clock"}},
		{"a certificate for another name", func(w *world) []string {
			return withTLS(w, "MUSTER_PUBLIC_URL=wss://games.example.com")
		}, finding{"certificates", checkFailure, "no name games.example.com", "public-url"}},
		{"a missing certificate", func(*world) []string {
			return []string{"MUSTER_TLS_CERT=none.pem", "MUSTER_TLS_KEY=none.key"}
		}, finding{"certificates", checkFailure, "none.pem", "belong together"}},
		{"a damaged CA", func(w *world) []string {
			write(t, w.dir, "tls/ca.pem", "?")
			return nil
		}, finding{"certificates", checkFailure, "no certificate", "from a backup"}},
		{"a node without certificates", func(*world) []string {
			return []string{"MUSTER_NODE=a", "MUSTER_PEER=127.0.0.1:1,127.0.0.1:2"}
		}, finding{"certificates", checkFailure, "ca.pem", "muster cluster init"}},
		{"a short secret", func(w *world) []string {
			write(t, w.dir, "region.secret", "x")
			return nil
		}, finding{"keys", checkFailure, "region.secret has 1 bytes instead of 32", "Correct the file"}},
		{"a missing secret", func(w *world) []string {
			write(t, w.dir, "region.json", someRegion)
			return nil
		}, finding{"keys", checkFailure, "region.secret is missing", ""}},
		{"keys of the gateway that are none", func(w *world) []string {
			return []string{"MUSTER_GATEWAY_KEYS_FILE=" + write(t, filepath.Dir(w.dir), "keys", "a:short")}
		}, finding{"keys", checkFailure, "gateway-keys-file (environment MUSTER_GATEWAY_KEYS_FILE): line 1",
			"Correct the file"}},
		{"a secret of webhooks that is none", func(w *world) []string {
			return []string{"MUSTER_WEBHOOKS=http://127.0.0.1:1/", "MUSTER_WEBHOOK_SECRET_FILE=none"}
		}, finding{"keys", checkFailure, "webhook-secret-file", "Correct the file"}},
		{"no service", func(*world) []string { return nil }, finding{"keys", checkSkipped, "", "--endpoint"}},
		{"a service that does not run", func(*world) []string { return topEnviron("http://127.0.0.1:1") },
			finding{"engine", checkFailure, "http://127.0.0.1:1/v1/shards", "--endpoint"}},
		{"a service that does not run elsewhere", func(w *world) []string {
			write(t, w.dir, "region.json", "")
			w.owner = func(string) string { return "65534" }
			return topEnviron("http://127.0.0.1:1")
		}, finding{"engine", checkSkipped, "belongs to another user", "user of the service"}},
		{"NATS that does not run", func(*world) []string {
			return []string{"MUSTER_NODE=a", "MUSTER_NATS=nats://127.0.0.1:1"}
		}, finding{"engine", checkFailure, "nats 127.0.0.1:1", "Start NATS"}},
		{"one peer of two", func(*world) []string {
			return []string{"MUSTER_NODE=a", "MUSTER_PEER=127.0.0.1:1," + taken.Addr().String()}
		}, finding{"cluster", checkWarning, "peer 127.0.0.1:1", "firewall"}},
		{"no peer", func(*world) []string { return []string{"MUSTER_NODE=a", "MUSTER_PEER=127.0.0.1:1"} },
			finding{"cluster", checkFailure, "peer 127.0.0.1:1", "firewall"}},
		{"two nodes", func(*world) []string { return []string{"MUSTER_NODE=a", "MUSTER_PEER=127.0.0.1:1"} },
			finding{"cluster", checkWarning, "two nodes", "three nodes"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := healthyProbes()
			w := &world{probes: &p, dir: filepath.Join(t.TempDir(), "data"), now: time.Now()}
			environ := append(c.prepare(w), "MUSTER_GATEWAY_LISTEN=127.0.0.1:0", "MUSTER_CLUSTER_LISTEN="+
				ports.Free(t, rand.IntN, 1)[0])
			status, found := examineMachine(t, p, w.now, environ, "--data", w.dir, "--listen", "127.0.0.1:0")
			if fails := c.want.Status == checkFailure; fails && status != exitFailure ||
				c.name == "nothing" && status != exitOK {
				t.Errorf("status %d: %+v", status, found)
			}
			expectFinding(t, found, c.want)
		})
	}
}

// TestDoctorTakesFlagsOfServe: each setting can be a flag, as for the service.
func TestDoctorTakesFlagsOfServe(t *testing.T) {
	_, found := examineMachine(t, healthyProbes(), time.Now(), nil, "--data", t.TempDir(), "--tls-cert", "none.pem",
		"--tls-key", "none.key", "--node", "a", "--peer", "127.0.0.1:1")
	expectFinding(t, found, finding{"certificates", checkFailure, "none.pem", "belong together"})
	expectFinding(t, found, finding{"cluster", checkFailure, "peer 127.0.0.1:1", "firewall"})
}

// TestDoctorCallsAService judges what a service answers.
func TestDoctorCallsAService(t *testing.T) {
	denied := func(kind string) string { return `{"error":"` + kind + `","message":"No."}` }
	const node = `{"node":"a","shards":[{"shard":0,"owner":"a"}]}`
	for _, c := range []struct {
		name          string
		ahead         time.Duration // of the clock of the service
		status        int
		shards, nodes string
		want          finding
	}{
		{"healthy", 0, 200, `{"shards":[{"shard":0,"append":{"p99Ms":3}}]}`, "",
			finding{"engine", checkOK, "1 shard", ""}},
		{"its clock is ahead", time.Minute, 200, `{}`, "", finding{"clock", checkWarning, "by -1m0s", "timedatectl"}},
		{"its clock is wrong", -time.Hour, 403, denied("InvalidSignatureException"), "",
			finding{"clock", checkFailure, "by 1h0m0s; calls are rejected from 5m0s on", "timedatectl"}},
		{"unknown key", 0, 403, denied("UnrecognizedClientException"), "",
			finding{"keys", checkFailure, "UnrecognizedClientException", "muster login"}},
		{"key with few rights", 0, 403, denied("AccessDeniedException"), "",
			finding{"keys", checkWarning, "may not read shards", "muster:NodeRead"}},
		{"broken shard", 0, 200, `{"shards":[{"shard":3,"problem":"no leader"}]}`, "",
			finding{"engine", checkFailure, "shard 3: no leader", "muster logs"}},
		{"slow shard", 0, 200, `{"shards":[{"shard":3,"append":{"p99Ms":250}}]}`, "",
			finding{"engine", checkWarning, "shard 3: an append takes 250 ms", "SSD"}},
		{"full disk", 0, 200, `{"nodes":[{"diskFreeBytes":1048576,"diskSizeBytes":99999999}]}`, "",
			finding{"engine", checkWarning, "1 MiB are free on the disk of the service", "Free some space"}},
		{"node without figures", 0, 200, `{"nodes":[{"node":"b","problem":"no answer"}]}`, "",
			finding{"engine", checkFailure, "node b: no answer", "muster logs"}},
		{"shard without owner", 0, 200, `{"node":"a","shards":[{"shard":1}]}`, `{}`,
			finding{"engine", checkFailure, "shard 1 has no owner", "majority"}},
		{"all nodes", 0, 200, node, `{"nodes":[{"node":"a","up":true,"ready":true}]}`,
			finding{"cluster", checkOK, "all 1 nodes are up", ""}},
		{"a node is down", 0, 200, node, `{"nodes":[{"node":"a","up":true},{"node":"b","up":true},{"node":"c"}]}`,
			finding{"cluster", checkWarning, "node c is not reachable; 2 of 3 are up", "cluster remove c"}},
		{"half of the nodes are down", 0, 200, node, `{"nodes":[{"node":"a","up":true},{"node":"b"}]}`,
			finding{"cluster", checkFailure, "node b is not reachable", "Start it"}},
		{"a node lacks copies", 0, 200, node, `{"nodes":[{"node":"a","up":true,"ready":true,"behind":2}]}`,
			finding{"cluster", checkWarning, "2 copies of node a", "Wait"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := time.Now().Truncate(time.Second) // as the header Date
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Date", now.Add(c.ahead).UTC().Format(http.TimeFormat))
				if r.URL.Path == "/v1/shards" {
					w.WriteHeader(c.status)
				}
				fmt.Fprint(w, map[string]string{"/v1/shards": c.shards, "/v1/nodes": c.nodes}[r.URL.Path])
			}))
			defer service.Close()
			environ := append(topEnviron(service.URL), "MUSTER_GATEWAY_LISTEN=127.0.0.1:0")
			status, found := examineMachine(t, healthyProbes(), now, environ, "--data",
				filepath.Join(t.TempDir(), "data"), "--listen", "127.0.0.1:0")
			if (status == exitFailure) != (c.want.Status == checkFailure) {
				t.Errorf("status %d: %+v", status, found)
			}
			expectFinding(t, found, c.want)
		})
	}
}

// TestDoctorOfAService examines one that runs, and its directory after its end, with the real probes. How fast the disk
// is depends on what else the machine does.
func TestDoctorOfAService(t *testing.T) {
	probes := realProbes()
	probes.syncs = func(dir string) ([]time.Duration, error) {
		times, err := syncTimes(dir)
		for i := range times {
			times[i] = time.Millisecond
		}
		return times, err
	}
	data := t.TempDir()
	s := mustertest.Start(t, func(c *muster.Config) { c.Data = data })
	settings := []string{"MUSTER_GATEWAY_LISTEN=127.0.0.1:0", "MUSTER_REGION=" + s.Region}
	status, found := examineMachine(t, probes, time.Now(), append(rootEnviron(s), settings...), "--data", data,
		"--listen", strings.TrimPrefix(s.HTTP, "http://"))
	if status != exitOK {
		t.Errorf("%+v", found)
	}
	for _, want := range []finding{
		{"ports", checkOK, "in use by this service", ""},
		{"disk", checkOK, "an fsync takes", ""},
		{"certificates", checkOK, "ca.pem is valid until", ""},
		{"keys", checkOK, "accepts access key", ""},
	} {
		expectFinding(t, found, want)
	}
	if !slices.ContainsFunc(found, func(f finding) bool {
		return f.Check == "engine" && (f.Status == checkOK && strings.Contains(f.Text, "journals that can be read") ||
			f.Status == checkWarning && strings.Contains(f.Text, "an append takes"))
	}) {
		t.Errorf("nothing of the engine in %+v", found)
	}
	s.Stop()
	_, found = examineMachine(t, probes, time.Now(), settings, "--data", data, "--listen", "127.0.0.1:0")
	expectFinding(t, found, finding{"engine", checkOK, "can be opened", ""})
	if runtime.GOOS != "windows" {
		secret := filepath.Join(data, "region.secret")
		if err := os.Chmod(secret, 0o644); err != nil {
			t.Fatal(err)
		}
		_, found = examineMachine(t, probes, time.Now(), settings, "--data", data, "--listen", "127.0.0.1:0")
		expectFinding(t, found, finding{"keys", checkWarning, "all users", "chmod 600 " + secret})
	}
}

// TestDoctorText wraps findings at 80 columns.
func TestDoctorText(t *testing.T) {
	var out bytes.Buffer
	writeFindings(&out, []finding{{"clock", checkOK, "12:00", ""}, {"disk", checkWarning, strings.Repeat("slow ", 14),
		strings.Repeat("faster ", 10)}})
	const want = `ok        clock         12:00
warning   disk          slow slow slow slow slow slow slow slow slow slow slow
                        slow slow slow
          fix:          faster faster faster faster faster faster faster faster
                        faster faster
`
	if out.String() != want {
		t.Errorf("got\n%s", &out)
	}
}
