// Package supervisor runs one game server in a process of its own, which outlives the agent: it holds the output, the
// exit code and the process group of the game server, and is adopted by the next run of the agent.
//
// Each game server has a directory with these files:
//
//	record.json   which process this is; renamed to ended.json when its end was reported
//	s             Unix socket of the supervisor
//	claim         created by the supervisor before it starts the game server, or by an agent that found none: the
//	              first one decides whether the game server starts
//	exit.json     how it ended
//	output.log    the newest lines of its output; output.1.log has those before
//	output.cut    exists if older lines were removed
//	notes.json    what its log needs; removed when the log is stored
//
// The supervisor gets its Spec on standard input, because it has secrets, and answers on standard output when the game
// server runs. On the socket it sends the process id, then the exit, each as a line of JSON, and receives single bytes
// as requests.
package supervisor
