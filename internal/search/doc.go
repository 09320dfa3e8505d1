// Package search is the filter and sort grammar of SearchGameSessions and the index that answers it.
//
// # Filter
//
//	expr    = and { OR and }
//	and     = not { AND not }
//	not     = NOT not | primary
//	primary = "(" expr ")" | operand comparator value
//
// White space around comparators and parentheses is optional. The operands, the types of their values, and the
// comparators that each type takes:
//
//	gameSessionId, gameSessionName, gameSessionProperties.<key>       text     = <>
//	maximumSessions, playerSessionCount, creationTimeMillis           integer  = <> < > <= >=
//	hasAvailablePlayerSessions                                        boolean  = <>
//
// Text is in single or double quotes and compared byte by byte; a backslash escapes a punctuation mark or a space.
// creationTimeMillis is in milliseconds since the Unix epoch. A sort expression is one operand and an optional ASC or
// DESC. The empty filter matches everything, the empty sort is by creation.
//
// Source: API reference, SearchGameSessions.
//
// # Choices
//
// Where the behaviour of the managed service is not documented:
//
//   - A session that lacks a property is false for "=" and true for "<>", so that
//     "<>" is the negation of "=".
//   - hasAvailablePlayerSessions depends on the free slots, not on the policy on new players.
//   - Keywords, true and false are case-insensitive; operands are case-sensitive.
//   - A sort expression without a direction is ascending.
//   - A property key that contains "." cannot be searched: it is an error.
//   - Results without a sort expression are in order of creation, which makes paging stable; the managed service
//     returns them in random order.
//
// # Index
//
// An Index holds the sessions of one fleet location in copy-on-write ordered maps: by key, the keys with free slots,
// and one tree of terms for equality. It is pure data: no clock, no goroutine, no randomness.
package search
