package shard

import (
	"io"

	"github.com/muster-gg/muster/internal/event"
)

// ReadSnapshot calls visit with the facts of a snapshot, in order. It is for those who
// look at a shard without running it.
func ReadSnapshot(from io.Reader, events *event.Set, visit func(event.Fact) error) error {
	return readSnapshot(from, events, visit)
}
