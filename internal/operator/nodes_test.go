package operator

import (
	"context"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// nodes are n1, which is up, and n4, which can be removed.
type nodes struct{ removed []string }

func (n *nodes) List(context.Context) (NodeList, error) {
	return NodeList{1, []Node{{Name: "n1", Up: true, Ready: true, Shards: 12, Copies: 3, Level: 2},
		{Name: "n4", Copies: 2, Behind: 2}}}, nil
}

func (n *nodes) Shards(context.Context) ShardList {
	return ShardList{"n1", []NodeFigures{{Name: "n1", Version: "v1", DiskUsed: 7}, {Name: "n2", Problem: "late"}},
		[]Shard{{Owner: "n1", Last: 9, Append: &AppendTimes{0.5, 2}}, {Number: 1, Problem: "late"}}}
}

func (n *nodes) Remove(_ context.Context, node string) error {
	if node != "n4" {
		return fault.New(fault.Conflict, "Node %s is up", node)
	}
	n.removed = append(n.removed, node)
	return nil
}

func TestNodes(t *testing.T) {
	w := newWorld(t)
	const list = `{"level":1,"nodes":[{"node":"n1","up":true,"ready":true,"shards":12,"copies":3,"behind":0,` +
		`"level":2},{"node":"n4","up":false,"ready":false,"shards":0,"copies":2,"behind":2}]}`
	const shards = `{"node":"n1","nodes":[{"node":"n1","version":"v1","diskUsedBytes":7,"diskFreeBytes":0,` +
		`"diskSizeBytes":0,"lag":0},{"node":"n2","problem":"late","diskUsedBytes":0,"diskFreeBytes":0,` +
		`"diskSizeBytes":0,"lag":0}],"shards":[{"shard":0,"owner":"n1","last":9,"lag":0,"journalBytes":0,` +
		`"append":{"p50Ms":0.5,"p99Ms":2}},{"shard":1,"problem":"late","last":0,"lag":0,"journalBytes":0}]}`
	for _, c := range []struct {
		method, path, key string
		status            int
		body              string
	}{
		{"GET", "/v1/nodes", "AKGUEST", 200, list},
		{"GET", "/v1/shards", "AKGUEST", 200, shards},
		{"GET", "/v1/shards", "", 403, "MissingAuthenticationTokenException"},
		{"GET", "/v1/nodes", "", 403, "MissingAuthenticationTokenException"},
		{"DELETE", "/v1/nodes/n4", "AKGUEST", 403, "AccessDeniedException"},
		{"DELETE", "/v1/nodes/n1", "AKID", 409, "Node n1 is up"},
		{"DELETE", "/v1/nodes/n4", "AKID", 200, `{"removed":"n4"}`},
		{"DELETE", "/v1/nodes/", "AKID", 404, "UnknownOperationException"},
		{"POST", "/v1/nodes", "AKID", 404, "UnknownOperationException"},
	} {
		if status, body := w.ask(c.method, c.path, c.key); status != c.status || !strings.Contains(body, c.body) {
			t.Errorf("%s %s with key %q: %d %s", c.method, c.path, c.key, status, body)
		}
	}
	if len(w.nodes.removed) != 1 {
		t.Errorf("removed %q", w.nodes.removed)
	}
}
