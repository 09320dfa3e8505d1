package jetstream_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/journal/jetstream"
)

const grants = "KV_MUSTER_GRANTS"

func bucket(t *testing.T, e *jetstream.Engine) journal.Bucket {
	t.Helper()
	return must(e.Grants(t.Context()))(t)
}

// Each write of a key replaces the message before it, and a deleted key leaves none.
func TestGrantsLeaveNothing(t *testing.T) {
	e := open(t, t.TempDir())
	defer mustClose(t, e)
	b := bucket(t, e)
	for i := range 20 {
		key := fmt.Sprint("key", i%3)
		revision := must(b.Create(t.Context(), key, []byte("one")))(t)
		revision = must(b.Update(t.Context(), key, []byte("two"), revision))(t)
		if n := jetstream.Messages(t, e, grants); n != 1 {
			t.Fatalf("%d messages, want 1", n)
		}
		if err := b.Delete(t.Context(), key, revision); err != nil {
			t.Fatal(err)
		}
		if n := jetstream.Messages(t, e, grants); n != 0 {
			t.Fatalf("%d messages after the deletion, want none", n)
		}
	}
}

// The message that deletes a key may remain; the key can be created again all the same.
func TestGrantsDeletedWithoutTidying(t *testing.T) {
	e := open(t, t.TempDir())
	defer mustClose(t, e)
	b := bucket(t, e)
	old := must(b.Create(t.Context(), "key", []byte("one")))(t)
	jetstream.DeleteUntidily(t, b, "key", old)
	if n := jetstream.Messages(t, e, grants); n != 1 {
		t.Fatalf("%d messages, want that of the deletion", n)
	}
	if _, _, err := b.Get(t.Context(), "key"); !errors.Is(err, journal.ErrNoValue) {
		t.Errorf("a deleted key gives %v", err)
	}
	if err := b.Delete(t.Context(), "key", old); !errors.Is(err, journal.ErrChanged) {
		t.Errorf("a second deletion gives %v", err)
	}
	if revision := must(b.Create(t.Context(), "key", []byte("two")))(t); revision <= old+1 {
		t.Errorf("revision %d after %d", revision, old)
	}
	if n := jetstream.Messages(t, e, grants); n != 1 {
		t.Errorf("%d messages, want 1", n)
	}
}

// What nobody authenticated is bounded in time and space, and not on disk.
func TestGrantsStream(t *testing.T) {
	e := open(t, t.TempDir())
	defer mustClose(t, e)
	bucket(t, e)
	s := must(e.JetStream().Stream(t.Context(), grants))(t)
	cfg := s.CachedInfo().Config
	if cfg.MaxAge != journal.BucketAge || cfg.MaxBytes < journal.BucketBytes || cfg.MaxBytes > 2*journal.BucketBytes ||
		cfg.Storage.String() != server.MemoryStorage.String() || cfg.Replicas != 1 {
		t.Errorf("the stream is %+v", cfg)
	}
	kv := must(e.JetStream().KeyValue(t.Context(), "MUSTER_GRANTS"))(t)
	revision := must(bucket(t, e).Create(t.Context(), "a.b", []byte("value")))(t)
	entry := must(kv.Get(t.Context(), "a.b"))(t)
	if string(entry.Value()) != "value" || entry.Revision() != revision {
		t.Errorf("NATS tools see %q of revision %d", entry.Value(), entry.Revision())
	}
}

// Ten thousand values of 1 kB fit.
func TestGrantsCapacity(t *testing.T) {
	e := open(t, t.TempDir())
	defer mustClose(t, e)
	b := bucket(t, e)
	var created atomic.Int64
	var callers sync.WaitGroup
	for caller := range 8 {
		callers.Go(func() {
			for i := 0; ; i++ {
				_, err := b.Create(t.Context(), fmt.Sprintf("device.%032d.%d", i, caller), make([]byte, 1000))
				if errors.Is(err, journal.ErrFull) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				created.Add(1)
			}
		})
	}
	callers.Wait()
	if n := created.Load(); n < 9_000 || n > 12_000 {
		t.Errorf("%d values of 1 kB fit, want about 10,000", n)
	}
}

