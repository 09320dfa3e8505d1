package muster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// identity is what a data directory is of. It is fixed at the first start: ids
// and ARNs that were given out depend on it.
type identity struct {
	Version int    `json:"version"` // of the data directory's layout
	Region  string `json:"region"`
	Account string `json:"account"`
	Shards  int    `json:"shards"`
}

const layoutVersion = 1

// What a data directory has in it, besides what backup.go lists.
const (
	identityFile = "region.json"
	journalDir   = "journal"
)

// checkIdentity compares the settings with the data directory, and writes them
// down in a new one.
func checkIdentity(cfg Config) error {
	path := filepath.Join(cfg.Data, identityFile)
	wanted := identity{Version: layoutVersion, Region: cfg.Region, Account: cfg.Account, Shards: cfg.Shards}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		text, err := json.MarshalIndent(wanted, "", "  ")
		if err != nil {
			return err
		}
		return writeDurably(path, append(text, '\n'))
	}
	if err != nil {
		return err
	}
	var kept identity
	if err := json.Unmarshal(data, &kept); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return kept.differs(wanted, path)
}

func (kept identity) differs(wanted identity, path string) error {
	for _, c := range []struct {
		setting      string
		kept, wanted any
	}{
		{"layout version", kept.Version, wanted.Version},
		{"region", kept.Region, wanted.Region},
		{"account", kept.Account, wanted.Account},
		{"shards", kept.Shards, wanted.Shards},
	} {
		if c.kept != c.wanted {
			return fmt.Errorf("%s says that this data directory has %s %v, and the settings say %v. It cannot be changed; use another directory", path, c.setting, c.kept, c.wanted)
		}
	}
	return nil
}

// writeDurably writes a small file so that it is there whole or not at all,
// also after a crash.
func writeDurably(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
