// Package shard runs a deterministic state machine against a journal.
//
// # One writer, group commit
//
// A shard is one loop goroutine that owns the machine and one commit goroutine
// that owns the end of the journal. The loop takes commands in order, lets the
// machine decide and apply them, and gathers their facts in a batch. While one
// batch is being made durable the next one gathers, so the time that the disk
// takes is shared by everyone who came meanwhile.
//
// # Durable before anyone is told
//
// Nobody is answered before the batch is durable that holds everything the
// answer may have seen. That holds for refusals and reads too: they wait in the
// batch that was gathering when they looked, even when they add nothing to it.
//
// # One path for everything that goes wrong
//
// A crash, a failed append, a panic of the machine, a command whose facts fit in
// no record, and the take-over of a shard all end in the same place: the machine
// is thrown away, the newest snapshot and the records behind it give it back, an
// opening record is appended, and the shard goes on. The opening record carries
// the facts that a new owner must note (Machine.Recovered) and is written even
// when there are none: it fences the previous owner at once, and it shuts the
// door on an append of our own that timed out and would otherwise land later.
//
// Each record names its owner with a number drawn when Run begins. Thereby an
// owner whose append failed in an unknown way sees, when it replays, whether its
// own record landed (it goes on) or another owner was there (it steps down).
//
// What fences is an append. An owner that was replaced and has nothing to append
// does not know it yet. So who may own a shard is for a lease to say: Run's context
// ends with it, and a batch that appends nothing is answered while it holds
// (Config.Holds). Without it an empty record has to prove first that nobody else
// has written.
//
// # Pauses
//
// Nobody is served while the program is stopped, the machine is suspended, or the disk or the
// processor are not to be had; and when the clock is set, it looks as if nobody had been. What
// was sent in time is then read after the deadlines have passed. So a shard looks at the
// clock again and again while there is a deadline. When it has gone too far since the
// last look, the shard notes the pause (Machine.Paused) before anything expires. A pause is
// therefore no different from a recovery: grace first, then deadlines.
//
// # Formats
//
// A record is one byte, the version: 1, or 2 for those with which an owner opens;
// eight bytes, the owner, big endian; and the facts of one or more commands, as package event writes them. All facts of
// one command stand in one record.
//
// A snapshot is the four bytes "MSS\x01", then frames, each a uvarint length and
// that many bytes of whole facts, then the length 0 and a uvarint with the
// number of facts in all.
package shard
