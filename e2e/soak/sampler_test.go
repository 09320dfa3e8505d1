//go:build unix

package soak

import (
	"context"
	"os"
	"time"
)

const mebibyte = 1 << 20

// A sampler looks at the service now and then.
type sampler struct {
	service  *service
	recorder *recorder
	profile  *profile
	begin    time.Time
	syncs    *recorder // of the yardstick
}

// measureSyncs writes a little to a file beside the service's, and waits for the
// disk, some times a second until ctx is done: that takes as long as the disk
// and the other programs of the machine want it to.
func (s *sampler) measureSyncs(ctx context.Context, path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	page := make([]byte, 4<<10)
	for pause(ctx, 100*time.Millisecond) {
		s.syncs.do("fsync", func() error {
			if _, err := file.WriteAt(page, 0); err != nil {
				return err
			}
			return file.Sync()
		})
	}
	return nil
}

// mean is the mean of times; 0 of none.
func mean(times []time.Duration) time.Duration {
	var sum time.Duration
	for _, t := range times {
		sum += t
	}
	return sum / time.Duration(max(1, len(times)))
}

// run takes a sample in each interval until ctx is done.
func (s *sampler) run(ctx context.Context, interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		sample, err := s.look(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.recorder.fail("a sample could not be taken: " + err.Error())
		default:
			s.profile.add(sample)
		}
	}
}

// look takes one sample.
func (s *sampler) look(ctx context.Context) (sample, error) {
	m, err := s.service.metrics(ctx)
	if err != nil {
		return sample{}, err
	}
	history, rest, err := s.service.disk()
	if err != nil {
		return sample{}, err
	}
	times := s.recorder.interval()
	return sample{at: time.Since(s.begin), values: []float64{
		m["process_resident_memory_bytes"] / mebibyte, m["go_memstats_heap_inuse_bytes"] / mebibyte, m["go_goroutines"],
		m["process_open_fds"],
		float64(rest) / mebibyte, float64(history) / mebibyte,
		milliseconds(quantile(times, 0.5)), milliseconds(quantile(times, 0.99)), milliseconds(mean(s.syncs.interval())),
		m["muster_game_sessions_active"],
	}}, nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
