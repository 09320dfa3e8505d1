package session

import (
	"context"
	"sync"
)

// maxResults is the default limit of a search.
const maxResults = 100

// A search is a running Find.
type search struct {
	over context.Context // done when it is canceled
	end  context.CancelCauseFunc
	done chan struct{} // closed when it has ended
}

// Find searches for sessions to join, at the service for Config.FindTimeout at most, and on the local network until its
// own timeout. One search runs at a time; a second one returns ErrSearchBusy.
func (n *NamedSessions) Find(ctx context.Context, r FindRequest) ([]SearchResult, error) {
	const op = "Find"
	var s *search
	return call[[]SearchResult]{
		op: op,
		check: func() (err error) {
			err = firstError(func() error { return r.check(op) }, func() error {
				if r.LAN || n.offline() {
					return n.lan(op)
				}
				return n.client.ready(op)
			})
			if err == nil {
				s, err = n.beginSearch(op)
			}
			return err
		},
		do: func(ctx context.Context, _ OpID) ([]SearchResult, error) {
			defer n.endSearch(s)
			ctx, release := until(ctx, s.over)
			defer release()
			found, err := n.find(ctx, r)
			return found, failure(ctx, op, err)
		},
	}.run(ctx, n.client)
}

func (r FindRequest) check(op string) error {
	c := checker{op: op}
	if r.Limit < 0 || r.Stop < 0 || r.Timeout < 0 {
		c.fail("Limit %d, Stop %d, Timeout %v: none may be negative", r.Limit, r.Stop, r.Timeout)
	}
	return c.err
}

func (n *NamedSessions) beginSearch(op string) (*search, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.search != nil {
		return nil, Errorf(op, ErrSearchBusy, "wait for the search that is running, or call CancelFind")
	}
	s := &search{done: make(chan struct{})}
	s.over, s.end = context.WithCancelCause(context.Background())
	n.search = s
	return s, nil
}

// endSearch allows the next search.
func (n *NamedSessions) endSearch(s *search) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.search = nil
	s.end(nil)
	close(s.done)
}

// find searches as requested, or after a fallback on the local network.
func (n *NamedSessions) find(ctx context.Context, r FindRequest) ([]SearchResult, error) {
	if r.LAN || n.offline() {
		return n.findOnLAN(ctx, r)
	}
	found, err := n.findRemotely(ctx, r)
	if !n.fallback(ctx, err) {
		return found, err
	}
	n.client.cfg.Log.Warn("searching the local network instead", "error", err)
	return n.findOnLAN(ctx, r)
}

func (n *NamedSessions) findRemotely(ctx context.Context, r FindRequest) ([]SearchResult, error) {
	ctx, cancel := n.client.limit(ctx, n.client.cfg.FindTimeout)
	defer cancel()
	found, err := n.client.cfg.Remote.Find(ctx, r)
	if err != nil {
		return nil, failure(ctx, "Find", err)
	}
	for i := range found {
		found[i].LAN = false
	}
	return cut(found, r.Limit), nil
}

func (n *NamedSessions) findOnLAN(ctx context.Context, r FindRequest) ([]SearchResult, error) {
	var mu sync.Mutex
	var found []SearchResult
	err := n.client.cfg.LAN.Search(ctx, r, func(s SearchResult) {
		s.LAN = true
		mu.Lock()
		defer mu.Unlock()
		found = append(found, s)
	})
	if err != nil {
		return nil, err
	}
	mu.Lock()
	defer mu.Unlock()
	return cut(found, r.Limit), nil
}

// cut applies the limit.
func cut(found []SearchResult, limit int) []SearchResult {
	if limit == 0 {
		limit = maxResults
	}
	return found[:min(limit, len(found))]
}

// CancelFind ends the running search, whose Find then returns ErrCanceled, and returns when it has ended. Without a
// search it returns a *StateError.
func (n *NamedSessions) CancelFind(ctx context.Context) error {
	const op = "CancelFind"
	var s *search
	return call[none]{
		op: op,
		check: func() error {
			n.mu.Lock()
			defer n.mu.Unlock()
			if s = n.search; s == nil {
				return &StateError{Op: op, State: "NotSearching"}
			}
			s.end(errSearch)
			return nil
		},
		do: func(ctx context.Context, _ OpID) (none, error) {
			select {
			case <-s.done:
				return none{}, nil
			case <-ctx.Done():
				return none{}, ctx.Err()
			}
		},
	}.runErr(ctx, n.client)
}
