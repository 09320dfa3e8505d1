package drivers

import (
	"context"
	"time"

	"github.com/muster-gg/muster/internal/region"
)

// LevelPause is the time between two attempts to raise the feature level.
const LevelPause = time.Second

// raiseLevel raises the feature level in force, and that of the shards to it, until it is the highest of this program,
// or ctx is done. Without a cluster the shards raise it themselves.
func (d *Drivers) raiseLevel(ctx context.Context) error {
	if d.cfg.Cluster == nil {
		return nil
	}
	for {
		level, err := d.cfg.Cluster.Level(ctx)
		if err == nil {
			err = d.raiseShards(ctx, level)
		}
		if err == nil && level >= region.MaxLevel {
			return nil
		}
		if err != nil && ctx.Err() == nil {
			d.cfg.Log.Debug("feature level not raised", "error", err)
		}
		select {
		case <-d.cfg.Clock.After(LevelPause):
		case <-ctx.Done():
			return nil
		}
	}
}

// raiseShards brings the shards to a level that is in force.
func (d *Drivers) raiseShards(ctx context.Context, level int) error {
	for i, s := range d.cfg.Router.Shards() {
		if s.Level() >= level {
			continue
		}
		if _, err := s.Do(ctx, region.RaiseLevel{Level: level}); err != nil {
			return err
		}
		d.cfg.Log.Info("feature level raised", "shard", i, "level", level)
	}
	return nil
}
