package muster

import (
	"crypto/sha256"
	"encoding/hex"
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
	Secret  string `json:"secret,omitempty"` // a hash of region.secret; not in the file

	// Restoration names that by which the region of a cluster came from a backup; see
	// RestoreCluster. Nobody compares it here.
	Restoration string `json:"restoration,omitempty"`
}

const layoutVersion = 1

// What a data directory has in it, besides what backup.go lists.
const (
	identityFile = "region.json"
	journalDir   = "journal"
	tlsDir       = "tls"
)

// How many shards a new region has when nobody says. More than a cluster has nodes, so
// that each gets an equal share, and few enough that their leaders' elections are quick;
// see docs/decisions/0025.
const (
	shardsAlone     = 4
	shardsOfCluster = 12
)

// identify compares the settings with the data directory, and writes them down in a new
// one. It sets the number of shards that the settings leave open.
func identify(cfg *Config) (identity, error) {
	path := filepath.Join(cfg.Data, identityFile)
	wanted := identity{Version: layoutVersion, Region: cfg.Region, Account: cfg.Account, Shards: cfg.Shards}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		switch {
		case wanted.Shards > 0:
		case cfg.Cluster.alone():
			wanted.Shards = shardsAlone
		default:
			wanted.Shards = shardsOfCluster
		}
		cfg.Shards = wanted.Shards
		text, err := json.MarshalIndent(wanted, "", "  ")
		if err != nil {
			return wanted, err
		}
		return wanted, writeDurably(path, append(text, '\n'))
	}
	if err != nil {
		return wanted, err
	}
	var kept identity
	if err := json.Unmarshal(data, &kept); err != nil {
		return kept, fmt.Errorf("%s: %w", path, err)
	}
	if wanted.Shards == 0 {
		cfg.Shards, wanted.Shards = kept.Shards, kept.Shards
	}
	return kept, kept.differs(wanted, path)
}

// differs says what the settings want otherwise than the data directory has it.
func (kept identity) differs(wanted identity, path string) error {
	if setting, has, want := kept.difference(wanted); setting != "" {
		return fmt.Errorf("%s says that this data directory has %s %v, and the settings say %v. It cannot be changed; use another directory", path, setting, has, want)
	}
	return nil
}

// disagrees says what a node has otherwise than those before it.
func (kept identity) disagrees(own identity) error {
	if setting, has, want := kept.difference(own); setting != "" {
		return fmt.Errorf("the cluster has %s %v, and this node's data directory has %v: start it with the cluster's, on a new directory", setting, has, want)
	}
	return nil
}

func (kept identity) difference(wanted identity) (setting string, has, want any) {
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
			return c.setting, c.kept, c.wanted
		}
	}
	return "", nil, nil
}

// fingerprint tells secrets apart without telling them.
func fingerprint(secret []byte) string {
	sum := sha256.Sum256(append([]byte("muster region secret "), secret...))
	return hex.EncodeToString(sum[:])
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
