package jetstream

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Why a node is not removed.
var (
	ErrNoCluster = errors.New("the engine is not a cluster of its own")
	ErrNotMember = errors.New("there is no such node")
	ErrNodeIsUp  = errors.New("the node is up")
	ErrTooFew    = errors.New("too few nodes would be left")
	ErrNeeded    = errors.New("what the node keeps is not complete elsewhere")
)

// removeTime bounds the removal of a node: the group of all nodes agrees on it.
const removeTime = 5 * time.Second

// A Member is a node that counts in the majorities of the engine's cluster: it has joined once
// and was not removed.
type Member struct {
	Name   string // its number in the engine when nobody has seen it since this process began
	Copies int    // of streams, which it is to keep
	Behind int    // how many of them are not complete, or cannot be reached
}

// Members are the nodes that count, by their numbers in the engine. The error is ErrNoCluster for
// a node alone and for an external NATS.
func (e *Engine) Members(ctx context.Context) (map[string]*Member, error) {
	if e.cfg.Cluster == nil {
		return nil, ErrNoCluster
	}
	peers, _ := e.Peers()
	members := map[string]*Member{}
	for id, name := range peers {
		members[id] = &Member{Name: cmp.Or(name, id)}
	}
	copies, err := e.copies(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range copies {
		m := members[c.node]
		if m == nil {
			continue // it was removed just now
		}
		m.Copies++
		if !c.whole {
			m.Behind++
		}
	}
	return members, nil
}

// Peers are the nodes that count, by their numbers in the engine (see NodeID), with their names, which
// are empty of those that nobody has seen since this process began; not ok for a node alone and for
// an external NATS.
func (e *Engine) Peers() (names map[string]string, ok bool) {
	if e.cfg.Cluster == nil {
		return nil, false
	}
	names = map[string]string{NodeID(e.cfg.Cluster.Node): e.cfg.Cluster.Node}
	for id, peer := range e.metaGroup().Peers {
		names[id] = peer.Name
	}
	return names, true
}

// A held is a copy of a stream that a node is to keep.
type held struct {
	stream string
	node   string // its number in the engine
	whole  bool   // and can be reached
}

// copies asks the leaders of all streams where these are kept. A leader takes a node for up to
// date for a while that is lost; this node knows sooner.
func (e *Engine) copies(ctx context.Context) (all []held, err error) {
	streams, err := patiently(ctx, e, e.streams)
	if err != nil {
		return nil, fmt.Errorf("ask where copies are: %w", err)
	}
	here := map[string]bool{NodeID(e.cfg.Cluster.Node): true}
	for _, name := range e.connected() {
		here[NodeID(name)] = true
	}
	for _, s := range streams {
		if s.Cluster == nil {
			continue
		}
		all = append(all, held{s.Config.Name, NodeID(s.Cluster.Leader), true})
		for _, r := range s.Cluster.Replicas {
			all = append(all, held{s.Config.Name, r.Peer, r.Current && !r.Offline && here[r.Peer]})
		}
		if s.Cluster.Desired == nil {
			continue
		}
		for _, r := range s.Cluster.Desired.Replicas { // planned, and not begun
			if !slices.ContainsFunc(all, func(h held) bool { return h.stream == s.Config.Name && h.node == r.Peer }) {
				all = append(all, held{s.Config.Name, r.Peer, false})
			}
		}
	}
	return all, nil
}

// metaGroup is the group of all nodes.
func (e *Engine) metaGroup() server.RaftzGroup {
	status := e.server.Raftz(&server.RaftzOptions{AccountFilter: server.DEFAULT_SYSTEM_ACCOUNT, GroupFilter: metaGroupName})
	if status == nil {
		return server.RaftzGroup{}
	}
	return (*status)[server.DEFAULT_SYSTEM_ACCOUNT][metaGroupName]
}

// streams are all streams of the cluster, each as its leader knows it. It fails when one has none.
func (e *Engine) streams(ctx context.Context) (all []*jetstream.StreamInfo, err error) {
	list, led := e.js.ListStreams(ctx), map[string]bool{}
	for s := range list.Info() {
		all = append(all, s)
		led[s.Config.Name] = s.Cluster == nil || s.Cluster.Leader != ""
	}
	names := e.js.StreamNames(ctx)
	for name := range names.Name() {
		if !led[name] {
			err = fmt.Errorf("%w: stream %s has no leader", nats.ErrTimeout, name)
		}
	}
	return all, errors.Join(list.Err(), names.Err(), err)
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
// that starts again joins again, after some minutes.
//
// The error is ErrNoCluster, ErrNotMember, ErrNodeIsUp, ErrTooFew when fewer nodes would be left than
// each stream has copies, ErrNeeded when the others that keep what it keeps have not all of it, or another
// one, after which the node may be removed all the same.
func (e *Engine) Remove(ctx context.Context, node string) error {
	id, err := e.removable(node)
	if err != nil {
		return err
	}
	if err := e.spare(ctx, id); err != nil {
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
	id = NodeID(node)
	if _, ok := peers[id]; !ok {
		id = node
	}
	peer, ok := peers[id]
	if !ok {
		return "", ErrNotMember
	}
	if slices.Contains(e.connected(), peer.Name) {
		return "", ErrNodeIsUp
	}
	if len(peers) < e.Replicas() { // this node counts, and is none of them
		return "", ErrTooFew
	}
	return id, nil
}

// spare says whether nothing is lost with a node. The engine would lead a stream from any copy that is
// left, complete or not, when the others were removed.
func (e *Engine) spare(ctx context.Context, id string) error {
	copies, err := e.copies(ctx)
	if err != nil {
		return err
	}
	keeps := map[string]bool{}
	for _, c := range copies {
		keeps[c.stream] = keeps[c.stream] || c.node == id
	}
	for _, c := range copies {
		if keeps[c.stream] && c.node != id && !c.whole {
			return fmt.Errorf("%w: stream %s", ErrNeeded, c.stream)
		}
	}
	return nil
}

// NodeID is the number that the engine has for a node. Source: getHash in events.go of
// nats-server 2.15. A test holds that it is so.
func NodeID(name string) string {
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	sum := sha256.Sum256([]byte(name))
	id := sum[:8]
	for i, b := range id {
		id[i] = letters[int(b)%len(letters)]
	}
	return string(id)
}
