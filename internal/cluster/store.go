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

// The bucket holds node.NAME and shard.NUMBER.
const (
	nodePrefix  = "node."
	shardPrefix = "shard."
)

// openBucket gives the bucket, made as needed. It tries until ctx is done: a cluster that has
// just begun needs a while before it can make anything.
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
		cfg.Log.Debug("the bucket of leases is not there yet", "error", err)
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

// stored is the JSON of a value, which people can read with the nats tool.
type stored struct {
	Node    string `json:"node"`
	Process string `json:"process"`
	Life    uint64 `json:"life"`
	Gone    bool   `json:"gone,omitempty"`
	Beat    uint64 `json:"beat,omitempty"`
	Ready   bool   `json:"ready,omitempty"`
	Leaving bool   `json:"leaving,omitempty"`
	Level   int    `json:"level,omitempty"`
	Epoch   uint64 `json:"epoch,omitempty"`
}

func encodeValue(v lease.Value) []byte {
	data, _ := json.Marshal(stored{ // cannot fail
		Node: v.Life.Node, Process: v.Life.Process, Life: v.Life.Number,
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
		return lease.Value{}, fmt.Errorf("%q names no process", s.Process)
	}
	return lease.Value{
		Life: lease.Life{Node: s.Node, Process: s.Process, Number: s.Life},
		Gone: s.Gone, Beat: s.Beat, Ready: s.Ready, Leaving: s.Leaving, Level: s.Level, Epoch: s.Epoch,
	}, nil
}

// maxProcess is how long the name of a process may be.
const maxProcess = 64

// entry reads what stands in the bucket. A key that somebody deleted is a node
// that is gone, or a shard without owner.
func entry(name string, revision uint64, value []byte, deleted bool) (lease.Entry, error) {
	k, ok := parseKey(name)
	if !ok {
		return lease.Entry{}, fmt.Errorf("%q names nothing", name)
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

// news is the message that tells all nodes of an entry, or of a heartbeat that is about to be
// written.
type news struct {
	Key      string          `json:"key"`
	Revision uint64          `json:"revision"` // 0: it is not written yet
	Value    json.RawMessage `json:"value"`
}

func (n *Node) newsSubject() string { return n.cfg.Name + ".leases" }

// write carries out a write and tells everyone. Of a heartbeat it tells before, too: see
// lease.Machine.Announced.
func (n *Node) write(ctx context.Context, w lease.Write) {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.writing())
	defer cancel()
	value := encodeValue(w.Value)
	if w.Key.Node != "" && !w.Value.Gone {
		n.tell(news{Key: keyName(w.Key), Value: value})
	}
	revision, err := n.bucket.Update(ctx, keyName(w.Key), value, w.Expect)
	if err != nil {
		n.cfg.Log.Debug("a lease was not written", "key", keyName(w.Key), "error", err)
		if errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
			n.reread(ctx, w.Key)
		}
		n.post(func() { n.machine.Written(n.elapsed(), w.Key, false) })
		return
	}
	n.tell(news{keyName(w.Key), revision, value})
	n.post(func() {
		n.machine.Seen(n.elapsed(), lease.Entry{Key: w.Key, Revision: revision, Value: w.Value})
		n.machine.Written(n.elapsed(), w.Key, true)
	})
}

// reread reads a key of which this node has not seen what others know: the watch may have
// fallen silent. The copy that is read may be behind for a moment; the next attempt reads it again.
func (n *Node) reread(ctx context.Context, k lease.Key) {
	e, err := n.bucket.Get(ctx, keyName(k))
	if err != nil {
		n.cfg.Log.Debug("a lease cannot be read", "key", keyName(k), "error", err)
		return
	}
	n.see(e)
}

func (n *Node) tell(what news) {
	data, _ := json.Marshal(what) // cannot fail
	if err := n.cfg.Conn.Publish(n.newsSubject(), data); err != nil {
		n.cfg.Log.Debug("a lease could not be told to the others", "error", err)
	}
}

// hear takes notice of what another node tells.
func (n *Node) hear(m *nats.Msg) {
	var told news
	err := json.Unmarshal(m.Data, &told)
	if err == nil {
		var e lease.Entry
		if e, err = entry(told.Key, told.Revision, told.Value, false); err == nil {
			n.post(func() { n.heard(e) })
			return
		}
	}
	n.cfg.Log.Warn("a message about leases cannot be read", "error", err)
}

func (n *Node) heard(e lease.Entry) {
	if e.Revision == 0 {
		n.machine.Announced(n.elapsed(), e.Value)
		return
	}
	n.machine.Seen(n.elapsed(), e)
}

// watch shows the machine what stands in the bucket, until ctx is done.
func (n *Node) watch(ctx context.Context) {
	for ctx.Err() == nil {
		if err := n.watchOnce(ctx); err != nil && ctx.Err() == nil {
			n.cfg.Log.Debug("the bucket of leases cannot be watched", "error", err)
			select {
			case <-n.cfg.Clock.After(n.cfg.Renew / 4):
			case <-ctx.Done():
			}
		}
	}
}

// watchOnce watches until the watch falls silent. It always brings something: our own
// heartbeats.
func (n *Node) watchOnce(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := n.bucket.WatchAll(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = w.Stop() }() // what is left of it ends with ctx
	silence := n.cfg.Clock.NewTimer(2 * n.cfg.Renew)
	defer silence.Stop()
	for {
		select {
		case e, ok := <-w.Updates():
			if !ok {
				return errors.New("the watch has ended")
			}
			if e == nil { // all that was there has come
				n.post(n.machine.Informed)
				continue
			}
			silence.Reset(2 * n.cfg.Renew)
			n.see(e)
		case <-silence.Chan():
			return errors.New("the watch has fallen silent")
		case <-ctx.Done():
			return nil
		}
	}
}

func (n *Node) see(kv jetstream.KeyValueEntry) {
	e, err := entry(kv.Key(), kv.Revision(), kv.Value(), kv.Operation() != jetstream.KeyValuePut)
	if err != nil {
		n.cfg.Log.Warn("a lease cannot be read", "error", err)
		return
	}
	n.post(func() { n.machine.Seen(n.elapsed(), e) })
}
