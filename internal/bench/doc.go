// Package bench puts load on a service with the API and the server SDK 5 protocol of Amazon GameLift Servers, and
// measures it.
//
// A profile is one kind of work. A run creates its own location, fleet, computes and server processes, works for a
// while, and deletes them again. Profile lives also runs with server SDK 3, in the fleet that the service has for such
// game servers. The game servers here are minimal, because a server SDK costs as much as the measured service, and use
// real WebSockets; calls are signed and use one connection per worker.
//
// A run is a closed loop, in which each connection works as fast as it is answered, or an open one with an offered
// rate. In an open loop the time of an operation counts from when it was due, so that it includes waiting behind a slow
// one.
package bench
