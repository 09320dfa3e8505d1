// Package agent has the end-to-end tests of muster agent and muster run: the real program, with a service in this
// process, and game servers.
package agent
