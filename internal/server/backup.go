package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/backup"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/journal/jetstream"
	"github.com/muster-gg/muster/internal/release"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// backedUp are the files of a data directory in a backup, besides the journal: the secret, the CA, and the first access
// key for AWS tools. region.json follows from the backup's header; the server's certificate is issued again, because it
// names the host.
var backedUp = []string{"region.secret", "tls/ca.pem", "tls/ca.key", "aws-profile"}

// backup writes a consistent snapshot of the region, taken after the call, and the bytes of builds and objects if they
// are wanted. Those that are deleted after the snapshot was taken are in it.
func (s *service) backup(ctx context.Context, to io.Writer, builds bool) error {
	files, err := readBackedUp(s.cfg.Data)
	if err != nil {
		return err
	}
	var blobs *backup.Blobs
	sizes := map[string]int64{}
	if builds {
		defer s.plane.KeepObjects()()
		blobs = &backup.Blobs{Open: func(hash string) (io.ReadCloser, error) { return s.objects.Open(hash) }}
		if err := s.addBlobs(sizes); err != nil { // they may be deleted before the snapshot is listed
			return err
		}
	}
	snapshot, err := s.snapshot(ctx)
	if errors.Is(err, journal.ErrSnapshotOpen) {
		return fault.New(fault.Conflict, "Another backup is in progress. Try again when it has ended.")
	}
	if err != nil {
		return err
	}
	defer snapshot.Close()
	level, err := s.levelInForce(ctx) // after the cut: nothing in that is above it
	if err != nil {
		return err
	}
	if blobs != nil {
		if err := s.addBlobs(sizes); err != nil {
			return err
		}
		for _, hash := range slices.Sorted(maps.Keys(sizes)) {
			blobs.List = append(blobs.List, backup.Blob{Hash: hash, Size: sizes[hash]})
		}
	}
	h := backup.Header{Region: s.cfg.Region, Account: s.cfg.Account, Shards: s.cfg.Shards, Layout: layoutOf(level),
		Release: release.Current().Version, Level: level}
	return backup.Write(ctx, to, h, files, snapshot, blobs)
}

// addBlobs adds the sizes of the blobs to which builds and objects refer, by hash. It fetches those that only other
// nodes have, and leaves out those that are lost.
func (s *service) addBlobs(sizes map[string]int64) error {
	for _, hash := range s.plane.Catalog().ReferredHashes() {
		if _, ok := sizes[hash]; ok {
			continue
		}
		f, err := s.objects.Open(hash)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("bytes of a build or object: %w", err)
		}
		info, err := f.Stat()
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		sizes[hash] = info.Size()
	}
	return nil
}

// Limits of retries while shards are moving, or after a node was lost. Each attempt may pause all writes.
const (
	cutLimit = 10 * time.Second
	cutPause = 500 * time.Millisecond
)

func (s *service) snapshot(ctx context.Context) (journal.ConsistentSnapshot, error) {
	begun := s.cfg.Clock.Now()
	for {
		snapshot, err := s.engine.ConsistentSnapshot(ctx, s.cfg.Shards, s.writers())
		if !fault.Is(err, fault.ServiceUnavailable) || s.cfg.Clock.Since(begun) >= cutLimit {
			return snapshot, err
		}
		s.cfg.Log.Debug("consistent snapshot failed, retrying", "reason", err)
		select {
		case <-s.cfg.Clock.After(cutPause):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// writers returns what pauses all writes to the journals.
func (s *service) writers() jetstream.Region {
	if s.nodes == nil {
		return s.engine
	}
	return s.nodes.RegionPause()
}

func readBackedUp(data string) (files []backup.File, err error) {
	for _, name := range backedUp {
		path := filepath.Join(data, filepath.FromSlash(name))
		about, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a service with a configured certificate has no CA
		}
		if err != nil {
			return nil, err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		files = append(files, backup.File{Name: name, Mode: uint32(about.Mode().Perm()), Data: content})
	}
	return files, nil
}

// writeBackedUp writes a file to a new data directory.
func writeBackedUp(data string, f backup.File) error {
	if !slices.Contains(backedUp, f.Name) {
		return fmt.Errorf("the backup has the file %q, which this release does not know", f.Name)
	}
	path := filepath.Join(data, filepath.FromSlash(f.Name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(path, f.Data, 0o600); err != nil {
		return err
	}
	return os.Chmod(path, fs.FileMode(f.Mode).Perm()&0o755) // independent of the umask
}

// writeIdentity writes the identity of a data directory. restoration is that of a cluster, or "".
func writeIdentity(data string, h backup.Header, restoration string) error {
	of := identity{Version: h.Layout, Region: h.Region, Account: h.Account, Shards: h.Shards, Restoration: restoration}
	of.Level = h.Level
	return of.write(data)
}
