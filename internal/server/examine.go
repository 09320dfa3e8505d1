package server

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/config"
	"github.com/muster-gg/muster/internal/control/credentials"
	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/telemetry/otlp"
)

// The functions below check what a start needs. They change nothing and use no network.

// ExamineSettings checks what a start needs besides valid settings and the data directory: the files that settings
// name, and the form of the gateway's targets. The error joins *config.SettingErrors.
func ExamineSettings(cfg config.Config) error {
	complete(&cfg.Process)
	cfg.Log = slog.New(slog.DiscardHandler)
	errs := []error{ExamineTargets(cfg), examineFiles(cfg)}
	if c := &cfg; c.TLSCert != "" {
		_, err := listen.LoadCertificate(c.TLSCert, c.TLSKey, c.Clock.Now, c.Log)
		errs = append(errs, settingError(c, "tls-cert", err))
	}
	if !cfg.Cluster.Alone() {
		_, err := clusterCertificates(&cfg)
		errs = append(errs, err)
	}
	_, err := otlp.Load(cfg.Environ)
	return errors.Join(append(errs, err)...)
}

// ExamineTargets checks the form of the targets of the session gateway, not whether they exist.
func ExamineTargets(cfg config.Config) error {
	g := &cfg.Gateway
	if g.Listen == "" {
		return nil
	}
	targets := map[string][]config.Target{"gateway-builds": slices.Collect(maps.Values(g.Routes())),
		"gateway-search": g.SearchTargets()}
	for setting, t := range map[string]config.Target{"gateway-fleet": {Fleet: g.Fleet},
		"gateway-alias": {Alias: g.Alias}, "gateway-queue": {Queue: g.Queue}} {
		if t != (config.Target{}) {
			targets[setting] = []config.Target{t}
		}
	}
	var errs []error
	for _, setting := range slices.Sorted(maps.Keys(targets)) {
		for _, t := range targets[setting] {
			errs = append(errs, settingError(&cfg, setting, gatewayTarget(t).Validate(true)))
		}
	}
	return errors.Join(errs...)
}

// settingError returns the error of a setting, with the source of its value; nil if there is none.
func settingError(c *config.Config, setting string, err error) error {
	if err == nil {
		return nil
	}
	return &config.SettingError{Setting: setting, Origin: c.SettingOrigins[setting],
		Problem: strings.TrimPrefix(err.Error(), setting+": ")}
}

// ExamineData compares the settings with the data directory. A missing directory is valid.
func ExamineData(cfg config.Config) error {
	_, _, err := checkIdentity(&cfg)
	return ExplainData(cfg.Data, err)
}

// ExamineKeys checks the files of secrets and keys. The error joins one for each file.
func ExamineKeys(cfg config.Config) error {
	complete(&cfg.Process)
	cfg.Log = slog.New(slog.DiscardHandler)
	return errors.Join(examineSecret(cfg.Data), examineFiles(cfg))
}

// examineFiles checks the files of secrets and keys that settings name.
func examineFiles(cfg config.Config) error {
	_, hooks := openWebhooks(&cfg, nil, nil)
	errs := []error{settingError(&cfg, "webhook-secret-file", hooks)}
	if cfg.Gateway.Listen != "" {
		_, keys := apiKeys(&cfg.Gateway)
		_, ids := idSecret(&cfg.Gateway, nil)
		errs = append(errs, settingError(&cfg, "gateway-keys-file", keys),
			settingError(&cfg, "gateway-secret-file", ids))
	}
	if file := cfg.Cluster.NATSCreds; file != "" {
		_, err := os.ReadFile(file)
		errs = append(errs, settingError(&cfg, "nats-creds", err))
	}
	return errors.Join(errs...)
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

// LowDisk is the free space in bytes below which a service must expect to stop soon.
const LowDisk = 256 << 20

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
