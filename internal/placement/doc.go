// Package placement is the pure core of game session queues: placements, from the request to the game session, and the
// choice of candidates (Candidates).
//
// A State holds the placements of one shard. It decides commands and applies events; the control plane acts on the
// records. A placement names the room of its attempt before anything is created there, and the id of an attempt's game
// session follows from the placement's. So after a crash there is one place to look, and a placement yields one game
// session or none.
//
// The deadline of a placement is a timer while it has no running attempt; the game session of a running attempt has its
// own. An ended placement is announced once: the announcement is stored, in snapshots too, until it is published.
//
// Source: API reference, StartGameSessionPlacement, GameSessionPlacement; developer guide, game session queues.
package placement
