// Package replica keeps a copy of a shard on every node of a cluster.
//
// # One owner, many replicas
//
// At any time one process owns a shard: it runs a shard.Shard, which decides
// commands and appends to the journal. All others follow the journal and apply what
// it says to a machine of their own. Who owns is told by tenures, which come from a
// lease; that two believe to own for a while does no harm, because the journal fences.
//
// A Replica is asked like a shard, on whichever node:
//
//   - A command goes to the owner. The answer is handed out here when this replica
//     has applied every record that the answer may have seen, and the observer has
//     been shown it. So who was answered sees what was done, on this node.
//   - A read runs here, on this machine, behind a barrier: the owner says which record is
//     the newest, after everything was durable that it had handled, and while its lease
//     holds; the read waits until that is applied here. So it sees whatever anybody
//     was answered before it began, on any node. Reads that wait share a barrier.
//
// When a tenure begins, the shard starts with the machine of the replica and replays
// only what that has not applied yet. When it ends well the machine comes back. After
// a failure a new one is read from the newest snapshot.
//
// The observer (shard.Config.Observe) sees the commits of the shard on every node,
// wherever it is owned. Opening records of owners elsewhere are shown as recoveries,
// because what was told to the owner before and is in no record is lost with it.
//
// Without tenures a Replica is a shard that this process owns for as long as it runs.
package replica
