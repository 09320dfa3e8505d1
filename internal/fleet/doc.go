// Package fleet is the pure core of one fleet location: its computes, their server processes, the game sessions that
// these host, and the player sessions.
//
// A Room is the state of one location of one fleet. Handle decides a Command against the state, applies the events that
// follow and returns the answer. Apply replays an event. Nothing here reads a clock, waits, logs or draws random
// numbers: the same commands at the same times give the same events on every run.
//
// Timeouts are deadlines in the records. Deadline returns the earliest and Expire handles what is due, so a restart
// loses none of them.
//
// The records (Compute, Process, GameSession, PlayerSession) are copied on write: a frozen Room, and every record that
// a Room returned, may be read concurrently with the writer. A record that nobody else has seen since its last change
// is changed in place; see ownership.
package fleet
