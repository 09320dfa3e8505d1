// Package sim runs a whole region in one process, under one seed and a clock that stands still while anything moves,
// and breaks it: owners that crash, are paused, lose their lease or are replaced without noticing; appends that fail,
// that come late, or that succeed and say that they failed; packets between nodes that are late, lost, doubled and out
// of order; nodes that are cut off; clocks that jump; sockets that drop; snapshots that are cut short; records of the
// release before and of the one after.
//
// What runs is the code of the service: package shard with the machine of package region, over journals of package
// journal/memory; on each node the forwarder, the server and the channels of package cluster/channel; and on the node
// that leads the drivers of packages placer and matchdriver. This package replaces only what waits or does I/O around
// them: disks, the network, leases, and the loops that packages cluster, replica and control have for it. The rest are
// actors: game servers, players, operators.
//
// A node asks as package replica does: the owner on this node directly, else over a channel. An answer is handed on
// when those who follow the journal have seen what it may have seen; all nodes follow at the same pace.
//
// # The same seed, the same run
//
// A run takes place in a bubble of testing/synctest. One goroutine, the world's, does one thing at a time and then
// waits until everything is at rest. A shard never touches what another goroutine may touch: it parks its journal
// operations, and leaves its answers and commits in its own outbox; the world carries them out, or on, one by one, in
// an order that follows from the seed. So the order in which the goroutines of several shards run makes no difference.
//
// # What is checked
//
// Beside each journal stands the mirror: a machine that has applied each record at the moment when it was stored, and
// nothing else. It says what is true.
//
//   - Laws: each fact must be possible in the mirror's state: no process gets a second
//     game session, no place is given twice, nothing times out early or twice, a status
//     only goes where it may (laws_test.go).
//   - By the true time, which no node knows, nobody is ended because a clock jumped or because
//     nobody owned the shard: each deadline for a game server gives it its time (waits_test.go).
//   - After each step the rooms, placements and tickets that have changed hold
//     together (invariants_test.go).
//   - What an owner commits is what the mirror has: so replay gives the same state
//     byte for byte, a refused command changes nothing, and no fact is forgotten.
//   - What an owner acknowledges is in the mirror already, and stays there through every
//     recovery. What it says has not happened never does.
//   - What a read shows was true at a moment between the question and the answer.
//   - A command that a node forwards is carried out once at most, in order, and not after the node was told that it
//     will never be. A read shows at least what was durable when it was asked for.
//   - A placement has one game session that is ACTIVE; others that it came to by a failure are terminated.
//   - When all faults end, everything comes to an end: no deadline is left in the past, no
//     placement and no match without an outcome. Then a last placement and a last match succeed.
package sim
