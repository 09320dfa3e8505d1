package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/muster-gg/muster/internal/config"
	"github.com/muster-gg/muster/internal/control/credentials"
)

// The functions below check what a start needs, for muster doctor. They change nothing.

// ExamineData compares the settings with the data directory. A missing directory is valid.
func ExamineData(cfg config.Config) error {
	_, _, err := checkIdentity(&cfg)
	return ExplainData(cfg.Data, err)
}

// ExamineKeys checks the files of secrets and keys. The error joins one for each file.
func ExamineKeys(cfg config.Config) error {
	complete(&cfg.Process)
	_, gateway := apiKeys(&cfg.Gateway)
	_, ids := idSecret(&cfg.Gateway, nil)
	_, hooks := openWebhooks(&cfg, nil, nil)
	var creds error
	if file := cfg.Cluster.NATSCreds; file != "" {
		if _, err := os.ReadFile(file); err != nil {
			creds = fmt.Errorf("nats-creds: %w", err)
		}
	}
	return errors.Join(examineSecret(cfg.Data), gateway, ids, hooks, creds)
}

// examineSecret checks region.secret, which only a directory without a region may lack.
func examineSecret(data string) error {
	path := filepath.Join(data, "region.secret")
	secret, err := os.ReadFile(path)
	if _, found, failed := readIdentity(data); err != nil && (failed != nil || !found) {
		return nil // a new directory, or ExamineData returns the error
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is missing: restore it from a backup; access keys and tokens are sealed with it", path)
	}
	if err == nil && len(secret) != credentials.SecretSize {
		err = fmt.Errorf("%s has %d bytes instead of %d: restore it from a backup", path, len(secret),
			credentials.SecretSize)
	}
	return err
}

// ExamineNode checks the certificates that a node needs to connect to the others.
func ExamineNode(cfg config.Config) error {
	complete(&cfg.Process)
	_, err := engineConfig(&cfg)
	return err
}

// DiskOf returns the size of the file system of a directory, and what this process can still use of it; 0: unknown.
func DiskOf(dir string) (size, free uint64) { return diskOf(dir) }

// OpenFiles returns the limit of open files of this process.
func OpenFiles() int { return openFiles() }

// ConnectionsWithin returns how many connections a service with so many shards (0: the default) can have with a limit
// of open files. Fewer than 1: it lacks files for its journals, too.
func ConnectionsWithin(files, shards int) int {
	if shards == 0 {
		shards = shardsOfCluster
	}
	return files - keptFiles - keptPerShard*shards
}
