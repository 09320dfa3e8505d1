// Package crash holds the test of what a service keeps when it is killed. It runs the real binary, loads it with AWS
// calls and game servers, kills it at random moments, and compares what the restarted service says with everything that
// it had acknowledged.
//
// Each acknowledged thing must be there, as far along as was acknowledged; each call that got no answer must have
// happened once or not at all; nothing else may be there. The game servers' sockets must come back by themselves.
//
// The same holds when the disk fills up under load: the service stops and says so, and goes on when there is space. A
// journal that was cut off, and snapshots that are damaged, are either left out, with a message that names what is
// gone, or refused with one that says what to do.
//
// With -v the tests end with a table of all restarts; -kills 50 makes five times as many as usual.
package crash
