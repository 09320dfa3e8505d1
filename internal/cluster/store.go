package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/muster-gg/muster/internal/cluster/lease"
)

// The bucket's keys are node.NAME and shard.NUMBER.
const (
	nodePrefix  = "node."
	shardPrefix = "shard."
)

// openBucket opens the bucket, and creates it if needed. It retries until ctx is done: a new cluster cannot create
// anything at first.
func openBucket(ctx context.Context, cfg *Config) (jetstream.KeyValue, error) {
	js, err := jetstream.New(cfg.Conn)
	if err != nil {
		return nil, err
	}
	for {
		kv, err := tryBucket(ctx, js, cfg)
		if err == nil {
			return kv, nil
		}
		cfg.Log.Debug("bucket of leases not available yet", "error", err)
		select {
		case <-cfg.Clock.After(cfg.Renew / 4):
		case <-ctx.Done():
			return nil, fmt.Errorf("open the bucket of leases: %w", errors.Join(context.Cause(ctx), err))
		}
	}
}

func tryBucket(ctx context.Context, js jetstream.JetStream, cfg *Config) (jetstream.KeyValue, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	kv, err := js.KeyValue(ctx, cfg.Name+"-leases")
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: cfg.Name + "-leases", Description: "who is there, and who owns which shard",
			Replicas: cfg.Replicas,
		})
	}
	return kv, err
}

func keyName(k lease.Key) string {
	if k.Node != "" {
		return nodePrefix + k.Node
	}
	return shardPrefix + strconv.Itoa(k.Shard)
}

func parseKey(name string) (k lease.Key, ok bool) {
	if node, ok := strings.CutPrefix(name, nodePrefix); ok {
		return lease.Key{Node: node}, NameForm.MatchString(node)
	}
	number, ok := strings.CutPrefix(name, shardPrefix)
	shard, err := strconv.Atoi(number)
	return lease.Key{Shard: shard}, ok && err == nil && shard >= 0
}

// stored is the JSON form of a value, readable with the nats tool.
type stored struct {
	Node    string `json:"node"`
	Process string `json:"process"`
	Run     uint64 `json:"life"`
	Gone    bool   `json:"gone,omitempty"`
	Beat    uint64 `json:"beat,omitempty"`
	Ready   bool   `json:"ready,omitempty"`
	Leaving bool   `json:"leaving,omitempty"`
	Level   int    `json:"level,omitempty"`
	Epoch   uint64 `json:"epoch,omitempty"`
}

func encodeValue(v lease.Value) []byte {
	data, _ := json.Marshal(stored{ // cannot fail
		Node: v.Run.Node, Process: v.Run.Process, Run: v.Run.Number,
		Gone: v.Gone, Beat: v.Beat, Ready: v.Ready, Leaving: v.Leaving, Level: v.Level, Epoch: v.Epoch,
	})
	return data
}

func decodeValue(data []byte) (lease.Value, error) {
	var s stored
	if err := json.Unmarshal(data, &s); err != nil {
		return lease.Value{}, err
	}
	if len(s.Process) > maxProcess || strings.ContainsAny(s.Process, ".*> \t\r\n") {
		return lease.Value{}, fmt.Errorf("invalid process %q", s.Process)
	}
	return lease.Value{
		Run:  lease.Run{Node: s.Node, Process: s.Process, Number: s.Run},
		Gone: s.Gone, Beat: s.Beat, Ready: s.Ready, Leaving: s.Leaving, Level: s.Level, Epoch: s.Epoch,
	}, nil
}

// maxProcess is the maximum length of the name of a process.
const maxProcess = 64

// entry decodes an entry of the bucket. A deleted key is a node that is gone, or a shard without owner.
func entry(name string, revision uint64, value []byte, deleted bool) (lease.Entry, error) {
	k, ok := parseKey(name)
	if !ok {
		return lease.Entry{}, fmt.Errorf("invalid key %q", name)
	}
	e := lease.Entry{Key: k, Revision: revision, Value: lease.Value{Gone: true}}
	if deleted {
		return e, nil
	}
	v, err := decodeValue(value)
	if err != nil {
		return lease.Entry{}, fmt.Errorf("key %s: %w", name, err)
	}
	e.Value = v
	return e, nil
}

