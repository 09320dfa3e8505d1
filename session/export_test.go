package session

import "time"

// StateChanged is the log message of a state change, with the attributes session, from and to.
const StateChanged = stateChanged

// Graph is where a named session may go from each state.
var Graph = graph

// Calls are the calls for named sessions, by the states in which they are possible.
var Calls = allowed

// FindTimeout is how long a search at the service may take.
func (c *Client) FindTimeout() time.Duration { return c.cfg.FindTimeout }

// PollInterval is the time between two looks at a ticket.
func (c *Client) PollInterval() time.Duration { return c.cfg.PollInterval }

// Kinds are all kinds of failures.
var Kinds = kinds
