package plan

import "time"

// portRest is how long a port is not leased again after the process.
const portRest = time.Minute

// ports leases the ports from low to high. The zero value has none.
type ports struct {
	low, high int
	next      int               // where the search for a free port begins
	until     map[int]time.Time // of leased ports; zero: the process runs
}

// lease returns a free port; 0 if there is none.
func (p *ports) lease(now time.Time) int {
	for range p.high - p.low + 1 {
		port := p.next
		if p.next++; p.next > p.high {
			p.next = p.low
		}
		until, leased := p.until[port]
		if port != 0 && (!leased || !until.IsZero() && !now.Before(until)) {
			p.until[port] = time.Time{}
			return port
		}
	}
	return 0
}

// hold leases a port to a process that runs already.
func (p *ports) hold(port int) {
	if port != 0 {
		p.until[port] = time.Time{}
	}
}

// release ends the lease of a port, 60 s after the process.
func (p *ports) release(port int, ended time.Time) {
	if port != 0 {
		p.until[port] = ended.Add(portRest)
	}
}

// free returns when the next port is free; zero: not before another process ends.
func (p *ports) free() (at time.Time) {
	for port, until := range p.until { // an adopted process may have a port of another range
		if port >= p.low && port <= p.high && !until.IsZero() && (at.IsZero() || until.Before(at)) {
			at = until
		}
	}
	return at
}
