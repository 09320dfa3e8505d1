package server

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/muster-gg/muster/internal/cluster"
	"github.com/muster-gg/muster/internal/journal/jetstream"
	"github.com/muster-gg/muster/internal/operator"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// operatedNodes implements operator.Nodes.
type operatedNodes struct{ *service }

var errNoNodes = fault.New(fault.InvalidRequest, "This service is not part of a cluster.")

func (o operatedNodes) List(ctx context.Context) (list operator.NodeList, err error) {
	if o.nodes == nil {
		return list, errNoNodes
	}
	kept, err := o.engine.Members(ctx)
	external := errors.Is(err, jetstream.ErrNoCluster)
	if err != nil && !external {
		const message = "The copies of the nodes are unknown. Try again."
		return list, &fault.Error{Kind: fault.ServiceUnavailable, Message: message, Err: err}
	}
	all := map[string]*operator.Node{}
	for _, m := range kept {
		all[m.Name] = &operator.Node{Name: m.Name, Copies: m.Copies, Behind: m.Behind}
	}
	owned := o.nodes.Owned()
	for _, m := range o.nodes.Known() {
		n := all[m.Node]
		if n == nil && m.Gone && !external {
			continue // removed
		}
		if n == nil {
			n = &operator.Node{Name: m.Node}
			all[m.Node] = n
		}
		n.Up, n.Ready, n.Leaving, n.Shards, n.Level = !m.Gone, m.Ready, m.Leaving, owned[m.Node], m.Level
	}
	for _, n := range all {
		list.Nodes = append(list.Nodes, *n)
	}
	slices.SortFunc(list.Nodes, func(a, b operator.Node) int { return cmp.Compare(a.Name, b.Name) })
	list.Level = o.plane.Level(region.CatalogShard)
	return list, nil
}

func (o operatedNodes) Remove(ctx context.Context, node string) error {
	if o.nodes == nil {
		return errNoNodes
	}
	err := jetstream.ErrNodeIsUp
	if !o.isUp(node) {
		err = o.remove(ctx, node)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrNodeIsUp):
		return fault.New(fault.Conflict, "Node %s is up. Stop it first, and do not start it again.", node)
	case errors.Is(err, jetstream.ErrNotMember), errors.Is(err, jetstream.ErrNoCluster):
		return fault.New(fault.NotFound, "There is no node %s. GET /v1/nodes lists them.", node)
	case errors.Is(err, jetstream.ErrTooFew):
		return fault.New(fault.Conflict, "All data has %d copies, and without %s there would be fewer nodes. "+
			"Add another node first, or start another machine with its name.", o.engine.Replicas(), node)
	case errors.Is(err, jetstream.ErrNeeded):
		return fault.New(fault.Conflict,
			"Some data of %s is not complete on other nodes. Wait until GET /v1/nodes shows "+
				"no other node behind. If that is impossible, restore a backup.", node)
	default:
		const message = "The nodes have not agreed. Check GET /v1/nodes, and try again."
		return &fault.Error{Kind: fault.ServiceUnavailable, Message: message, Err: err}
	}
}

// remove removes a node from the engine's majorities, except with an external NATS, and from those that count for the
// feature level. It can be repeated after an interruption.
func (o operatedNodes) remove(ctx context.Context, node string) error {
	err := o.engine.Remove(ctx, node)
	if err != nil && !errors.Is(err, jetstream.ErrNotMember) && !errors.Is(err, jetstream.ErrNoCluster) {
		return err
	}
	forgotten, failed := o.forgetNode(ctx, node)
	if failed != nil {
		return failed
	}
	if forgotten {
		return nil
	}
	return err
}

// isUp reports whether a node is reachable.
func (o operatedNodes) isUp(node string) bool {
	return slices.ContainsFunc(o.nodes.Members(), func(m cluster.Member) bool { return m.Node == node })
}
