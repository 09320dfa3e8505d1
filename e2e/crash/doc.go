// Package crash holds the test of what a service keeps when it is killed. It
// runs the real binary, loads it with AWS calls and game servers, kills it at
// random moments, and compares what the restarted service says with everything
// that it had acknowledged.
//
// Each acknowledged thing must be there, as far along as was acknowledged; each
// call that got no answer must have happened once or not at all; nothing else
// may be there. The game servers' sockets must come back by themselves.
package crash
