package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/atomicfile"
	"github.com/muster-gg/muster/internal/backup"
	"github.com/muster-gg/muster/internal/journal/jetstream"
	"github.com/muster-gg/muster/internal/objects"
	"github.com/muster-gg/muster/internal/region"
)

// Restored describes a restored backup.
type Restored struct {
	Region, Account string
	Shards          int
	Taken           time.Time // when the backup was taken
	Records         int       // of all journals, after their snapshots
	History         int       // entries
	Events          int       // records of the event feed
	Blobs           int       // contents of builds and objects
	Bytes           int64     // of all of them
}

// Restore creates a data directory from a backup. The directory must be missing or empty, and not in use. The whole
// backup is checked before anything is written; the directory gets its name when it is complete and durable. log may be
// nil.
func Restore(ctx context.Context, data string, file io.ReadSeeker, log *slog.Logger) (Restored, error) {
	return restoreFrom(file, data,
		func(partial string, from io.Reader) error { return fillData(ctx, partial, from, log) })
}

// restoreFrom checks a backup, and creates a directory that fill fills.
func restoreFrom(file io.ReadSeeker, data string, fill func(partial string, from io.Reader) error) (Restored, error) {
	if err := checkEmpty(data); err != nil {
		return Restored{}, err
	}
	checked, err := CheckBackup(file)
	if err != nil {
		return Restored{}, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return Restored{}, err
	}
	return checked, makeData(data, func(partial string) error { return fill(partial, file) })
}

// CheckBackup reads and checks a whole backup.
func CheckBackup(from io.Reader) (Restored, error) {
	sum, err := backup.Read(from, backup.Visitor{Header: checkHeader})
	h := sum.Header
	return Restored{
		Region: h.Region, Account: h.Account, Shards: h.Shards, Taken: h.Taken,
		Records: sum.Records, History: sum.Entries, Events: sum.Events, Blobs: sum.Blobs, Bytes: sum.Bytes,
	}, err
}

// checkHeader rejects a backup that this release cannot run.
func checkHeader(h backup.Header) error {
	if err := checkFormat("the backup", h.Layout, h.Level); err != nil {
		return err
	}
	switch {
	case h.Shards > region.MaxShards:
		return fmt.Errorf("the backup has %d shards, and this release allows %d", h.Shards, region.MaxShards)
	}
	return nil
}

func checkEmpty(data string) error {
	entries, err := os.ReadDir(data)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(entries) > 0:
		return fmt.Errorf("%s is not empty: it has %s. Restore into a new directory, or move this one away first",
			data, entries[0].Name())
	}
	return nil
}

// makeData fills a temporary directory next to data, and renames it.
func makeData(data string, fill func(partial string) error) (err error) {
	data, err = filepath.Abs(data)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(data), 0o700); err != nil {
		return err
	}
	partial, err := os.MkdirTemp(filepath.Dir(data), filepath.Base(data)+".partial-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(partial))
		}
	}()
	if err := fill(partial); err != nil {
		return err
	}
	if err := syncTree(partial); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	if err := os.Remove(data); err != nil && !errors.Is(err, fs.ErrNotExist) { // it is empty
		return fmt.Errorf("replace the empty directory (for a mounted volume, restore into a directory below it): %w",
			err)
	}
	if err := os.Rename(partial, data); err != nil {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(data))
}

func fillData(ctx context.Context, data string, from io.Reader, log *slog.Logger) (err error) {
	engine, err := jetstream.Open(ctx, jetstream.Config{Dir: filepath.Join(data, journalDir), Log: log, Bulk: true})
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	defer closing(&err, engine.Close)
	to, err := engine.NewRestorer()
	if err != nil {
		return err
	}
	store, err := openToRestore(data, log)
	if err != nil {
		return err
	}
	sum, err := backup.Restore(ctx, from, to, func(f backup.File) error { return writeBackedUp(data, f) },
		func(b backup.Blob, content io.Reader) error { return writeBlob(store, b, content) })
	if err != nil {
		return fmt.Errorf("fill the data directory: %w", err)
	}
	return writeIdentity(data, sum.Header, "")
}

// openToRestore opens the object store of a data directory for the blobs of a backup, of any size.
func openToRestore(data string, log *slog.Logger) (*objects.Store, error) {
	return objects.Open(objects.Config{Dir: filepath.Join(data, objectsDir), MaxSize: math.MaxInt64,
		Clock: clockwork.NewRealClock(), Log: log})
}

// writeBlob writes a blob of a backup to a store.
func writeBlob(store *objects.Store, b backup.Blob, content io.Reader) error {
	w, err := store.Create(0)
	if err != nil {
		return err
	}
	defer w.Abort()
	if _, err := io.Copy(w, content); err != nil {
		return err
	}
	if of := w.SHA256(); of != b.Hash {
		return fmt.Errorf("the backup has a blob %.64q with the SHA-256 %s: a file of the object store was damaged "+
			"when it was taken", b.Hash, of)
	}
	return w.Commit()
}

// syncTree syncs a directory with its content.
func syncTree(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return atomicfile.SyncDir(path)
		case d.Type().IsRegular():
			return syncFile(path)
		}
		return nil
	})
}

func syncFile(path string) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0) // Windows syncs writable files only
	if err != nil {
		return err
	}
	defer closing(&err, f.Close)
	return f.Sync()
}

// ErrRunning is returned for the data directory of a running service.
var ErrRunning = errors.New("a service runs on this data directory: stop it, or take a backup and inspect that")

// OpenData opens the data directory of a stopped service for inspection. The caller calls closeData. log may be nil.
func OpenData(ctx context.Context, data string, log *slog.Logger) (_ backup.Source, closeData func() error, err error) {
	of, found, err := readIdentity(data) // before the journal is opened, which changes files
	if err != nil {
		return nil, nil, err
	}
	if !found {
		return nil, nil, fmt.Errorf("%s is no data directory: it has no %s", data, identityFile)
	}
	engine, err := jetstream.Open(ctx, jetstream.Config{Dir: filepath.Join(data, journalDir), Log: log})
	if errors.Is(err, jetstream.ErrInUse) {
		return nil, nil, fmt.Errorf("%w: %w", ErrRunning, err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("journal: %w", err)
	}
	snapshot, err := engine.ConsistentSnapshot(ctx, of.Shards, engine)
	if err != nil {
		return nil, nil, errors.Join(err, engine.Close())
	}
	closeData = func() error {
		snapshot.Close()
		return engine.Close()
	}
	return backup.OfCut(backup.Region{Region: of.Region, Account: of.Account, Shards: of.Shards}, snapshot),
		closeData, nil
}
