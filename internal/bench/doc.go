// Package bench puts load on a service that speaks the API and the server SDK 5
// protocol of Amazon GameLift Servers, and measures how it holds up.
//
// A profile is one kind of work. Running it makes a location, a fleet, computes
// and server processes for itself, works for a while, and takes everything away
// again. The game servers are written here in few lines, because a server SDK
// costs as much as the service that is measured, and are connected over real
// WebSockets; calls are signed and go over one connection for each worker.
//
// A run is a closed loop, in which each connection works as fast as it is
// answered, or an open one with an offered rate. There an operation's time
// counts from the moment that it was due, so that waiting behind a slow one is
// part of what is reported.
package bench
