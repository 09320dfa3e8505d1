// Package copies keeps the files of a region on several of its nodes: the blobs of objects, and the logs of processes.
// Which nodes follows from the name of a file alone, by rendezvous hashing of the living nodes: no table says where a
// file is, and a node that joins or leaves moves only the files that it has to.
//
// A new file is acknowledged when a majority of its copies is durable, like a record of the journal. Each node fetches
// the copies that it should have and lacks, when an object is stored and at intervals: so the rest follow, and a node
// that has lost its disk is filled again.
//
// Chunks of unfinished builds, and indexes of pushed ones, are on one node each, from which the others read them.
package copies

import (
	"context"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/logs"
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

// Config configures Copies. All fields but Logs are required.
type Config struct {
	Self   string // the name of this node
	Store  *objects.Store
	Logs   *logs.Store // nil: none are kept
	Peers  Peers
	Number int // how many nodes have a blob or a log, if there are so many

	// Referred returns the hashes of the blobs that the region needs.
	Referred func() []string

	Clock clockwork.Clock
	Log   *slog.Logger
}

// Copies are the files of a region, as one of its nodes keeps them. Its methods for Files are those for blobs. It is
// safe for concurrent use.
type Copies struct {
	Config
	*Files // the blobs

	// Chunks, Indexes and ProcessLogs are the other files. ProcessLogs is nil without Config.Logs.
	Chunks, Indexes, ProcessLogs *Files

	wake chan struct{}      // with room for one
	done context.Context    // of Run
	stop context.CancelFunc // ends done

	compared []string // the other nodes whose logs this one has compared with its own, all hours
}

// New returns the copies of a region.
func New(cfg Config) *Copies {
	c := &Copies{Config: cfg, wake: make(chan struct{}, 1)}
	c.done, c.stop = context.WithCancel(context.Background())
	c.Files = newFiles(c, blobFiles, blobs{cfg.Store})
	c.Chunks = newFiles(c, chunkFiles, chunks{cfg.Store})
	c.Indexes = newFiles(c, indexFiles, indexes{cfg.Store})
	if cfg.Logs != nil {
		c.ProcessLogs = newFiles(c, logFiles, processLogs{cfg.Logs})
	}
	return c
}

// Run fetches the copies that this node lacks, until ctx ends.
func (c *Copies) Run(ctx context.Context) error {
	defer c.stop()
	var running sync.WaitGroup
	defer running.Wait()
	if c.ProcessLogs != nil {
		running.Go(func() { c.ProcessLogs.keepRepaired(ctx, c.lackingLogs, nil) })
	}
	c.keepRepaired(ctx, c.referred, c.wake)
	return nil
}

// referred yields the hashes of the blobs that the region needs.
func (c *Copies) referred(context.Context) iter.Seq[string] { return slices.Values(c.Referred()) }

// Repair has Run look for missing copies of blobs at once.
func (c *Copies) Repair() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}
