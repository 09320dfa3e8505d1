// Package remote connects the session gateway to a GameLift endpoint: Muster in another process, the managed service,
// or GameLift Local, which has four of the operations.
//
// # Waiting
//
// The API has no events, so this package polls: after 250 ms, then with pauses that grow by half up to 2 s; tickets
// every 10 s, as the API reference requires. All requests that wait for the same game session, placement or ticket
// share one poll, and one call describes up to ten tickets. ThrottlingException doubles the pause, and short failures
// of the service are retried: neither ends a wait.
//
// # Limits
//
// The API has no Creation.ConfirmBy: a game session of a killed gateway stays. A claim of an empty game session takes
// several calls; see Service.ClaimGameSession.
package remote
