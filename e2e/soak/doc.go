// Package soak holds the tests of a service that works for a long time, and of one that is asked for more than it can
// do. Both run the real binary and load it with AWS calls and game servers over real sockets.
//
// TestSoak puts a steady load on the service, far below what it can bear: whole lives of server processes, searches,
// and changes of fleets and locations. It samples memory, goroutines, open files, disk and response times, and compares
// the second quarter of the run with the last one. What has grown is a leak.
//
// TestOverload measures what the service can do, offers it twice as much, and looks at what was answered, how fast, and
// how soon it is over.
//
// Plain go test runs both for seconds, to see that they work; the verdicts need minutes and a machine that does nothing
// else: make soak, make overload.
package soak
