//go:build unix

package fault

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/e2e/child"
	"github.com/muster-gg/muster/e2e/netcut"
)

// A node is one muster serve with its data directory, over all its runs.
type node struct {
	*child.Process
	number  int
	name    string
	data    string
	address string // of its clients
	route   string // of the other nodes
}

// A cluster is all nodes, and the wires between them. One node alone is a cluster too.
type cluster struct {
	t        *testing.T
	nodes    []*node
	wires    [][]*netcut.Wire // from the node that dials, to the other; nil to itself
	shards   int
	settings []string     // further arguments of all nodes
	http     *http.Client // for what is no API call
}

func newCluster(t *testing.T, nodes int) *cluster {
	t.Helper()
	binary, err := build()
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, shards: 12, http: &http.Client{Transport: &http.Transport{DisableKeepAlives: true},
		Timeout: time.Second}}
	dir := t.TempDir() // is removed after the nodes have been killed
	random := rand.New(rand.NewPCG(rand.Uint64(), 0))
	taken := map[string]bool{}
	free := func() string {
		for {
			if a := child.FreeAddress(t, random); !taken[a] {
				taken[a] = true
				return a
			}
		}
	}
	for i := range nodes {
		name := fmt.Sprintf("n%d", i+1)
		c.nodes = append(c.nodes, &node{
			Process: child.New(t, "node "+name, binary), number: i, name: name, data: filepath.Join(dir, name),
			address: free(), route: free(),
		})
	}
	c.wires = make([][]*netcut.Wire, nodes)
	for i := range c.nodes {
		c.wires[i] = make([]*netcut.Wire, nodes)
		for j, to := range c.nodes {
			if i != j {
				c.wires[i][j] = netcut.NewWire(t, to.route)
			}
		}
	}
	return c
}

// unreachable is an address at which nobody listens. A node names it to others as its own,
// so that they know no way to it but the wires.
const unreachable = "127.0.0.1:9"

// arguments are the command line of a node. Nothing else knows it.
func (c *cluster) arguments(n *node) []string {
	args := []string{"serve", "--data", n.data, "--listen", n.address, "--gateway-listen", "", "--shards",
		strconv.Itoa(c.shards), "--reservation-timeout", "1h",
		"--session-retention", "5s"} // faults come while it archives
	args = append(args, c.settings...)
	if len(c.nodes) == 1 {
		return args
	}
	args = append(args, "--node", n.name, "--cluster-listen", n.route, "--cluster-advertise", unreachable)
	for _, w := range c.wires[n.number] {
		if w != nil {
			args = append(args, "--peer", w.Addr())
		}
	}
	return args
}

// share gives all nodes what they have in common before their first start.
func (c *cluster) share() {
	c.t.Helper()
	var names []string
	for _, n := range c.nodes {
		names = append(names, n.name)
	}
	if len(names) == 1 {
		return
	}
	prepared := c.t.TempDir()
	if _, err := muster.InitCluster(prepared, names, time.Now()); err != nil {
		c.t.Fatal(err)
	}
	for _, n := range c.nodes {
		if err := os.CopyFS(n.data, os.DirFS(filepath.Join(prepared, n.name))); err != nil {
			c.t.Fatal(err)
		}
	}
}

// launch starts nodes and does not wait for them.
func (c *cluster) launch(nodes ...*node) {
	c.t.Helper()
	for _, n := range nodes {
		n.Launch(c.arguments(n)...)
	}
}

// start starts nodes and waits until they are ready.
func (c *cluster) start(ctx context.Context, nodes ...*node) {
	c.t.Helper()
	c.launch(nodes...)
	c.awaitReady(ctx, nodes...)
}

func (c *cluster) awaitReady(ctx context.Context, nodes ...*node) {
	c.t.Helper()
	for _, n := range nodes {
		n.Await(ctx, func() bool { return c.ready(ctx, n) })
	}
}

// ready asks a node whether it serves.
func (c *cluster) ready(ctx context.Context, n *node) bool {
	_, err := c.get(ctx, n, "/readyz")
	return err == nil
}

// stop stops all nodes gracefully, at once.
func (c *cluster) stop() {
	c.t.Helper()
	for _, n := range c.nodes {
		n.Stop()
	}
	for _, n := range c.nodes {
		n.AwaitEnd()
	}
}

// owner is the node that owns a shard.
func (c *cluster) owner(ctx context.Context, shard int) *node {
	c.t.Helper()
	if len(c.nodes) == 1 {
		return c.nodes[0]
	}
	for _, n := range c.nodes {
		text, err := c.get(ctx, n, "/metrics")
		if err != nil {
			c.t.Fatal(err)
		}
		if strings.Contains(text, fmt.Sprintf("\nmuster_shard_owned{shard=\"%d\"} 1\n", shard)) {
			return n
		}
	}
	c.t.Fatalf("no node owns shard %d", shard)
	return nil
}

// others are all nodes but one.
func (c *cluster) others(than *node) (others []*node) {
	for _, n := range c.nodes {
		if n != than {
			others = append(others, n)
		}
	}
	return others
}

// A side is what a node that is cut off cannot do.
type side int

const (
	sends    side = 1 << iota // no other node receives from it
	receives                  // it receives nothing
)

// cut cuts a node off from all others.
func (c *cluster) cut(n *node, s side) { c.wiresOf(n, s, (*netcut.Wire).Cut) }

// mend undoes cut.
func (c *cluster) mend(n *node, s side) { c.wiresOf(n, s, (*netcut.Wire).Mend) }

// wiresOf does something to each way by which a node sends or receives.
func (c *cluster) wiresOf(n *node, s side, do func(*netcut.Wire, netcut.Way)) {
	for _, m := range c.others(n) {
		out, in := c.wires[n.number][m.number], c.wires[m.number][n.number]
		if s&sends != 0 {
			do(out, netcut.Forth)
			do(in, netcut.Back)
		}
		if s&receives != 0 {
			do(out, netcut.Back)
			do(in, netcut.Forth)
		}
	}
}

// keys waits for the access key that the first start has made: one node writes it.
func (c *cluster) keys(ctx context.Context) (id, secret string) {
	c.t.Helper()
	c.nodes[0].Await(ctx, func() bool {
		id, secret = c.readKeys()
		return id != "" && secret != ""
	})
	return id, secret
}

func (c *cluster) readKeys() (id, secret string) {
	for _, n := range c.nodes {
		text, err := os.ReadFile(filepath.Join(n.data, "aws-profile"))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			switch name, value, _ := strings.Cut(line, "="); strings.TrimSpace(name) {
			case "aws_access_key_id":
				id = strings.TrimSpace(value)
			case "aws_secret_access_key":
				secret = strings.TrimSpace(value)
			}
		}
	}
	return id, secret
}
