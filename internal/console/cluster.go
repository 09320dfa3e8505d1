package console

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/policy"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A clusterBody is the nodes and shards of a region.
type clusterBody struct {
	Alone  bool // the service is not part of a cluster
	List   nodeList
	Shards shardList
	Counts *fleet.Counts // of the region; nil: not for this person
}

// A nodeList is what GET /v1/nodes answers.
type nodeList struct {
	Level int
	Nodes []*node
}

type node struct {
	Name    string `json:"node"`
	Up      bool   `json:"up"`
	Ready   bool   `json:"ready"`
	Leaving bool   `json:"leaving"`
	Shards  int    `json:"shards"`
	Copies  int    `json:"copies"`
	Behind  int    `json:"behind"`
	Level   int    `json:"level"`
}

// A shardList is what GET /v1/shards answers.
type shardList struct {
	Node   string
	Nodes  []nodeFigures
	Shards []shardState
}

type nodeFigures struct {
	Node, Problem, Version, EngineVersion            string
	DiskUsedBytes, DiskFreeBytes, DiskSizeBytes, Lag uint64
}

type shardState struct {
	Shard                   int
	Owner, Problem          string
	Last, Lag, JournalBytes uint64
	Append                  *struct{ P50Ms, P99Ms float64 }
	Snapshot                *struct {
		Last, Bytes uint64
		Time        time.Time
	}
}

// A nodeRow is a node with what it reports about itself.
type nodeRow struct {
	Node    *node        // nil: not answered, or a service alone
	Figures *nodeFigures // nil: not answered, or the node is down
}

// Rows returns the nodes of both answers, by name.
func (b *clusterBody) Rows() (rows []nodeRow) {
	byName := map[string]nodeRow{}
	for _, n := range b.List.Nodes {
		byName[n.Name] = nodeRow{Node: n}
	}
	for i, f := range b.Shards.Nodes {
		byName[f.Node] = nodeRow{byName[f.Node].Node, &b.Shards.Nodes[i]}
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		rows = append(rows, byName[name])
	}
	return rows
}

// Title is the name of a node.
func (n nodeRow) Title() string {
	if n.Node != nil {
		return n.Node.Name
	}
	return cmp.Or(n.Figures.Node, "this service")
}

// Status is the state of a node in a word; "": not known.
func (n nodeRow) Status() string {
	switch {
	case n.Node == nil:
		return ""
	case !n.Node.Up:
		return "DOWN"
	case n.Node.Leaving:
		return "LEAVING"
	case !n.Node.Ready:
		return "CATCHING_UP"
	}
	return "READY"
}

func clusterPage(v *visit) error { return v.cluster(nil) }

// clusterPace is how many seconds pass at least between two readings of the page: each asks all journals.
const clusterPace = 5

func (v *visit) cluster(refused error) error {
	var b clusterBody
	err := v.readAny(
		part{"Nodes", func() error {
			err := v.request("GET", in("nodes"), nil, &b.List)
			if b.Alone = fault.Is(err, fault.InvalidRequest); b.Alone {
				return nil
			}
			return err
		}},
		part{"Shards", func() error { return v.request("GET", in("shards"), nil, &b.Shards) }},
		part{"Numbers of the region", func() (err error) {
			b.Counts, err = v.counts()
			return err
		}},
	)
	if err != nil {
		return err
	}
	p := page{Title: "Cluster", Nav: "/console/cluster", Live: refused == nil, Every: clusterPace, Body: &b}
	return v.refused("cluster", p, refused)
}

// sizeText returns a number of bytes with a unit.
func sizeText(n uint64) string {
	size, unit := float64(n), 0
	for ; size >= 999.5 && unit < len(sizeUnits)-1; unit++ {
		size /= 1000
	}
	if unit == 0 || size >= 99.5 {
		return fmt.Sprintf("%.0f %s", size, sizeUnits[unit])
	}
	return fmt.Sprintf("%.2g %s", size, sizeUnits[unit])
}

var sizeUnits = []string{"B", "kB", "MB", "GB", "TB", "PB"}

// millisText returns a short time in milliseconds.
func millisText(ms float64) string {
	if ms < 9.95 {
		return fmt.Sprintf("%.2f ms", ms)
	}
	return fmt.Sprintf("%.0f ms", ms)
}

// describeUtilization is the operation whose answers the totals add up.
var describeUtilization, _ = policy.ActionOf("gamelift:DescribeFleetUtilization")

// counts returns the numbers of the region; nil if the person may not see them.
func (v *visit) counts() (*fleet.Counts, error) {
	if !v.h.Access.Permits(v.id, v.from, describeUtilization) { // of all fleets
		return nil, nil
	}
	total, err := v.h.Region.Counts(v.ctx)
	return &total, err
}

func removeNode(v *visit) error {
	name := v.form("node")
	if v.form("confirm") != name {
		return v.cluster(invalid("Type the name of the node, %s, to remove it.", name))
	}
	if err := v.request("DELETE", in("nodes", name), nil, nil); err != nil {
		return v.cluster(err)
	}
	return v.redirect("/console/cluster?done=node-removed")
}

// backUp answers with a backup, for as long as it takes.
func backUp(v *visit) error {
	r, err := http.NewRequestWithContext(v.r.Context(), http.MethodGet, in("backup"), nil)
	if err != nil {
		return fmt.Errorf("make a request: %w", err)
	}
	r.RemoteAddr = v.r.RemoteAddr
	v.w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q",
		"muster-"+v.h.RegionName+"-"+v.h.Clock.Now().UTC().Format("20060102-150405")+".backup"))
	_ = http.NewResponseController(v.w).SetReadDeadline(time.Time{})
	if err := v.h.Requests.ServeLocal(v.w, r, v.id, v.from); err != nil {
		v.w.Header().Del("Content-Disposition")
		return v.cluster(err)
	}
	return nil
}
