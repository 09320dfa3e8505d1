// Package matchsim runs a pool of tickets offline against the matcher of the service:
// the same rule set, the same code, a clock of its own. It answers what a rule set does
// before players meet it: who is matched with whom, how long players wait, which rules
// turn them away.
//
// Tickets come as NDJSON, one request a line, exactly as `aws gamelift
// start-matchmaking --cli-input-json` takes it (or start-match-backfill, when a line has
// a GameSessionArn), and two members more that say when the request comes, of which a
// line may have one:
//
//	At         seconds since the start of the simulation; 0 when both are absent
//	StartTime  epoch seconds or RFC 3339, as describe-matchmaking prints it; the earliest is second 0
//
// ConfigurationName may be absent and is not looked at; a missing TicketId becomes
// line-<number>. Lines may stand in any order.
package matchsim
