package operator

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/control/audit"
	"github.com/muster-gg/muster/internal/policy"
)

const (
	recentTime    = 10 * time.Minute // how far back an overview looks in the audit trail
	recentChanges = 20               // of an overview
	recentBatches = 500              // messages of the trail that are read for them
)

// An Overview is the state of the region. What the caller may not read is absent.
type Overview struct {
	*control.Overview
	Nodes   []Node   `json:"nodes,omitempty"`   // of a cluster
	Changes []Change `json:"changes,omitempty"` // of the region, in the last 10 minutes; newest first
}

// A Change is a call that changed something, other than games and the computes of hosts, or several in a row of the
// same name by the same user: then it is the newest of them, without resources.
type Change struct {
	Time      time.Time `json:"time"`
	Name      string    `json:"name"`           // of the event: CreateFleet, UserPut
	User      string    `json:"user,omitempty"` // who did it: a name, or an ARN
	Resources []string  `json:"resources,omitempty"`
	Times     int       `json:"times,omitempty"` // how many calls; absent: one
}

func (d *Handler) overview(c *call) (*Overview, error) {
	if _, err := c.parameters(); err != nil {
		return nil, err
	}
	o, err := d.Region.Overview(c.Context(), d.hidden(c))
	if err != nil {
		return nil, err
	}
	out := &Overview{Overview: o}
	if d.Access.Permits(c.id, c.from, action("NodeRead")) {
		if list, err := d.Nodes.List(c.Context()); err == nil { // an error: it is no cluster, or does not know now
			out.Nodes = list.Nodes
			o.Attention = append(downNodes(list.Nodes), o.Attention...)
		}
	}
	if c.id != nil && d.Access.Permits(c.id, c.from, action("AuditRead")) {
		if out.Changes, err = d.recent.read(c.Context(), d); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// downNodes are about the nodes that are not up: the most urgent.
func downNodes(nodes []Node) (list []control.Attention) {
	for _, n := range nodes {
		if !n.Up {
			list = append(list, control.Attention{Kind: "nodeDown", Resource: n.Name,
				Text: "node " + n.Name + " is not up"})
		}
	}
	return list
}

// knownTime is how long the changes of an overview are kept: pages ask for them twice a second.
const knownTime = 5 * time.Second

// A recentCache keeps the newest changes, which are the same for all callers.
type recentCache struct {
	mu   sync.Mutex
	at   time.Time
	list []Change // not changed any more
}

func (r *recentCache) read(ctx context.Context, d *Handler) ([]Change, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := d.Clock.Now()
	if now.Sub(r.at) < knownTime {
		return r.list, nil
	}
	list, err := d.changesSince(ctx, now.Add(-recentTime))
	if err == nil {
		r.at, r.list = now, list
	}
	return list, err
}

// changesSince returns the newest calls in the audit trail that changed something, newest first.
func (d *Handler) changesSince(ctx context.Context, since time.Time) (list []Change, err error) {
	var failed error
	err = d.Access.Trail().ReadLast(ctx, recentBatches, audit.Query{Since: since}, func(_ string, line []byte) bool {
		var r audit.Record
		if failed = json.Unmarshal(line, &r); failed != nil {
			return false
		}
		if !r.ReadOnly && r.ErrorCode == "" && !routine(&r) {
			list = addChange(list, Change{r.Time, r.Name, identityName(&r.Identity), r.Resources, 0})
		}
		if len(list) > 2*recentChanges { // the newest are last
			list = slices.Delete(list, 0, recentChanges)
		}
		return true
	})
	slices.Reverse(list)
	return list[:min(len(list), recentChanges)], errors.Join(err, failed)
}

// addChange adds a change, to the last one if it is its like.
func addChange(list []Change, c Change) []Change {
	if len(list) > 0 {
		if last := &list[len(list)-1]; last.Name == c.Name && last.User == c.User {
			c.Resources, c.Times = nil, max(1, last.Times)+1
			*last = c
			return list
		}
	}
	return append(list, c)
}

// ofHosts are the calls of hosts that come and go.
var ofHosts = map[string]bool{"RegisterCompute": true, "GetComputeAuthToken": true, "DeregisterCompute": true}

// routine reports whether a record is of a call of game sessions and players, which audit-calls=all records too, or of
// a host.
func routine(r *audit.Record) bool {
	a, ok := policy.ActionOf("gamelift:" + r.Name)
	return ok && r.Source == "gamelift.amazonaws.com" && (a.OfGames() || ofHosts[r.Name])
}

func identityName(i *audit.Identity) string {
	for _, name := range []string{i.SourceIdentity, i.User, i.Arn[strings.LastIndexByte(i.Arn, ':')+1:]} {
		if name != "" {
			return name
		}
	}
	return i.Type
}

func (d *Handler) search(c *call) (*control.Lookup, error) {
	values, err := c.parameters()
	if err != nil {
		return nil, err
	}
	return d.Region.Lookup(c.Context(), control.LookupQuery{Text: values["q"], Hidden: d.hidden(c)})
}
