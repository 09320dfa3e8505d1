// Package publish delivers the events of queues and matchmaking configurations to their subscribers.
//
// The path of an event:
//
//   - The machines of placements and tickets put an announcement into the outbox of their state when they apply the
//     fact that it is about. It is as durable as the fact: a replay makes the same announcement with the same number.
//   - The Publisher, on the node that leads, reads the outboxes of all shards, writes each announcement as the JSON
//     that Amazon EventBridge delivers for GameLift (eventbridge.go), and appends them to the feed, one record for
//     all that wait. Then it removes them from the outboxes (Trim).
//   - Webhooks read the feed and post each event to the endpoints that the settings name for it. The feed keeps the
//     position of each endpoint.
//
// No event is lost: it leaves the outbox after it is durable in the feed, and the position of an endpoint moves on
// after the endpoint has accepted it. A crash between the two repeats the event. An event has the same id each time,
// and no other event has it, so that receivers can drop what they have. The exceptions are logged as errors: an event
// that is larger than a record of the feed can be, and a delivery that failed for too long.
//
// Sources: developer guide, game session placement events; FlexMatch guide, matchmaking events; captured messages;
// https://github.com/standard-webhooks/standard-webhooks, 1.0.0.
package publish