// news is the message to all nodes about an entry, or about a heartbeat that is about to be written.
type news struct {
	Key      string          `json:"key"`
	Revision uint64          `json:"revision"` // 0: not written yet
	Value    json.RawMessage `json:"value"`
}

func (n *Node) newsSubject() string { return n.cfg.Name + ".leases" }

// write executes a write and publishes it. It publishes a heartbeat before the write, too: see lease.Machine.Announced.
func (n *Node) write(ctx context.Context, w lease.Write) {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.writing())
	defer cancel()
	value := encodeValue(w.Value)
	if w.Key.Node != "" && !w.Value.Gone {
		n.publishNews(news{Key: keyName(w.Key), Value: value})
	}
	revision, err := n.bucket.Update(ctx, keyName(w.Key), value, w.Expect)
	if err != nil {
		n.cfg.Log.Debug("lease not written", "key", keyName(w.Key), "error", err)
		if errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
			n.reread(ctx, w.Key)
		}
		n.post(func() { n.machine.Written(n.elapsed(), w.Key, false) })
		return
	}
	n.publishNews(news{keyName(w.Key), revision, value})
	n.post(func() {
		n.machine.Seen(n.elapsed(), lease.Entry{Key: w.Key, Revision: revision, Value: w.Value})
		n.machine.Written(n.elapsed(), w.Key, true)
	})
}

// reread reads a key that others have changed unnoticed by this node: the watch may have failed silently. The replica
// that is read may be behind; the next attempt reads it again.
func (n *Node) reread(ctx context.Context, k lease.Key) {
	e, err := n.bucket.Get(ctx, keyName(k))
	if err != nil {
		n.cfg.Log.Debug("lease unreadable", "key", keyName(k), "error", err)
		return
	}
	n.see(e)
}

func (n *Node) publishNews(what news) {
	data, _ := json.Marshal(what) // cannot fail
	if err := n.cfg.Conn.Publish(n.newsSubject(), data); err != nil {
		n.cfg.Log.Debug("lease not published", "error", err)
	}
}

// receiveNews processes a message of another node.
func (n *Node) receiveNews(m *nats.Msg) {
	var received news
	err := json.Unmarshal(m.Data, &received)
	if err == nil {
		var e lease.Entry
		if e, err = entry(received.Key, received.Revision, received.Value, false); err == nil {
			n.post(func() { n.seeNews(e) })
			return
		}
	}
	n.cfg.Log.Warn("malformed message about leases", "error", err)
}

func (n *Node) seeNews(e lease.Entry) {
	if e.Revision == 0 {
		n.machine.Announced(n.elapsed(), e.Value)
		return
	}
	n.machine.Seen(n.elapsed(), e)
}

// watch passes the entries of the bucket to the machine, until ctx is done.
func (n *Node) watch(ctx context.Context) {
	for ctx.Err() == nil {
		if err := n.watchOnce(ctx); err != nil && ctx.Err() == nil {
			n.cfg.Log.Debug("watch of leases failed", "error", err)
			select {
			case <-n.cfg.Clock.After(n.cfg.Renew / 4):
			case <-ctx.Done():
			}
		}
	}
}

// watchOnce watches until nothing is delivered for two renewals: this node's heartbeats always are.
func (n *Node) watchOnce(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := n.bucket.WatchAll(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = w.Stop() }() // ctx ends the rest
	silence := n.cfg.Clock.NewTimer(2 * n.cfg.Renew)
	defer silence.Stop()
	for {
		select {
		case e, ok := <-w.Updates():
			if !ok {
				return errors.New("the watch ended")
			}
			if e == nil { // end of the existing entries
				n.post(n.machine.Informed)
				continue
			}
			silence.Reset(2 * n.cfg.Renew)
			n.see(e)
		case <-silence.Chan():
			return errors.New("the watch delivers nothing")
		case <-ctx.Done():
			return nil
		}
	}
}

func (n *Node) see(kv jetstream.KeyValueEntry) {
	e, err := entry(kv.Key(), kv.Revision(), kv.Value(), kv.Operation() != jetstream.KeyValuePut)
	if err != nil {
		n.cfg.Log.Warn("lease unreadable", "error", err)
		return
	}
	n.post(func() { n.machine.Seen(n.elapsed(), e) })
}
