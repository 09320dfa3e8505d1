package session

import "sync"

// An announcement holds the beacon of a session. Only sessions that are hosted on the local network have one.
type announcement struct {
	mu     sync.Mutex // held while the beacon changes, so that the last change wins
	beacon Beacon     // nil without one
}

func (a *announcement) set(b Beacon) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.beacon = b
}

// update announces the result of advert, if there is a beacon, and then calls commit.
func (a *announcement) update(advert func() (Advert, error), commit func() error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	what, err := advert()
	if err == nil && a.beacon != nil {
		err = a.beacon.Update(what)
	}
	if err != nil {
		return err
	}
	return commit()
}

func (a *announcement) close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.beacon == nil {
		return nil
	}
	b := a.beacon
	a.beacon = nil
	return b.Close()
}
