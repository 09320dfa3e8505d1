package jetstream

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// A stream that this node does not know yet is asked for again.
func TestMissingStreamPasses(t *testing.T) {
	if passes(jetstream.ErrStreamNotFound) || !passes(notYet(jetstream.ErrStreamNotFound)) {
		t.Error("a missing stream passes, or one that is not known yet does not")
	}
}
