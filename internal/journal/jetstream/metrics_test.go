package jetstream_test

import (
	"fmt"
	"testing"
	"time"

	api "github.com/nats-io/nats.go/jetstream"

	"github.com/muster-gg/muster/internal/journal/jetstream"
)

// TestMetricsStreams keeps the records of each resolution apart, with limits that each start sets, and without a sync
// for each record.
func TestMetricsStreams(t *testing.T) {
	dir := t.TempDir()
	limits := jetstream.MetricsLimits{Age: time.Hour, Bytes: 1 << 20}
	for run := range 2 {
		e := open(t, dir)
		for _, resolution := range []string{"10S", "1M"} {
			f := must(e.Metrics(t.Context(), resolution, limits))(t)
			must(f.Append(t.Context(), fmt.Sprint("id", run), fmt.Appendf(nil, "%-3d", run)))(t)
			if got := records(t, f); len(got) != run+1 {
				t.Errorf("start %d: %d records of %s, want %d", run, len(got), resolution, run+1)
			}
			cfg := must(e.JetStream().Stream(t.Context(), "MUSTER_METRICS_"+resolution))(t).CachedInfo().Config
			if cfg.PersistMode != api.AsyncPersistMode || cfg.MaxAge != limits.Age || cfg.MaxBytes != limits.Bytes {
				t.Errorf("start %d: %s has mode %v, age %v and %d bytes", run, resolution, cfg.PersistMode, cfg.MaxAge,
					cfg.MaxBytes)
			}
		}
		mustClose(t, e)
		limits.Age, limits.Bytes = 2*time.Hour, 1<<21
	}
}
