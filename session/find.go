package session

import (
	"context"
	"sync"
)

// maxResults is how many sessions a search returns that names no limit.
const maxResults = 100

// FindQuery asks for sessions to join, at the service or on the local network: the results of one search are of one
// kind.
type FindQuery struct {
	FindRequest
	LAN bool
}

// A search is a Find that is running.
type search struct {
	over context.Context // done when it is canceled
	end  context.CancelCauseFunc
	done chan struct{} // closed when it is not running any more
}

// Find looks for sessions to join, at the service for Config.FindTimeout at most, and on the local network until its
// own timeout. One search runs at a time; a second one is ErrSearchBusy.
func (n *NamedSessions) Find(ctx context.Context, q FindQuery) ([]SearchResult, error) {
	const op = "Find"
	var s *search
	return call[[]SearchResult]{
		op: op,
		check: func() (err error) {
			err = firstError(func() error { return q.check(op) }, func() error {
				if q.LAN {
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
			found, err := n.look(ctx, q)
			return found, failure(ctx, op, err)
		},
	}.run(ctx, n.client)
}

func (q FindQuery) check(op string) error {
	c := checker{op: op}
	if q.Limit < 0 || q.Stop < 0 || q.Timeout < 0 {
		c.fail("Limit %d, Stop %d, Timeout %v: none may be negative", q.Limit, q.Stop, q.Timeout)
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

// endSearch makes way for the next search, however this one has ended.
func (n *NamedSessions) endSearch(s *search) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.search = nil
	s.end(nil)
	close(s.done)
}

// look searches where it was asked to, or on the local network instead.
func (n *NamedSessions) look(ctx context.Context, q FindQuery) ([]SearchResult, error) {
	if q.LAN {
		return n.lookOnLAN(ctx, q.FindRequest)
	}
	found, err := n.lookRemotely(ctx, q.FindRequest)
	if !n.fallback(ctx, err) {
		return found, err
	}
	n.client.cfg.Log.Warn("search goes to the local network", "error", err)
	return n.lookOnLAN(ctx, q.FindRequest)
}

func (n *NamedSessions) lookRemotely(ctx context.Context, r FindRequest) ([]SearchResult, error) {
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

func (n *NamedSessions) lookOnLAN(ctx context.Context, r FindRequest) ([]SearchResult, error) {
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

// cut cuts off what is above the limit.
func cut(found []SearchResult, limit int) []SearchResult {
	if limit == 0 {
		limit = maxResults
	}
	return found[:min(limit, len(found))]
}

// CancelFind ends the search that is running, whose Find then returns ErrCanceled, and returns when it has ended.
// Without one it is a *StateError.
func (n *NamedSessions) CancelFind(ctx context.Context) error {
	const op = "CancelFind"
	var s *search
	return call[none]{
		op: op,
		check: func() error {
			n.mu.Lock()
			defer n.mu.Unlock()
			if s = n.search; s == nil {
				return &StateError{Op: op, State: NotSearching}
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
