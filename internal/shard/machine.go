package shard

import (
	"time"

	"github.com/muster-gg/muster/internal/event"
)

// A Machine is the state of a shard: deterministic, single-threaded, without I/O. C is the type of its commands, M the
// machine's own type.
//
// Methods are called by one goroutine at a time; those of a frozen copy concurrently with it. If a method panics, the
// machine is discarded and restored.
type Machine[C, M any] interface {
	// Handle decides a command, applies the resulting facts, and returns them with the answer. An error rejects the
	// command: nothing has changed and there are no facts. All facts must fit in one journal record, so the size of
	// commands must be bounded before. Neither side may change facts after the call.
	Handle(now time.Time, cmd C) (facts []event.Fact, answer any, err error)

	// Apply repeats a fact that was decided earlier. It cannot fail.
	Apply(f event.Fact)

	// Deadline returns when Expire must be called next; zero is never. It is called often and must be quick.
	Deadline() time.Time

	// Expire decides and applies what is due at now, a bounded amount at a time, and returns its facts; they must fit
	// in one record. It is called again, alternating with commands, while Deadline is not after now.
	Expire(now time.Time) []event.Fact

	// Freeze returns a read-only copy, which is independent of the machine and may be used concurrently. It must be
	// quick, whatever the size.
	Freeze() M

	// Snapshot writes the state as facts, which Restore accepts. It is called on a frozen copy, and returns write's
	// error.
	Snapshot(write func(event.Fact) error) error

	// Restore adds one fact of a snapshot, in the order of writing.
	Restore(f event.Fact) error

	// Recovered decides and applies what a new owner must record first, such as the loss of all sockets, and returns
	// its facts. They may be in several records: if a crash loses some, the next owner calls it again.
	Recovered(now time.Time) []event.Fact

	// Paused decides and applies the consequences of a pause, and returns its facts, under the same rules: the clock
	// advanced by this much since the last check of deadlines, and no request was handled meanwhile; by is negative if
	// the clock was set back. It is called before Expire, so that nothing expires early. See package documentation.
	Paused(now time.Time, by time.Duration) []event.Fact
}
