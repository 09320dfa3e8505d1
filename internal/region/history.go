package region

import "github.com/muster-gg/muster/internal/event"

// HistoryLevel is the feature level from which what has ended is written to the history in batches.
const HistoryLevel = 3

// HistoryReached says that the shard forgets, from now on, what the batches of the history up to Seq contain. Who does
// not find something in the shard finds it in an index of the history that has these batches. It is written before the
// shard forgets anything of a batch. In a snapshot it is that of the shard.
type HistoryReached struct {
	Seq uint64 `cbor:"1,keyasint"`
	// the entries of the history up to this number have left the memory of all shards
	Settled uint64 `cbor:"2,keyasint,omitempty"`
}

// ReachHistory records that the shard relies on a batch of the history. It can be repeated, and has no answer.
type ReachHistory struct {
	Seq     uint64 `cbor:"1,keyasint,omitzero"`
	Settled uint64 `cbor:"2,keyasint,omitzero"`
}

func (c ReachHistory) handle(m *Machine, _ event.Time) ([]event.Fact, any, error) {
	if c.Seq <= m.history.Seq {
		return nil, nil, nil
	}
	fact := event.Fact{Room: ShardRoom, Body: &HistoryReached{Seq: c.Seq, Settled: max(c.Settled, m.history.Settled)}}
	m.Apply(fact)
	return []event.Fact{fact}, nil, nil
}

// History returns the newest HistoryReached; zero if there is none.
func (m *Machine) History() HistoryReached { return m.history }
