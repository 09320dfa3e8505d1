// Package fleet is the pure core of one fleet location: its computes, their
// server processes, the game sessions these host, and the player sessions.
//
// A Room is the state of one location of one fleet. A Command asks it for
// something; Handle decides it against the state, applies the events that the
// decision gave, and answers. Apply replays an event. Nothing here reads a
// clock, waits, logs or draws random numbers: the same commands at the same
// times give the same events on every run.
//
// Time-outs are moments in the records. Deadline says when the earliest comes
// and Expire does what is due, so a restart forgets none of them.
//
// The records (Compute, Process, GameSession, PlayerSession) are never changed
// once somebody else has seen them: a change stores a changed copy. A frozen
// Room, and every record that a Room has given out, may therefore be read beside
// the writer. A game session or process that nobody has seen since its last
// change is changed in place; see ownership.
package fleet
