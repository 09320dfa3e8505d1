package shard

import "time"

// Metrics are functions that are called with what a shard has done. Each may be
// nil. They are called by the shard's goroutines and must be quick.
type Metrics struct {
	Batch    func(BatchStats)    // a batch has become durable
	Recovery func(RecoveryStats) // the machine was brought back, or could not be
	Snapshot func(SnapshotStats) // a snapshot was written, or could not be
	Refused  func()              // Submit found the queue full
}

// BatchStats is what one batch held and took.
type BatchStats struct {
	Requests, Facts, Records int
	Bytes                    int           // of the records
	Append                   time.Duration // from the first append's begin to the last one's end; 0 without records
}

// RecoveryStats is what one recovery read and took.
type RecoveryStats struct {
	SnapshotSeq uint64 // 0: there was none
	Records     int    // replayed behind the snapshot
	Duration    time.Duration
	Err         error // nil: the shard serves
}

// SnapshotStats is what one snapshot was and took.
type SnapshotStats struct {
	Seq      uint64
	Bytes    int64
	Duration time.Duration
	Err      error // nil: it is stored
}
