// Package region is the pure machine that a shard runs: the rooms of the fleet locations and the placements whose ids
// hash to the shard, on shard 0 the catalog, and on the last one all matchmaking tickets.
//
// A region has a fixed number of shards. ShardOf returns the one of a fleet location; the ids of player sessions
// contain their shard and room, so they can be routed without a lookup.
package region
