package control

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
)

// partTime limits a read of all shards whose result can be partial: less than the deadline of a page, so that a page
// shows the rest. It is longer than a shard that is only busy needs.
const partTime = 1500 * time.Millisecond

// Partial is of an answer that adds up all shards.
type Partial struct {
	// MissingShards did not answer in time, so that what they have is missing in the answer. A list with a token goes
	// on behind it: the next page does not have those rows of a missing shard that sort before, even if the shard
	// answers by then.
	MissingShards []int `json:"missingShards,omitempty"`
}

func (p *Partial) miss(shard int) {
	if !slices.Contains(p.MissingShards, shard) { // of an earlier part of the answer
		p.MissingShards = append(p.MissingShards, shard)
	}
}

// lookEach is router.Look for all shards: see readEach.
func lookEach[T any](ctx context.Context, p *Partial, shards []*router.Shard, look func(*region.Machine) T,
	add func(T)) error {
	read := func(ctx context.Context, s *router.Shard) (T, error) { return router.Look(ctx, s, look) }
	return readEach(ctx, p, shards, read, add)
}

// readEach reads shards at the same time, for partTime at most. It passes what was read to add, in the order of the
// shards, and adds those that did not answer to p. The error is that of the first shard if none answered; any other
// failure is not a missing answer, and is returned.
func readEach[T any](ctx context.Context, p *Partial, shards []*router.Shard,
	read func(context.Context, *router.Shard) (T, error), add func(T)) error {
	ctx, cancel := context.WithTimeout(ctx, partTime)
	defer cancel()
	found, failed := make([]T, len(shards)), make([]error, len(shards))
	var looks sync.WaitGroup
	for i, s := range shards {
		looks.Go(func() { found[i], failed[i] = read(ctx, s) })
	}
	looks.Wait()
	for i, err := range failed {
		shard, unanswered := UnansweredShard(err)
		switch {
		case err == nil:
			add(found[i])
		case !unanswered:
			return err
		default:
			p.miss(shard)
		}
	}
	if len(shards) > 0 && !slices.Contains(failed, nil) {
		return failed[0]
	}
	return nil
}

// UnansweredShard returns the shard that a call has waited for in vain, if that is why it failed.
func UnansweredShard(err error) (shard int, ok bool) { return router.UnansweredShard(err) }
