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

// Prefixes of subjects; the name of a node follows.
const (
	appliedSubject = "muster.applied."
	tellSubject    = "muster.tell."
	askSubject     = "muster.ask."
)

const (
	// askLimit is the timeout of a question about a node, after which the caller checks whether it still is a member.
	askLimit = 500 * time.Millisecond

	// askLeadLimit is the timeout of a question to the node that leads, after which the caller asks again: another node
	// may lead by then.
	askLeadLimit = 2 * time.Second

	// askPause is the time between two questions to a node that does not respond.
	askPause = 20 * time.Millisecond
)

// subscribe subscribes to the messages of other nodes. unsubscribe returns when no message is being processed any more.
func (n *Nodes) subscribe() (unsubscribe func(), err error) {
	var working sync.WaitGroup
	var subs []*nats.Subscription
	ctx, cancel := context.WithCancel(context.Background())
	unsubscribe = func() {
		cancel()
		for _, s := range subs {
			_ = s.Unsubscribe() // fails if the connection is closed, which has the same effect
		}
		working.Wait()
		n.pauser.end("")
	}
	for subject, handle := range map[string]nats.MsgHandler{
		appliedSubject + n.cfg.Node: n.applied,
		pauseSubject + n.cfg.Node:   func(m *nats.Msg) { n.pauser.handle(ctx, m) },
		figuresSubject + n.cfg.Node: n.giveFigures,

		machinesSubject + n.cfg.Node: n.giveMachines,

		tellSubject + "*":       n.receiveTell,
		askSubject + n.cfg.Node: func(m *nats.Msg) { working.Go(func() { n.asked(m) }) },
		nodeSubject + n.cfg.Node: func(m *nats.Msg) {
			working.Go(func() { n.respond(m, n.plane.AnswerNode(ctx, m.Data)) })
		},
	} {
		s, err := n.cfg.Conn.Subscribe(subject, handle)
		if err != nil {
			unsubscribe()
			return nil, fmt.Errorf("subscribe to the other nodes: %w", err)
		}
		working.Add(1)
		s.SetClosedHandler(func(string) { working.Done() })
		subs = append(subs, s)
	}
	return unsubscribe, nil
}

// Spread waits until every other living node has applied a record of a shard.
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
	same := func(o cluster.Member) bool { return o.Process == m.Process }
	for ctx.Err() == nil && slices.ContainsFunc(n.node.Members(), same) {
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

// applied responds as soon as this node has applied a record; at once if it answers no callers yet.
func (n *Nodes) applied(m *nats.Msg) {
	shard, size := binary.Uvarint(m.Data)
	if size <= 0 || shard >= uint64(n.cfg.Shards) {
		n.cfg.Log.Warn("malformed request of another node", "subject", m.Subject)
		return
	}
	seq, rest := binary.Uvarint(m.Data[size:])
	if rest <= 0 {
		n.cfg.Log.Warn("malformed request of another node", "subject", m.Subject)
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
		n.cfg.Log.Debug("response not sent", "subject", m.Subject, "error", err)
	}
}

// Tell sends a message to all other nodes.
func (n *Nodes) Tell(message []byte) {
	if err := n.cfg.Conn.Publish(tellSubject+n.cfg.Node, message); err != nil {
		n.cfg.Log.Debug("message not sent", "error", err)
	}
}

func (n *Nodes) receiveTell(m *nats.Msg) {
	if strings.TrimPrefix(m.Subject, tellSubject) != n.cfg.Node {
		n.plane.Receive(m.Data)
	}
}

var errNoLeader = errors.New("no node leads now")

// The first byte of a response to a question.
const (
	iLead  = '+'
	iDoNot = '-'
)

// AskLead returns the leading node's answer to a question.
func (n *Nodes) AskLead(ctx context.Context, question []byte) (answer []byte, err error) {
	lead, ok := n.node.Owner(region.CatalogShard)
	if !ok {
		return nil, errNoLeader
	}
	ctx, cancel := context.WithTimeout(ctx, askLeadLimit)
	defer cancel()
	m, err := n.cfg.Conn.RequestWithContext(ctx, askSubject+lead, question)
	if err != nil {
		return nil, fmt.Errorf("ask node %s: %w", lead, err)
	}
	if len(m.Data) == 0 || m.Data[0] != iLead {
		return nil, errNoLeader
	}
	return m.Data[1:], nil
}

// asked answers a question if this node leads.
func (n *Nodes) asked(m *nats.Msg) {
	ctx, cancel := context.WithTimeout(context.Background(), askLeadLimit)
	defer cancel()
	answer, ok := n.plane.Answer(ctx, m.Data)
	if !ok {
		n.respond(m, []byte{iDoNot})
		return
	}
	n.respond(m, append([]byte{iLead}, answer...))
}
