package server

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/muster-gg/muster/internal/atomicfile"
	"github.com/muster-gg/muster/internal/config"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/release"
)

// identity is the region of a data directory. It is fixed at the first start, because ids and ARNs depend on it.
type identity struct {
	Version int    `json:"version"` // of the data directory's layout
	Region  string `json:"region"`
	Account string `json:"account"`
	Shards  int    `json:"shards"`
	Secret  string `json:"secret,omitempty"` // a hash of region.secret; not in the file

	// Restoration is the id by which a cluster was restored from a backup; see RestoreCluster.
	Restoration string `json:"restoration,omitempty"`

	// Levels are the feature levels. In a data directory, without nodes, it is the last known level in force.
	region.Levels
}

// layoutVersion is the newest version of the data directory's layout. Version 2 is version 1 with a feature level above
// 1 in force, so that releases without levels refuse it.
const layoutVersion = 2

// layoutOf returns the version of the layout at a feature level.
func layoutOf(level int) int {
	if level > 1 {
		return 2
	}
	return 1
}

// Files of a data directory, besides those in backup.go.
const (
	identityFile = "region.json"
	journalDir   = "journal"
	tlsDir       = "tls"
)

// Default numbers of shards of a new region: more than nodes of a cluster, for equal shares, and few enough for quick
// elections of their leaders; see docs/decisions/0025.
const (
	shardsAlone     = 4
	shardsOfCluster = 12
)

// ErrNewer is in the error chain for a data directory or a backup with a newer layout.
var ErrNewer = errors.New("written by a newer Muster")

// CheckData reports whether this release can open a data directory: ErrNewer is in the error chain if a newer one wrote
// it. An unused directory is valid. Nothing is opened for writing, created or changed.
func CheckData(data string) error {
	_, _, err := readIdentity(data)
	return ExplainData(data, err)
}

// ExplainData adds to the error of a data directory that cannot be used what to do.
func ExplainData(data string, err error) error {
	if err == nil {
		return nil
	}
	if about, failed := os.Stat(data); failed == nil && !about.IsDir() {
		return fmt.Errorf("data directory: %s is a file: choose a directory with --data", data)
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("data directory: this user may not read and write %s: give it the permission (chown), run "+
			"as the owner, or choose another directory with --data: %w", data, err)
	}
	return err
}

// readIdentity reads the identity of a data directory. found is false for an unused one. Call it before anything that
// may change the directory.
func readIdentity(data string) (of identity, found bool, err error) {
	path := filepath.Join(data, identityFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return of, false, nil
	}
	if err != nil {
		return of, false, err
	}
	var layout struct { // first: a newer layout may have other fields
		Version int `json:"version"`
	}
	if err := json.Unmarshal(text, &layout); err != nil {
		return of, false, fmt.Errorf("%s: %w", path, err)
	}
	if err := checkLayout(data, layout.Version); err != nil {
		return of, false, err
	}
	if err := json.Unmarshal(text, &of); err != nil {
		return of, false, fmt.Errorf("%s: %w", path, err)
	}
	if err := checkFormat(data, of.Version, of.Level); err != nil {
		return of, false, err
	}
	return of, true, nil
}

// checkFormat rejects the layout and the feature level of a newer release. name is what has them.
func checkFormat(name string, layout, level int) error {
	if err := checkLayout(name, layout); err != nil {
		return err
	}
	if err := region.CheckLevel(level); err != nil {
		return fmt.Errorf("%s was %w: %w", name, ErrNewer, err)
	}
	return nil
}

func (kept identity) write(data string) error {
	text, err := json.MarshalIndent(kept, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(data, identityFile), append(text, '\n'), 0o600)
}

// raise records in a data directory that a level is in force, before data of that level is written: an older release
// then refuses the directory before it opens the journals.
func (kept identity) raise(data string, level int) error {
	if level <= kept.InForce() {
		return nil
	}
	kept.Level, kept.Version = level, layoutOf(level)
	return kept.write(data)
}

// checkLayout rejects the layout of a newer release. name is what has that layout.
func checkLayout(name string, version int) error {
	if version <= layoutVersion {
		return nil
	}
	return fmt.Errorf("%s was %w: its layout has version %d, and this Muster knows version %d (release %s). Use "+
		"the release that wrote it, or a later one",
		name, ErrNewer, version, layoutVersion, release.Current().Version)
}

// checkIdentity compares the settings with the data directory, and sets the number of shards if it is 0. It changes no
// files. found is false for a new directory.
func checkIdentity(cfg *config.Config) (kept identity, found bool, err error) {
	kept, found, err = readIdentity(cfg.Data)
	if err != nil || !found {
		return kept, found, err
	}
	cfg.Shards = cmp.Or(cfg.Shards, kept.Shards)
	wanted := identity{Region: cfg.Region, Account: cfg.Account, Shards: cfg.Shards}
	return kept, true, kept.differs(wanted, filepath.Join(cfg.Data, identityFile))
}

// identify is checkIdentity, but writes the identity of a new directory.
func identify(cfg *config.Config) (identity, error) {
	kept, found, err := checkIdentity(cfg)
	if err != nil || found {
		return kept, err
	}
	switch {
	case cfg.Shards > 0:
	case cfg.Cluster.Alone():
		cfg.Shards = shardsAlone
	default:
		cfg.Shards = shardsOfCluster
	}
	own := identity{Version: layoutOf(1), Region: cfg.Region, Account: cfg.Account, Shards: cfg.Shards}
	return own, own.write(cfg.Data)
}

// differs returns an error if the settings differ from the data directory.
func (kept identity) differs(wanted identity, path string) error {
	if setting, has, want := kept.difference(wanted); setting != "" {
		return fmt.Errorf("%s: this data directory has %s %v, but the settings have %v. It cannot be changed; "+
			"use another directory", path, setting, has, want)
	}
	return nil
}

// disagrees returns an error if a node differs from the cluster.
func (kept identity) disagrees(own identity) error {
	if setting, has, want := kept.difference(own); setting != "" {
		return fmt.Errorf("the cluster has %s %v, but this node's data directory has %v: "+
			"start it with the cluster's, on a new directory", setting, has, want)
	}
	return nil
}

func (kept identity) difference(wanted identity) (setting string, has, want any) {
	for _, c := range []struct {
		setting      string
		kept, wanted any
	}{
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

// fingerprint returns a hash to compare secrets.
func fingerprint(secret []byte) string {
	sum := sha256.Sum256(append([]byte("muster region secret "), secret...))
	return hex.EncodeToString(sum[:])
}
