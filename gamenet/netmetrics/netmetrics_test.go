package netmetrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/muster-gg/muster/gamenet"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// values are the series of a registry, as name{label=value,…}; of histograms the
// sums and counts.
func values(t testing.TB, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]float64)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			if len(labels) > 0 {
				name += "{" + strings.Join(labels, ",") + "}"
			}
			if h := m.GetHistogram(); h != nil {
				found[name+" sum"], found[name+" count"] = h.GetSampleSum(), float64(h.GetSampleCount())
				continue
			}
			found[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return found
}

// eventually waits until series have values.
func eventually(t *testing.T, registry *prometheus.Registry, want map[string]float64) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		got := values(t, registry)
		missing := maps.Clone(want)
		maps.DeleteFunc(missing, func(name string, v float64) bool { g, ok := got[name]; return ok && g == v })
		if len(missing) == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain for %v, got %v", missing, got)
		}
	}
}

func newMetrics(t testing.TB, labels prometheus.Labels) (gamenet.Metrics, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	m, err := New(registry, labels)
	if err != nil {
		t.Fatal(err)
	}
	return m, registry
}

// echo sends back what comes and hangs up when asked to.
type echo struct{ connected chan *gamenet.Session }

func (e echo) OnConnected(s *gamenet.Session) { e.connected <- s }

func (e echo) OnPacket(s *gamenet.Session, p gamenet.Packet) { _ = s.Send(p) }

func (e echo) OnDisconnected(*gamenet.Session, error) {}

// await receives from a channel.
func await[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(20 * time.Second):
		t.Fatal("waited in vain")
		panic("unreachable")
	}
}

// player counts what comes.
type player struct{ packets, over chan struct{} }

func (p player) OnConnected(s *gamenet.Session) {
	_ = s.Send(gamenet.Packet{ID: 1, Payload: make([]byte, 60)})
}

func (p player) OnPacket(*gamenet.Session, gamenet.Packet) { p.packets <- struct{}{} }

func (p player) OnDisconnected(*gamenet.Session, error) { p.over <- struct{}{} }

