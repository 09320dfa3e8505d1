// Package matchmaking is the pure core of FlexMatch at work: tickets, matches,
// acceptance and backfill of one region.
//
// One State holds all of them, because the id of a ticket is unique in the region
// and a player stands in one active ticket only, whatever the configuration. It
// does not look for matches: somebody (the control plane, with package matcher)
// proposes them, and the State takes a proposal only if every ticket of it is
// SEARCHING still, in the round that the proposer saw.
//
// A ticket has one deadline, that of its request, in every status: at that moment a
// ticket in SEARCHING, REQUIRES_ACCEPTANCE or PLACING is TIMED_OUT. A match with such a
// ticket is dropped, and its other tickets search again until their own deadlines. If it
// was being placed, it stays in StageCancelling, without tickets, until its placement is
// cancelled, so that no game session is left over. The exception is a match that fills a
// game session: one command to a room decides about it, and the deadline counts again
// when that command has failed.
//
// The State announces what the event feed shows in an outbox of its own, which
// follows from the events and costs no bytes of the journal. Who publishes it says
// Trim afterwards.
//
// Automatic backfill needs no call: when a match is placed or filled in and places are
// free, the ticket for the next players begins in the same step, so that its players
// stand in no other active ticket. After a time-out the next one begins. It ends when
// somebody stops or replaces the ticket, when one of its players asks for another
// match, when the game session is over or takes nobody, and when all places are taken.
//
// Source: API reference and FlexMatch guide, tickets, acceptance, backfill, events.
package matchmaking
