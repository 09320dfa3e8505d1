// Package matchmaking is the pure core of FlexMatch: tickets, matches, acceptance and backfill of one region.
//
// One State holds all of them, because the id of a ticket is unique in the region and a player can be in one active
// ticket only, whatever the configuration. It does not search for matches: the control plane, with package matcher,
// proposes them. The State accepts a proposal only if every ticket is still SEARCHING, in the round that the proposer
// saw.
//
// The deadline of a ticket is that of its request, in every status: then a ticket in SEARCHING, REQUIRES_ACCEPTANCE or
// PLACING is TIMED_OUT. Its match is dropped, and the other tickets search again until their own deadlines. If the
// match was being placed, it stays in StageCancelling, without tickets, until its placement is cancelled, so that no
// game session remains. The exception is a match that fills a game session: one command to a room decides it, and the
// deadline applies again if that command fails.
//
// The State keeps announcements for the event feed in an outbox, which is derived from the events and needs no space in
// the journal. After publishing them the publisher sends Trim.
//
// Automatic backfill needs no call: when a match is placed or filled and slots are free, the ticket for further players
// starts in the same step, so its players are in no other active ticket. After a timeout the next one starts. It ends
// when a client stops or replaces the ticket, when one of its players requests another match, when the game session
// ends or accepts nobody, and when all slots are taken.
//
// Source: API reference and FlexMatch guide, tickets, acceptance, backfill, events.
package matchmaking
