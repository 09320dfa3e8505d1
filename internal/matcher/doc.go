// Package matcher forms matches: tickets wait in a Pool, and Match removes the tickets that form a match by a rule set.
// It is pure: no clock, no I/O, no goroutine, and no randomness but the seed, so the same calls return the same
// matches.
//
// The rule set is compiled once per level (see ruleset.Set.At) into closures over a match that grows and shrinks; no
// JSON or text is read while tickets are tried. Package naive implements the rule language literally and is the oracle
// of the tests.
//
// # Matches of at most 40 players
//
// Only a ticket that arrives or reaches another level can make a new match possible. Such a ticket is fresh: it becomes
// the key of one search. A ticket that was tried without success costs nothing while it waits. A search has these
// steps:
//
//  1. Gather a batch of tickets that are compatible with the key, as far as a test of two tickets can decide: equal
//     shared strings, a number near the key's, a common location. Indexes find them without a full scan; tickets for
//     rare quotas come first.
//  2. Check that there are enough players: for the teams, at one location and in one part of the band (the range of a
//     number that a match may span), and for the quotas of collection rules.
//  3. Order the batch: by sort rules, relative to the oldest ticket of the batch, then by age.
//  4. Make one pass: add each ticket to the team that lacks players, and remove it again if it breaks a rule that no
//     later ticket can satisfy. The largest match on the way is the result.
//  5. If there was none, search in depth: try all ways to add the tickets until there is a match or the budget is used
//     up. The budget grows with arrivals and time. A key whose search was cut short is tried again later; without
//     budget, so is a key that reaches another level, within 80 seconds (see retry).
//
// A backfill ticket is never a candidate: its players are in their teams before the first new ticket is added, and that
// ticket takes an open slot. With backfillPriority high, all keys are tried with backfill tickets first, with low they
// are tried with them last. With normal, new tickets join a backfill ticket if it is older than all tickets of the
// match that they would form.
//
// If a match is possible among the tickets of a batch (100 by default) and the budget suffices, one is found. While
// players may join, a rule returns one of three results: it holds, it does not hold yet, or it can never hold again.
// Compound rules are three-valued logic over these results.
//
// A search is at one level, that of the newest or the oldest ticket of the match: at least one ticket has exactly that
// level, the others have it or a later one.
//
// # Larger matches
//
// They have few rules and many players: see the type large.
//
// Source: FlexMatch guide, rule types, algorithm, how matches are formed.
package matcher
