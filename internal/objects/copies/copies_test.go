package copies

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/logs"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
	"github.com/muster-gg/muster/internal/objects"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// A cluster is nodes that reach each other by function calls.
type cluster struct {
	t     *testing.T
	clock *clockwork.FakeClock
	nodes map[string]*Copies
	asked atomic.Int64 // pieces

	mu       sync.Mutex
	down     map[string]bool
	needed   []string            // hashes
	tampered map[string]struct{} // nodes that send wrong bytes
}

// peers are the nodes as one of them sees them.
type peers struct{ *cluster }

func newCluster(t *testing.T, number int, names ...string) *cluster {
	c := &cluster{t: t, clock: clockwork.NewFakeClock(), nodes: map[string]*Copies{}, down: map[string]bool{},
		tampered: map[string]struct{}{}}
	for _, name := range names {
		store, err := objects.Open(objects.Config{Dir: t.TempDir(), Clock: c.clock, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		kept, err := logs.Open(logs.Config{Dir: t.TempDir(), MaxSize: 1 << 30, Clock: c.clock,
			Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		c.nodes[name] = New(Config{Self: name, Store: store, Logs: kept, Peers: peers{c}, Number: number,
			Referred: c.referred, Clock: c.clock, Log: slog.New(slog.DiscardHandler)})
		t.Cleanup(c.nodes[name].stop)
	}
	return c
}

func (c *cluster) referred() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.needed)
}

func (c *cluster) setDown(node string, down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down[node] = down
}

func (p peers) Living() (names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name := range p.nodes {
		if !p.down[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (p peers) AskNode(ctx context.Context, node string, question []byte) ([]byte, error) {
	p.mu.Lock()
	down := p.down[node]
	_, tampers := p.tampered[node]
	p.mu.Unlock()
	if down {
		return nil, errors.New("no responders")
	}
	answer := p.nodes[node].Answer(ctx, question)
	if question[0] == readQuestion {
		p.asked.Add(1)
		if tampers && len(answer) > pieceHead+1 {
			answer[pieceHead+1] ^= 1
		}
	}
	return answer, nil
}

// put writes a blob to one node.
func (c *cluster) put(node string, data []byte) (hash string) {
	c.t.Helper()
	w, err := c.nodes[node].Store.Create(0)
	if err == nil {
		_, err = w.Write(data)
	}
	if err = errors.Join(err, w.Commit()); err != nil {
		c.t.Fatal(err)
	}
	return w.SHA256()
}

// having returns the nodes that have a blob.
func (c *cluster) having(hash string) (names []string) {
	for name, n := range c.nodes {
		if f, err := n.Store.OpenHere(hash); err == nil {
			_ = f.Close()
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func noise(size int) []byte {
	data := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{byte(size)}).Read(data)
	return data
}

// TestSpread: a blob of any size is on a majority when Spread returns, and soon on all that should have it.
func TestSpread(t *testing.T) {
	for _, size := range []int{0, 1, pieceSize - 1, pieceSize, pieceSize + 1, 10*pieceSize + 7} {
		c := newCluster(t, 3, "a", "b", "c")
		data := noise(size)
		hash := c.put("a", data)
		if err := c.nodes["a"].Spread(t.Context(), hash); err != nil {
			t.Fatal(err)
		}
		if got := c.having(hash); len(got) < 2 {
			t.Errorf("%d bytes: only %v have a copy", size, got)
		}
		for name, n := range c.nodes { // joins the fetch that goes on
			if err := n.Fetch(t.Context(), hash); err != nil {
				t.Fatal(err)
			}
			f, err := n.Store.OpenHere(hash)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(f)
			if err = errors.Join(err, f.Close()); err != nil || !bytes.Equal(got, data) {
				t.Errorf("node %s has %d of %d bytes: %v", name, len(got), size, err)
			}
		}
	}
}

// TestSpreadWithFailures: one node of three may be down, two may not.
func TestSpreadWithFailures(t *testing.T) {
	c := newCluster(t, 3, "a", "b", "c")
	hash := c.put("a", noise(1000))
	c.setDown("c", true)
	if err := c.nodes["a"].Spread(t.Context(), hash); err != nil {
		t.Errorf("with one node down: %v", err)
	}
	if got := c.having(hash); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%v have a copy", got)
	}
	c.setDown("b", true)
	if err := c.nodes["a"].Spread(t.Context(), hash); err == nil || !strings.Contains(err.Error(), "2 of 3") {
		t.Errorf("with two nodes down: %v", err)
	}
}

// TestRepair: a node that was down, or has lost its disk, has its copies after its return, and only those.
func TestRepair(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	c := newCluster(t, 3, names...)
	for i := range 20 {
		hash := c.put("a", noise(1000+i))
		c.needed = append(c.needed, hash)
		if err := c.nodes["a"].Spread(t.Context(), hash); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range c.nodes {
		n.repair(t.Context(), n.referred(t.Context()))
	}
	for _, hash := range c.needed {
		want := c.nodes["b"].holders(hash)
		if len(want) != 3 {
			t.Fatalf("%d nodes should have a copy", len(want))
		}
		for _, n := range want {
			if !slices.Contains(c.having(hash), n) {
				t.Errorf("%s has no copy of %s", n, hash)
			}
		}
	}
	lost := c.nodes["b"].Store
	for _, hash := range c.needed {
		if err := lost.Delete(hash); err != nil {
			t.Fatal(err)
		}
	}
	c.nodes["b"].repair(t.Context(), c.nodes["b"].referred(t.Context()))
	for _, hash := range c.needed {
		if has := slices.Contains(c.having(hash), "b"); has != slices.Contains(c.nodes["b"].holders(hash), "b") {
			t.Errorf("the node that has lost its disk has a copy of %s: %v", hash, has)
		}
	}
}

// TestHolders: when a node leaves, only its copies move.
func TestHolders(t *testing.T) {
	c := newCluster(t, 3, "a", "b", "c", "d", "e")
	count := map[string]int{}
	for i := range 300 {
		hash := fmt.Sprintf("%064x", i)
		before := c.nodes["a"].holders(hash)
		c.setDown("e", true)
		after := c.nodes["a"].holders(hash)
		c.setDown("e", false)
		for _, n := range before {
			count[n]++
			if n != "e" && !slices.Contains(after, n) {
				t.Fatalf("%s: %v, then %v", hash, before, after)
			}
		}
	}
	for name, n := range count {
		if n < 120 || n > 240 { // 180 on average
			t.Errorf("%s has %d of 300 blobs", name, n)
		}
	}
}

// TestRun: a missing copy is fetched at the next interval; one that no node has is known to be absent until it returns.
func TestRun(t *testing.T) {
	c := newCluster(t, 3, "a", "b", "c")
	data := noise(5000)
	hash := c.put("a", data)
	c.needed = []string{hash}
	if err := c.nodes["a"].Store.Delete(hash); err != nil {
		t.Fatal(err)
	}
	b := c.nodes["b"]
	if !b.Has(hash) {
		t.Error("a blob is absent before the node has looked for it")
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = b.Run(ctx) })
	defer running.Wait()
	defer cancel()
	await(t, func() bool { return !b.Has(hash) })
	c.put("a", data)
	if err := c.clock.BlockUntilContext(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	c.clock.Advance(repairInterval)
	await(t, func() bool { return b.Has(hash) })
	if err := b.Store.Delete(hash); err != nil {
		t.Fatal(err)
	}
	b.Repair()
	await(t, func() bool { return slices.Contains(c.having(hash), "b") })
}

// await waits until something holds that another goroutine does.
func await(t *testing.T, holds func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for !holds() {
		select {
		case <-deadline:
			t.Fatal("it does not happen")
		case <-time.After(time.Millisecond):
		}
	}
}

// TestWrongBytes: a node with other bytes is passed over, and a blob that no other node has is not taken from it.
func TestWrongBytes(t *testing.T) {
	c := newCluster(t, 3, "a", "b", "c")
	hash := c.put("a", noise(3*pieceSize))
	c.tampered["a"] = struct{}{}
	if err := c.nodes["c"].Fetch(t.Context(), hash); err == nil || !strings.Contains(err.Error(), "other bytes") {
		t.Errorf("wrong bytes: %v", err)
	}
	c.put("b", noise(3*pieceSize))
	if err := c.nodes["c"].Fetch(t.Context(), hash); err != nil {
		t.Error(err)
	}
	if err := c.nodes["c"].Fetch(t.Context(), fmt.Sprintf("%064x", 1)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a blob that no node has: %v", err)
	}
}

// TestFetchOnce: many that want a blob share one transfer.
func TestFetchOnce(t *testing.T) {
	c := newCluster(t, 1, "a", "b")
	hash := c.put("a", noise(8*pieceSize))
	var wanting sync.WaitGroup
	for range 16 {
		wanting.Go(func() {
			if err := c.nodes["b"].Fetch(t.Context(), hash); err != nil {
				t.Error(err)
			}
		})
	}
	wanting.Wait()
	if n := c.asked.Load(); n != 8 {
		t.Errorf("%d pieces were sent for 8", n)
	}
}

// TestUploads: parts that arrive at any node become one object, whichever node completes it.
func TestUploads(t *testing.T) {
	c := newCluster(t, 3, "a", "b", "c")
	a, b, third := c.nodes["a"], c.nodes["b"], c.nodes["c"]
	begun, err := a.Initiate(objects.Upload{Bucket: "games", Key: "build.zip", Algorithm: objects.CRC32})
	if err != nil {
		t.Fatal(err)
	}
	data := noise(2*objects.MinPartSize + 11)
	var parts []objects.Part
	for i, n := range []*Copies{b, a, third} {
		u, err := n.Upload(begun.ID)
		if err != nil || u.Bucket != "games" || u.Algorithm != objects.CRC32 {
			t.Fatalf("%+v, %v", u, err)
		}
		w, err := n.Store.Create(0)
		if err == nil {
			_, err = w.Write(data[i*objects.MinPartSize : min(len(data), (i+1)*objects.MinPartSize)])
		}
		if err != nil {
			t.Fatal(err)
		}
		p, err := n.PutPart(u, i+1, "AAAAAA==", w)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, p)
	}
	u, err := third.Upload(begun.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := third.Parts(u, 1, 10); err != nil || len(got) != 2 || got[0] != parts[1] {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = third.Complete(u, []objects.Part{{Number: 1, ETag: "other"}})
	if objects.CodeOf(err) != objects.InvalidPart {
		t.Errorf("a wrong part: %v", err)
	}
	o, err := third.Complete(u, parts)
	if err != nil || o.Size != int64(len(data)) || o.Key != "build.zip" {
		t.Fatalf("%+v, %v", o, err)
	}
	if err := third.Spread(t.Context(), o.Hash); err != nil || len(c.having(o.Hash)) < 2 {
		t.Errorf("%v have the object: %v", c.having(o.Hash), err)
	}
	if err := third.Abort(u); err != nil {
		t.Error(err)
	}
	for name, n := range c.nodes {
		if _, err := n.Upload(begun.ID); objects.CodeOf(err) != objects.NoSuchUpload {
			t.Errorf("node %s still has the upload: %v", name, err)
		}
	}
}

// TestUploadOfAbsentNode: an upload whose node is down may return, so the client is not told that there is none.
func TestUploadOfAbsentNode(t *testing.T) {
	c := newCluster(t, 3, "a", "b", "c")
	begun, err := c.nodes["a"].Initiate(objects.Upload{Bucket: "games", Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	u, err := c.nodes["b"].Upload(begun.ID)
	if err != nil {
		t.Fatal(err)
	}
	c.setDown("a", true)
	if _, err := c.nodes["b"].Parts(u, 0, 10); objects.CodeOf(err) != objects.ServiceUnavailable {
		t.Errorf("parts of a node that is down: %v", err)
	}
}

// FuzzAnswer: any question has an answer, and changes nothing unless it is one.
func FuzzAnswer(f *testing.F) {
	hash := fmt.Sprintf("%064x", 7)
	f.Add(question{keepQuestion, blobFiles, hash, 0}.encode())
	f.Add(question{readQuestion, blobFiles, hash, 1 << 40}.encode())
	f.Add(encodeHave(chunkFiles, []string{hash, hash}))
	f.Add(append([]byte{listQuestion}, make([]byte, hourSize+nameSize)...))
	f.Add([]byte(`u{"method":"complete","id":"00112233445566778899aabbccddeeff","want":[{"number":1}]}`))
	f.Add([]byte(`u{"method":"part","id":"../x","hash":"y"}`))
	store, err := objects.Open(objects.Config{Dir: f.TempDir(), Clock: clockwork.NewRealClock(),
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	alone := &cluster{nodes: map[string]*Copies{}, down: map[string]bool{}}
	kept, err := logs.Open(logs.Config{Dir: f.TempDir(), MaxSize: 1 << 30, Clock: clockwork.NewRealClock(),
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	c := New(Config{Self: "a", Store: store, Logs: kept, Peers: peers{alone}, Number: 3, Referred: alone.referred,
		Clock: clockwork.NewRealClock(), Log: slog.New(slog.DiscardHandler)})
	f.Fuzz(func(t *testing.T, data []byte) {
		if answer := c.Answer(t.Context(), data); len(answer) == 0 {
			t.Errorf("%q has no answer", data)
		}
		_, _ = readAnswer(data)
		for _, e := range decodeEntries(data) {
			_ = c.lacksLog(e)
		}
	})
}
