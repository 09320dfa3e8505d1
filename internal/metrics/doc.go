// Package metrics measures the region and keeps the values.
//
// The catalogue (catalogue.go) is the one table of all metrics: their names for CloudWatch and for Prometheus, units,
// dimensions and meaning. A resource with its dimensions, for example a fleet at a location, is an entity; it has a
// column for each metric of its family.
//
//   - A fold counts the durable events of a shard, on its commit goroutine (fold.go, placements.go, tickets.go).
//   - Every 10 seconds the Recorder takes these counts and the gauges of the shards that this node owns, and makes a
//     frame of them: the values of all entities (sample.go).
//   - Frames of 10 s are rolled up to frames of a minute, 5 minutes and an hour. Each kind is a level, with a feed of
//     the journal and a retention of its own (level.go, rollup.go). The sum, minimum, maximum and number of samples are
//     kept, so a roll-up is exact.
//   - Each frame is one record of its feed (record.go). After a start the newest frames are read back (restore.go). In
//     a cluster each node records what it owns, and every node follows the records of all and adds them up.
//   - The Store answers queries from memory, and from the feeds for what is older (store.go, query.go, archive.go).
//   - The Collector shows Prometheus the same columns. Its counters continue after a restart: they contain what is
//     durable, so they never fall, and are up to 10 s behind.
//
// Recording never blocks a call. Frames wait in memory while the journal is slow; when there are too many, the oldest
// are dropped and counted.
package metrics
