// Package jetstream keeps journals, snapshots and histories in NATS JetStream, embedded in the program: file storage in
// one directory, synced to disk on every write, no port, no signal handlers. The server may be one node of a cluster
// (Cluster), which keeps each stream on three nodes and has one port, for the other nodes. A NATS outside the process
// can replace it (External).
//
// # What is stored
//
// The journal of shard N is the stream MUSTER_SHARD_N with one message per record; the message's sequence is the
// record's number. Its snapshots are the objects of the object store muster-shard-N. An object exists once its metadata
// is written, after its last chunk; the metadata contains the number of the last record that the snapshot includes.
// Histories are the stream MUSTER_HISTORY with one message per subject. Beside the server's directory, the file
// STREAM.last contains the number of the newest acknowledged message: see mark. The event feed is the stream
// MUSTER_FEED, the audit trail MUSTER_AUDIT, metrics MUSTER_METRICS_10S, _1M, _5M and _1H, which alone are not synced
// for each record; pending grants are the bucket MUSTER_GRANTS, in memory.
//
// # Damage
//
// If a write fails, mostly because the disk is full, the server stops using the stream. Then the engine is broken:
// every call fails at once, and only another process can continue. See Engine.Broken. A node of a cluster stops its
// server, so that the others continue without it.
//
// After a crash the server reads its files again, and truncates each at the first incomplete message. If acknowledged
// records are missing then, LoadSnapshot logs which ones, and the journal continues from the rest; it fails with
// journal.ErrMissing if the rest gives no state. LoadSnapshot also logs damaged snapshots, and does not use them.
//
// In a cluster, a node gets what it has lost from the others. The above is then about what a majority has lost.
package jetstream

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/muster-gg/muster/internal/telemetry/loglimit"
)

const (
	// maxRecord is the maximum size of a journal's records, and no less than journal.MaxEntry. The server accepts twice
	// as much, so that headers and subjects never matter.
	maxRecord  = 4 << 20
	maxPayload = 2 * maxRecord

	// maxStore is no limit. The server's default, three quarters of the free space at its start, counts existing files
	// too: it would stop a service that has filled half of its disk.
	maxStore = 1 << 60

	// readyTimeout bounds the start of the server, which has to read its files after a crash.
	readyTimeout = 2 * time.Minute
)

// ErrInUse reports that another process has opened the directory.
var ErrInUse = errors.New("the journal directory is in use by another process")

// errClosed is the error of calls of a closed engine.
var errClosed = errors.New("the journal engine is closed")

// Config configures an engine. With neither Cluster nor External it runs alone.
type Config struct {
	Dir        string        // created if missing; one process at a time
	Log        *slog.Logger  // also receives the server's log lines, at debug and warn; nil: discard
	HistoryAge time.Duration // how long histories are kept; default 30 days

	// HistoryBytes is the maximum size of the history: above it the oldest batches are deleted. 0: no limit.
	HistoryBytes int64
	Cluster      *Cluster  // makes the embedded server a node of a cluster
	External     *External // replaces the embedded server; Dir contains only marks

	// Bulk leaves syncing to the operating system. It is for filling a directory that is not in use yet; the caller
	// syncs it at the end.
	Bulk bool

	stateWait time.Duration // see stateWith; tests shorten it, 0: patience
	patience  time.Duration // how long a call waits; tests lengthen it, 0: patience
}

// An Engine is an embedded JetStream server and the connection to it. Its methods are safe for concurrent use; Close is
// called once.
type Engine struct {
	cfg    Config
	lock   *flock.Flock
	server *server.Server
	conn   *nats.Conn
	js     jetstream.JetStream
	log    *logger // of the server

	password  string // of the users of a node's server
	stopWatch func() // see watchGroups; nil for a node alone

	gate         gate // of all publishers
	tidy         gate // of all that deletes snapshots and records
	acknowledged acknowledged

	broken    context.Context // done when the engine can no longer write
	breakWith context.CancelCauseFunc

	marksMu sync.Mutex
	marks   map[string]*mark // by stream
}

// Open starts the engine on its directory. The error is ErrInUse if another process, or another engine of this one, has
// opened it, ErrAlone or ErrClustered if it belongs to another kind of node. A node of a cluster does not wait for the
// others here, but when it creates streams.
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
		return e, fmt.Errorf("the NATS at %s accepts messages of up to %d bytes, and Muster needs %d: set "+
			"max_payload to %dMB on all its servers",
			e.conn.ConnectedUrlRedacted(), takes, maxPayload, maxPayload>>20)
	}
	if cfg.Cluster != nil {
		e.stopWatch = e.watchGroups()
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

// Close stops the engine and waits for its end. Acknowledged messages are on disk with or without Close.
func (e *Engine) Close() error {
	if e.stopWatch != nil {
		e.stopWatch()
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

// lockDir creates the directory and locks it: two servers on the same files would destroy them.
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

// start starts the server and waits until it has read its files, whatever ctx does: a server that is shut down during
// its start leaks goroutines.
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
		return errors.New("the server is not ready in time")
	}
	e.log.begun()
	return nil
}

func (e *Engine) connect() (err error) {
	if e.conn, err = e.dial(plainUser); err != nil {
		return err
	}
	e.js, err = jetstream.New(e.conn)
	return err
}

// dial connects to the server, within the process if it is embedded. The connection buffers nothing while it is down: a
// buffered message could be sent after its caller received an error.
func (e *Engine) dial(user string) (*nats.Conn, error) {
	log := e.cfg.Log
	options := []nats.Option{
		nats.Name("muster"),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(50 * time.Millisecond),
		nats.ReconnectBufSize(-1),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			log.Warn("journal connection error", "error", err)
		}),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn("journal connection lost", "error", err)
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

// makeTimeout bounds the creation of a stream.
const makeTimeout = 30 * time.Second

// stream creates or updates the stream with this configuration and the engine's number of replicas. In a cluster it
// waits until a majority of the nodes is up. Alone it completes even if ctx ends: a server that is shut down while it
// creates a stream leaks goroutines.
func (e *Engine) stream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	cfg.Replicas = e.cfg.replicas()
	if e.cfg.clustered() {
		return gather(ctx, e, "stream "+cfg.Name,
			func(ctx context.Context) (jetstream.Stream, error) { return e.makeStream(ctx, cfg) })
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), makeTimeout)
	defer cancel()
	return e.makeStream(ctx, cfg)
}

func (e *Engine) makeStream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	s, err := e.js.CreateStream(ctx, cfg) // also succeeds if an equal one exists
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		s, err = e.js.UpdateStream(ctx, cfg)
	}
	if err != nil {
		return nil, fmt.Errorf("open stream %s: %w", cfg.Name, errors.Join(err, e.log.full()))
	}
	return s, nil
}

// dropIndexes deletes the indexes of the journals, so that the server reads the files themselves. It would trust an
// index that looks newer than the files; if those were truncated since, the journal would have a hole at its end.
// Timestamps do not show that: they are as coarse as the system's clock tick. Snapshots keep journals short, so reading
// them takes little time.
func (e *Engine) dropIndexes() error {
	indexes, err := filepath.Glob(filepath.Join(e.cfg.Dir, "jetstream", "*", "streams", "MUSTER_SHARD_*",
		"msgs", "index.db"))
	if err != nil {
		return err
	}
	for _, index := range indexes {
		if err := os.Remove(index); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove index: %w", err)
		}
	}
	return nil
}
