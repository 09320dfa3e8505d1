//go:build unix

package figures

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/muster-gg/muster/e2e/binary"
	"github.com/muster-gg/muster/internal/shard"
	"github.com/muster-gg/muster/internal/wire"
)

// idle is how long a service does nothing before its memory is read.
const idle = 5 * time.Second

// BenchmarkStart is the time from exec to a good answer of /readyz on an empty
// directory, and the memory of a service that has been idle for five seconds.
func BenchmarkStart(b *testing.B) {
	c := newChild(b, "")
	var took time.Duration
	memory := 0
	for i := range b.N {
		c.data = b.TempDir()
		took += c.start()
		if i == 0 {
			time.Sleep(idle)
			memory = c.memory()
		}
		c.kill()
	}
	ready, megabytes := milliseconds(took)/float64(b.N), float64(memory)/1024
	tell("start: ready after %.0f ms, %.0f MB when idle", ready, megabytes)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ready, "ready-ms")
	b.ReportMetric(megabytes, "idle-MiB")
}

// BenchmarkRestart is the time from exec to a good answer of /readyz with a
// million ACTIVE player sessions in 5,000 game sessions, after a SIGKILL: with
// nothing but the journal, and with a snapshot of them. Replay is the part of the
// former in which the shards bring their machines back.
func BenchmarkRestart(b *testing.B) {
	var c *child
	fill := func() {
		if c == nil {
			tell("restart: making %d player sessions", 5000*seats)
			c = newChild(b, b.TempDir())
			fillPlayers(b, c.data, 5000, never)
		}
	}
	b.Run("journal", func(leaf *testing.B) {
		fill()
		benchmarkRestart(leaf, c)
	})
	b.Run("replay", func(leaf *testing.B) {
		fill()
		benchmarkReplayed(leaf, c.data)
	})
	saved := false
	b.Run("snapshot", func(leaf *testing.B) {
		fill()
		if !saved {
			saveSnapshot(b, c.data)
			saved = true
		}
		benchmarkRestart(leaf, c)
	})
}

// saveSnapshot has a service's data directory hold its state.
func saveSnapshot(tb testing.TB, dir string) {
	tb.Helper()
	openPlane(tb, dir, shard.SnapshotEvery{}).stop()
}

func benchmarkRestart(b *testing.B, c *child) {
	var took, cpu time.Duration
	memory := 0
	for range b.N {
		took += c.start()
		memory = max(memory, c.memory())
		cpu += c.kill()
	}
	n := float64(b.N)
	tell("restart: ready after %.2f s", took.Seconds()/n)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(milliseconds(took)/n, "ready-ms")
	b.ReportMetric(float64(cpu.Microseconds())/n, "cpu-µs/op")
	b.ReportMetric(float64(memory)/1024, "MB")
	b.ReportMetric(float64(diskUsage(b, c.data))/(1<<20), "disk-MB")
}

func benchmarkReplayed(b *testing.B, dir string) {
	r := openRecovery(b, dir)
	defer func() { must(b, r.engine.Close()) }()
	for range b.N {
		o, err := r.round()
		must(b, err)
		o.report(b)
	}
}

// fillPlayers makes a service's data directory with full game sessions, all of
// whose players have come.
func fillPlayers(tb testing.TB, dir string, sessions int, every shard.SnapshotEvery) {
	tb.Helper()
	_, stop := start(tb, dir)
	stop()
	p := openPlane(tb, dir, every)
	defer p.stop()
	h := fill(tb, p, sessions, func(int) wire.CreateGameSessionInput {
		return wire.CreateGameSessionInput{Name: "a game", MaximumPlayerSessionCount: wire.Some[int32](seats)}
	})
	h.join(h.sessions, seats, true)
}

func diskUsage(tb testing.TB, dir string) (bytes int64) {
	tb.Helper()
	err := filepath.WalkDir(dir, func(_ string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		bytes += info.Size()
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return bytes
}

// A child is the binary in a process of its own, once or several times.
type child struct {
	tb      testing.TB
	binary  string
	data    string
	address string
	command *exec.Cmd
}

func newChild(tb testing.TB, data string) *child {
	tb.Helper()
	c := &child{tb: tb, data: data}
	var err error
	c.binary, err = binary.Build(tb.Context(), tb.TempDir())
	must(tb, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer listener.Close()
	c.address = listener.Addr().String()
	return c
}

// startLimit is how long a start may take.
const startLimit = 2 * time.Minute

// start starts the process, waits until it is ready and returns how long that
// took.
func (c *child) start() time.Duration {
	c.tb.Helper()
	c.command = exec.Command(c.binary, "serve", "--data", c.data, "--listen", c.address, "--gateway-listen", "",
		"--region", testRegion, "--account", testAccount,
		"--shards", strconv.Itoa(shards), "--process-grace", "24h", "--log-level", "warn")
	c.command.Stderr = os.Stderr
	begin := time.Now()
	if err := c.command.Start(); err != nil {
		c.tb.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(c.tb.Context(), startLimit)
	defer cancel()
	for !c.ready(ctx) {
		if ctx.Err() != nil {
			c.kill()
			c.tb.Fatal("the service did not get ready")
		}
		time.Sleep(time.Millisecond)
	}
	return time.Since(begin)
}

func (c *child) ready(ctx context.Context) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.address+"/readyz", nil)
	if err != nil {
		c.tb.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// kill ends the process at once, as kill -9 does, and returns the processor time
// that it used.
func (c *child) kill() time.Duration {
	c.tb.Helper()
	if err := c.command.Process.Kill(); err != nil {
		c.tb.Error(err)
	}
	_ = c.command.Wait() // says that it was killed
	http.DefaultClient.CloseIdleConnections()
	return c.command.ProcessState.UserTime() + c.command.ProcessState.SystemTime()
}

// memory is the resident memory of the process in KiB; 0 where there is no /proc.
func (c *child) memory() int {
	return int(residentMemory(strconv.Itoa(c.command.Process.Pid)) >> 10)
}
