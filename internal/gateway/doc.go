// Package gateway is the HTTP session gateway: with it, game clients that hold no
// AWS credentials create, find and join game sessions.
//
// There are two interfaces. The six paths of the older one answer as the gateway
// did that clients of it were written for, in everything that those clients look
// at. The paths below /v1/ are for new clients; openapi.yaml describes both, and a
// test holds it to the handlers.
//
// # A creation
//
// A request becomes a creation (create.go). Equal ones that run at the same time
// are one flight (flight.go), which does not depend on the clients that wait for
// it. A flight looks whether the same request was answered before and the player's
// place is still RESERVED (replay.go); what it needs to know for that stands in the
// ids of game sessions (token.go), so the gateway has no state to lose. Else it
// finds the target (target.go) and takes over an empty game session (claim.go), has
// a queue place one (place.go), or creates one and waits until it is ACTIVE. All of
// this has one deadline. What a failure leaves behind is ended after the answer
// (flight.undo), and what a gateway leaves behind that is killed, by the Service
// (Creation.HandOverBy).
//
// # Failures
//
// Every answer is a JSON object or list, whatever happened: the oldest clients do
// not survive anything else. The table in code.go names all failures. What the
// service said goes to the log; clients are told so much of it as the code says.
package gateway
