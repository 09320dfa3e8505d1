// Package replica keeps a copy of a shard on every node of a cluster.
//
// # One owner, many replicas
//
// One process at a time owns a shard: it runs a shard.Shard, which decides commands and appends to the journal. All
// others follow the journal and apply its records to a machine of their own. Lease terms decide who owns the shard; two
// simultaneous owners do no harm, because the journal fences.
//
// A Replica has the methods of a shard, on any node:
//
//   - A command goes to the owner. Its answer is returned when this replica has applied every record that the answer
//     may have seen, and its observer has seen them. So a caller reads its own writes on this node.
//   - A read runs on the local machine, after a barrier: the owner returns its newest record, after everything that it
//     handled is durable and while its lease holds; the read waits until that record is applied here. So it sees
//     everything that any caller on any node was answered before. Concurrent reads share a barrier.
//
// When a term begins, the shard starts with the replica's machine and replays only newer records. After a graceful end
// the replica continues with the machine; after a failure it reads a new one from the newest snapshot.
//
// The observer (shard.Config.Observe) sees the commits of the shard on every node, wherever the owner is. Opening
// records of remote owners are shown as recoveries, because what the previous owner knew outside the records is lost.
//
// Without terms a Replica is a shard that this process owns while it runs.
package replica
