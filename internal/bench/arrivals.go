package bench

import (
	"context"
	"sync"
	"time"
)

// An arrival is a game session that has reached its process. It synchronises its creation and its activation, in either
// order.
type arrival struct {
	settled chan struct{}
	process *process
	err     error // of the activation
}

// settle records the result of the activation. It is called once.
func (a *arrival) settle(p *process, err error) {
	a.process, a.err = p, err
	close(a.settled)
}

// arrivals are the game sessions that are created or activated, but not both.
type arrivals struct {
	mu   sync.Mutex
	byID map[string]*arrival
}

func (a *arrivals) find(id string) *arrival {
	a.mu.Lock()
	defer a.mu.Unlock()
	found := a.byID[id]
	if found == nil {
		if a.byID == nil {
			a.byID = map[string]*arrival{}
		}
		found = &arrival{settled: make(chan struct{})}
		a.byID[id] = found
	}
	return found
}

// await waits until a game session is ACTIVE.
func (a *arrivals) await(ctx context.Context, limit *time.Timer, id string) (*process, error) {
	found := a.find(id)
	limit.Reset(sessionLimit)
	defer limit.Stop()
	select {
	case <-found.settled:
	case <-limit.C:
		return nil, errNoGameSession
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	a.mu.Lock()
	delete(a.byID, id)
	a.mu.Unlock()
	return found.process, found.err
}