// TestServer measures a server with two players, of whom one finds it full.
func TestServer(t *testing.T) {
	metrics, registry := newMetrics(t, prometheus.Labels{"service": "players"})
	e := echo{make(chan *gamenet.Session, 2)}
	server, err := gamenet.NewServer(gamenet.ServerConfig{
		Config: gamenet.Config{Address: "127.0.0.1:0", Metrics: metrics,
			NewHandler: func(*gamenet.Session) gamenet.Handler { return e }},
		MaxSessions: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, server)
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	first, second := player{make(chan struct{}, 8), make(chan struct{}, 8)},
		player{make(chan struct{}, 8), make(chan struct{}, 8)}
	defer closing(t, connect(t, server, first))
	await(t, first.packets)
	defer closing(t, connect(t, server, second))
	await(t, second.over)
	eventually(t, registry, map[string]float64{
		`gamenet_sessions_accepted_total{service=players}`:             1,
		`gamenet_sessions_active{service=players}`:                     1,
		`gamenet_sessions_refused_total{reason=full,service=players}`:  1,
		`gamenet_bytes_total{direction=in,service=players}`:            64,
		`gamenet_bytes_total{direction=out,service=players}`:           64,
		`gamenet_packets_total{direction=in,service=players}`:          1,
		`gamenet_packets_total{direction=out,service=players}`:         1,
		`gamenet_write_packets{service=players} count`:                 1,
		`gamenet_write_packets{service=players} sum`:                   1,
		`gamenet_queued_bytes{service=players} count`:                  1,
		`gamenet_queued_bytes{service=players} sum`:                    0,
		`gamenet_callback_seconds{service=players} count`:              1,
		`gamenet_packets_dropped_total{service=players}`:               0,
		`gamenet_sessions_closed_total{reason=other,service=players}`:  0,
		`gamenet_sessions_refused_total{reason=other,service=players}`: 0,
	})
	await(t, e.connected).Disconnect(gamenet.Reason{Text: "enough"})
	await(t, first.over)
	eventually(t, registry, map[string]float64{
		`gamenet_sessions_active{service=players}`:                           0,
		`gamenet_sessions_closed_total{reason=disconnected,service=players}`: 1,
	})
}

func connect(t *testing.T, server *gamenet.ServerService, h gamenet.Handler) *gamenet.ClientService {
	t.Helper()
	client, err := gamenet.NewClient(gamenet.ClientConfig{Config: gamenet.Config{
		Address: server.Addr().String(), NewHandler: func(*gamenet.Session) gamenet.Handler { return h },
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return client
}

func closing(t *testing.T, service interface{ Close(context.Context) error }) {
	t.Helper()
	if err := service.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestReason(t *testing.T) {
	for cause, want := range map[error]string{
		gamenet.ErrPeerClosed: "peer_closed",
		&gamenet.PeerError{Reason: gamenet.Reason{Text: "player 17 is a cheat"}}: "peer_closed",
		fmt.Errorf("%w: %w", gamenet.ErrLost, io.ErrUnexpectedEOF):               "lost",
		fmt.Errorf("%w: player 17 is a cheat", gamenet.ErrDisconnected):          "disconnected",
		gamenet.ErrServiceClosed:                                    "service_closed",
		fmt.Errorf("%w: 3 bytes", gamenet.ErrFrame):                 "frame",
		gamenet.ErrSlowConsumer:                                     "slow_consumer",
		gamenet.ErrIdle:                                             "idle",
		gamenet.ErrFirstPacket:                                      "first_packet",
		fmt.Errorf("%w: %w", gamenet.ErrHandshake, gamenet.ErrLost): "handshake",
		gamenet.ErrWriteTimeout:                                     "write_timeout",
		&gamenet.PanicError{Value: gamenet.ErrIdle}:                 "panic",
		errors.New("player 17"):                                     "other",
		error(nil):                                                  "other",
	} {
		got := reason(cause)
		if got != want {
			t.Errorf("%v is %q, want %q", cause, got, want)
		}
		if !slices.Contains(reasons(), got) {
			t.Errorf("%q is not one of the reasons", got)
		}
	}
	for cause, want := range map[error]string{
		gamenet.ErrFull: "full", gamenet.ErrFullAddress: "full_address", gamenet.ErrServiceClosed: "service_closed",
		io.EOF: "other",
	} {
		if got := refusal(cause); got != want {
			t.Errorf("%v is refused as %q, want %q", cause, got, want)
		}
	}
}

// TestSeries: whatever happens, the number of series stays what it was at the
// beginning.
func TestSeries(t *testing.T) {
	m, registry := newMetrics(t, nil)
	before := slices.Sorted(maps.Keys(values(t, registry)))
	for i := range 100 {
		m.Opened()
		m.Closed(fmt.Errorf("cause %d", i))
		m.Refused(fmt.Errorf("cause %d", i))
	}
	m.Closed(gamenet.ErrFrame)
	m.Dropped(7)
	m.Received(10, 0, 0)
	after := values(t, registry)
	if names := slices.Sorted(maps.Keys(after)); !slices.Equal(names, before) {
		t.Errorf("series %q, before %q", names, before)
	}
	for name, want := range map[string]float64{
		"gamenet_sessions_closed_total{reason=other}": 100, "gamenet_sessions_closed_total{reason=frame}": 1,
		"gamenet_sessions_active":                      -1,
		"gamenet_sessions_refused_total{reason=other}": 100, "gamenet_packets_dropped_total": 7,
		"gamenet_bytes_total{direction=in}": 10, "gamenet_callback_seconds count": 0,
	} {
		if after[name] != want {
			t.Errorf("%s is %v, want %v", name, after[name], want)
		}
	}
}

func TestRegister(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	for _, service := range []string{"players", "lobby"} {
		if _, err := New(registry, prometheus.Labels{"service": service}); err != nil {
			t.Fatal(err)
		}
	}
	before := values(t, registry)
	if _, err := New(registry, prometheus.Labels{"service": "lobby"}); err == nil {
		t.Error("the same metrics twice")
	}
	if after := values(t, registry); !maps.Equal(before, after) {
		t.Errorf("a failed New changed the registry from %v to %v", before, after)
	}
	taken := prometheus.NewRegistry()
	taken.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "gamenet_callback_seconds"}))
	if _, err := New(taken, nil); err == nil {
		t.Error("registered beside a gauge of the same name")
	}
	if left := values(t, taken); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := New(nil, nil); err != nil {
		t.Errorf("without a registerer: %v", err)
	}
}

func TestNames(t *testing.T) {
	_, registry := newMetrics(t, nil)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

func TestAllocations(t *testing.T) {
	m, _ := newMetrics(t, nil)
	if n := testing.AllocsPerRun(1000, func() {
		m.Received(640, 10, 3*time.Microsecond)
		m.Sent(640, 10, 1000)
		m.Dropped(1)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkPacket is what measuring one echoed packet costs.
func BenchmarkPacket(b *testing.B) {
	m, _ := newMetrics(b, prometheus.Labels{"service": "players"})
	b.ReportAllocs()
	for b.Loop() {
		m.Received(64, 1, 3*time.Microsecond)
		m.Sent(64, 1, 0)
	}
}

func BenchmarkPacketParallel(b *testing.B) {
	m, _ := newMetrics(b, nil)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			m.Received(64, 1, 3*time.Microsecond)
			m.Sent(64, 1, 0)
		}
	})
}
