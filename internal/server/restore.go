package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/muster-gg/muster/internal/backup"
	"github.com/muster-gg/muster/internal/journal/jetstream"
	"github.com/muster-gg/muster/internal/region"
)

// Restored says what was restored.
type Restored struct {
	Region, Account string
	Shards          int
	Taken           time.Time // the moment that the backup shows
	Records         int       // of all journals, behind their snapshots
	History         int       // entries
	Events          int       // records of the event feed
}

// Restore makes a data directory of a backup. The directory must not exist or must be
// empty, and no service may run on it. All of the file is checked before
// anything is written; the directory is there when all of it is, and on disk. log may
// be nil.
func Restore(ctx context.Context, data, file string, log *slog.Logger) (Restored, error) {
	return restoreFrom(file, data, func(partial string, from io.Reader) error { return fillData(ctx, partial, from, log) })
}

// restoreFrom checks a backup, and makes a directory of it. fill fills one beside it.
func restoreFrom(file, data string, fill func(partial string, from io.Reader) error) (Restored, error) {
	if err := checkEmpty(data); err != nil {
		return Restored{}, err
	}
	from, err := os.Open(file)
	if err != nil {
		return Restored{}, err
	}
	defer from.Close() //nolint:errcheck // it was only read
	checked, err := CheckBackup(from)
	if err != nil {
		return Restored{}, fmt.Errorf("%s: %w", file, err)
	}
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return Restored{}, err
	}
	return checked, makeData(data, func(partial string) error { return fill(partial, from) })
}

// CheckBackup reads all of a backup, and says what it holds. The error says what is
// wrong with it.
func CheckBackup(from io.Reader) (Restored, error) {
	sum, err := backup.Read(from, backup.Visitor{Header: checkHeader})
	h := sum.Header
	return Restored{
		Region: h.Region, Account: h.Account, Shards: h.Shards, Taken: h.Taken,
		Records: sum.Records, History: sum.Entries, Events: sum.Events,
	}, err
}

// checkHeader refuses what a service could not run on.
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

// checkEmpty refuses a directory with something in it.
func checkEmpty(data string) error {
	entries, err := os.ReadDir(data)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(entries) > 0:
		return fmt.Errorf("%s is not empty: it has %s. Restore into a new directory, or move this one away first", data, entries[0].Name())
	}
	return nil
}

// makeData has a directory beside data filled, and gives it that name.
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
		return fmt.Errorf("replace the empty directory (if a volume is mounted on it, restore into a directory below it): %w", err)
	}
	if err := os.Rename(partial, data); err != nil {
		return err
	}
	return syncDir(filepath.Dir(data))
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
	sum, err := backup.Restore(ctx, from, to, func(f backup.File) error { return writeBackedUp(data, f) })
	if err != nil {
		return fmt.Errorf("fill the journal: %w", err)
	}
	return writeIdentity(data, sum.Header, "")
}

// syncTree puts a directory with all that is in it on disk.
func syncTree(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return syncDir(path)
		case d.Type().IsRegular():
			return syncFile(path)
		}
		return nil
	})
}

func syncFile(path string) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0) // Windows syncs what may be written alone
	if err != nil {
		return err
	}
	defer closing(&err, f.Close)
	return f.Sync()
}
