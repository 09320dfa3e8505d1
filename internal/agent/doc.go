// Package agent is a GameLift agent: it registers a compute of an Anywhere fleet, starts the server processes of the
// fleet's runtime configuration, starts them again when they exit, and reports their exits. It works with any service
// that the official agent works with.
//
// Package plan decides, package supervisor runs the game servers, and this package has what is between: one goroutine
// owns the machine of package plan, and performs its actions. Nothing in it waits: calls of the service, launches and
// exits are goroutines that post their results to it.
//
// Source: amazon-gamelift-agent 1.0.3.
package agent
