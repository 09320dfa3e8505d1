package nodes

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/muster-gg/muster/internal/cluster"
	"github.com/muster-gg/muster/internal/region"
)

// The beginnings of the subjects; the name of a node follows.
const (
	appliedSubject = "muster.applied."
	tellSubject    = "muster.tell."
	askSubject     = "muster.ask."
)

const (
	// askLimit is how long a node takes for an answer about itself, at most; whoever
	// asks looks then whether it still lives.
	askLimit = 500 * time.Millisecond

	// askPause lies between two questions to a node that does not hear.
	askPause = 20 * time.Millisecond
)

// subscribe lets this node hear what others say. unsubscribe returns when no message is
// worked on any more.
func (n *Nodes) subscribe() (unsubscribe func(), err error) {
	var working sync.WaitGroup
	var subs []*nats.Subscription
	ctx, cancel := context.WithCancel(context.Background())
	unsubscribe = func() {
		cancel()
		for _, s := range subs {
			_ = s.Unsubscribe() // fails when the connection is closed, which ends it, too
		}
		working.Wait()
		n.stander.end("")
	}
	for subject, handle := range map[string]nats.MsgHandler{
		appliedSubject + n.cfg.Node:    n.applied,
		standstillSubject + n.cfg.Node: func(m *nats.Msg) { n.stander.told(ctx, m) },
		tellSubject + "*":              n.told,
		askSubject + n.cfg.Node:        func(m *nats.Msg) { working.Go(func() { n.asked(m) }) },
	} {
		s, err := n.cfg.Conn.Subscribe(subject, handle)
		if err != nil {
			unsubscribe()
			return nil, fmt.Errorf("listen to the other nodes: %w", err)
		}
		working.Add(1)
		s.SetClosedHandler(func(string) { working.Done() })
		subs = append(subs, s)
	}
	return unsubscribe, nil
}

// Spread waits until every other node that lives has applied a record of a shard.
func (n *Nodes) Spread(ctx context.Context, shard int, seq uint64) {
	var asking sync.WaitGroup
	for _, m := range n.node.Members() {
		if m.Node != n.cfg.Node {
			asking.Go(func() { n.awaitApplied(ctx, m, shard, seq) })
		}
	}
	asking.Wait()
}

// awaitApplied waits until a node has applied a record, or is no member any more.
func (n *Nodes) awaitApplied(ctx context.Context, m cluster.Member, shard int, seq uint64) {
	question := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(shard)), seq)
	for ctx.Err() == nil && slices.ContainsFunc(n.node.Members(), func(o cluster.Member) bool { return o.Process == m.Process }) {
		asking, cancel := context.WithTimeout(ctx, askLimit)
		_, err := n.cfg.Conn.RequestWithContext(asking, appliedSubject+m.Node, question)
		cancel()
		if err == nil {
			return
		}
		select {
		case <-n.cfg.Clock.After(askPause):
		case <-ctx.Done():
		}
	}
}

// applied answers as soon as this node has applied a record; at once when nobody gets
// answers from it yet.
func (n *Nodes) applied(m *nats.Msg) {
	shard, size := binary.Uvarint(m.Data)
	if size <= 0 || shard >= uint64(n.cfg.Shards) {
		n.cfg.Log.Warn("a question of another node cannot be read", "subject", m.Subject)
		return
	}
	seq, rest := binary.Uvarint(m.Data[size:])
	if rest <= 0 {
		n.cfg.Log.Warn("a question of another node cannot be read", "subject", m.Subject)
		return
	}
	if !n.open.Load() {
		n.respond(m, nil)
		return
	}
	n.plane.Shard(int(shard)).Await(seq, func(err error) {
		if err == nil {
			n.respond(m, nil)
		}
	})
}

func (n *Nodes) respond(m *nats.Msg, data []byte) {
	if err := m.Respond(data); err != nil {
		n.cfg.Log.Debug("an answer to another node was not sent", "subject", m.Subject, "error", err)
	}
}

// Tell sends a message to all other nodes.
func (n *Nodes) Tell(message []byte) {
	if err := n.cfg.Conn.Publish(tellSubject+n.cfg.Node, message); err != nil {
		n.cfg.Log.Debug("a message to the other nodes was not sent", "error", err)
	}
}

func (n *Nodes) told(m *nats.Msg) {
	if strings.TrimPrefix(m.Subject, tellSubject) != n.cfg.Node {
		n.plane.Hear(m.Data)
	}
}

var errNobodyLeads = errors.New("no node leads at this moment")

// An answer to a question begins with one of these.
const (
	iLead  = '+'
	iDoNot = '-'
)

// AskLead has the node that leads answer a question.
func (n *Nodes) AskLead(ctx context.Context, question []byte) (answer []byte, err error) {
	lead, ok := n.node.Owner(region.CatalogShard)
	if !ok {
		return nil, errNobodyLeads
	}
	m, err := n.cfg.Conn.RequestWithContext(ctx, askSubject+lead, question)
	if err != nil {
		return nil, fmt.Errorf("ask node %s: %w", lead, err)
	}
	if len(m.Data) == 0 || m.Data[0] != iLead {
		return nil, errNobodyLeads
	}
	return m.Data[1:], nil
}

// asked answers a question, if this node leads.
func (n *Nodes) asked(m *nats.Msg) {
	ctx, cancel := context.WithTimeout(context.Background(), askLimit)
	defer cancel()
	answer, ok := n.plane.Answer(ctx, m.Data)
	if !ok {
		n.respond(m, []byte{iDoNot})
		return
	}
	n.respond(m, append([]byte{iLead}, answer...))
}
