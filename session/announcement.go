package session

import "sync"

// An announcement is the beacon of a session that is hosted on the local network, or of another one, which has none.
type announcement struct {
	mu     sync.Mutex // held while the beacon is changed, so that the last change is what stays
	beacon Beacon     // nil without one
}

func (a *announcement) set(b Beacon) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.beacon = b
}

// update announces what advert returns, if anything is announced, and then calls commit.
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
