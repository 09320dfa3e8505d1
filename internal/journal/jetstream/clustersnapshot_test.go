package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/journal/jetstream"
)

// A testRegion brings all nodes of a test cluster to rest.
type testRegion struct{ *testCluster }

func (r testRegion) Keep(ctx context.Context) (func(), error) {
	var all []func()
	for _, e := range r.nodes {
		release, err := e.Keep(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, release)
	}
	return func() {
		for _, release := range all {
			release()
		}
	}, nil
}

func (r testRegion) Hold(ctx context.Context) (map[string]uint64, func() error, error) {
	acknowledged := map[string]uint64{}
	var all []func() error
	for _, e := range r.nodes {
		mine, release, err := e.Hold(ctx)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, release)
		for stream, seq := range mine {
			acknowledged[stream] = max(acknowledged[stream], seq)
		}
	}
	return acknowledged, func() (err error) {
		for _, release := range all {
			err = errors.Join(err, release())
		}
		return err
	}, nil
}

// A consistent snapshot over several nodes holds one moment, whatever they write later, and fills another cluster.
func TestClusterCut(t *testing.T) {
	t.Parallel()
	t.Run("nodes", func(t *testing.T) {
		from, to := startedCluster(t), startedCluster(t)
		fillRegion(t, from.nodes[0])
		c := must(from.nodes[1].ConsistentSnapshot(t.Context(), inFillRegion, testRegion{from}))(t)
		want := contents(t, c, inFillRegion)
		_, err := from.nodes[2].ConsistentSnapshot(t.Context(), inFillRegion, testRegion{from})
		if !errors.Is(err, journal.ErrSnapshotOpen) {
			t.Errorf("a second snapshot: %v", err)
		}
		j := from.journal(2, 0)
		appendRecords(t, j, 10, 12)
		for seq := uint64(10); seq <= 12; seq++ {
			saveSnapshot(t, j, seq)
		}
		if got := contents(t, c, inFillRegion); got != want {
			t.Errorf("it has become\n%s, and was\n%s", got, want)
		}
		fill(t, to.nodes[0], c, inFillRegion) // by a node that is lost then
		if err := to.nodes[1].CheckEmpty(t.Context(), inFillRegion); err == nil {
			t.Error("what was filled is empty")
		}
		check(t, to.nodes[1].Clear(t.Context(), inFillRegion))
		check(t, to.nodes[1].CheckEmpty(t.Context(), inFillRegion))
		fill(t, to.nodes[1], c, inFillRegion)
		c.Close()
		saveSnapshot(t, j, 12)
		if n := jetstream.Messages(t, from.nodes[0], "MUSTER_SHARD_0"); n != 0 {
			t.Errorf("%d records are kept behind the snapshot's end", n)
		}
		copied := must(to.nodes[2].ConsistentSnapshot(t.Context(), inFillRegion, testRegion{to}))(t)
		defer copied.Close()
		// Positions take numbers.
		if got := contents(t, copied, inFillRegion); got != strings.Replace(want, "feed to 18\n", "feed to 21\n", 1) {
			t.Errorf("it was filled with\n%s, and holds\n%s", want, got)
		}
		appendRecords(t, to.journal(1, 0), 10, 11)
	})
}

// A long row with and without gaps is read from the leader, each message once.
func TestClusterCutReadsAll(t *testing.T) {
	t.Parallel()
	t.Run("nodes", func(t *testing.T) {
		from := startedCluster(t)
		h := must(must(from.nodes[0].NewRestorer())(t).History(t.Context()))(t)
		var want []uint64
		for seq := uint64(1); seq <= 450; seq++ {
			if seq > 150 && seq <= 300 && seq%50 > 0 {
				continue
			}
			want = append(want, seq)
			data := make([]byte, 10)
			if seq%200 < 3 {
				data = make([]byte, 1<<20)
			}
			check(t, h.Put(t.Context(), journal.Stored{Seq: seq, Subject: fmt.Sprint("a.", seq), Data: data}))
		}
		check(t, h.End(t.Context(), 500))
		c := must(from.nodes[1].ConsistentSnapshot(t.Context(), 1, testRegion{from}))(t)
		defer c.Close()
		var got []uint64
		check(t, c.History(t.Context(), func(s journal.Stored) error {
			got = append(got, s.Seq)
			return nil
		}))
		if !slices.Equal(got, want) || c.LastEntry() < 500 {
			t.Errorf("up to %d it has %d, want\n%d", c.LastEntry(), got, want)
		}
	})
}

// TestClusterCutIsConsistent is TestConsistentSnapshotIsConsistent with each shard written to by another node.
func TestClusterCutIsConsistent(t *testing.T) {
	t.Parallel()
	t.Run("nodes", func(t *testing.T) {
		from := startedCluster(t)
		var journals []journal.Journal
		for i := range 12 {
			journals = append(journals, from.journal(i%len(from.nodes), i))
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- chain(ctx, journals) }()
		for i := range 150 {
			c := openCutOf(t, from.nodes[i%3], len(journals), testRegion{from})
			checkChain(t, c, len(journals))
			c.Close()
		}
		stop()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
