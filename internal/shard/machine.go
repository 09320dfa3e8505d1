package shard

import (
	"time"

	"github.com/muster-gg/muster/internal/event"
)

// A Machine is the state of a shard: deterministic, single-threaded, free of
// I/O. C is the type of its commands, M the machine's own type.
//
// All methods are called by one goroutine at a time; those of a frozen copy by
// others beside it. A panic of any of them ends the machine's life: the shard
// replays into a new one.
type Machine[C, M any] interface {
	// Handle decides a command, applies the facts that it decided on, and returns
	// them with the answer. An error refuses the command: nothing has changed and
	// there are no facts. All facts together must fit in one journal record, so
	// the size of commands has to be bounded before they come here. The shard
	// does not change the slice of facts, and reads it and the bodies until the
	// batch is durable: the machine must not change them either.
	Handle(now time.Time, cmd C) (facts []event.Fact, answer any, err error)

	// Apply repeats a fact that was decided earlier. It cannot refuse.
	Apply(f event.Fact)

	// Deadline is when Expire next has work; zero is never. It is asked often and
	// must be quick.
	Deadline() time.Time

	// Expire decides and applies what is due at now, a bounded amount at a time,
	// and returns its facts; they must fit in one record. It is called again, in
	// turn with commands, for as long as Deadline is not after now.
	Expire(now time.Time) []event.Fact

	// Freeze returns a read-only copy that does not change when the machine does
	// and that is safe to use beside it. It must be quick, whatever the size.
	Freeze() M

	// Snapshot writes the state as facts, from which Restore makes an equal one.
	// It is called on a frozen copy, and returns write's error.
	Snapshot(write func(event.Fact) error) error

	// Restore takes back one fact of a snapshot, in the order of writing.
	Restore(f event.Fact) error

	// Recovered decides and applies what a new owner must note first, such as
	// that all sockets are gone, and returns its facts. They may stand in several
	// records: when a crash keeps only some of them the next owner is asked again.
	Recovered(now time.Time) []event.Fact

	// Paused decides and applies what follows from a pause, and returns its facts,
	// under the same rules: the clock has gone on by so much since the machine was
	// last asked for what is due, and nothing was handled meanwhile; by is negative
	// when the clock was set back. It is called before Expire, so that nothing ends
	// early. See package documentation.
	Paused(now time.Time, by time.Duration) []event.Fact
}
