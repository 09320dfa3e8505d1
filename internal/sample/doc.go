// Package sample is a small game server: a chat room that players enter with
// their player session. muster dev and muster demo run it, and it shows how a
// game server uses package gameserver.
//
// Players speak lines of text over TCP, each line ended by "\n" and at most 1024
// bytes long. A player sends
//
//	JOIN <player session id>   first, and within five seconds
//	SAY <text>                 to everybody, themselves included
//	LEAVE                      or just hangs up
//
// and receives
//
//	WELCOME <number>           joined; players are numbered from 1
//	REFUSED <reason>           not joined; the connection ends
//	SAID <number> <text>       what player <number> said
//
// The process hosts one game session. When its last player has left, or the
// service asks for it, the process tells the service and ends.
package sample
