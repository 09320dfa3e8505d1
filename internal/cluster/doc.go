// Package cluster lets several processes share the shards of a region: it knows
// who is there, who owns which shard, and how a command comes to the owner. It runs on
// NATS and knows no domain: commands and answers are bytes.
//
// # Ownership
//
// Package lease decides; this package shows it the keys of a JetStream bucket, writes
// what it wants to be written, and hands tenures to whoever runs the shards
// (Node.Tenures). Every key that was written is told to all nodes at once by a plain
// message; a watch of the bucket, begun anew when it falls silent, brings what
// such messages missed.
//
// A tenure guards two things differently. What is written is fenced by the journal: an owner that was
// replaced cannot append, whatever it believes. What is only read is guarded by
// Tenure.Holds. Package lease says why no two nodes hold a shard at the same moment; it
// rests on clocks that do not stop, also while a machine is suspended: see package boottime. Only a
// hypervisor that stops a whole virtual machine can stop that clock too, unseen from within; for the rest
// of its hold such a node may answer reads that are out of date.
//
// # Leaving
//
// A node that shall end first hands over (Node.HandOver): others own all shards then, and it
// still forwards what its own clients send, for as long as they need to go elsewhere. Then it
// leaves (Node.Leave). A shard is without an owner from the end of one tenure to the
// beginning of the next: one write and one message, and what the owners themselves need. Commands wait
// meanwhile.
//
// # Forwarding
//
// Commands travel over links (package link) from each node to each owner: once and in order, or
// the link breaks. A node that does not own the shard refuses, and the command is sent
// again to the owner when that is known; until then, and while a former owner still has
// commands of the shard unanswered, further ones wait behind it, so that their order
// is kept. A command fails with shard.ErrOutcomeUnknown when the link to its owner broke after it was
// sent: the owner is gone, or was not heard for Config.Patience. It may have been carried out,
// or may yet be, but not twice: a link that was given up sends nothing more, and an owner that has
// dropped a link never opens it again. Whether the command may be repeated is for the caller to know.
//
// A barrier asks the owner up to which record everything is durable that it has
// handled. All that wait for the same shard share one; it changes nothing and is
// asked again when it gets lost.
package cluster
