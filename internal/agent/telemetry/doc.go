// Package telemetry receives what the game servers of an agent measure, and when they crash: the metrics and the crash
// reporter of server SDK 5, which send to two local ports. It shows them to Prometheus, with the process and the game
// session that each value is of.
//
// Values arrive over UDP in DogStatsD's format, in which a value names its process and game session in tags. The crash
// reporter is an HTTP server: a process registers, names its game session, and deregisters before it ends; one that has
// ended without doing so has crashed.
//
// Only the processes of the agent are known, and the number of their series is bounded: other programs on the machine
// can send to the ports, too.
package telemetry
