package operator

import (
	"context"
	"net/http"

	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/sigv4"
)

// A Node is one node of a region, as the one that is asked sees it.
type Node struct {
	Name    string `json:"node"`
	Up      bool   `json:"up"`                // the others hear it
	Ready   bool   `json:"ready"`             // it has caught up, or tried for a while: shards may be moved to it
	Leaving bool   `json:"leaving,omitempty"` // it stops, and hands over
	Shards  int    `json:"shards"`            // that it owns
	Copies  int    `json:"copies"`            // of journals, snapshots and the like, which it is to keep
	Behind  int    `json:"behind"`            // how many of them are not complete
	Level   int    `json:"level,omitempty"`   // the highest feature level that its last run read; 0: not known
}

// A NodeList is the nodes of a region, by name, and the feature level that is in force: the lowest of
// theirs, or a lower one that is about to rise.
type NodeList struct {
	Level int    `json:"level"`
	Nodes []Node `json:"nodes"`
}

// Nodes are what the door asks about nodes. Errors are faults.
type Nodes interface {
	// List gives those that are up, and those that count: in majorities, or for the feature level.
	List(ctx context.Context) (NodeList, error)

	// Remove lets a node that is gone for good not count any more.
	Remove(ctx context.Context, node string) error
}

func (d *Handler) listNodes(w http.ResponseWriter, r *http.Request) {
	nodes, err := d.Nodes.List(r.Context())
	d.answer(w, nodes, err)
}

type removed struct {
	Removed string `json:"removed"`
}

// removeNode is for the root key alone: who removes a node that will be back takes copies away.
func (d *Handler) removeNode(w http.ResponseWriter, r *http.Request) {
	caller, _ := r.Context().Value(callerKey{}).(sigv4.Caller)
	if !d.Region.IsRootKey(caller.AccessKeyID) {
		d.fail(w, fault.New(fault.AccessDenied, "Nodes are removed with the access key that the region was born with."))
		return
	}
	node := r.PathValue("node")
	err := d.Nodes.Remove(r.Context(), node)
	if err == nil {
		d.Log.Info("a node was removed", "removed", node, "access_key", caller.AccessKeyID)
	}
	d.answer(w, removed{node}, err)
}
