package console

import (
	"fmt"
	"net/http"
	"time"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/policy"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A clusterBody is the nodes of a region.
type clusterBody struct {
	Alone  bool // the service is not part of a cluster
	Level  int
	Nodes  []node
	Counts *fleet.Counts // of the region; nil: not for this person
}

// A node is what GET /v1/nodes answers about one.
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

// Status is the state of a node in a word.
func (n node) Status() string {
	switch {
	case !n.Up:
		return "DOWN"
	case n.Leaving:
		return "LEAVING"
	case !n.Ready:
		return "CATCHING_UP"
	}
	return "READY"
}

func clusterPage(v *visit) error { return v.cluster(nil) }

func (v *visit) cluster(refused error) error {
	var b clusterBody
	err := v.request("GET", in("nodes"), nil, &b)
	if b.Alone = fault.Is(err, fault.InvalidRequest); err != nil && !b.Alone {
		return err
	}
	if b.Counts, err = v.counts(); err != nil {
		return err
	}
	return v.refused("cluster", page{Title: "Cluster", Nav: "/console/cluster", Live: refused == nil, Body: &b},
		refused)
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
