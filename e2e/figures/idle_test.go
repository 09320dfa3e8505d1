package figures

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster"
)

// idleSockets is how many server processes are connected and wait: each is an open
// file in the service and one in the load generator, and many systems allow a
// process 20,000.
const idleSockets = 19_000

// healthLimit is the time within which every server process has reported its health:
// they do so every 60 s, give or take 10 s, and are answered.
// Source: server SDK 5, HEALTHCHECK_INTERVAL and HEALTHCHECK_MAX_JITTER.
const healthLimit = 75 * time.Second

// BenchmarkIdleSockets is what the sockets of server processes that wait cost the
// service in memory, beside the bare peer with the same sockets. A round lasts
// until so many of them have reported their health, which all do as the SDKs do.
func BenchmarkIdleSockets(b *testing.B) {
	var s *idleSides
	b.Run(strconv.Itoa(idleSockets), func(leaf *testing.B) {
		if s == nil {
			s = openIdle(b, idleSockets)
		}
		r := s.round(leaf.N)
		if leaf.N > 1 {
			tell("idle sockets: %.1f KiB each, %.0f heartbeats/s, %.0f lost; the bare peer %.1f KiB",
				r.service.resident, r.heartbeats, r.lost, r.peer.resident)
		}
		r.report(leaf)
	})
	if s != nil {
		s.end()
	}
}

// idleSides are the service and its peer with the same number of sockets.
type idleSides struct {
	tb            testing.TB
	n             int
	heard         float64 // heartbeats, so far
	service, peer idleSide
}

type idleSide struct {
	side
	at     muster.Endpoints
	before footprint // without a socket
}

// openIdle connects n sockets to both sides.
func openIdle(tb testing.TB, n int) *idleSides {
	tb.Helper()
	return &idleSides{tb: tb, n: n, peer: openIdleSide(tb, "bare", nil, n),
		service: openIdleSide(tb, "service", tb.TempDir(), n)}
}

func openIdleSide(tb testing.TB, role string, order any, n int) idleSide {
	tb.Helper()
	s := idleSide{side: side{server: play(tb, role), generator: play(tb, "generator")}}
	s.server.order(order, &s.at)
	s.before = s.server.footprint()
	s.generator.turn(assignment{
		Of: "idle sockets, " + role, Profile: "sessions", Endpoints: s.at, Connections: 1, InFlight: 1, Pool: n,
		Progress: *progress,
	})
	return s
}

func (s *idleSides) end() {
	for _, p := range []*player{s.service.generator, s.peer.generator, s.service.server, s.peer.server} {
		p.end()
	}
}

// An idleRound is what one round came to.
type idleRound struct {
	service, peer perSocket
	heartbeats    float64 // a second, answered well
	cpu           float64 // µs for each of them, of the service
	lost          float64 // sockets and heartbeats
}

// perSocket is what one socket takes.
type perSocket struct {
	resident, heap float64 // KiB; heap is that and the stacks, as far as they are in use
	goroutines     float64
}

// The metrics that are looked at.
const (
	heartbeats     = `muster_server_process_actions_total{action="HeartbeatServerProcess",status="`
	goodHeartbeats = heartbeats + `200"}`
	openSockets    = "muster_server_process_sockets"
	idleProcesses  = "muster_server_processes_idle"
	cpuSeconds     = "process_cpu_seconds_total"
)

// round waits for so many heartbeats more than at the end of the last round, and
// then looks at the memory of both sides.
func (s *idleSides) round(n int) (r idleRound) {
	s.tb.Helper()
	begin, before := time.Now(), counters(s.tb, s.service.at)
	now := before
	for now[goodHeartbeats] < s.heard+float64(n) && time.Since(begin) < healthLimit {
		time.Sleep(time.Second)
		now = counters(s.tb, s.service.at)
	}
	came := now[goodHeartbeats] - s.heard
	s.heard = now[goodHeartbeats]
	r.lost = max(0, float64(n)-came) + float64(s.n) - now[openSockets] + float64(s.n) - now[idleProcesses]
	for name := range now {
		if strings.HasPrefix(name, heartbeats) && name != goodHeartbeats {
			r.lost += now[name] - before[name]
		}
	}
	r.heartbeats = came / time.Since(begin).Seconds()
	r.cpu = (now[cpuSeconds] - before[cpuSeconds]) / came * 1e6
	r.service, r.peer = s.service.perSocket(s.n), s.peer.perSocket(s.n)
	return r
}

func (r idleRound) report(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	for of, p := range map[string]perSocket{"": r.service, "bare-": r.peer} {
		b.ReportMetric(p.resident, of+"resident-KiB")
		b.ReportMetric(p.heap, of+"heap-KiB")
		b.ReportMetric(p.goroutines, of+"goroutines")
	}
	b.ReportMetric(r.peer.resident/r.service.resident, "of-bare")
	b.ReportMetric(r.peer.heap/r.service.heap, "of-bare-by-heap")
	b.ReportMetric(r.heartbeats, "heartbeats/s")
	b.ReportMetric(r.cpu, "cpu-µs/op")
	b.ReportMetric(r.lost, "errors")
}

func (s *idleSide) perSocket(n int) perSocket {
	now := s.server.footprint()
	kib := func(before, after uint64) float64 { return (float64(after) - float64(before)) / 1024 / float64(n) }
	return perSocket{
		resident: kib(s.before.Resident, now.Resident), heap: kib(s.before.Heap, now.Heap),
		goroutines: float64(now.Goroutines-s.before.Goroutines) / float64(n),
	}
}

// A footprint is the memory of a process after a collection, in bytes.
type footprint struct {
	Resident   uint64 // 0 where there is no /proc
	Heap       uint64 // with the stacks, as far as they are in use
	Goroutines int
}

// footprintOrder asks a role for its footprint.
const footprintOrder = "footprint"

func (p *player) footprint() (f footprint) {
	p.tb.Helper()
	p.order(footprintOrder, &f)
	return f
}

// untilNoMoreFootprints answers orders for footprints until there are no more.
func untilNoMoreFootprints(orders *json.Decoder, answer func(any) error) error {
	for {
		var order string
		switch err := orders.Decode(&order); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil || order != footprintOrder:
			return fmt.Errorf("unexpected order %q: %w", order, err)
		}
		if err := answer(takeFootprint()); err != nil {
			return err
		}
	}
}

func takeFootprint() footprint {
	http.DefaultClient.CloseIdleConnections()
	runtime.GC() // pools give up what they hold in two collections
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return footprint{Resident: residentMemory("self"), Heap: m.HeapInuse + m.StackInuse,
		Goroutines: runtime.NumGoroutine()}
}

// residentMemory is that of a process in bytes; 0 where there is no /proc.
func residentMemory(process string) uint64 {
	text, err := os.ReadFile("/proc/" + process + "/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}
