package server

import (
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/operator"
)

// shards asks for the shards until all journals are led, owned and read everywhere: then a cluster is at rest.
func (e *endpoint) shards(owned bool) (list operator.ShardList) {
	e.Helper()
	limit, look := time.NewTimer(time.Minute), time.NewTicker(10*time.Millisecond)
	defer limit.Stop()
	defer look.Stop()
	for {
		list = operator.ShardList{}
		if err := json.Unmarshal([]byte(e.ok("GET", "/v1/shards", "")), &list); err != nil {
			e.Fatal(err)
		}
		rest := true
		for _, s := range list.Shards {
			rest = rest && s.Problem == "" && (s.Owner != "") == owned && s.Last > 0 && s.Lag == 0 && s.Append != nil
		}
		for _, n := range list.Nodes {
			rest = rest && n.Problem == "" && n.Lag == 0
		}
		if rest && len(list.Shards) > 0 {
			return list
		}
		select {
		case <-limit.C:
			e.Fatalf("not at rest: %+v", list)
		case <-look.C:
		}
	}
}

// checkNodes compares the names of the nodes, which have all figures.
func (e *endpoint) checkNodes(list operator.ShardList, names ...string) {
	e.Helper()
	if len(list.Nodes) != len(names) {
		e.Fatalf("nodes %+v, want %q", list.Nodes, names)
	}
	for i, n := range list.Nodes {
		if n.Name != names[i] || n.Version == "" || n.Engine == "" || n.DiskUsed == 0 || n.DiskSize <= n.DiskFree {
			e.Errorf("node %+v, want %s", n, names[i])
		}
	}
}

// TestShardsAlone: a service alone describes itself, and a snapshot that it wrote when it stopped.
func TestShardsAlone(t *testing.T) {
	c := quietConfig(t.TempDir())
	c.Shards, c.Clock, c.Log = 2, clockwork.NewRealClock(), slog.New(slog.DiscardHandler)
	for _, snapshot := range []bool{false, true} {
		e := endpoint{T: t}
		stop := beginAt(t, c, &e.Endpoints)
		list := e.shards(false)
		e.checkNodes(list, "")
		if len(list.Shards) != 2 || list.Node != "" {
			t.Errorf("%+v", list)
		}
		for _, s := range list.Shards {
			if got := s.Snapshot; (got != nil) != snapshot ||
				snapshot && (got.Last == 0 || got.Last > s.Last || got.Bytes == 0 || got.Time.IsZero()) {
				t.Errorf("shard %d: snapshot %+v", s.Number, got)
			}
		}
		stop()
	}
}

// TestShardsOfNodes: each node describes all that are up.
func TestShardsOfNodes(t *testing.T) {
	nodes := upgrading(t)
	endpoints := beginAll(t, nodes)
	for i, e := range endpoints {
		list := e.shards(true)
		e.checkNodes(list, "n1", "n2", "n3")
		if want := nodes[i].Cluster.Node; list.Node != want {
			t.Errorf("answered by %s, want %s", list.Node, want)
		}
	}
}
