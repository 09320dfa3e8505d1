package jetstream

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

// Why a node is not removed.
var (
	ErrNoCluster = errors.New("the engine is not a cluster of its own")
	ErrNotMember = errors.New("there is no such node")
	ErrNodeIsUp  = errors.New("the node is up")
	ErrTooFew    = errors.New("too few nodes would be left")
)

// removeTime bounds the removal of a node: the group of all nodes agrees on it.
const removeTime = 5 * time.Second

// A Member is a node that counts in the majorities of the engine's cluster: it has joined once
// and was not removed.
type Member struct {
	Connected bool // to this node, or is it
	Copies    int  // of streams, which it is to keep
	Behind    int  // how many of them are not complete, or cannot be reached
}

// Members are the nodes that count, by name. One that has not been here since this process
// began is called by its number in the engine. The error is ErrNoCluster for a node alone and for an
// external NATS.
func (e *Engine) Members(ctx context.Context) (map[string]Member, error) {
	if e.cfg.Cluster == nil {
		return nil, ErrNoCluster
	}
	members := map[string]Member{e.cfg.Cluster.Node: {Connected: true}}
	for id, peer := range e.metaGroup().Peers {
		name := peer.Name
		if name == "" {
			name = id
		}
		members[name] = Member{}
	}
	for _, name := range e.connected() {
		if m, ok := members[name]; ok {
			m.Connected = true
			members[name] = m
		}
	}
	streams, err := patiently(ctx, e, e.streams)
	if err != nil {
		return nil, fmt.Errorf("ask where copies are: %w", err)
	}
	for _, s := range streams {
		count(members, s.Cluster)
	}
	return members, nil
}

// metaGroup is the group of all nodes.
func (e *Engine) metaGroup() server.RaftzGroup {
	status := e.server.Raftz(&server.RaftzOptions{AccountFilter: server.DEFAULT_SYSTEM_ACCOUNT, GroupFilter: metaGroupName})
	if status == nil {
		return server.RaftzGroup{}
	}
	return (*status)[server.DEFAULT_SYSTEM_ACCOUNT][metaGroupName]
}

// streams are all streams of the cluster, each as its leader knows it.
func (e *Engine) streams(ctx context.Context) (all []*jetstream.StreamInfo, err error) {
	list := e.js.ListStreams(ctx)
	for s := range list.Info() {
		all = append(all, s)
	}
	return all, list.Err()
}

// count counts the copies of a stream.
func count(members map[string]Member, kept *jetstream.ClusterInfo) {
	if kept == nil {
		return
	}
	add := func(node string, whole bool) {
		m, ok := members[node]
		if !ok {
			return
		}
		m.Copies++
		if !whole {
			m.Behind++
		}
		members[node] = m
	}
	add(kept.Leader, true)
	for _, r := range kept.Replicas {
		add(r.Name, r.Current && !r.Offline)
	}
}

// Incomplete says what this node is to keep and has not got yet; "" when it has all, and for a
// node alone.
func (e *Engine) Incomplete() (reason string) {
	if e.cfg.Cluster == nil {
		return ""
	}
	for name, group := range e.groups() {
		if group.Leader == "" { // who has not heard of him yet does not know what he has missed
			return "the group " + name + " has not heard of its leader"
		}
	}
	return e.server.Healthz(&server.HealthzOptions{}).Error
}

// Remove takes a node that is gone for good out of the cluster: it does not count any more, and
// what it kept is copied from the others to nodes that have no copy of it, as far as there are
// any. It returns when the nodes have agreed; the copying takes as long as it takes. A node
// that starts again joins again.
//
// The error is ErrNoCluster, ErrNotMember, ErrNodeIsUp, ErrTooFew when fewer nodes would be left than
// each stream has copies, or another one, after which the node may be removed all the same.
func (e *Engine) Remove(ctx context.Context, node string) error {
	id, err := e.removable(node)
	if err != nil {
		return err
	}
	request, err := json.Marshal(server.JSApiMetaServerRemoveRequest{Server: node, Peer: id})
	if err != nil {
		return err
	}
	system, err := e.dial(systemUser)
	if err != nil {
		return err
	}
	defer system.Close()
	ctx, cancel := context.WithTimeout(ctx, removeTime)
	defer cancel()
	answer, err := system.RequestWithContext(ctx, server.JSApiRemoveServer, request)
	if err != nil {
		return fmt.Errorf("remove node %s: %w", node, err)
	}
	var said server.JSApiMetaServerRemoveResponse
	if err := json.Unmarshal(answer.Data, &said); err != nil {
		return fmt.Errorf("remove node %s: %w", node, err)
	}
	if said.Error != nil {
		return fmt.Errorf("remove node %s: %w", node, said.Error)
	}
	return nil
}

// removable gives the number of a node that may be removed.
func (e *Engine) removable(node string) (id string, err error) {
	if e.cfg.Cluster == nil {
		return "", ErrNoCluster
	}
	if node == e.cfg.Cluster.Node {
		return "", ErrNodeIsUp
	}
	peers := e.metaGroup().Peers
	id = nodeID(node)
	if _, ok := peers[id]; !ok {
		id = node
	}
	peer, ok := peers[id]
	if !ok {
		return "", ErrNotMember
	}
	for _, name := range e.connected() {
		if name == peer.Name {
			return "", ErrNodeIsUp
		}
	}
	if len(peers) < e.Replicas() { // this node counts, and is none of them
		return "", ErrTooFew
	}
	return id, nil
}

// nodeID is the number that the engine has for a node. Source: getHash in events.go of
// nats-server 2.15. A test holds that it is so.
func nodeID(name string) string {
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	sum := sha256.Sum256([]byte(name))
	id := sum[:8]
	for i, b := range id {
		id[i] = letters[int(b)%len(letters)]
	}
	return string(id)
}
