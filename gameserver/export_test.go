package gameserver

import "github.com/jonboulle/clockwork"

// WithClock returns the configuration with a clock that the test controls.
func (c Config) WithClock(clock clockwork.Clock) Config {
	c.clock = clock
	return c
}
