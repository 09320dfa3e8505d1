// Package lease decides which node owns which shard. It is pure: it has no clock and no network. Its input is what was
// read from a store of keys, and when. Its output is what to write there, and which terms begin and end.
//
// # Keys
//
// Every node has one key, its heartbeat, and every shard has one with its owner. All keys are changed by
// compare-and-set on their revision. A node writes its heartbeat periodically (Config.Renew); the key of a shard
// changes only when the shard gets another owner. So the cost of leases does not grow with the number of shards.
//
// An owner is a run of a node, not the node: a process that restarts under the same name, or that was declared gone, is
// another run and owns nothing.
//
// # Why two nodes never hold the same shard
//
// A node holds its shards for Config.Hold, counted from before it sent the newest heartbeat that it knows to be
// written. A node that has seen no change of a heartbeat for Config.Lease, which is longer, declares that run gone, by
// compare-and-set on the last heartbeat seen. If that succeeds, no newer heartbeat was written, and none will be: the
// key has another revision now. So the run holds nothing any more, provided that the rates of clocks differ by less
// than Hold and Lease do. If it fails the node is alive, even if few of its heartbeats were seen.
//
// Only then, and by compare-and-set again, may another node take the shards: it must have seen that the heartbeat's key
// no longer names this run, in a revision newer than that of the shard's key. Runs are not resumed, so that is final.
// Old or lost messages can therefore delay a node, and never mislead it.
//
// A node announces each heartbeat to the others just before it sends it. For an announced heartbeat, the others count
// Lease from the announcement instead of its first sight: its node has counted from before that, and the store may show
// it late, after an election.
//
// To transfer a shard, its holder first ends its term, and writes the key of the shard when that has ended completely.
// It begins no other term under the same revision of the key, even if it never began one: its write may still be in
// transit.
//
// # Assignment
//
// Assign distributes the shards among the members that are ready, by rendezvous hashing with an upper bound for each.
// Members are the nodes whose heartbeat's key is not marked gone: all nodes read that from the same keys, so they
// compute the same result, and no shard moves back and forth. While no node is ready and stays, those that are ready
// and leave continue with their shards, and take those that others release: when all nodes leave at once, the last one
// owns all shards in the end.
package lease

import "time"

// A Run is one run of a node.
type Run struct {
	Node    string // its name
	Process string // unique for each start of the program
	Number  uint64 // counts the runs of the process: another one begins when it was declared gone
}

// A Key names an entry: the heartbeat of Node or, if that is empty, the owner of Shard.
type Key struct {
	Node  string
	Shard int
}

// A Value is the value of a key.
type Value struct {
	Run Run // the sender of the heartbeat; the owner of the shard

	// Of heartbeats:
	Gone    bool   // the run has ended
	Beat    uint64 // increases with each heartbeat of a run
	Ready   bool   // shards may be moved to it
	Leaving bool   // shards should be moved away from it
	Level   int    // the highest feature level that its node reads, even if it is gone; 0: unknown

	// Of shards:
	Epoch uint64 // increases with each change
}

// An Entry is a key with its value as read from the store.
type Entry struct {
	Key      Key
	Revision uint64 // increases with each change of any key; 0: the key does not exist
	Value    Value
}

// A Write is a compare-and-set.
type Write struct {
	Key    Key
	Expect uint64 // the required revision of the key; 0: it must not exist
	Value  Value
}

// Config configures a Machine. All fields are required.
type Config struct {
	Self   Run
	Level  int // see Value; may be 0
	Shards int

	Lease time.Duration // time without a change of a heartbeat after which its run is declared gone
	Hold  time.Duration // for how long a node holds its shards after a heartbeat; shorter than Lease
	Renew time.Duration // from one heartbeat to the next
	Retry time.Duration // from a failed write to the next attempt
	Write time.Duration // timeout of a write

	// Linger is how long a term continues after Hold, without holding, while no other node has taken the shard: the
	// store may be unavailable for a short time.
	Linger time.Duration

	Moves int // how many shards this node transfers at a time
}

// Actions are the output of a Step.
type Actions struct {
	Writes []Write // the caller reports the outcome of each by Written
	Begin  []int   // shards whose term begins
	End    []int   // shards whose term must end; the caller reports each end by Ended
}

// None reports whether there is nothing to do.
func (a *Actions) None() bool { return len(a.Writes)+len(a.Begin)+len(a.End) == 0 }
