package shard

import "time"

// Metrics are callbacks. Each may be nil, must be quick, and is called by the shard's goroutines.
type Metrics struct {
	Batch    func(BatchStats)    // a batch has become durable
	Recovery func(RecoveryStats) // a recovery succeeded or failed
	Snapshot func(SnapshotStats) // a snapshot succeeded or failed
	Refused  func()              // Submit found the queue full
}

// BatchStats describes a batch that was stored.
type BatchStats struct {
	Requests, Facts, Records int
	Bytes                    int           // of the records
	Append                   time.Duration // of all its appends; 0 without records
}

// RecoveryStats describes a recovery.
type RecoveryStats struct {
	SnapshotSeq uint64 // 0: there was none
	Records     int    // replayed after the snapshot
	Duration    time.Duration
	Err         error // nil: the shard serves
}

// SnapshotStats describes a snapshot that was written.
type SnapshotStats struct {
	Seq      uint64
	Bytes    int64
	Duration time.Duration
	Err      error // nil: it is stored
}
