package nodes

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/nats-io/nats.go"
)

// figuresSubject is the prefix of the subjects on which a node is asked for its figures; its name follows.
const figuresSubject = "muster.figures."

// machinesSubject is the prefix of the subjects on which a node is asked for the machines that it knows.
const machinesSubject = "muster.machines."

// Figures returns the Config.Figures of all living nodes, by name. Nodes that do not answer in time are missing, like
// those of releases that have no figures.
func (n *Nodes) Figures(ctx context.Context) map[string][]byte { return n.askAll(ctx, figuresSubject) }

// Machines implements control.Cluster.
func (n *Nodes) Machines(ctx context.Context) (answers [][]byte) {
	return slices.Collect(maps.Values(n.askAll(ctx, machinesSubject)))
}

// askAll asks all living nodes at once, and returns the answers that arrive in time, by node.
func (n *Nodes) askAll(ctx context.Context, subject string) map[string][]byte {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	var mu sync.Mutex
	var asking sync.WaitGroup
	all := map[string][]byte{}
	for _, m := range n.node.Members() {
		asking.Go(func() {
			answer, err := n.cfg.Conn.RequestWithContext(ctx, subject+m.Node, nil)
			if err != nil {
				n.cfg.Log.Debug("answer of another node not received", "subject", subject, "node", m.Node, "error", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			all[m.Node] = answer.Data
		})
	}
	asking.Wait()
	return all
}

// nodeSubject is the prefix of the subjects on which a node is asked what it alone has, such as bytes of objects; its
// name follows.
const nodeSubject = "muster.node."

// Self implements control.Cluster.
func (n *Nodes) Self() string { return n.cfg.Node }

// Living implements control.Cluster.
func (n *Nodes) Living() (names []string) {
	for _, m := range n.node.Members() {
		names = append(names, m.Node)
	}
	return names
}

// AskNode implements control.Cluster.
func (n *Nodes) AskNode(ctx context.Context, node string, question []byte) ([]byte, error) {
	m, err := n.cfg.Conn.RequestWithContext(ctx, nodeSubject+node, question)
	if err != nil {
		return nil, err
	}
	return m.Data, nil
}

func (n *Nodes) giveMachines(m *nats.Msg) { n.respond(m, n.plane.SharedMachines()) }

func (n *Nodes) giveFigures(m *nats.Msg) { n.respond(m, n.cfg.Figures()) }

// Owner returns the node that owns a shard, as far as this one knows; "": none.
func (n *Nodes) Owner(shard int) string {
	owner, _ := n.node.Owner(shard)
	return owner
}
