package server

import (
	"context"
	"fmt"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/journal/jetstream"
	"github.com/muster-gg/muster/internal/metrics"
	"github.com/muster-gg/muster/internal/release"
)

// resolutions are the names of the metrics' streams, by level.
var resolutions = [metrics.Levels]string{"10S", "1M", "5M", "1H"}

// openRecorder opens the recorder of metrics. It asks the control plane, which is opened later, only while it runs.
func (s *service) openRecorder(ctx context.Context) error {
	c := metrics.Config{
		Node: s.cfg.Cluster.Node, Shared: s.nodes != nil, Shards: len(s.journals),
		Retention: [metrics.Levels]time.Duration{
			s.cfg.MetricsSamplesRetention, s.cfg.MetricsMinutesRetention, s.cfg.MetricsFiveMinutesRetention,
			s.cfg.MetricsHoursRetention,
		},
		Owned: func(shard int) bool { return s.plane.Shard(shard).Owned() },
		Rooms: func(ctx context.Context, shard int) (map[fleet.RoomID]fleet.Counts, error) {
			return s.plane.CountsOfShard(ctx, shard)
		},
		Calls:   func() metrics.Histogram { return metrics.Histogram(s.metrics.CallTimes()) },
		Catalog: func() *catalog.State { return s.plane.Catalog() },
		Clock:   s.cfg.Clock, Log: s.cfg.Log, Dropped: s.metrics.MetricsDropped,
	}
	for i, resolution := range resolutions {
		feed, err := s.engine.Metrics(ctx, resolution, jetstream.MetricsLimits{
			Age: c.Retention[i], Bytes: int64(s.cfg.MaxMetricsSize) << 20 / int64(len(resolutions)),
		})
		if err != nil {
			return fmt.Errorf("metrics: %w", err)
		}
		c.Feeds[i] = feed
	}
	s.recorder = metrics.New(c)
	build := release.Current()
	s.metrics.Build(build.Version, build.Commit, build.Go)
	return s.metrics.Registry().Register(metrics.NewCollector(s.recorder, s.cfg.MaxLabelledFleets))
}
