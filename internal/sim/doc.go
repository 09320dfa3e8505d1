// Package sim runs a whole region in one process, under one seed and a clock that
// stands still while anything moves, and breaks it: owners that crash, are paused,
// lose their lease or are replaced without noticing; appends that fail, that come
// late, or that succeed and say that they failed; messages that are late, lost,
// doubled and out of order; clocks that jump; sockets that drop; snapshots that are
// cut short; records of the release before and of the one after.
//
// What runs is the code of the service: package shard with the machine of package
// region, over journals of package journal/memory. Only those around it are
// actors of this package: game servers, players, operators, and small drivers that
// place and match as package control does.
//
// # The same seed, the same run
//
// A run takes place in a bubble of testing/synctest. One goroutine, the world's,
// does one thing at a time and then waits until everything is at rest. A shard
// never touches what another goroutine may touch: it parks its journal operations,
// and leaves its answers and commits in its own outbox; the world carries them out,
// or on, one by one, in an order that follows from the seed. So the order in which the
// goroutines of several shards run makes no difference.
//
// # What is checked
//
// Beside each journal stands the mirror: a machine that has applied each record
// at the moment when it was stored, and nothing else. It says what is true.
//
//   - Laws: each fact must be possible in the mirror's state: no process gets a second
//     game session, no place is given twice, nothing times out early or twice, a status
//     only goes where it may (laws.go).
//   - By the true time, which no node knows, nobody is ended because a clock jumped or because
//     nobody owned the shard: each deadline for a game server gives it its time (waits.go).
//   - After each step the rooms, placements and tickets that have changed hold
//     together (invariants.go).
//   - What an owner commits is what the mirror has: so replay gives the same state
//     byte for byte, a refused command changes nothing, and no fact is forgotten.
//   - What an owner acknowledges is in the mirror already, and stays there through every
//     recovery. What it says has not happened never does.
//   - What a read shows was true at a moment between the question and the answer.
//   - When all faults end, everything comes to an end: no deadline is left in the past, no
//     placement and no match without an outcome.
package sim