// Of deleters on three nodes one succeeds, while nodes stop and start; a value survives the loss of one node, and its
// return as an empty one.
func TestClusterGrants(t *testing.T) {
	t.Parallel()
	t.Run("nodes", func(t *testing.T) {
		c := startedCluster(t)
		handles := func() (all []journal.Bucket) {
			for _, e := range c.nodes {
				if e != nil {
					all = append(all, bucket(t, e))
				}
			}
			return all
		}
		redeemOnce := func(round string) {
			t.Helper()
			nodes := handles()
			for i := range 10 {
				key := fmt.Sprint(round, i)
				revision := must(nodes[i%len(nodes)].Create(t.Context(), key, []byte("code")))(t)
				var redeemed atomic.Int64
				var callers sync.WaitGroup
				for n := range 4 * len(nodes) {
					callers.Go(func() {
						b := nodes[n%len(nodes)]
						_, read, err := b.Get(t.Context(), key)
						if errors.Is(err, journal.ErrNoValue) {
							return
						}
						if err != nil || read != revision {
							t.Errorf("%s has revision %d, %v; want %d", key, read, err, revision)
							return
						}
						switch err := b.Delete(t.Context(), key, read); {
						case err == nil:
							redeemed.Add(1)
						case !errors.Is(err, journal.ErrChanged):
							t.Errorf("delete %s: %v", key, err)
						}
					})
				}
				callers.Wait()
				if redeemed.Load() != 1 {
					t.Fatalf("%s was redeemed %d times", key, redeemed.Load())
				}
			}
		}
		redeemOnce("all")
		survives := func(lost int) {
			t.Helper()
			key := fmt.Sprint("survivor", lost)
			revision := must(handles()[lost].Create(t.Context(), key, []byte("grant")))(t)
			c.stop(lost)
			redeemOnce(fmt.Sprint("without", lost))
			for _, b := range handles() {
				value, got, err := b.Get(t.Context(), key)
				if string(value) != "grant" || got != revision || err != nil {
					t.Errorf("without node %d, revision %d is %q of %d, %v", lost, revision, value, got, err)
				}
			}
			c.start(lost)
			c.await("the node is complete", func() bool { return c.nodes[lost].Incomplete() == "" })
		}
		for i := range c.nodes { // each may be the leader
			survives(i)
		}
	})
}

// One deletion succeeds, or none, while the leader of the bucket is lost; never two.
func TestClusterGrantsLeaderLost(t *testing.T) {
	t.Parallel()
	t.Run("nodes", func(t *testing.T) {
		c := startedCluster(t)
		revision := must(bucket(t, c.nodes[0]).Create(t.Context(), "key", []byte("code")))(t)
		leader := jetstream.Leader(t, c.nodes[0], grants)
		var rest []journal.Bucket
		var lost int
		for i, e := range c.nodes {
			if c.configs[i].Cluster.Node == leader {
				lost = i
			} else {
				rest = append(rest, bucket(t, e))
			}
		}
		var redeemed atomic.Int64
		var callers sync.WaitGroup
		callers.Go(func() { c.stop(lost) })
		for _, b := range rest {
			callers.Go(func() {
				err := b.Delete(t.Context(), "key", revision)
				t.Logf("delete: %v", err)
				if err == nil {
					redeemed.Add(1)
				}
			})
		}
		begun := time.Now()
		callers.Wait()
		t.Logf("%d deleters succeed after %v", redeemed.Load(), time.Since(begun).Round(time.Millisecond))
		if redeemed.Load() > 1 {
			t.Errorf("%d deleters succeed", redeemed.Load())
		}
		if _, _, err := rest[0].Get(t.Context(), "key"); redeemed.Load() == 1 && !errors.Is(err, journal.ErrNoValue) {
			t.Errorf("after the deletion: %v", err)
		}
	})
}
