package muster

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/muster-gg/muster/internal/cluster"
	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/journal/jetstream"
	"github.com/muster-gg/muster/internal/operator"
)

// operatedNodes are the nodes of the region, for the operator's door.
type operatedNodes struct{ *service }

var errNoNodes = fault.New(fault.InvalidRequest, "This service runs alone: there are no nodes.")

// List is that of operator.Nodes.
func (o operatedNodes) List(ctx context.Context) ([]operator.Node, error) {
	if o.nodes == nil {
		return nil, errNoNodes
	}
	kept, err := o.engine.Members(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrNoCluster) {
		return nil, &fault.Error{Kind: fault.ServiceUnavailable, Message: "The nodes do not say what they keep. Try again.", Err: err}
	}
	all := map[string]*operator.Node{}
	for _, m := range kept {
		all[m.Name] = &operator.Node{Name: m.Name, Copies: m.Copies, Behind: m.Behind}
	}
	owned := o.nodes.Owned()
	for _, m := range o.nodes.Members() {
		n := all[m.Node]
		if n == nil {
			n = &operator.Node{Name: m.Node}
			all[m.Node] = n
		}
		n.Up, n.Ready, n.Leaving, n.Shards = true, m.Ready, m.Leaving, owned[m.Node]
	}
	var list []operator.Node
	for _, n := range all {
		list = append(list, *n)
	}
	slices.SortFunc(list, func(a, b operator.Node) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// Remove is that of operator.Nodes.
func (o operatedNodes) Remove(ctx context.Context, node string) error {
	if o.nodes == nil {
		return errNoNodes
	}
	err := jetstream.ErrNodeIsUp
	if !o.isUp(node) {
		err = o.engine.Remove(ctx, node)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrNodeIsUp):
		return fault.New(fault.Conflict, "Node %s is up. Stop it first, and do not start it again.", node)
	case errors.Is(err, jetstream.ErrNotMember):
		return fault.New(fault.NotFound, "There is no node %s. GET /v1/nodes lists them.", node)
	case errors.Is(err, jetstream.ErrTooFew):
		return fault.New(fault.Conflict, "Everything is kept on %d nodes, and without %s there would be fewer. Add another node first, or let another machine take its name.", o.engine.Replicas(), node)
	case errors.Is(err, jetstream.ErrNeeded):
		return fault.New(fault.Conflict, "Some of what %s keeps is not complete on the other nodes that keep it. Wait until GET /v1/nodes shows nobody else behind. If that cannot be any more, restore a backup.", node)
	case errors.Is(err, jetstream.ErrNoCluster):
		return fault.New(fault.InvalidRequest, "Nodes keep nothing themselves with a NATS that runs elsewhere: one that is stopped is gone.")
	default:
		return &fault.Error{Kind: fault.ServiceUnavailable, Message: "The nodes have not agreed. Look at GET /v1/nodes, and try again.", Err: err}
	}
}

// isUp reports whether the others hear a node.
func (o operatedNodes) isUp(node string) bool {
	return slices.ContainsFunc(o.nodes.Members(), func(m cluster.Member) bool { return m.Node == node })
}
