// Netbench compares gamenet with other ways to serve the players of a game: package net with a goroutine for each
// connection and a write for each message, and event-loop libraries. It does the same work with each in one run, by
// turns, and prints a table of figures, ratios and goals. "make bench-net" runs it.
//
// Each measurement has a server process and a load process of its own: this program again, as "netbench serve" and
// "netbench load". So processor time, allocations and memory are those of the server alone.
//
// Another server takes part with -peer name=program. The program is started as
//
//	program serve -peer name -work echo|rooms|rooms-fast
//
// and does what package control says; function Serve of package server is all of that but the server itself.
//
// It needs Linux: the load waits for its sockets with epoll.
package main
