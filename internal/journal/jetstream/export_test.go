package jetstream

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/muster-gg/muster/internal/journal"
)

// What tests do behind the engine's back.

func stream(t *testing.T, e *Engine, name string) jetstream.Stream {
	t.Helper()
	s, err := e.js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newestChunk finds the last chunk of the newest object.
func newestChunk(t *testing.T, e *Engine, bucket string) (jetstream.Stream, *jetstream.RawStreamMsg) {
	t.Helper()
	s := stream(t, e, "OBJ_"+bucket)
	info, err := s.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	msg, err := s.GetMsg(t.Context(), info.State.LastSeq-1) // the last one is the object's metadata
	if err != nil {
		t.Fatal(err)
	}
	return s, msg
}

func DropChunk(t *testing.T, e *Engine, bucket string) {
	t.Helper()
	s, msg := newestChunk(t, e, bucket)
	if err := s.DeleteMsg(t.Context(), msg.Sequence); err != nil {
		t.Fatal(err)
	}
}

func ReplaceChunk(t *testing.T, e *Engine, bucket string) {
	t.Helper()
	s, msg := newestChunk(t, e, bucket)
	if err := s.DeleteMsg(t.Context(), msg.Sequence); err != nil {
		t.Fatal(err)
	}
	msg.Data[0]++
	if _, err := e.js.Publish(t.Context(), msg.Subject, msg.Data); err != nil {
		t.Fatal(err)
	}
}

// AddChunk adds a chunk of an object that never came to be.
func AddChunk(t *testing.T, e *Engine, bucket string) {
	t.Helper()
	if _, err := e.js.Publish(t.Context(), "$O."+bucket+".C.abandoned", make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
}

func Messages(t *testing.T, e *Engine, name string) uint64 {
	t.Helper()
	info, err := stream(t, e, name).Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return info.State.Msgs
}

func Consumers(t *testing.T, e *Engine, name string) int {
	t.Helper()
	info, err := stream(t, e, name).Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return info.State.Consumers
}

// BarePublish makes a stream and returns a function that publishes to it.
func BarePublish(b *testing.B, e *Engine) func(data []byte) {
	b.Helper()
	_, err := e.js.CreateStream(b.Context(), jetstream.StreamConfig{Name: "BARE", Subjects: []string{"bare"}})
	if err != nil {
		b.Fatal(err)
	}
	return func(data []byte) {
		if _, err := e.js.Publish(b.Context(), "bare", data); err != nil {
			b.Fatal(err)
		}
	}
}

// NewestObject reads the newest object of a bucket with the client's own object
// store.
func NewestObject(t *testing.T, e *Engine, bucket string) []byte {
	t.Helper()
	store, err := e.js.ObjectStore(t.Context(), bucket)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := store.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	newest := slices.MaxFunc(objects, func(a, b *jetstream.ObjectInfo) int { return strings.Compare(a.Name, b.Name) })
	data, err := store.GetBytes(t.Context(), newest.Name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// ErrBusy is why publishing was not held.
var ErrBusy = errBusy

// Patience is how long a call waits for a leader.
const Patience = patience

// Say has the server say something, as an error.
func Say(e *Engine, format string, v ...any) { e.log.Errorf(format, v...) }

// PutEntry stores an entry as releases before the batches did.
func PutEntry(t *testing.T, e *Engine, subject, data string) {
	t.Helper()
	if _, err := e.publish(t.Context(), &nats.Msg{Subject: historyPrefix + subject, Data: []byte(data)}); err != nil {
		t.Fatal(err)
	}
}

// MakeEarlierJournal makes the stream of a shard's journal as it was before
// journals could be followed.
func MakeEarlierJournal(t *testing.T, e *Engine, shard int) {
	t.Helper()
	_, err := e.js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: fmt.Sprintf("MUSTER_SHARD_%d", shard), Subjects: []string{fmt.Sprintf("muster.shard.%d", shard)},
		Replicas: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Leader is the node that leads a stream.
func Leader(t *testing.T, e *Engine, stream string) string {
	t.Helper()
	group, err := e.group(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	return group.Leader
}

// Enter is like publishing something, until leave is called.
func Enter(t *testing.T, e *Engine) (leave func()) {
	t.Helper()
	if err := e.gate.enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	return e.gate.leave
}

// Streams are the names of all streams.
func Streams(t *testing.T, e *Engine) (names []string) {
	t.Helper()
	list := e.js.StreamNames(t.Context())
	for name := range list.Name() {
		names = append(names, name)
	}
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return names
}

// Password is that of the users of a node's server.
func Password(e *Engine) string { return e.password }

// ClientAddress is where a node's server listens for clients.
func ClientAddress(e *Engine) string { return e.server.Addr().String() }

// Ports are the hosts on which the server listens, by what for.
func Ports(t *testing.T, e *Engine) map[string]string {
	t.Helper()
	v, err := e.server.Varz(nil)
	if err != nil {
		t.Fatal(err)
	}
	open := map[string]string{}
	if a := e.server.Addr(); a != nil {
		open["client"] = v.Host
	}
	if a := e.server.ProfilerAddr(); a != nil {
		open["profiles"] = a.IP.String()
	}
	for kind, at := range map[string]struct {
		port int
		host string
	}{
		"nodes": {v.Cluster.Port, v.Cluster.Host}, "gateways": {v.Gateway.Port, v.Gateway.Host},
		"leaf nodes": {v.LeafNode.Port, v.LeafNode.Host},
		"mqtt":       {v.MQTT.Port, v.MQTT.Host}, "websocket": {v.Websocket.Port, v.Websocket.Host},
		"monitoring": {v.HTTPPort, v.HTTPHost}, "monitoring over TLS": {v.HTTPSPort, v.HTTPHost},
	} {
		if at.port != 0 {
			open[kind] = at.host
		}
	}
	return open
}

// DeleteUntidily deletes a key of a bucket as a process does that dies before it has deleted the message of that.
func DeleteUntidily(t *testing.T, b journal.Bucket, key string, revision uint64) {
	t.Helper()
	if _, err := b.(*bucket).write(t.Context(), key, nil, revision, true); err != nil {
		t.Fatal(err)
	}
}

// WithWaits returns a configuration whose engine waits less long for acknowledged messages that a leader lacks, and
// longer for all else.
func WithWaits(c Config, state, patience time.Duration) Config {
	c.stateWait, c.patience = state, patience
	return c
}

// ForgetMark resets the mark of a stream that was deleted: else the engine waits for its acknowledged messages.
func ForgetMark(t *testing.T, e *Engine, stream string) {
	t.Helper()
	e.marksMu.Lock()
	m := e.marks[stream]
	e.marksMu.Unlock()
	var err error
	if m != nil {
		err = m.settle(0)
	} else if err = os.Remove(e.markFile(stream)); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		t.Fatal(err)
	}
}
