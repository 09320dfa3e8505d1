package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/muster-gg/muster/internal/backup"
	"github.com/muster-gg/muster/internal/journal/jetstream"
)

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
