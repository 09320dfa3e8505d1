package gamenet

import "github.com/jonboulle/clockwork"

// WithClock returns the configuration with a clock that the test controls.
func (c ExecutorConfig) WithClock(clock clockwork.Clock) ExecutorConfig {
	c.clock = clock
	return c
}
