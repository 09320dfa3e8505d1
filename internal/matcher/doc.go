// Package matcher forms matches: tickets wait in a Pool, and Match takes those out
// of it that make a match by a rule set. It is pure: no clock, no I/O, no goroutine,
// and no randomness but what the seed gives, so the same calls give the same matches.
//
// The rule set is compiled once for each of its levels (see ruleset.Set.At) into
// closures over a match that grows and shrinks; nothing reads JSON or text while
// tickets are tried. Package naive says the same by the letter, and is the oracle of
// the tests.
//
// # Matches of at most 40 players
//
// A ticket that comes, or that comes to another level, is fresh. Only with it can a
// match be possible that was not before, so it is the key of a search, and a ticket
// that was tried in vain costs nothing while it waits:
//
//  1. Gather a batch of tickets that can go with the key, as far as two of them can
//     tell: those with the strings that a match shares, near to it in a number, with
//     a location in common, and that pass the tests of two tickets. Indexes find them
//     without a look at everybody, the rare ones of quotas first.
//  2. Look whether there are enough: for the teams, at one location and in a part of
//     the band as wide as a match may be, and for the quotas of collection rules.
//  3. Put them in order: sort rules by the oldest ticket of the batch, age.
//  4. One pass: each is added to a team, the one that lacks players first, and taken
//     out again when a rule is broken that no later ticket can mend. The largest match
//     on the way is the result.
//  5. If there was none, search in depth: all ways to add the tickets, until there is
//     a match or the budget is used up. The budget comes with arrivals and time; a
//     key whose search was cut short is tried again later. When the budget is used up
//     so is a key that comes to another level, within 80 seconds: see retry.
//
// A backfill ticket is never a candidate: its players are in their teams before the first new
// ticket is added, so that this one takes an open slot. With backfillPriority high, all keys
// are tried with the backfill tickets before one is tried with new tickets alone; with low it
// is the other way round. Normally new tickets that could go to a backfill ticket do so if
// that one is older than the whole match that they would form.
//
// So whenever a match is possible among the tickets of a batch (100, unless Options say
// otherwise) and the budget suffices, one is found. A rule answers in three ways, as long as
// players may join: it holds, it does not yet, or it never will again; compound rules are
// three-valued logic over that.
//
// A search is at one level, which is that of the newest or the oldest ticket of the
// match: the others are of that level or beyond, and one is exactly of it.
//
// # Larger matches
//
// They have few rules and many players: see the type large.
//
// Source: FlexMatch guide, rule types, algorithm, how matches are formed.
package matcher
