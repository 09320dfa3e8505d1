// Package placement is the pure core of game session queues at work: placements,
// from the request to the game session that answers it, and the choice of where
// to try (Candidates).
//
// A State holds the placements of one shard. It decides commands, applies events,
// and never acts: the control plane carries out what a record says is under way.
// A placement names the room of its attempt before anything is created there, so
// that after a crash there is one place to look, and an attempt's game session has
// an id that follows from the placement's. Hence a placement yields one game
// session or none.
//
// The deadline of a placement is a timer while no attempt of it runs; the game session
// of a running attempt has one of its own. A placement that has ended is announced
// once: the announcement stays, in snapshots too, until somebody has published it.
//
// Source: API reference, StartGameSessionPlacement, GameSessionPlacement; developer
// guide, game session queues.
package placement
