// Package copies keeps each blob of a region on several of its nodes. Which nodes follows from the hash alone, by
// rendezvous hashing of the living nodes: no table says where a blob is, and a node that joins or leaves moves only the
// blobs that it has to.
//
// A new blob is acknowledged when a majority of its copies is durable, like a record of the journal. Each node fetches
// the copies that it should have and lacks, when an object is stored and at intervals: so the rest follow, and a node
// that has lost its disk is filled again.
package copies

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/objects"
)

const (
	// repairInterval is the time between two searches for missing copies.
	repairInterval = time.Minute

	// keepLimit is the timeout of a request to keep a copy: a node fetches the largest builds within it.
	keepLimit = 10 * time.Minute

	// readLimit is the timeout of reading a piece from another node.
	readLimit = 5 * time.Second
)

// Peers are the nodes of a region.
type Peers interface {
	// Living returns the names of the nodes that are up, this one included.
	Living() []string

	// AskNode has Copies.Answer of another node answer a question. ctx bounds the wait.
	AskNode(ctx context.Context, node string, question []byte) (answer []byte, err error)
}

// Config configures Copies. All fields are required.
type Config struct {
	Self   string // the name of this node
	Store  *objects.Store
	Peers  Peers
	Number int // how many nodes have a blob, if there are so many

	// Referred returns the hashes of the blobs that the region needs.
	Referred func() []string

	Clock clockwork.Clock
	Log   *slog.Logger
}

// Copies are the copies of a region's blobs, as one of its nodes keeps them. It is safe for concurrent use.
type Copies struct {
	Config
	wake chan struct{} // with room for one

	mu       sync.Mutex
	fetching map[string]*fetch  // by hash
	absent   map[string]bool    // hashes that no living node had when this node last looked
	transfer chan struct{}      // holds one token for each transfer that may run
	done     context.Context    // of Run
	stop     context.CancelFunc // ends done
}

// A fetch is the transfer of a blob to this node. All that want the blob wait for it.
type fetch struct {
	ended chan struct{}
	err   error // set before ended is closed
}

// transfers is how many blobs a node fetches at once: few, since they share the network with the journal.
const transfers = 2

// New returns the copies of a region.
func New(cfg Config) *Copies {
	c := &Copies{Config: cfg, wake: make(chan struct{}, 1), fetching: map[string]*fetch{}, absent: map[string]bool{},
		transfer: make(chan struct{}, transfers)}
	c.done, c.stop = context.WithCancel(context.Background())
	return c
}

// Run fetches the copies that this node lacks, until ctx ends.
func (c *Copies) Run(ctx context.Context) error {
	defer c.stop()
	tick := c.Clock.NewTicker(repairInterval)
	defer tick.Stop()
	for {
		c.repair(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.Chan():
		case <-c.wake:
		}
	}
}

// Repair has Run look for missing copies at once.
func (c *Copies) Repair() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// repair fetches what this node should have.
func (c *Copies) repair(ctx context.Context) {
	absent := map[string]bool{}
	for _, hash := range c.Referred() {
		if ctx.Err() != nil {
			return
		}
		if c.Store.Has(hash) || !slices.Contains(c.holders(hash), c.Self) && !c.wasAbsent(hash) {
			continue
		}
		err := c.Fetch(ctx, hash)
		if errors.Is(err, fs.ErrNotExist) {
			absent[hash] = true
		} else if err != nil && ctx.Err() == nil {
			c.Log.Warn("copy of a file not fetched; trying again", "sha256", hash, "err", err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.absent = absent
}

func (c *Copies) wasAbsent(hash string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.absent[hash]
}

// Has reports whether a blob is in the region, as far as this node knows.
func (c *Copies) Has(hash string) bool { return c.Store.Has(hash) || !c.wasAbsent(hash) }

// holders returns the nodes that should have a blob.
func (c *Copies) holders(hash string) []string {
	nodes := slices.Clone(c.Peers.Living())
	if !slices.Contains(nodes, c.Self) {
		nodes = append(nodes, c.Self)
	}
	rank := make(map[string][sha256.Size]byte, len(nodes))
	for _, n := range nodes {
		rank[n] = sha256.Sum256([]byte(hash + "/" + n))
	}
	slices.SortFunc(nodes, func(a, b string) int {
		x, y := rank[a], rank[b]
		return cmp.Or(slices.Compare(x[:], y[:]), cmp.Compare(a, b))
	})
	return nodes[:min(c.Number, len(nodes))]
}

// Spread returns when a majority of the copies of a blob is durable, one of them on this node. The caller stores a
// reference to it then. The error names the nodes that failed.
func (c *Copies) Spread(ctx context.Context, hash string) error {
	ctx, cancel := context.WithTimeout(ctx, keepLimit)
	defer cancel()
	if err := c.Fetch(ctx, hash); err != nil {
		return err
	}
	others := slices.DeleteFunc(c.holders(hash), func(n string) bool { return n == c.Self })
	needed := c.Number / 2 // beside this node
	results := make(chan error, len(others))
	for _, node := range others {
		go func() { results <- c.askToKeep(node, hash) }()
	}
	var failed []error
	for kept := 0; kept < needed; {
		if len(failed) > len(others)-needed {
			return fmt.Errorf("%d of %d nodes must have a copy of the file: %w", needed+1, c.Number,
				cmp.Or(errors.Join(failed...), errTooFew))
		}
		select {
		case err := <-results:
			if err != nil {
				failed = append(failed, err)
				continue
			}
			kept++
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

var errTooFew = errors.New("too few nodes are up")

// askToKeep has another node keep a copy. It goes on when the caller has a majority already, so that all copies are
// made soon.
func (c *Copies) askToKeep(node, hash string) error {
	ctx, cancel := context.WithTimeout(c.done, keepLimit)
	defer cancel()
	answer, err := c.Peers.AskNode(ctx, node, question{keepQuestion, hash, 0}.encode())
	if err == nil {
		_, err = readAnswer(answer)
	}
	if err != nil {
		return fmt.Errorf("node %s: %w", node, err)
	}
	return nil
}

// Fetch returns when this node has a blob. The error is fs.ErrNotExist if no living node has it.
func (c *Copies) Fetch(ctx context.Context, hash string) error {
	c.mu.Lock()
	f := c.fetching[hash]
	if f == nil {
		if c.Store.Has(hash) {
			c.mu.Unlock()
			return nil
		}
		f = &fetch{ended: make(chan struct{})}
		c.fetching[hash] = f
		go c.run(f, hash)
	}
	c.mu.Unlock()
	select {
	case <-f.ended:
		return f.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run transfers a blob from the first node that has it, and from the next one if that fails.
func (c *Copies) run(f *fetch, hash string) {
	defer func() {
		c.mu.Lock()
		delete(c.fetching, hash)
		c.mu.Unlock()
		close(f.ended)
	}()
	select {
	case c.transfer <- struct{}{}:
		defer func() { <-c.transfer }()
	case <-c.done.Done():
		f.err = c.done.Err()
		return
	}
	nodes := c.holders(hash)
	for _, n := range c.Peers.Living() {
		if !slices.Contains(nodes, n) {
			nodes = append(nodes, n)
		}
	}
	f.err = fmt.Errorf("file %s: %w", hash, fs.ErrNotExist)
	for _, node := range nodes {
		if node == c.Self {
			continue
		}
		err := c.copyFrom(node, hash)
		if err == nil {
			f.err = nil
			return
		}
		if !errors.Is(err, fs.ErrNotExist) {
			f.err = fmt.Errorf("node %s: %w", node, err)
		}
	}
}
