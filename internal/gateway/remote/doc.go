// Package remote is what stands behind a gateway whose game sessions live
// elsewhere: any endpoint that speaks the API of Amazon GameLift Servers, Muster
// in another process as well as the managed service, or one that speaks the five
// operations of GameLift Local.
//
// # Waiting
//
// An API that is asked has no events, so this package asks again: after 250 ms,
// then half as long again each time up to 2 s, and as to matchmaking tickets every
// 10 s, as the API reference wants it. However many requests wait for the same
// game session, placement or ticket, it is asked for once, tickets ten at a time.
// An answer that asks to slow down (ThrottlingException) doubles the pause, and a
// short failure of the service is sat out: neither ends a wait.
//
// # What a remote service cannot do
//
// Creation.HandOverBy has no counterpart in the API: a game session that a killed
// gateway leaves behind stays. And a claim of an empty game session takes several
// calls, between which others may act; see Service.ClaimGameSession.
package remote
