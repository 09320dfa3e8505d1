package session

import (
	"time"

	"github.com/jonboulle/clockwork"
)

// WithClock returns the configuration with a clock that the test controls.
func (c Config) WithClock(clock clockwork.Clock) Config {
	c.clock = clock
	return c
}

// FindTimeout is how long a search at the service may take.
func (c *Client) FindTimeout() time.Duration { return c.cfg.FindTimeout }

// PollInterval is the time between two looks at a ticket.
func (c *Client) PollInterval() time.Duration { return c.cfg.PollInterval }

// Kinds are all kinds of failures.
var Kinds = kinds
