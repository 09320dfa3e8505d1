// Package region is the pure machine that a shard runs: the rooms of the fleet
// locations whose id hashes to the shard, the placements whose id does, on shard 0
// the catalog, and on the last one all matchmaking tickets.
//
// A region has a fixed number of shards. ShardOf says which one a fleet
// location lives in; the ids of player sessions carry their shard and room, so
// they find their way without a question.
package region
