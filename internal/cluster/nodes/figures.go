package nodes

import (
	"context"
	"sync"

	"github.com/nats-io/nats.go"
)

// figuresSubject is the prefix of the subjects on which a node is asked for its figures; its name follows.
const figuresSubject = "muster.figures."

// Figures returns the Config.Figures of all living nodes, by name. Nodes that do not answer in time are missing, like
// those of releases that have no figures.
func (n *Nodes) Figures(ctx context.Context) map[string][]byte {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	var mu sync.Mutex
	var asking sync.WaitGroup
	all := map[string][]byte{}
	for _, m := range n.node.Members() {
		asking.Go(func() {
			answer, err := n.cfg.Conn.RequestWithContext(ctx, figuresSubject+m.Node, nil)
			if err != nil {
				n.cfg.Log.Debug("figures of another node not received", "node", m.Node, "error", err)
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

func (n *Nodes) giveFigures(m *nats.Msg) { n.respond(m, n.cfg.Figures()) }

// Owner returns the node that owns a shard, as far as this one knows; "": none.
func (n *Nodes) Owner(shard int) string {
	owner, _ := n.node.Owner(shard)
	return owner
}
