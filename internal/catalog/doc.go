// Package catalog holds what a region knows of its resources apart from what
// runs on them: custom locations, Anywhere fleets with their locations, runtime
// configurations and event logs, the names of computes, aliases, game session
// queues, matchmaking configurations and rule sets, tags, access keys, and what
// each creator may still start. It is small, rarely written, and the same on every
// node.
//
// The package is a pure state machine. Decide looks at a command and answers
// with events, Apply carries events out and cannot refuse, Expire looks for what
// has aged out. Ids and times come in from outside, nothing waits, and maps are
// walked in order, so the same commands give the same events everywhere. A
// record is never modified once it is stored: a change stores a changed copy,
// and State.Copy is a frozen catalog for whoever reads beside the writer.
//
// # Rules
//
// Where the API reference leaves a question open, the answer is here.
//
//   - Only fleets of compute type ANYWHERE exist. A fleet is ACTIVE as soon as it
//     is made, DELETING from DeleteFleet to FinishFleetDeletion, then TERMINATED.
//     A TERMINATED fleet is "not found", except that its event log can be read
//     and that its runtime configuration is empty; after Retention it is
//     forgotten. Its id cannot be used again until then.
//   - A location may be deleted while fleets refer to it. They show it as
//     NOT_FOUND, which is derived when it is read: a location created again under
//     the same name is ACTIVE for them again.
//   - All locations of a fleet may be removed. A location that is DELETING counts
//     as one of the fleet's until FinishFleetLocationRemoval.
//   - A compute name is unique within a fleet. Claiming a name again for the same
//     location is no error, so that a host which starts anew can register again.
//   - Creations count for the period of the fleet's policy, in a window that
//     slides with the time of each claim. A changed policy judges what is still
//     kept; a lifted one forgets it.
//   - Tags, compute names and counted creations end with their resource. Aliases
//     outlive the fleet that they lead to.
//   - A queue outlives the fleets and aliases that it leads to, and a matchmaking
//     configuration its queues; destinations and queues must exist when they are
//     set. A rule set cannot be deleted while a configuration uses it. Each has an
//     id besides its name, which tells it from a later one of the same name.
//   - A fleet keeps its newest 1000 events, each for Retention at most.
//   - Limits are configuration. They are looked at when something is added and are
//     no part of the events.
//
// # Format
//
// The numbers of the event types and snapshot records stand in Events: the
// catalog's are 1 to 99, of which 50 to 59 and 80 to 89 are records. In a snapshot
// the records come family by family in the order of their numbers, and within one
// sorted by their keys. Fields are numbered within their type; the fields of
// Attributes are 20 to 25 in every type that embeds them, and events that embed a
// record have its numbers. Numbers, once released, keep their meaning.
package catalog
