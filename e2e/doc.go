// Package e2e holds the end-to-end tests: the whole service, started as any Go program can start it, on a real port and
// a real disk, with real clients and real game servers around it.
//
// The clients are the AWS SDK for Go, which speaks CBOR, and those of package clients, which speak JSON or CBOR as
// their versions do. The game servers are those of package gameserver and of examples/arena. Where time matters the
// service goes by a clock that the test moves.
package e2e
