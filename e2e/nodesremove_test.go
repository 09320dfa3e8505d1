package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/operator"
	"github.com/muster-gg/muster/internal/region"
)

// removeNode asks a node to remove another.
func (s *service) removeNode(t *testing.T, name string, status int, word string) {
	t.Helper()
	got, body := read(t, s.operateWith(t, http.MethodDelete, "/v1/nodes/"+name, s.SecretKey))
	if got != status || !strings.Contains(body, word) {
		t.Errorf("remove %s: status %d, want %d with %q: %s", name, got, status, word, body)
	}
}

// listNodes asks a node for all.
func (s *service) listNodes(t *testing.T) (nodes []operator.Node) {
	t.Helper()
	status, body := s.inspect(t, "/v1/nodes")
	var list struct{ Nodes []operator.Node }
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	return list.Nodes
}

// Nodes are listed, and one that has gone is removed, if enough are left.
func TestNodesAreRemoved(t *testing.T) {
	nodes := initNodes(t, 4)
	runNodes(t, nodes)
	s := nodes[0]
	eventually(t, "four nodes with three copies", func() bool {
		copies, shards := 0, 0
		for _, n := range s.listNodes(t) {
			if !n.Up || !n.Ready || n.Behind > 0 || n.Level != region.MaxLevel {
				return false
			}
			copies += n.Copies
			shards += n.Shards
		}
		return copies%3 == 0 && copies > 3*12 && shards == 12
	})
	s.removeNode(t, "n4", http.StatusConflict, "Node n4 is up. Stop it first")
	s.removeNode(t, "n5", http.StatusNotFound, "There is no node n5")

	nodes[3].stop()
	eventually(t, "n4 is removed", func() bool {
		status, body := read(t, s.operateWith(t, http.MethodDelete, "/v1/nodes/n4", s.SecretKey))
		return status == http.StatusOK && strings.Contains(body, `"n4"`)
	})
	eventually(t, "three nodes with three copies", func() bool {
		list := s.listNodes(t)
		for _, n := range list {
			if !n.Up || n.Behind > 0 || n.Copies != list[0].Copies {
				return false
			}
		}
		return len(list) == 3
	})
	nodes[2].stop()
	eventually(t, "three copies need three nodes", func() bool {
		_, body := read(t, s.operateWith(t, http.MethodDelete, "/v1/nodes/n3", s.SecretKey))
		return strings.Contains(body, "All data has 3 copies, and without n3 there would be fewer nodes")
	})
}
