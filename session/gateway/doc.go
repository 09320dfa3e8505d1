// Package gateway reaches sessions through an HTTP session gateway. Game clients use it, because it needs no
// credentials of the service behind the gateway.
//
//	client := gateway.New(gateway.Config{URL: "http://127.0.0.1:3000"})
//
// Host, Find and Reserve need no more than the three calls that every gateway of this kind has: create_session,
// find_session and join_session. All other calls use the paths under /v1/ of Muster's gateway; with other gateways they
// return session.ErrUnsupported.
package gateway
