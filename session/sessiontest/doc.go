// Package sessiontest is a session service, its game servers and a local network in memory, for tests of programs that
// use package session.
//
//	var service sessiontest.Service
//	client := session.New(session.Config{
//		Remote:    &service,
//		Connector: &sessiontest.Connector{Service: &service},
//		LAN:       new(sessiontest.LAN),
//	})
//
// The zero values work: sessions are active at once, game servers let in whoever has a place. Fields and methods make
// it otherwise: a Manual service changes when the test says so, with Activate, Fulfil, Propose and Match; Fail lets a
// call fail, and Hold stops calls in the middle. Everything may be called from any goroutine.
//
// [Provider] checks that a Provider keeps its promises; the service of this package does.
package sessiontest
