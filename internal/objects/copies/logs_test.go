package copies

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/logs"
)

// putLog stores a log on one node.
func (c *cluster) putLog(node, process string, data []byte) (key string) {
	c.t.Helper()
	name := logs.KeyOf("fleet-1", "box-1", process)
	w, err := c.nodes[node].Logs.Create(name, int64(len(data)))
	if err == nil {
		defer w.Abort()
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Commit()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return string(name)
}

// logOf returns a log that a node has; nil for none.
func (c *cluster) logOf(node, key string) []byte {
	f, err := c.nodes[node].Logs.OpenHere(logs.Key(key))
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		c.t.Fatal(err)
	}
	return data
}

// repairLogs has a node compare its logs with those of the others.
func (c *cluster) repairLogs(node string) {
	n := c.nodes[node]
	n.ProcessLogs.repair(c.t.Context(), n.lackingLogs(c.t.Context()))
}

// TestLogs: a log is on a majority of the nodes that should have it, and any node gets it, with the time of the first.
func TestLogs(t *testing.T) {
	c := newCluster(t, 3, "a", "b", "c")
	stored := c.clock.Now()
	data := noise(2*pieceSize + 5)
	key := c.putLog("a", "p-1", data)
	c.setDown("c", true)
	if err := c.nodes["a"].ProcessLogs.Spread(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(c.logOf("b", key), data) || c.logOf("c", key) != nil {
		t.Error("the log is not on the two nodes that are up")
	}
	c.clock.Advance(time.Hour)
	c.setDown("c", false)
	c.setDown("a", true)
	had, err := c.nodes["c"].ProcessLogs.Elsewhere(t.Context(), []string{key, fmt.Sprintf("%064x", 1)})
	if err != nil || len(had) != 1 || !had[key] {
		t.Errorf("other nodes have %v: %v", had, err)
	}
	if err := c.nodes["c"].ProcessLogs.Fetch(t.Context(), key); err != nil || !bytes.Equal(c.logOf("c", key), data) {
		t.Errorf("the third node does not get the log: %v", err)
	}
	if at, err := c.nodes["c"].Logs.Find(logs.Key(key)); err != nil || !at.Equal(stored) {
		t.Errorf("the copy is of %v, %v", at, err)
	}
	c.setDown("b", true)
	if err := c.nodes["c"].ProcessLogs.Spread(t.Context(), c.putLog("c", "p-2", data)); err == nil {
		t.Error("a log is acknowledged that one node has")
	}
}

// TestLogsAreRepaired: a node has the logs of the time that it was away, and all of those of an older node when it is
// new, but none that it should not have.
func TestLogsAreRepaired(t *testing.T) {
	names := []string{"a", "b", "c", "d"}
	c := newCluster(t, 2, names...)
	var keys []string
	put := func(n int) {
		for range n {
			keys = append(keys, c.putLog("a", fmt.Sprint("p-", len(keys)), []byte("log")))
		}
	}
	missing := func() (n int) {
		for _, key := range keys {
			for _, name := range c.nodes["a"].ProcessLogs.holders(key) {
				if c.logOf(name, key) == nil {
					n++
				}
			}
		}
		return n
	}
	put(10)
	c.clock.Advance(100 * time.Hour)
	put(10)
	for _, name := range names {
		c.repairLogs(name)
	}
	if n := missing(); n > 0 {
		t.Errorf("%d copies are missing", n)
	}
	extra := 0
	for _, key := range keys {
		for _, name := range names[1:] {
			if c.logOf(name, key) != nil && !slices.Contains(c.nodes["a"].ProcessLogs.holders(key), name) {
				extra++
			}
		}
	}
	if extra > 0 {
		t.Errorf("there are %d copies that should not exist", extra)
	}
	c.clock.Advance(time.Hour)
	put(10) // without a change of nodes, the newest hours are compared
	for _, name := range names {
		c.repairLogs(name)
	}
	if n := missing(); n > 0 {
		t.Errorf("%d copies of new logs are missing", n)
	}
	c.setDown("d", true) // the others have its copies then
	for _, name := range names[:3] {
		c.repairLogs(name)
	}
	if n := missing(); n > 0 {
		t.Errorf("%d copies are missing without a node", n)
	}
	c.clock.Advance(logs.Retention)
	for _, name := range names {
		c.repairLogs(name)
		if c.logOf(name, keys[0]) != nil {
			t.Errorf("node %s has a log that is too old", name)
		}
	}
}

// TestReplacedLog: a log that is replaced while it is copied is not mixed with the other one.
func TestReplacedLog(t *testing.T) {
	c := newCluster(t, 2, "a", "b")
	key := c.putLog("a", "p-1", noise(3*pieceSize))
	first := c.nodes["b"].ProcessLogs.askPiece(t.Context(), "a", key, 0)
	if first.err != nil {
		t.Fatal(first.err)
	}
	c.clock.Advance(time.Second)
	c.putLog("a", "p-1", bytes.Repeat([]byte{1}, 3*pieceSize))
	err := c.nodes["b"].ProcessLogs.writePieces(t.Context(), "a", key, first, io.Discard)
	if err == nil {
		t.Error("pieces of two logs are joined")
	}
}

// TestChunksAndIndexes: other nodes read them, and check chunks by their hash.
func TestChunksAndIndexes(t *testing.T) {
	c := newCluster(t, 3, "a", "b", "c")
	data := noise(pieceSize + 3)
	hash, err := c.nodes["a"].Store.PutChunk(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.nodes["a"].Store.PutIndex(hash, []byte("index")); err != nil {
		t.Fatal(err)
	}
	if err := c.nodes["b"].Chunks.Fetch(t.Context(), hash); err != nil {
		t.Error(err)
	}
	if got, err := c.nodes["b"].Store.Chunk(hash); err != nil || !bytes.Equal(got, data) {
		t.Errorf("a chunk of %d bytes, %v", len(got), err)
	}
	if err := c.nodes["b"].Indexes.Fetch(t.Context(), hash); err != nil {
		t.Error(err)
	}
	if got, err := c.nodes["b"].Store.Index(hash); err != nil || string(got) != "index" {
		t.Errorf("index %q, %v", got, err)
	}
	c.setDown("b", true)
	c.tampered["a"] = struct{}{}
	if err := c.nodes["c"].Chunks.Fetch(t.Context(), hash); err == nil {
		t.Error("a damaged chunk is stored")
	}
}
