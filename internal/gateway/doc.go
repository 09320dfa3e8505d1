// Package gateway is the HTTP session gateway: with it, game clients that hold no AWS credentials create, find and join
// game sessions.
//
// It has two interfaces. The six paths of the older one are compatible with the gateway of AWS-SAMUEL. The paths below
// /v1/ are for new clients. openapi.yaml describes both, and a test compares it with the handlers.
//
// # A creation
//
// A request becomes a creation (create.go). Equal creations share one in-flight call (inflight.go), which does not
// depend on the clients that wait for it. The call first checks whether the same request was answered before and the
// player session is still RESERVED (replay.go). The ids of game sessions hold what it needs for that (token.go), so the
// gateway keeps no state. Otherwise it finds the target (target.go) and claims an empty game session (claim.go), starts
// a placement on a queue (place.go), or creates a game session and waits until it is ACTIVE. One deadline covers all of
// this. If a creation fails, the gateway ends its game session after the answer (inflightCall.undo); if the gateway is
// killed, the Service does (Creation.ConfirmBy).
//
// # Failures
//
// Every answer is a JSON object or list, because the oldest clients crash on anything else. The table in code.go lists
// all failures. Errors of the service are logged; clients receive the code and its text.
package gateway
