// Package cluster lets several processes share the shards of a region: it knows the members and the owners of shards,
// and forwards commands to the owners. It runs on NATS and knows no domain: commands and answers are bytes.
//
// # Ownership
//
// Package lease decides; this package passes it the keys of a JetStream bucket, executes its writes, and offers terms
// to the owners of shards in this process (Node.Terms). Every written key is also published to all nodes in a NATS
// message. A watch of the bucket delivers what such messages missed, and is restarted when it delivers nothing.
//
// A term protects writes and reads differently. Writes are fenced by the journal: an owner that was replaced cannot
// append, whatever it believes. Reads are protected by Term.Holds. Package lease explains why no two nodes hold a shard
// at the same moment. That requires clocks that do not stop, even while a machine is suspended: see Config.Elapsed.
// Only a hypervisor that stops a whole virtual machine can stop that clock unnoticed; such a node may answer outdated
// reads for the rest of its hold.
//
// # Leaving
//
// A node that is about to stop first transfers its shards (Node.Transfer). Then others own all shards, and it still
// forwards requests of its own clients while they move to other nodes. Then it leaves (Node.Leave). A shard has no
// owner from the end of one term to the beginning of the next: one write and one message, and what the owners
// themselves need. Commands wait meanwhile.
//
// Commands travel over channels (package channel) from each node to each owner: once and in order, or the channel
// breaks. A node that does not own the shard refuses a command, which is sent again to the owner once that is known.
// Until then, and while a former owner still has unanswered commands of the shard, later ones wait, so that their order
// is kept. A command fails with shard.ErrOutcomeUnknown if the channel to its owner broke after it was sent: the owner
// has failed, or nothing was received from it for Config.Patience. The command may have been executed, or may yet be,
// but not twice: a closed channel sends nothing more, and an owner that has dropped a channel never opens it again. The
// caller knows whether the command may be repeated.
//
// A barrier asks the owner for the record up to which everything that it has executed is durable. All that wait for the
// same shard share one; it changes nothing and is repeated when it is lost.
package cluster
