// Package processes is the region's side of the connections of game servers. The endpoint (package serversdk) reads and
// writes the sockets; this package authenticates a process, carries out its requests in the room of its fleet location,
// and pushes the requests of the service.
//
// # Calls and goroutines
//
//   - The endpoint calls Connect and the methods of a Connection, each in any goroutine. A request is submitted to the
//     shard of the room without waiting; the shard's commit goroutine reports the result when it is durable. Requests
//     that must wait (a page of player sessions, a backfill) run in a goroutine of the router.
//   - The observer of the shards calls Observe on the commit goroutine of each shard, before the callers are answered.
//     It pushes to primary connections, so ConnectRequest.Push must not block.
//   - Run announces the open connections again after a recovery, in a goroutine for each shard.
//   - Update may be called from anywhere.
//
// # Why nothing is missed
//
// A process has at most one primary connection on a node: the newest. What a process must do is part of its room's
// state (the game session is ACTIVATING, the process has a time to end by), and a push follows from that state. A fact
// is pushed to the connection that is primary when the fact commits, and a connection that becomes primary reads the
// state and pushes what it finds (catchUp). It is installed before it reads, so a fact is in the state that it reads,
// or is pushed as a fact, or both; a connection pushes a game session once. The first connection of a new process is
// installed by the fact that creates the process (expect, connected), so it has nothing to read.
//
// A connection that closes is removed under the lock under which the room is notified (lose), so that a connection that
// becomes primary later sends its own announcement after that. After a recovery a shard considers no connection open:
// each is announced again, and reads the state again. An update of a backfill ticket is not in the room's state: it is
// kept here until the process connects, here or, as ProcessResumed shows, to another node, which received it too.
//
// # Agents
//
// An agent starts the processes of a compute, and connects to any node. What it must do or know also follows from its
// room: a fact about its compute, on whichever node it has its socket, has the connection read the room and push what
// it has not pushed over this socket. It is installed before it reads, and reads again after each fact.
package processes
