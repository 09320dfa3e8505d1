// Package matchdriver decides how matchmaking tickets get their matches, and matches their game sessions. It has two
// pure machines: a Driver for the region, and a Maker for each matchmaking configuration. Facts of the shards, answers
// and the time go in, requests to the shards come out; they have no clock, no lock, no goroutine and do no I/O. Package
// control runs them on the node that leads the region.
//
// A Maker holds the pool of one configuration and searches it for matches (package matcher). A search takes processor
// time, so a Maker may run on a goroutine of its own: it learns of tickets by the News that the Driver collects for it,
// and proposes one match at a time. The machine of the tickets (package matchmaking) takes a proposal only if all its
// tickets are still in the round that the Maker saw.
//
// The Driver works on each match that is accepted, by its stage:
//
//   - StagePlacing: it requests a placement with the id of the match, waits for its end, and reports that to the match.
//   - StageFilling: it requests slots in the game session of the backfill ticket, and notifies the server process.
//   - StageCancelling: it cancels the placement, terminates its game session if there is one, and reports that.
//
// It also ends the backfill tickets of game sessions that end, and the tickets of configurations that were deleted.
//
// All requests may be repeated: a placement has the id of its match, and a game session knows the match that filled it
// last. So a request that failed is made again after a second, and after a failure, or when another node leads, the
// machines start again from the state of the shards (Driver.Recover).
//
// The caller of a Driver, for each input: SetNow, one other method or the Answer of a Request, then it carries out
// Requests. When Due reports it, the input is Review. For a Maker that a Request names, it takes the News from the
// Driver, and calls Step with them until that reports no more; it calls Step again when another Request names the
// Maker, and at Maker.Due. It hands the proposals of Step to the shard of the tickets, and the answers to
// Driver.Proposed.
package matchdriver
