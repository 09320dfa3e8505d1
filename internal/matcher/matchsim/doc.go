// Package matchsim runs tickets offline against the matcher of the service, with the same rule set and code but its own
// clock. It shows the effects of a rule set in advance: which players are matched, how long they wait, which rules
// reject them.
//
// Tickets are NDJSON, one request per line, in the form of `aws gamelift start-matchmaking --cli-input-json` (or
// start-match-backfill, if the line has a GameSessionArn). A line may have one more member with the time of the
// request:
//
//	At         seconds since the start of the simulation; default 0
//	StartTime  epoch seconds or RFC 3339, as describe-matchmaking prints it; the earliest is second 0
//
// ConfigurationName is optional and ignored; the default of TicketId is line-<number>. Lines may have any order.
package matchsim
