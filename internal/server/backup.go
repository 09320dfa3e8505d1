package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/backup"
	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/journal/jetstream"
)

// backedUp are the files of a data directory that a backup holds, besides the
// journal: the secret, the authority that clients trust, and the first access key as it was
// written for AWS tools. region.json is made from the backup's header; the server's
// certificate is issued anew, because it names the host.
var backedUp = []string{"region.secret", "tls/ca.pem", "tls/ca.key", "aws-profile"}

// backup writes all of the region as it is at a moment from now.
func (s *service) backup(ctx context.Context, to io.Writer) error {
	files, err := readBackedUp(s.cfg.Data)
	if err != nil {
		return err
	}
	cut, err := s.cut(ctx)
	if errors.Is(err, journal.ErrSnapshotOpen) {
		return fault.New(fault.Conflict, "A backup is being taken already. There is one at a time; try again when it has ended.")
	}
	if err != nil {
		return err
	}
	defer cut.Close()
	level, err := s.levelInForce(ctx) // after the cut: nothing in that is above it
	if err != nil {
		return err
	}
	h := backup.Header{Region: s.cfg.Region, Account: s.cfg.Account, Shards: s.cfg.Shards, Layout: layoutOf(level), Release: release(), Level: level}
	return backup.Write(ctx, to, h, files, cut)
}

// A cluster in which shards are just moving, or a node was just lost, is soon at rest.
// Each attempt may hold all writing up, so they are bounded by time.
const (
	cutLimit = 10 * time.Second
	cutPause = 500 * time.Millisecond
)

// cut holds the region as it is at a moment soon.
func (s *service) cut(ctx context.Context) (journal.ConsistentSnapshot, error) {
	begun := s.cfg.Clock.Now()
	for {
		cut, err := s.engine.ConsistentSnapshot(ctx, s.cfg.Shards, s.writers())
		if !fault.Is(err, fault.ServiceUnavailable) || s.cfg.Clock.Since(begun) >= cutLimit {
			return cut, err
		}
		s.cfg.Log.Debug("the region is not at rest for a backup; trying again", "reason", err)
		select {
		case <-s.cfg.Clock.After(cutPause):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// writers is who brings all that writes into the journals to rest.
func (s *service) writers() jetstream.Region {
	if s.nodes == nil {
		return s.engine
	}
	return s.nodes.RegionPause()
}

// release is the version of this program, as far as it was built with one.
func release() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return ""
}

func readBackedUp(data string) (files []backup.File, err error) {
	for _, name := range backedUp {
		path := filepath.Join(data, filepath.FromSlash(name))
		about, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // with a certificate of its own a service has no authority
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

// writeBackedUp puts a file into a new data directory.
func writeBackedUp(data string, f backup.File) error {
	if !slices.Contains(backedUp, f.Name) {
		return fmt.Errorf("the backup holds the file %q, which this release does not know", f.Name)
	}
	path := filepath.Join(data, filepath.FromSlash(f.Name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(path, f.Data, 0o600); err != nil {
		return err
	}
	return os.Chmod(path, fs.FileMode(f.Mode).Perm()&0o755) // whatever the mask says
}

// writeIdentity writes what a data directory is of. restoration is that of a cluster, or "".
func writeIdentity(data string, h backup.Header, restoration string) error {
	of := identity{Version: h.Layout, Region: h.Region, Account: h.Account, Shards: h.Shards, Restoration: restoration}
	of.Level = h.Level
	return of.write(data)
}
