// Package jetstream keeps journals, snapshots and histories in NATS JetStream,
// embedded in the program: file storage in one directory, synced to disk on
// every write, no port, no signal handlers. The server may be one node of a
// cluster (Cluster), which keeps each stream on three nodes and has one port, for
// the other nodes; or a NATS that runs elsewhere takes its place (External).
//
// # What is stored
//
// The journal of shard N is the stream MUSTER_SHARD_N with one message per
// record; the message's sequence is the record's number. Its snapshots are the
// objects of the object store muster-shard-N: the object's metadata, which is
// written behind its last chunk, says of which record it is, and is what makes
// it exist. Histories are the stream MUSTER_HISTORY with one message per subject.
// Beside the server's directory, the file STREAM.last names the newest message
// that was acknowledged: see mark.
//
// # What happens when something is damaged
//
// When a write fails, above all because the disk is full, the server gives the
// stream up for good. Then the engine is broken: every call fails at once, and
// only another process goes on. See Engine.Broken. A node of a cluster stops its
// server, so that the others go on without it.
//
// After a crash the server reads its files anew, and cuts each at the first
// message that is not whole. When acknowledged records are missing thereafter,
// LoadSnapshot says which in the log, and the journal goes on from what is there;
// it fails with journal.ErrMissing when that gives no state. A snapshot that is
// damaged is named in the log and left out.
//
// In a cluster, what one node has lost it gets from the others. What a majority
// has lost is missing for all, and that is what the above is about then.
package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/muster-gg/muster/internal/loglimit"
)

const (
	// maxRecord is what a journal offers, and no less than journal.MaxEntry. The server takes twice as much, so that
	// headers and subjects never make a difference.
	maxRecord  = 4 << 20
	maxPayload = 2 * maxRecord

	// maxStore is no limit. The server's own would be three quarters of what is free
	// when it starts, and would count what is there already: it ends a service that
	// has filled half of its disk.
	maxStore = 1 << 60

	// readyTimeout bounds the start of the server, which has to look through its
	// files after a crash.
	readyTimeout = 2 * time.Minute
)

// ErrInUse says that another process has opened the directory.
var ErrInUse = errors.New("the journal directory is in use by another process")

// errClosed is what ends the calls of an engine that was closed.
var errClosed = errors.New("the journal engine is closed")

// Config says where the engine keeps its files, and for how long. With neither
// Cluster nor External it is alone.
type Config struct {
	Dir        string        // made when it does not exist; one process at a time
	Log        *slog.Logger  // gets what the server says, at debug and warn; nil: silent
	HistoryAge time.Duration // how long histories are kept; default 30 days
	Cluster    *Cluster      // makes the embedded server a node of a cluster
	External   *External     // takes the place of the embedded server; Dir holds marks alone

	// Bulk leaves it to the system when what is written reaches the disk. It is for
	// who fills a directory that nobody depends on yet, and syncs it at the end.
	Bulk bool
}

// An Engine is an embedded JetStream server and the connection to it. Its
// methods may be called by many goroutines at the same time, Close once.
type Engine struct {
	cfg    Config
	lock   *flock.Flock
	server *server.Server
	conn   *nats.Conn
	js     jetstream.JetStream
	log    *logger // of the server

	password  string // of the users of a node's server
	elections func() // ends the watch over elections, and waits for it

	gate         gate // of all that is published
	tidy         gate // of those who forget snapshots and records
	acknowledged acknowledged

	broken    context.Context // done when the engine can no longer write
	breakWith context.CancelCauseFunc

	marksMu sync.Mutex
	marks   map[string]*mark // by stream
}

// Open starts the engine on its directory. The error is ErrInUse when another
// process, or another engine of this one, has it open, ErrAlone or ErrClustered
// when it belongs to another kind of node. A node of a cluster does not wait for
// the others here; what makes a stream does.
func Open(ctx context.Context, cfg Config) (e *Engine, err error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.HistoryAge == 0 {
		cfg.HistoryAge = 30 * 24 * time.Hour
	}
	e = &Engine{cfg: cfg, marks: map[string]*mark{}}
	e.log = &logger{log: cfg.Log, broken: e.breakDown, lines: loglimit.New(nil)}
	e.broken, e.breakWith = context.WithCancelCause(context.Background())
	defer func() {
		if err != nil {
			err = errors.Join(err, e.Close())
			e = nil
		}
	}()
	if err := e.lockDir(); err != nil {
		return e, err
	}
	if cfg.External == nil {
		if err := e.startOwn(ctx); err != nil {
			return e, err
		}
	}
	if err := e.connect(); err != nil {
		return e, fmt.Errorf("connect to journal engine: %w", err)
	}
	if takes := e.conn.MaxPayload(); takes < maxPayload {
		return e, fmt.Errorf("the NATS at %s takes messages of %d bytes at most, and they may have %d: set max_payload to %dMB on all its servers",
			e.conn.ConnectedUrlRedacted(), takes, maxPayload, maxPayload>>20)
	}
	if cfg.Cluster != nil {
		if err := e.watchElections(); err != nil {
			return e, fmt.Errorf("connect to journal engine: %w", err)
		}
	}
	return e, nil
}

