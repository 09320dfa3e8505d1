package machines

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/mustertest/catalogtest"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// A world is the nodes of a region.
type world struct {
	t     *testing.T
	clock *clockwork.FakeClock
	store *catalogtest.Store
	nodes []*Machines
	down  map[*Machines]bool
}

func newWorld(t *testing.T, nodes int) *world {
	w := &world{t: t, clock: clockwork.NewFakeClock(), down: map[*Machines]bool{}}
	w.store = catalogtest.New(w.clock)
	for range nodes {
		w.nodes = append(w.nodes, New(Config{Catalog: w.store, RegionID: "r", Clock: w.clock,
			Log: slog.New(slog.DiscardHandler), Others: w.others}))
	}
	w.change(catalog.CreateMachineToken{Hash: TokenHash("t"), Location: "us-west-2",
		Expires: event.At(w.clock.Now().Add(time.Hour))})
	return w
}

func (w *world) others(context.Context) (answers [][]byte) {
	for _, n := range w.nodes {
		if !w.down[n] {
			answers = append(answers, n.Shared())
		}
	}
	return answers
}

func (w *world) change(c catalog.Command) {
	w.t.Helper()
	if err := w.store.Change(w.t.Context(), c); err != nil {
		w.t.Fatal(err)
	}
}

var offered = protocol.Offer{MilliCPUs: 1000, MemoryMiB: 1024}

// A peer is a socket of a machine.
type peer struct {
	Connection
	wanted []*protocol.Wanted
	ended  error
}

func (w *world) join(n *Machines, token string) *peer {
	w.t.Helper()
	p := &peer{}
	c, err := n.Join(w.t.Context(), Request{
		Join: &protocol.Join{Name: "box", Token: token, PublicKey: bytes.Repeat([]byte{1}, 32), Offer: offered},
		Push: func(m *protocol.Wanted) { p.wanted = append(p.wanted, m) }, End: func(err error) { p.ended = err },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	p.Connection = c
	return p
}

func (w *world) report(p *peer) {
	w.t.Helper()
	err := p.Observed(w.t.Context(), &protocol.Observed{Generation: 1, Offer: offered, Load: new(0.25)})
	if err != nil {
		w.t.Fatal(err)
	}
}

// want holds the status of the machine on each node that is up.
func (w *world) want(what string, want Status) {
	w.t.Helper()
	for i, n := range w.nodes {
		if w.down[n] {
			continue
		}
		list := n.List(w.t.Context())
		if len(list) != 1 || list[0].Status != want {
			w.t.Errorf("%s: node %d lists %+v, want %s", what, i, list, want)
		}
	}
}

// TestStatus: all nodes show the same status, through a lost socket, a failed node and a machine that is lost.
func TestStatus(t *testing.T) {
	w := newWorld(t, 3)
	first := w.join(w.nodes[0], "t")
	if len(first.wanted) != 1 || first.wanted[0].Generation != 1 {
		t.Errorf("the first state is %+v", first.wanted)
	}
	w.want("joined", Online)
	w.clock.Advance(25 * time.Second)
	w.report(first)
	w.clock.Advance(25 * time.Second)
	w.want("25 s after a report", Online)
	if m := w.nodes[1].List(t.Context())[0]; m.Load == nil || *m.Load != 0.25 || m.Generation != 1 ||
		!m.Seen.Equal(w.clock.Now().Add(-25*time.Second)) {
		t.Errorf("another node knows %+v", m)
	}
	first.Disconnected()
	w.want("the socket is closed", Reconnecting)
	w.clock.Advance(5 * time.Second)
	w.want("30 s after the last report", Lost)

	second := w.join(w.nodes[1], "")
	w.report(second)
	w.want("reconnected to another node", Online)
	w.down[w.nodes[1]] = true
	w.want("that node has failed", Reconnecting)
	w.clock.Advance(protocol.LostAfter)
	w.want("and the machine does not return", Lost)
	w.down[w.nodes[1]] = false
	w.want("that node is back, without a report", Lost)
}

// TestStart: a node that has just begun knows of no report, and gives machines time to reconnect.
func TestStart(t *testing.T) {
	w := newWorld(t, 1)
	w.join(w.nodes[0], "t")
	w.clock.Advance(time.Hour)
	n := New(Config{Catalog: w.store, RegionID: "r", Clock: w.clock, Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	if err := w.clock.BlockUntilContext(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if m := n.List(ctx)[0]; m.Status != Reconnecting || !m.Seen.IsZero() {
		t.Errorf("at the start: %+v", m)
	}
	w.clock.Advance(protocol.LostAfter)
	if m := n.List(ctx)[0]; m.Status != Lost {
		t.Errorf("later: %+v", m)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestWanted: a change of the catalog reaches the machine once, at the latest with its next report.
func TestWanted(t *testing.T) {
	w := newWorld(t, 1)
	n := w.nodes[0]
	p := w.join(n, "t")
	w.change(catalog.DrainMachine{Name: "box", Drained: true})
	n.wake("box", w.store.Catalog())
	n.wake("box", w.store.Catalog())
	w.report(p)
	if len(p.wanted) != 2 || !p.wanted[1].Drain || p.wanted[1].Generation != 2 {
		t.Errorf("pushed %+v", p.wanted)
	}
	w.change(catalog.DrainMachine{Name: "box"})
	w.report(p)
	if len(p.wanted) != 3 || p.wanted[2].Drain {
		t.Errorf("pushed %+v after a report", p.wanted)
	}
	w.change(catalog.DeleteMachine{Name: "box", Lost: true})
	n.wake("box", w.store.Catalog())
	if !fault.Is(p.ended, fault.NotFound) {
		t.Errorf("after the deletion: %v", p.ended)
	}
	p.Disconnected()
	if n.List(t.Context()); len(n.known) != 0 {
		t.Errorf("%d deleted machines are known", len(n.known))
	}
}

// TestOffers: another offer is stored, but not each that a machine reports.
func TestOffers(t *testing.T) {
	w := newWorld(t, 1)
	p := w.join(w.nodes[0], "t")
	cpus := func() int32 {
		m, _ := w.store.Catalog().Machine("box")
		return m.Offer.MilliCPUs
	}
	for _, c := range []struct {
		after time.Duration
		offer int32
		want  int32
	}{
		{0, 2000, 1000}, {protocol.ReportInterval, 2000, 2000}, {time.Second, 3000, 2000},
		{protocol.ReportInterval, 3000, 3000},
	} {
		w.clock.Advance(c.after)
		o := &protocol.Observed{Generation: 1, Offer: offered}
		o.Offer.MilliCPUs = c.offer
		if err := p.Observed(t.Context(), o); err != nil || cpus() != c.want {
			t.Errorf("%d reported: %d stored, want %d, %v", c.offer, cpus(), c.want, err)
		}
	}
	w.clock.Advance(protocol.ReportInterval)
	if err := p.Observed(t.Context(), &protocol.Observed{}); !fault.Is(err, fault.InvalidRequest) {
		t.Errorf("an invalid offer: %v", err)
	}
}

// TestForeignAnswers: an answer that cannot be read changes nothing.
func TestForeignAnswers(t *testing.T) {
	w := newWorld(t, 1)
	w.join(w.nodes[0], "t")
	w.nodes[0].Others = func(context.Context) [][]byte {
		return [][]byte{nil, []byte("{"), []byte(`[{"name":1}]`), []byte(`[{"name":"none","connected":true}]`)}
	}
	w.want("with foreign answers", Online)
	if !json.Valid(w.nodes[0].Shared()) {
		t.Error("what is shared is no JSON")
	}
}
