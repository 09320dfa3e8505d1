// Package gateway reaches sessions through an HTTP session gateway: what games in players' hands use, because it needs
// no keys of the service behind it.
//
//	client := gateway.New(gateway.Config{URL: "http://127.0.0.1:3000"})
//
// Host, Find and Reserve need no more than the three calls that every gateway of this kind has: create_session,
// find_session and join_session. Everything else goes to the paths under /v1/ that Muster's gateway has; others answer
// it with session.ErrUnsupported.
package gateway
