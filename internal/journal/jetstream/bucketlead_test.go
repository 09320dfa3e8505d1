package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/journal"
)

// A value is there for all readers from its acknowledgement on, also while the bucket changes its leader: a new leader
// answers when it has applied all that the one before has acknowledged. Deleted values stay deleted.
func TestClusterGrantsNewLeader(t *testing.T) {
	t.Parallel()
	t.Run("nodes", func(t *testing.T) {
		c := startedCluster(t)
		var nodes []journal.Bucket
		for _, e := range c.nodes {
			nodes = append(nodes, bucket(t, e))
		}
		const rounds, writers, values = 4, 4, 10
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for round := range rounds {
			var working sync.WaitGroup
			for w := range writers {
				working.Go(func() {
					for i := range values {
						throughItsLife(ctx, t, nodes, w+i, fmt.Sprint("key.", round, ".", w, ".", i))
					}
				})
			}
			if _, err := c.nodes[round%3].Conn().RequestWithContext(ctx,
				"$JS.API.STREAM.LEADER.STEPDOWN."+grants, nil); err != nil {
				t.Error(err)
			}
			working.Wait()
		}
	})
}

// throughItsLife creates, changes and deletes a value at one node after the other. All nodes see each step.
func throughItsLife(ctx context.Context, t *testing.T, nodes []journal.Bucket, first int, key string) {
	at := func(step int) journal.Bucket { return nodes[(first+step)%len(nodes)] }
	created, err := at(0).Create(ctx, key, []byte("pending"))
	if err != nil {
		t.Errorf("create %s: %v", key, err)
		return
	}
	seenBy(ctx, t, nodes, key, "pending", created)
	changed, err := at(1).Update(ctx, key, []byte("approved"), created)
	if err != nil {
		t.Errorf("update %s: %v", key, err)
		return
	}
	seenBy(ctx, t, nodes, key, "approved", changed)
	if err := at(2).Delete(ctx, key, changed); err != nil {
		t.Errorf("delete %s: %v", key, err)
		return
	}
	for i, b := range nodes {
		if value, revision, err := b.Get(ctx, key); !errors.Is(err, journal.ErrNoValue) {
			t.Errorf("%s is deleted, and on node %d it is %q of revision %d, %v", key, i, value, revision, err)
		}
	}
}

func seenBy(ctx context.Context, t *testing.T, nodes []journal.Bucket, key, want string, revision uint64) {
	for i, b := range nodes {
		if value, got, err := b.Get(ctx, key); string(value) != want || got != revision || err != nil {
			t.Errorf("%s is %q of revision %d on node %d, %v; want %q of %d", key, value, got, i, err, want, revision)
		}
	}
}
