package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/muster-gg/muster/internal/atomicfile"
	"github.com/muster-gg/muster/internal/control/credentials"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/region"
)

// openJournals opens the stored data. A node of a cluster waits here for a majority of the nodes.
func (s *service) openJournals(ctx context.Context) (err error) {
	if err := s.openSecret(ctx); err != nil {
		return err
	}
	if err := s.restore(ctx, s.identity.Restoration); err != nil {
		return fmt.Errorf("restore the cluster: %w", err)
	}
	if s.history, err = s.engine.History(ctx); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	if s.feed, err = s.engine.Feed(ctx); err != nil {
		return fmt.Errorf("event feed: %w", err)
	}
	s.journals = make([]journal.Journal, s.cfg.Shards)
	s.timed = make([]*timedJournal, s.cfg.Shards)
	for i := range s.journals {
		j, err := s.engine.Journal(ctx, i)
		if err != nil {
			return fmt.Errorf("journal of shard %d: %w", i, err)
		}
		s.timed[i] = &timedJournal{Journal: j, clock: s.cfg.Clock}
		s.journals[i] = s.timed[i]
	}
	if s.cfg.Cluster.Alone() {
		return s.identity.raise(s.cfg.Data, region.MaxLevel) // the shards follow when they start
	}
	return s.joinNodes(ctx)
}

// openSecret loads the region's secret, which all nodes have in common.
func (s *service) openSecret(ctx context.Context) (err error) {
	path := filepath.Join(s.cfg.Data, "region.secret")
	if s.cfg.Cluster.Alone() {
		s.secret, err = loadSecret(path)
		return err
	}
	if s.secret, err = os.ReadFile(path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is missing, which must be the same on all nodes: "+
			"create the data directories of all nodes with muster cluster init", path)
	}
	if err != nil {
		return err
	}
	if err := s.agree(ctx, s.identity); err != nil {
		return fmt.Errorf("agree with the other nodes: %w", err)
	}
	return nil
}

// loadSecret reads the region's secret, and creates it at the first start.
func loadSecret(path string) ([]byte, error) {
	secret, err := os.ReadFile(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return secret, err
	}
	secret = make([]byte, credentials.SecretSize)
	rand.Read(secret)
	if err := atomicfile.Write(path, secret, 0o600); err != nil {
		return nil, fmt.Errorf("region's secret: %w", err)
	}
	return secret, nil
}
