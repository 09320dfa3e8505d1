// Package lease decides which node owns which shard. It is pure: it has no clock
// and no network. It is told what it sees in a store of keys, and when, and says
// what shall be written there and which tenures begin and end.
//
// # The keys
//
// Every node has one key, its heartbeat, and every shard has one, which names its
// owner. All keys are changed by compare-and-set on their revision. A node writes
// its heartbeat again and again (Config.Renew); the key of a shard changes only
// when the shard goes from one owner to another. So the cost of leases does not grow
// with the number of shards.
//
// An owner is a life of a node, not the node: a process that starts again under
// the same name, or that was declared gone, is another life and owns nothing.
//
// # Why two nodes never hold the same shard
//
// A node holds what it owns for Config.Hold, counted from before it sent the newest
// heartbeat of which it knows that it was written. Who has not seen a
// heartbeat change for Config.Lease, which is longer, declares that life gone, by
// compare-and-set on the heartbeat that it has seen. When that succeeds, no newer
// heartbeat was written, and none will be: the key has another revision now. So
// the life holds nothing any more, provided that clocks do not differ in their rate by more
// than Hold does from Lease. When it fails the node lives, however little was seen of it.
//
// Only then, and by compare-and-set again, may another node take the shards: it
// must have seen that the heartbeat's key names this life no more, in a revision
// newer than that of the shard's key. Lives do not come back, so that is for good. What
// is old or lost on the way to a node can therefore delay it, and never mislead it.
//
// A node announces each heartbeat to the others just before it sends it. Who sees a heartbeat
// that he has heard announced counts from the announcement: its node has counted from before
// that, and the store may show it late, when it has elected a leader.
//
// A holder that gives a shard away first ends its tenure, and writes the key of
// the shard when nothing of that tenure is left. It does not begin another one under
// the same revision of the key: its writing may still be on the way. Nor does one that
// has never begun a tenure under it, once it has given the shard away.
//
// # Who should own what
//
// Assign gives shards to the members that are ready, by rendezvous hashing with
// an upper bound for each. Members are those whose heartbeat's key does not say that they
// are gone: all nodes read that from the same keys, so they come to the same
// result, and nothing moves back and forth. While nobody is ready and stays, those who
// are ready and leave go on with what they own, and take what others leave behind: when
// all nodes leave at once, the last one owns everything in the end.
package lease

import "time"

// A Life is one life of a node.
type Life struct {
	Node    string // its name
	Process string // unique for each start of the program
	Number  uint64 // counts the lives of the process: it begins another one when it was declared gone
}

// A Key names an entry: the heartbeat of Node or, when that is empty, the owner of
// Shard.
type Key struct {
	Node  string
	Shard int
}

// A Value is what stands under a key.
type Value struct {
	Life Life // whose heartbeat it is; the owner of the shard

	// Of heartbeats:
	Gone    bool   // the life is over
	Beat    uint64 // grows with each heartbeat of a life
	Ready   bool   // shards may be moved to it
	Leaving bool   // shards shall be moved away from it
	Level   int    // the highest feature level that its node reads, also when it is gone; 0: it announced none

	// Of shards:
	Epoch uint64 // grows with each change
}

// An Entry is what was seen under a key.
type Entry struct {
	Key      Key
	Revision uint64 // grows from each change of any key to the next; 0: there is nothing
	Value    Value
}

// A Write is a change by compare-and-set.
type Write struct {
	Key    Key
	Expect uint64 // the revision that the key must have; 0: it must not exist
	Value  Value
}

// Config is the constants of a Machine. All are required.
type Config struct {
	Self   Life
	Level  int // see Value; may be 0
	Shards int

	Lease time.Duration // how long a heartbeat must not have changed before its life is declared gone
	Hold  time.Duration // how long a heartbeat lets its node hold what it owns; shorter than Lease
	Renew time.Duration // from one heartbeat to the next
	Retry time.Duration // from a write that failed to the next attempt
	Write time.Duration // how long a write waits for its answer, at most; then it has failed

	// Linger is how long a tenure outlives its Hold, without holding, while nobody
	// else has taken the shard: the store may be away for a moment.
	Linger time.Duration

	Moves int // how many shards this node gives away at a time
}

// Actions are what is to be done.
type Actions struct {
	Writes []Write // each is answered by Written, whatever comes of it
	Begin  []int   // shards whose tenure begins
	End    []int   // shards whose tenure ends; each is answered by Ended
}

// None reports whether there is nothing to do.
func (a *Actions) None() bool { return len(a.Writes)+len(a.Begin)+len(a.End) == 0 }
