package metrics

import (
	"container/list"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
)

// archiveBytes is how much memory decoded frames of the archive may use.
const archiveBytes = 32 << 20

// late is by how much a frame may be stored after its end: the journal was slow, or the clocks of nodes differ.
const late = 2 * time.Minute

// An archive reads the feeds for what is not in memory. It keeps what it has decoded, in chunks of some frames.
type archive struct {
	feeds Feeds
	codec *codec
	clock clockwork.Clock
	log   *slog.Logger

	mu     sync.Mutex
	size   int
	chunks map[chunkKey]*list.Element
	recent list.List // of chunks, the last used first
	limit  int
}

// A chunkKey is the number of a chunk of a level.
type chunkKey struct {
	level level
	chunk int64
}

// A chunk is decoded frames. It is not changed.
type chunk struct {
	key     chunkKey
	frames  history
	size    int
	expires time.Time // zero: it is complete
}

func newArchive(feeds Feeds, codec *codec, clock clockwork.Clock, log *slog.Logger) *archive {
	return &archive{
		feeds: feeds, codec: codec, clock: clock, log: log, chunks: map[chunkKey]*list.Element{}, limit: archiveBytes,
	}
}

// gather adds a column of entities to frames, of which the first has number from.
func (a *archive) gather(ctx context.Context, l level, frames []aggregate, from int64, of []entity, column int) error {
	per := steps[l].chunk
	for n := floor(from, per); n*per < from+int64(len(frames)); n++ {
		c, err := a.chunk(ctx, chunkKey{l, n})
		if err != nil {
			return err
		}
		low, high := max(from, n*per), min(from+int64(len(frames)), (n+1)*per)
		for _, e := range of {
			c.frames.gather(frames[low-from:high-from], low, e, column, float64(l.samplesIn()))
		}
	}
	return nil
}

// chunk returns a chunk from memory, or reads it.
func (a *archive) chunk(ctx context.Context, key chunkKey) (*chunk, error) {
	now := a.clock.Now()
	a.mu.Lock()
	if found, ok := a.chunks[key]; ok {
		c := found.Value.(*chunk)
		if c.expires.IsZero() || now.Before(c.expires) {
			a.recent.MoveToFront(found)
			a.mu.Unlock()
			return c, nil
		}
		a.drop(found)
	}
	a.mu.Unlock()
	c, err := a.read(ctx, key, now)
	if err != nil {
		return nil, err
	}
	a.keep(c)
	return c, nil
}

func (a *archive) keep(c *chunk) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if old, ok := a.chunks[c.key]; ok {
		a.drop(old)
	}
	a.chunks[c.key] = a.recent.PushFront(c)
	for a.size += c.size; a.size > a.limit && a.recent.Len() > 1; {
		a.drop(a.recent.Back())
	}
}

// drop forgets a chunk. a.mu is locked.
func (a *archive) drop(e *list.Element) {
	c := a.recent.Remove(e).(*chunk)
	a.size -= c.size
	delete(a.chunks, c.key)
}

// read decodes the frames of a chunk.
func (a *archive) read(ctx context.Context, key chunkKey, now time.Time) (*chunk, error) {
	c := &chunk{key: key, frames: history{}, size: 256}
	first := key.chunk * steps[key.level].chunk
	begin, end := key.level.begin(first), key.level.begin(first+steps[key.level].chunk)
	if complete := end.Add(steps[key.level].step + late); now.Before(complete) {
		c.expires = now.Add(steps[key.level].step)
	}
	if begin.After(now) {
		return c, nil
	}
	feed := a.feeds[key.level]
	after, err := feed.After(ctx, begin.Add(-late))
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	err = feed.Read(ctx, after, func(_ uint64, record []byte) bool {
		f, err := a.codec.frame(record)
		if err != nil {
			a.log.Warn("metrics record cannot be read", "err", err)
			return true
		}
		if !f.at.Before(begin) && f.at.Before(end) {
			c.size += c.frames.add(key.level.frameAt(f.at), &f)
		}
		return f.at.Before(end.Add(late))
	})
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	return c, nil
}
