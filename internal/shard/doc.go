// Package shard runs a deterministic state machine against a journal.
//
// # One writer, group commit
//
// A shard is one loop goroutine that owns the machine and one commit goroutine that owns the end of the journal. The
// loop takes commands in order, lets the machine decide and apply them, and collects their facts in a batch. While one
// batch is being stored the next one is collected, so concurrent callers share the time of the disk.
//
// # Durable before answered
//
// A caller is answered when the batch is durable that contains everything the answer may have seen. That applies to
// rejections and reads too: they wait for the batch that was open when they ran, even if they add nothing to it.
//
// # One path for all failures
//
// A crash, a failed append, a panic of the machine, a command whose facts do not fit in a record, and the takeover of a
// shard all end the same way: the machine is discarded, restored from the newest snapshot and the records after it, and
// an opening record is appended. The opening record contains the facts of Machine.Recovered and is written even if
// there are none: it fences the previous owner, and an append of this owner that timed out and might still be stored.
//
// Each record names its owner with a random number of Run. So an owner whose append failed with unknown outcome sees in
// the replay whether its own record was stored (it continues) or that of another owner (it stops).
//
// Only an append fences. A replaced owner that appends nothing does not notice. So a lease decides who owns a shard:
// Run's context ends with it, and a batch without records is answered only while it holds (Config.HoldsLease). Without
// it an empty record must first prove that nobody else has written.
//
// # Pauses
//
// While the program is stopped, the machine is suspended, or disk or processor are stalled, no request is handled; when
// the clock is set, it looks the same. Messages that were sent in time are then read after their deadlines. So a shard
// with a deadline checks the clock regularly. If it advanced too far since the last check, the machine extends
// deadlines (Machine.Paused) before anything expires, as after a recovery.
//
// # Formats
//
// A record is one byte, the version: 1, or 2 for opening records; eight bytes, the owner, big endian; and the facts of
// one or more commands, as package event encodes them. All facts of one command are in one record.
//
// A snapshot is the four bytes "MSS\x01", then frames, each a uvarint length and that many bytes of whole facts, then
// the length 0 and a uvarint with the total number of facts.
package shard
