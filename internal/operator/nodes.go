package operator

import "context"

// A Node is one node of a region, as seen by the node that answers.
type Node struct {
	Name    string `json:"node"`
	Up      bool   `json:"up"`                // reachable by the others
	Ready   bool   `json:"ready"`             // it is up to date, or has tried for a while: shards may be moved to it
	Leaving bool   `json:"leaving,omitempty"` // it is stopping, and transfers its shards
	Shards  int    `json:"shards"`            // that it owns
	Copies  int    `json:"copies"`            // of journals, snapshots and the like that it should store
	Behind  int    `json:"behind"`            // incomplete ones among them
	Level   int    `json:"level,omitempty"`   // the highest feature level that its last run read; 0: unknown
}

// A NodeList is the nodes of a region, by name, and the feature level in force: the lowest of theirs, or a lower one
// that is about to rise.
type NodeList struct {
	Level int    `json:"level"`
	Nodes []Node `json:"nodes"`
}

// Nodes lists and removes nodes. Errors are faults.
type Nodes interface {
	// List returns the nodes that are up, and those that count in majorities or for the feature level.
	List(ctx context.Context) (NodeList, error)

	// Remove removes a node for good: it does not count any more.
	Remove(ctx context.Context, node string) error
}

func (d *Handler) listNodes(c *call) (NodeList, error) { return d.Nodes.List(c.Context()) }

type removed struct {
	Removed string `json:"removed"`
}

// removeNode removes a node for good: one that returns later loses copies.
func (d *Handler) removeNode(c *call) (removed, error) {
	node := c.PathValue("node")
	err := d.Nodes.Remove(c.Context(), node)
	if err == nil {
		d.Log.Info("node removed", "removed", node, "access_key", c.id.KeyID)
	}
	return removed{node}, err
}
