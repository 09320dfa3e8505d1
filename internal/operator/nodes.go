package operator

import (
	"context"
	"time"
)

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

// A ShardList is the shards of a region, and figures of the nodes that are up.
type ShardList struct {
	Node   string        `json:"node,omitempty"` // that answers; "": a service alone
	Nodes  []NodeFigures `json:"nodes"`          // by name; of a service alone: one without a name
	Shards []Shard       `json:"shards"`
}

// NodeFigures are what a node reports about itself.
type NodeFigures struct {
	Name     string `json:"node,omitempty"`
	Problem  string `json:"problem,omitempty"`       // why the rest is not known
	Version  string `json:"version,omitempty"`       // of the program
	Engine   string `json:"engineVersion,omitempty"` // of NATS
	DiskUsed uint64 `json:"diskUsedBytes"`           // by the data directory
	DiskFree uint64 `json:"diskFreeBytes"`           // on its file system, that the service can use; 0 if DiskSize is 0
	DiskSize uint64 `json:"diskSizeBytes"`           // of its file system; 0: unknown
	Lag      uint64 `json:"lag"`                     // records of all journals that the node has not read yet
}

// A Shard is what is stored of a shard, and where.
type Shard struct {
	Number   int          `json:"shard"`
	Problem  string       `json:"problem,omitempty"` // why last, lag, journalBytes and snapshot are not known
	Owner    string       `json:"owner,omitempty"`   // "": none now, or a service alone
	Last     uint64       `json:"last"`              // the number of the journal's newest record
	Lag      uint64       `json:"lag"`               // records that the node that answers has not read yet
	Bytes    uint64       `json:"journalBytes"`      // of the records that the journal keeps
	Append   *AppendTimes `json:"append,omitempty"`  // nil: the owner has appended nothing yet, or does not answer
	Snapshot *Snapshot    `json:"snapshot,omitempty"`
}

// AppendTimes are how long the newest 1,000 appends to a journal took on its owner.
type AppendTimes struct {
	P50 float64 `json:"p50Ms"`
	P99 float64 `json:"p99Ms"`
}

// A Snapshot is the newest one of a shard.
type Snapshot struct {
	Last  uint64    `json:"last"` // the number of the last record that it includes
	Bytes uint64    `json:"bytes"`
	Time  time.Time `json:"time"`
}

// Nodes lists and removes nodes. Errors are faults.
type Nodes interface {
	// List returns the nodes that are up, and those that count in majorities or for the feature level.
	List(ctx context.Context) (NodeList, error)

	// Shards returns the shards, of a service alone too. What does not answer is listed with the problem.
	Shards(ctx context.Context) ShardList

	// Remove removes a node for good: it does not count any more.
	Remove(ctx context.Context, node string) error
}

func (d *Handler) listNodes(c *call) (NodeList, error) { return d.Nodes.List(c.Context()) }

func (d *Handler) listShards(c *call) (ShardList, error) { return d.Nodes.Shards(c.Context()), nil }

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
