package cluster

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

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

// A node that does not reach the others answers for no shard, and fails the requests that wait at it without Patience.
// After it has reconnected it works as before.
func TestAway(t *testing.T) {
	var book ledger
	s := engine(t)
	line := &cable{server: s}
	conn, err := nats.Connect("", nats.InProcessServer(line), nats.MaxReconnects(-1),
		nats.ReconnectWait(time.Millisecond), nats.ReconnectBufSize(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	patient := func(c *Config) { c.Patience = time.Hour }
	members := []*member{start(t, connect(t, s), &book, "n1", patient, nil),
		start(t, connect(t, s), &book, "n2", patient, nil), start(t, conn, &book, "n3", patient, nil)}
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
		if r := away.do(i, fmt.Sprint("lost ", i)); !errors.Is(r.err, shard.ErrNotDone) &&
			!errors.Is(r.err, shard.ErrOutcomeUnknown) {
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

// A node that is connected to a majority, and cannot renew its lease, is not cut off before Patience has passed: the
// bucket may be electing a leader.
func TestElectionIsNoCut(t *testing.T) {
	var book ledger
	line := &cable{server: engine(t)}
	conn, err := nats.Connect("", nats.InProcessServer(line), nats.MaxReconnects(-1),
		nats.ReconnectWait(time.Millisecond), nats.ReconnectBufSize(-1))
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
