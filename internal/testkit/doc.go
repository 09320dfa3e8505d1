// Package testkit makes a service one for tests of games: a clock that tests move forward, faults that they ask for,
// fleets with game servers that are ready, and GameLift's quotas. Package mustertest offers it to Go programs, and the
// requests below /v1/test/ to all others:
//
//	GET    /v1/test                    the time of the service, and the faults that are left
//	POST   /v1/test/advance            move the clock forward
//	POST   /v1/test/faults             have calls fail, wait, or lose their answer; DELETE ends all of that
//	POST   /v1/test/fleets             create a fleet with game servers that are ready
//	POST   /v1/test/processes/kill     end one of these game servers as a crash would
//	POST   /v1/test/game-sessions/fill give all free slots of a game session to players
//	POST   /v1/test/player-sessions/{id}/connect, …/disconnect   have a player of such a game server come, or leave
//
// These requests are not signed. They are answered to programs on this machine alone, and not to web pages.
package testkit
