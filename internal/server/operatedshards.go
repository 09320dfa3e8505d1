package server

import (
	"context"
	"encoding/json"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/internal/operator"
	"github.com/muster-gg/muster/internal/release"
)

const (
	storedTime = time.Second // limits the questions about the shards
	storedAsks = 8           // shards that are asked about at the same time
)

// figures are what a node reports about itself to the others.
type figures struct {
	operator.NodeFigures
	Shards []shardFigures `json:"shards"`
}

// shardFigures are those of a shard on a node.
type shardFigures struct {
	Read   uint64                `json:"read"` // the newest record that the node has read
	Append *operator.AppendTimes `json:"append,omitempty"`
}

func (s *service) figures() figures {
	f := figures{Shards: make([]shardFigures, len(s.timed))}
	f.Name, f.Engine = s.cfg.Cluster.Node, s.engine.Version()
	f.Version = release.Current().Version
	f.DiskUsed = s.disk.used(s.cfg.Data, s.cfg.Clock)
	f.DiskSize, f.DiskFree = diskOf(s.cfg.Data)
	for i, j := range s.timed {
		f.Shards[i].Read = s.plane.Shard(i).Newest()
		if p50, p99, ok := j.quantiles(); ok {
			f.Shards[i].Append = &operator.AppendTimes{P50: milliseconds(p50), P99: milliseconds(p99)}
		}
	}
	return f
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (s *service) encodedFigures() []byte {
	data, err := json.Marshal(s.figures())
	if err != nil {
		s.cfg.Log.Error("figures not encoded", "error", err)
	}
	return data
}

// allFigures returns the figures of the nodes that are up.
func (s *service) allFigures(ctx context.Context) (all []figures) {
	if s.nodes == nil {
		return []figures{s.figures()}
	}
	answers := s.nodes.Figures(ctx)
	for _, m := range s.nodes.Members() {
		var f figures
		if err := json.Unmarshal(answers[m.Node], &f); err != nil {
			f = figures{NodeFigures: operator.NodeFigures{Problem: "It did not answer, or its release has no figures."}}
		}
		f.Name = m.Node
		all = append(all, f)
	}
	return all
}

// Shards implements operator.Nodes. It asks the journals before the nodes, so that what a node seems to lack it lacked.
func (o operatedNodes) Shards(ctx context.Context) operator.ShardList {
	list := operator.ShardList{Node: o.cfg.Cluster.Node, Shards: o.stored(ctx)}
	for _, f := range o.allFigures(ctx) {
		for i := range list.Shards[:min(len(list.Shards), len(f.Shards))] {
			s, here := &list.Shards[i], &f.Shards[i]
			lag := s.Last - min(s.Last, here.Read)
			f.Lag += lag
			if f.Name == list.Node {
				s.Lag = lag
			}
			if f.Name == s.Owner {
				s.Append = here.Append
			}
		}
		list.Nodes = append(list.Nodes, f.NodeFigures)
	}
	return list
}

// stored asks the journals of all shards.
func (o operatedNodes) stored(ctx context.Context) []operator.Shard {
	ctx, cancel := context.WithTimeout(ctx, storedTime)
	defer cancel()
	all := make([]operator.Shard, o.cfg.Shards)
	var asks errgroup.Group
	asks.SetLimit(storedAsks)
	for i := range all {
		asks.Go(func() error {
			all[i] = o.storedOf(ctx, i)
			return nil
		})
	}
	_ = asks.Wait() // no error
	return all
}

func (o operatedNodes) storedOf(ctx context.Context, number int) operator.Shard {
	found, err := o.engine.Stored(ctx, number)
	s := operator.Shard{Number: number, Last: found.Last, Bytes: found.Bytes}
	if o.nodes != nil {
		s.Owner = o.nodes.Owner(number)
	}
	if err != nil {
		o.cfg.Log.Debug("state of a journal unknown", "shard", number, "error", err)
		s.Problem = "Its journal did not answer."
	}
	if n := found.Snapshot; n != nil {
		s.Snapshot = &operator.Snapshot{Last: n.Seq, Bytes: n.Bytes, Time: n.Time}
	}
	return s
}

// diskInterval is how long a measurement of the disk is used: there can be many files.
const diskInterval = 10 * time.Second

// A diskMeter measures a directory.
type diskMeter struct {
	mu    sync.Mutex
	at    time.Time
	bytes uint64
}

// used returns the size of the files in a directory, as it was within diskInterval.
func (m *diskMeter) used(dir string, clock clockwork.Clock) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.at.IsZero() && clock.Since(m.at) < diskInterval {
		return m.bytes
	}
	m.bytes = 0
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil //nolint:nilerr // it was deleted meanwhile
		}
		if info, err := e.Info(); err == nil {
			m.bytes += uint64(info.Size()) //nolint:gosec // never negative
		}
		return nil
	})
	m.at = clock.Now()
	return m.bytes
}
