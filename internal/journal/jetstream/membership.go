package jetstream

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Reasons why a node is not removed.
var (
	ErrNoCluster = errors.New("the engine is not an embedded cluster")
	ErrNotMember = errors.New("no such node")
	ErrNodeIsUp  = errors.New("the node is up")
	ErrTooFew    = errors.New("too few nodes would remain")
	ErrNeeded    = errors.New("copies of the node's data are incomplete elsewhere")
)

// removeTime bounds the removal of a node, on which all nodes agree.
const removeTime = 5 * time.Second

// A Member is a node that counts in the majorities of the engine's cluster: it has joined once and was not removed.
type Member struct {
	Name   string // its id in the engine if its name is unknown since the start of this process
	Copies int    // number of assigned copies of streams
	Behind int    // number of copies that are incomplete or unreachable
}

// Members returns the members by their ids in the engine. The error is ErrNoCluster for a node alone and for an
// external NATS.
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
			continue // just removed
		}
		m.Copies++
		if !c.whole {
			m.Behind++
		}
	}
	return members, nil
}

// Peers returns the names of the members by their ids in the engine (see NodeID). A name is empty if it is unknown
// since the start of this process. ok is false for a node alone and for an external NATS.
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

// A held is the copy of a stream that is assigned to a node.
type held struct {
	stream string
	node   string // its id in the engine
	whole  bool   // and reachable
}

// copies asks the leaders of all streams where the copies are. A leader considers a lost node up to date for a while;
// the connections of this node show its loss sooner.
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
		for _, r := range s.Cluster.Desired.Replicas { // planned, not started
			if !slices.ContainsFunc(all, func(h held) bool { return h.stream == s.Config.Name && h.node == r.Peer }) {
				all = append(all, held{s.Config.Name, r.Peer, false})
			}
		}
	}
	return all, nil
}

// metaGroupName is the server's name of the group of all nodes.
const metaGroupName = "_meta_"

// groups returns all groups of replicas that this node is a member of, by name. The group of all nodes is in the system
// account, those of streams are in the account of everything else.
func (e *Engine) groups() iter.Seq2[string, server.RaftzGroup] {
	return func(yield func(string, server.RaftzGroup) bool) {
		for _, account := range []string{server.DEFAULT_SYSTEM_ACCOUNT, server.DEFAULT_GLOBAL_ACCOUNT} {
			status := e.server.Raftz(&server.RaftzOptions{AccountFilter: account})
			if status == nil {
				continue
			}
			for name, group := range (*status)[account] {
				if !yield(name, group) {
					return
				}
			}
		}
	}
}

// Connected reports whether this node has connections to a majority of all nodes. With an external NATS it reports
// whether it is connected to that.
func (e *Engine) Connected() bool {
	if e.cfg.Cluster == nil {
		return e.conn.IsConnected()
	}
	group, members, connected := e.metaGroup(), 1, e.connected()
	for _, peer := range group.Peers {
		if slices.Contains(connected, peer.Name) {
			members++
		}
	}
	return members >= group.QuorumNeeded
}

// metaGroup returns the group of all nodes.
func (e *Engine) metaGroup() server.RaftzGroup {
	status := e.server.Raftz(&server.RaftzOptions{AccountFilter: server.DEFAULT_SYSTEM_ACCOUNT,
		GroupFilter: metaGroupName})
	if status == nil {
		return server.RaftzGroup{}
	}
	return (*status)[server.DEFAULT_SYSTEM_ACCOUNT][metaGroupName]
}

// streams returns all streams of the cluster, each as its leader knows it. It fails if one has no leader.
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

// Incomplete returns a reason why this node's copies of streams are incomplete; "" if they are complete, and for a node
// alone.
func (e *Engine) Incomplete() (reason string) {
	if e.cfg.Cluster == nil {
		return ""
	}
	for name, group := range e.groups() {
		if group.Leader == "" { // without its leader, the node does not know what it has missed
			return "group " + name + " knows no leader"
		}
	}
	return e.server.Healthz(&server.HealthzOptions{}).Error
}

// Remove removes a node that was lost for good from the cluster: it no longer counts, and its copies are restored from
// the others on nodes without a copy, if there are any. Remove returns when the nodes have agreed; the copying goes on.
// A removed node that starts again joins again, after some minutes.
//
// The error is ErrNoCluster, ErrNotMember, ErrNodeIsUp, ErrTooFew if fewer nodes would remain than each stream has
// copies, ErrNeeded if other copies of its streams are incomplete, or another one, after which the node may be removed
// nevertheless.
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
	ctx, cancel := context.WithTimeout(ctx, removeTime)
	defer cancel()
	answer, err := e.systemRequest(ctx, server.JSApiRemoveServer, request)
	if err != nil {
		return fmt.Errorf("remove node %s: %w", node, err)
	}
	var said server.JSApiMetaServerRemoveResponse
	if err := json.Unmarshal(answer, &said); err != nil {
		return fmt.Errorf("remove node %s: %w", node, err)
	}
	if said.Error != nil {
		return fmt.Errorf("remove node %s: %w", node, said.Error)
	}
	return nil
}

// systemRequest sends a request in the system account, and returns the answer.
func (e *Engine) systemRequest(ctx context.Context, subject string, request []byte) ([]byte, error) {
	system, err := e.dial(systemUser)
	if err != nil {
		return nil, err
	}
	defer system.Close()
	answer, err := system.RequestWithContext(ctx, subject, request)
	if err != nil {
		return nil, err
	}
	return answer.Data, nil
}

// removable returns the id of a node that may be removed.
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
	if len(peers) < e.Replicas() { // which do not include this node
		return "", ErrTooFew
	}
	return id, nil
}

// spare checks that the removal of a node loses nothing: afterwards the engine would use any remaining copy of a
// stream, complete or not.
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

// NodeID returns the engine's id for a node. Source: getHash in events.go of nats-server 2.15; a test compares them.
func NodeID(name string) string {
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	sum := sha256.Sum256([]byte(name))
	id := sum[:8]
	for i, b := range id {
		id[i] = letters[int(b)%len(letters)]
	}
	return string(id)
}
