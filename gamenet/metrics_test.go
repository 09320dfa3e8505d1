package gamenet

import (
	"sync"
	"time"
)

// counts is Metrics that count.
type counts struct {
	mu     sync.Mutex
	values map[string]int
}

func (c *counts) add(what string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.values == nil {
		c.values = make(map[string]int)
	}
	c.values[what] += n
}

func (c *counts) get(what string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.values[what]
}

func (c *counts) Opened()             { c.add("opened", 1) }
func (c *counts) Closed(cause error)  { c.add("closed", 1) }
func (c *counts) Refused(cause error) { c.add("refused "+cause.Error(), 1) }
func (c *counts) Dropped(packets int) { c.add("dropped", packets) }

func (c *counts) Received(bytes, packets int, _ time.Duration) {
	c.add("bytes in", bytes)
	c.add("packets in", packets)
}

func (c *counts) Sent(bytes, packets, _ int) {
	c.add("bytes out", bytes)
	c.add("packets out", packets)
}
