package control

import (
	"context"
	"time"

	"github.com/muster-gg/muster/internal/region"
)

// levelPause is the time between two attempts to raise the feature level.
const levelPause = time.Second

// raiseLevel raises the feature level in force, and that of the shards to it, until this program knows
// no higher one, or ctx is done. Of a region without a cluster the shards do it by themselves.
func (p *Plane) raiseLevel(ctx context.Context) error {
	if p.cfg.Cluster == nil {
		return nil
	}
	for {
		level, err := p.cfg.Cluster.Level(ctx)
		if err == nil {
			err = p.raiseShards(ctx, level)
		}
		if err == nil && level >= region.MaxLevel {
			return nil
		}
		if err != nil && ctx.Err() == nil {
			p.cfg.Log.Debug("feature level not raised", "error", err)
		}
		select {
		case <-p.cfg.Clock.After(levelPause):
		case <-ctx.Done():
			return nil
		}
	}
}

// raiseShards brings the shards to a level that is in force.
func (p *Plane) raiseShards(ctx context.Context, level int) error {
	for i, s := range p.Shards() {
		if s.Level() >= level {
			continue
		}
		if _, err := s.Do(ctx, region.RaiseLevel{Level: level}); err != nil {
			return err
		}
		p.cfg.Log.Info("feature level raised", "shard", i, "level", level)
	}
	return nil
}

// Level is the feature level of a shard, as far as this node has read its journal; at least 1.
func (p *Plane) Level(shard int) int { return p.Shards()[shard].Level() }
