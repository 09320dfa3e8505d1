package cluster

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/muster-gg/muster/internal/cluster/channel"
	"github.com/muster-gg/muster/internal/shard"
)

// A cable is a connection that can be cut and mended.
type cable struct {
	server *natsserver.Server

	mu   sync.Mutex
	cut  bool
	conn net.Conn // the present one
}

// InProcessConn connects, unless the cable is cut.
func (c *cable) InProcessConn() (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return nil, errors.New("the cable is cut")
	}
	conn, err := c.server.InProcessConn()
	c.conn = conn
	return conn, err
}

func (c *cable) set(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut = cut; cut {
		c.conn.Close()
	}
}

// A node that does not reach the others gives nobody's shard an answer, and fails what waits
// at it without Patience. When it is back it works as before.
func TestAway(t *testing.T) {
	var book ledger
	s := engine(t)
	line := &cable{server: s}
	conn, err := nats.Connect("", nats.InProcessServer(line), nats.MaxReconnects(-1), nats.ReconnectWait(time.Millisecond), nats.ReconnectBufSize(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	patient := func(c *Config) { c.Patience = time.Hour }
	members := []*member{start(t, connect(t, s), &book, "n1", patient, nil), start(t, connect(t, s), &book, "n2", patient, nil), start(t, conn, &book, "n3", patient, nil)}
	for _, m := range members {
		m.Ready()
	}
	spread(t, members...)
	away := members[2]
	if d := away.Away(); d != 0 {
		t.Errorf("away for %v before", d)
	}

	line.set(true)
	spread(t, members[:2]...)
	await(t, "the node to know that it is away", func() bool { return away.Away() > 0 })
	for i := range shards {
		if owner, _ := members[0].Owner(i); owner == "n3" {
			t.Errorf("shard %d is still that of n3", i)
		}
		if r := away.do(i, fmt.Sprint("lost ", i)); !errors.Is(r.err, shard.ErrNotDone) && !errors.Is(r.err, shard.ErrOutcomeUnknown) {
			t.Errorf("shard %d: got %v", i, r.err)
		}
		if _, err := away.askFor(i); !errors.Is(err, shard.ErrNotDone) {
			t.Errorf("shard %d: a barrier got %v", i, err)
		}
	}
	if !away.CutOff() {
		t.Error("the node does not know that it is cut off")
	}

	line.set(false)
	spread(t, members...)
	await(t, "the node to know that it is back", func() bool { return away.Away() == 0 })
	for i := range shards {
		if r := away.do(i, "back"); r.err != nil {
			t.Errorf("shard %d: %v", i, r.err)
		}
	}
}

// A node that is connected to a majority, and cannot renew its lease, is not cut off before Patience is over: the
// bucket may be electing a leader.
func TestElectionIsNoCut(t *testing.T) {
	var book ledger
	line := &cable{server: engine(t)}
	conn, err := nats.Connect("", nats.InProcessServer(line), nats.MaxReconnects(-1), nats.ReconnectWait(time.Millisecond), nats.ReconnectBufSize(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	change := func(c *Config) { c.Patience, c.Connected = 3*time.Second, func() bool { return true } }
	m := start(t, conn, &book, "n1", change, nil)
	await(t, "a lease", func() bool { return m.Away() == 0 })
	line.set(true)
	for m.Away() <= m.cfg.Lease+2*tick || !m.CutOff() {
		if cut, away := m.CutOff(), m.Away(); cut && away <= m.cfg.Patience {
			t.Fatalf("cut off after %v", away)
		}
		time.Sleep(time.Millisecond) // between two looks at a condition
	}
	line.set(false)
	await(t, "the node to be back", func() bool { return !m.CutOff() })
}

// Packets from the owner to the asker get lost for longer than both have patience. The asker
// has sent the first packet of its link again and again meanwhile, and one of these comes when the
// owner has dropped the link: what it carries is not carried out again.
func TestDroppedLinkStaysDropped(t *testing.T) {
	clock := clockwork.NewFakeClock()
	var book ledger
	owner := start(t, connect(t, engine(t)), &book, "n1", func(c *Config) { c.Clock, c.Lease = clock, time.Hour }, nil)
	await(t, "an owner", func() bool { _, ok := owner.Owner(0); return ok })
	packet := channel.Packet{
		Kind: channel.FromClient, From: "asker", Generation: 1, Number: 1,
		Piece: channel.AppendFrame(nil, channel.Frame{Kind: channel.Command, ID: 1, Body: []byte("once")}),
	}
	sessions := func() int {
		owner.Node.serve.mu.Lock()
		defer owner.Node.serve.mu.Unlock()
		return len(owner.Node.serve.sessions)
	}
	drop := func() { // nobody acknowledges the answer
		t.Helper()
		await(t, "the link to be dropped", func() bool {
			clock.Advance(channel.Retransmit)
			return sessions() == 0
		})
	}
	owner.Node.serve.receive(packet)
	drop()
	owner.Node.serve.receive(packet)
	if n := sessions(); n != 0 {
		t.Errorf("the packet opened %d links", n)
	}
	packet.Generation = 2
	owner.Node.serve.receive(packet)
	drop()
	for generation := range uint64(3) { // they were on their way for long
		packet.Generation = generation
		owner.Node.serve.receive(packet)
	}
	book.mu.Lock()
	defer book.mu.Unlock()
	if n := len(book.done[0]); n != 2 {
		t.Errorf("two links that carried a command each had it carried out %d times", n)
	}
}
