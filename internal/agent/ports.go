package agent

import (
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/agent/plan"
	"github.com/muster-gg/muster/internal/agent/supervisor"
)

// Ports are the leases of a range of ports, which the agents of several computes on one machine may share. They are
// safe for concurrent use.
type Ports struct {
	Low, High int // 0: none

	mu     sync.Mutex
	leases *plan.Ports
}

// NewPorts returns the leases of the ports from low to high; 0 for none.
func NewPorts(low, high int) *Ports {
	return &Ports{Low: low, High: high, leases: plan.NewPorts(low, high)}
}

// Recover leases the ports of the game servers in the data directory of an agent that is not running: what any agent
// leases after that does not collide with them. Directories that cannot be read are ignored, as Run does.
func (p *Ports) Recover(data string) {
	for _, r := range supervisor.Records(processesDir(data)) {
		if r.Reported {
			p.Rest(r.Port, r.Ended)
		} else {
			p.Hold(r.Port) // until Run has reported its end
		}
	}
}

// End ends the game servers in the data directory of an agent at once, and waits for that. No agent may run there.
func (p *Ports) End(data string) error {
	left := supervisor.Records(processesDir(data))
	err := supervisor.End(processesDir(data))
	for _, r := range left {
		if !r.Reported { // else Run has released it
			p.Release(r.Port, time.Now())
		}
	}
	return err
}

// Lease implements plan.Leases.
func (p *Ports) Lease(now time.Time) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.leases.Lease(now)
}

// Hold implements plan.Leases.
func (p *Ports) Hold(port int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leases.Hold(port)
}

// Release implements plan.Leases.
func (p *Ports) Release(port int, ended time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leases.Release(port, ended)
}

// Rest implements plan.Leases.
func (p *Ports) Rest(port int, ended time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leases.Rest(port, ended)
}

// Free implements plan.Leases.
func (p *Ports) Free() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.leases.Free()
}
