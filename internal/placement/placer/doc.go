// Package placer decides how placements get their game sessions. It is a pure machine: facts of the shards, answers and
// the time go in, requests to the shards come out; it has no clock, no lock, no goroutine and does no I/O. Package
// control runs it on the node that leads the region.
//
// A placement tries the fleet locations (rooms) of its queue in the order of its choice. For each attempt:
//
//  1. The placement's shard stores that the attempt begins, with the room. The id of the game session follows from the
//     placement and the number of the attempt.
//  2. The room is asked to create that game session. It refuses, or gives the game session to a server process.
//  3. When the game session becomes ACTIVE, or ends before, the room's shard reports that as a fact, and the placement
//     is told: it is FULFILLED, or searches on.
//
// Since the attempt is stored before its game session is requested, a crash leaves one place to look, and a repeated
// request creates no second game session. The machine's own state follows from the state of the shards: after a failure
// it starts again from there (Recover, recovery.go).
//
// Where no server process is free a placement waits, in the waiting list of each room that it has passed, and is served
// where a process becomes free first (waitlist.go). Nothing is polled.
package placer
