// Package sessiontest is a session service, its game servers and a local network in memory, for tests of programs that
// use package session.
//
//	var service sessiontest.Service
//	client := session.New(session.Config{
//		Remote:    service.Remote(),
//		Connector: &sessiontest.Connector{Service: &service},
//		LAN:       new(sessiontest.LAN),
//	})
//
// The zero values work: sessions are active at once, and game servers accept every player with a reservation. Fields
// and methods change that: a Manual service changes only when the test calls Activate, Fulfil, Propose or Match; Fail
// makes a call fail, and Hold blocks calls. Everything may be called from any goroutine.
//
// [Provider] checks that a Provider follows its contract; the service of this package does.
package sessiontest
