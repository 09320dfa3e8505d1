package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/muster-gg/muster/internal/atomicfile"
	"github.com/muster-gg/muster/internal/backup"
	"github.com/muster-gg/muster/internal/journal/jetstream"
)

// backupFile is the backup in the data directory of the node that fills the cluster.
const backupFile = "restore.backup"

// RestoreCluster prepares the data directory out/NODE of each node of a new cluster, as InitCluster does, with the
// secret and the CA of a backup. The first node gets the backup and fills the region at its first start; no node serves
// before that is done. out must be missing or empty; it gets its name when it is complete. The whole backup is
// checked before anything is written.
func RestoreCluster(out string, nodes []string, file io.ReadSeeker, now time.Time) (Restored, error) {
	if err := checkNodes(nodes); err != nil {
		return Restored{}, err
	}
	return restoreFrom(file, out, func(partial string, from io.Reader) error {
		return prepareRestoration(partial, nodes, from, now)
	})
}

func prepareRestoration(out string, nodes []string, from io.Reader, now time.Time) error {
	first := filepath.Join(out, nodes[0])
	if err := os.Mkdir(first, 0o700); err != nil {
		return err
	}
	header, err := copyBackup(first, from)
	if err != nil {
		return err
	}
	if _, err := InitCluster(out, nodes, now); err != nil {
		return err
	}
	restoration := rand.Text()
	for _, node := range nodes {
		if err := writeIdentity(filepath.Join(out, node), header, restoration); err != nil {
			return err
		}
	}
	return nil
}

// copyBackup copies a backup into a data directory, and extracts its files.
func copyBackup(data string, from io.Reader) (h backup.Header, err error) {
	to, err := os.OpenFile(filepath.Join(data, backupFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return h, err
	}
	defer closing(&err, to.Close)
	sum, err := backup.Read(io.TeeReader(from, to),
		backup.Visitor{File: func(f backup.File) error { return writeBackedUp(data, f) }})
	return sum.Header, err
}

const restorationKey = "restoration"

// A restoration is the state of filling a region.
type restoration struct {
	ID   string `json:"id"`
	Node string `json:"node"` // that fills it
	Done bool   `json:"done"`
}

const (
	// restorePoll is the interval of checks whether the region is filled, and restoreReport of log lines about it.
	restorePoll   = 250 * time.Millisecond
	restoreReport = 10 * time.Second
)

// restore returns when a restored region is complete: one node fills it before any node serves. id is the id of the
// restoration; "" if the node knows of none.
func (s *service) restore(ctx context.Context, id string) error {
	if s.cfg.Cluster.Alone() {
		if id != "" {
			return errors.New("the data directory belongs to a node of a cluster: " +
				"set node and peer, or create a directory from the backup with muster restore")
		}
		return nil
	}
	agreed, err := s.engine.Agreement(ctx)
	if err != nil {
		return err
	}
	has, err := exists(filepath.Join(s.cfg.Data, backupFile))
	if err != nil {
		return err
	}
	var reported time.Time
	for {
		now, revision, err := s.restoration(ctx, agreed)
		switch {
		case err != nil: // for instance no leader
		case id == "" && (revision == 0 || now.Done):
			return nil
		case now.Done && id == now.ID:
			return s.dropBackup()
		case id != "" && revision > 0 && id != now.ID:
			return errors.New("this node's data directory belongs to another restoration than the cluster: " +
				"prepare all nodes together, on new directories")
		case has && (revision == 0 || now.Node == s.cfg.Cluster.Node):
			return s.fill(ctx, agreed, revision, restoration{ID: id, Node: s.cfg.Cluster.Node})
		}
		if s.cfg.Clock.Since(reported) >= restoreReport {
			reported = s.cfg.Clock.Now()
			s.cfg.Log.Info("waiting for the region to be filled from the backup", "node", now.Node, "error", err)
		}
		select {
		case <-s.cfg.Clock.After(restorePoll):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// restoration returns the state of the restoration. The revision is 0 before it starts.
func (s *service) restoration(ctx context.Context,
	agreed *jetstream.Agreement) (now restoration, revision uint64, err error) {
	text, revision, err := agreed.Read(ctx, restorationKey)
	if err != nil || revision == 0 {
		return now, 0, err
	}
	err = json.Unmarshal(text, &now)
	return now, revision, err
}

// fill fills the region, again from the start after an interrupted attempt.
func (s *service) fill(ctx context.Context, agreed *jetstream.Agreement, revision uint64, r restoration) (err error) {
	begun, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if revision, err = s.beginFilling(ctx, agreed, revision, begun); err != nil {
		return err
	}
	s.cfg.Log.Info("filling the region from the backup; other nodes wait")
	sum, err := s.fillFromBackup(ctx)
	if err != nil {
		return fmt.Errorf("fill the region (the next start repeats it): %w", err)
	}
	r.Done = true
	done, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if _, err := agreed.Write(ctx, restorationKey, done, revision); err != nil {
		return err
	}
	s.cfg.Log.Info("region filled from the backup", "taken", sum.Header.Taken, "records", sum.Records,
		"history", sum.Entries, "events", sum.Events)
	return s.dropBackup()
}

// beginFilling empties the region, and claims filling it.
func (s *service) beginFilling(ctx context.Context, agreed *jetstream.Agreement, revision uint64,
	begun []byte) (uint64, error) {
	if revision == 0 {
		if err := s.engine.CheckEmpty(ctx, s.cfg.Shards); err != nil {
			return 0, err
		}
		return agreed.Write(ctx, restorationKey, begun, 0)
	}
	// Fails if the state is stale, for instance done.
	revision, err := agreed.Write(ctx, restorationKey, begun, revision)
	if err != nil {
		return 0, err
	}
	return revision, s.engine.Clear(ctx, s.cfg.Shards)
}

func (s *service) fillFromBackup(ctx context.Context) (sum backup.Summary, err error) {
	from, err := os.Open(filepath.Join(s.cfg.Data, backupFile))
	if err != nil {
		return sum, err
	}
	defer from.Close() //nolint:errcheck // it was only read
	to, err := s.engine.NewRestorer()
	if err != nil {
		return sum, err
	}
	store, err := openToRestore(s.cfg.Data, s.cfg.Log)
	if err != nil {
		return sum, err
	}
	// The files were extracted before. The other nodes fetch their copies of the blobs when they run.
	return backup.Restore(ctx, from, to, nil,
		func(b backup.Blob, content io.Reader) error { return writeBlob(store, b, content) })
}

// dropBackup removes the backup after filling.
func (s *service) dropBackup() error {
	err := os.Remove(filepath.Join(s.cfg.Data, backupFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return errors.Join(err, atomicfile.SyncDir(s.cfg.Data))
}
