package plan

import "time"

// portRest is how long a port is not leased again after the process.
const portRest = time.Minute

// Leases are the leases of ports, which several machines may share.
type Leases interface {
	// Lease returns a free port; 0 if there is none.
	Lease(now time.Time) int
	// Hold leases a port to a process that runs already. Port 0 is none.
	Hold(port int)
	// Release ends the lease of a port, 60 s after the process. Port 0 is none.
	Release(port int, ended time.Time)
	// Rest keeps a port that is not leased for 60 s after the end of an earlier process. Port 0 is none.
	Rest(port int, ended time.Time)
	// Free returns when the next port is free; zero: not before another process ends.
	Free() time.Time
}

// Ports are the leases of the ports of a range. They are not safe for concurrent use.
type Ports struct {
	low, high int
	next      int               // where the search for a free port begins
	until     map[int]time.Time // of leased ports; zero: the process runs
}

// NewPorts returns the leases of the ports from low to high; 0 for none.
func NewPorts(low, high int) *Ports {
	return &Ports{low: low, high: high, next: low, until: map[int]time.Time{}}
}

// Lease implements Leases.
func (p *Ports) Lease(now time.Time) int {
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

// Hold implements Leases.
func (p *Ports) Hold(port int) {
	if port != 0 {
		p.until[port] = time.Time{}
	}
}

// Release implements Leases.
func (p *Ports) Release(port int, ended time.Time) {
	if port != 0 {
		p.until[port] = ended.Add(portRest)
	}
}

// Rest implements Leases.
func (p *Ports) Rest(port int, ended time.Time) {
	if until, leased := p.until[port]; !leased || !until.IsZero() && until.Before(ended.Add(portRest)) {
		p.Release(port, ended)
	}
}

// Free implements Leases.
func (p *Ports) Free() (at time.Time) {
	for port, until := range p.until { // an adopted process may have a port of another range
		if port >= p.low && port <= p.high && !until.IsZero() && (at.IsZero() || until.Before(at)) {
			at = until
		}
	}
	return at
}