// startOwn starts the embedded server.
func (e *Engine) startOwn(ctx context.Context) error {
	if err := errors.Join(e.checkDir(), e.dropIndexes()); err != nil {
		return fmt.Errorf("open journal directory %s: %w", e.cfg.Dir, err)
	}
	if err := e.start(ctx); err != nil {
		return fmt.Errorf("start journal engine in %s: %w", e.cfg.Dir, err)
	}
	return nil
}

// Close stops the engine and waits for its end. What was acknowledged is on
// disk, with or without Close.
func (e *Engine) Close() error {
	if e.elections != nil {
		e.elections()
	}
	if e.conn != nil {
		e.conn.Close()
	}
	if e.server != nil {
		e.server.Shutdown()
		e.server.WaitForShutdown()
	}
	e.breakWith(errClosed)
	err := e.closeMarks()
	if e.lock == nil {
		return err
	}
	if unlocked := e.lock.Close(); unlocked != nil {
		err = errors.Join(err, fmt.Errorf("unlock journal directory %s: %w", e.cfg.Dir, unlocked))
	}
	return err
}

// lockDir makes the directory and keeps others out of it: two servers on the
// same files would destroy them.
func (e *Engine) lockDir() error {
	if err := os.MkdirAll(e.cfg.Dir, 0o700); err != nil {
		return fmt.Errorf("make journal directory %s: %w", e.cfg.Dir, err)
	}
	lock := flock.New(filepath.Join(e.cfg.Dir, "journal.lock"))
	locked, err := lock.TryLock()
	if err != nil {
		return fmt.Errorf("lock journal directory %s: %w", e.cfg.Dir, err)
	}
	if !locked {
		return fmt.Errorf("%w: %s", ErrInUse, e.cfg.Dir)
	}
	e.lock = lock
	return nil
}

// start starts the server and waits until it has read its files. It is not cut
// short: a server that is shut down while it starts leaves goroutines behind.
func (e *Engine) start(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	options := &server.Options{
		ServerName:             "muster",
		DontListen:             true,
		NoSigs:                 true,
		JetStream:              true,
		StoreDir:               e.cfg.Dir,
		SyncAlways:             !e.cfg.Bulk,
		JetStreamMaxStore:      maxStore,
		MaxPayload:             maxPayload,
		DisableJetStreamBanner: true,
	}
	if err := e.clusterOptions(options); err != nil {
		return err
	}
	s, err := server.NewServer(options)
	if err != nil {
		return err
	}
	e.server = s
	s.SetLoggerV2(e.log, true, false, false)
	s.Start()
	if err := e.log.fatal(); err != nil {
		return err
	}
	if !s.ReadyForConnections(readyTimeout) {
		return errors.New("the server did not get ready")
	}
	e.log.begun()
	return nil
}

// connect makes the connection and its JetStream.
func (e *Engine) connect() (err error) {
	if e.conn, err = e.dial(plainUser); err != nil {
		return err
	}
	e.js, err = jetstream.New(e.conn)
	return err
}

// dial makes a connection to the server, within the process when that is
// embedded. It buffers nothing while it is down: what would be sent later could
// land after its caller was told that it failed.
func (e *Engine) dial(user string) (*nats.Conn, error) {
	log := e.cfg.Log
	options := []nats.Option{
		nats.Name("muster"),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(50 * time.Millisecond),
		nats.ReconnectBufSize(-1),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			log.Warn("the journal connection reports an error", "error", err)
		}),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn("the journal connection is down", "error", err)
			}
		}),
	}
	external := e.cfg.External
	if external == nil {
		return nats.Connect("", append(options, nats.InProcessServer(e.server), nats.UserInfo(user, e.password))...)
	}
	if external.Creds != "" {
		options = append(options, nats.UserCredentials(external.Creds))
	}
	if external.TLS != nil {
		options = append(options, nats.Secure(external.TLS))
	}
	return nats.Connect(external.URLs, options...)
}

// makeTimeout bounds the making of a stream.
const makeTimeout = 30 * time.Second

// stream gives the stream with this configuration and the engine's number of
// replicas, made or changed as needed. In a cluster it waits until that has
// gathered. Alone it finishes what it has begun also when ctx ends: a server that
// is shut down while it makes a stream leaves goroutines behind.
func (e *Engine) stream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	cfg.Replicas = e.cfg.replicas()
	if e.cfg.clustered() {
		return gather(ctx, e, "stream "+cfg.Name, func(ctx context.Context) (jetstream.Stream, error) { return e.makeStream(ctx, cfg) })
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), makeTimeout)
	defer cancel()
	return e.makeStream(ctx, cfg)
}

func (e *Engine) makeStream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	s, err := e.js.CreateStream(ctx, cfg) // succeeds, too, when an equal one is there
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		s, err = e.js.UpdateStream(ctx, cfg)
	}
	if err != nil {
		return nil, fmt.Errorf("open stream %s: %w", cfg.Name, errors.Join(err, e.log.full()))
	}
	return s, nil
}
