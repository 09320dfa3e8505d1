package session

import (
	"cmp"
	"context"
)

// Configure makes the client ready for a region of the service, such as
// "us-east-1"; "" for Config.DefaultRegion. It may be called again; if that fails
// the region from before stays.
func (c *Client) Configure(ctx context.Context, region string) error {
	_, err := c.configure(region).run(ctx, c)
	return err
}

// ConfigureAsync is Configure without waiting.
func (c *Client) ConfigureAsync(ctx context.Context, region string) *Op[struct{}] {
	return c.configure(region).start(ctx, c)
}

func (c *Client) configure(region string) call[none] {
	return call[none]{
		op: "Configure",
		check: func() error {
			if c.cfg.Remote == nil {
				return Errorf("Configure", ErrUnsupported, "there is no session service: set Config.Remote")
			}
			return nil
		},
		do: func(ctx context.Context, _ OpID) (none, error) {
			err := c.cfg.Remote.Configure(ctx, cmp.Or(region, c.cfg.DefaultRegion))
			if err == nil {
				c.configured.Store(true)
			}
			return none{}, err
		},
		event: func(done Completion, _ none) Event { return ConfigureComplete{done} },
	}
}

// remote is a call of the service, whose request is checked before.
func remote[T any](c *Client, op string, check func() error, do func(context.Context) (T, error), event func(Completion, T) Event) call[T] {
	return call[T]{
		op: op,
		check: func() error {
			if err := c.ready(op); err != nil {
				return err
			}
			return check()
		},
		do:    func(ctx context.Context, _ OpID) (T, error) { return do(ctx) },
		event: event,
	}
}

// CreateSession asks for a session on a fleet and returns its id. It does not
// wait until the session is active, which it must be to be joined. For
// development; CreateSessionOnQueue finds a good place.
func (c *Client) CreateSession(ctx context.Context, r CreateSessionRequest) (sessionID string, err error) {
	return c.createSession(r).run(ctx, c)
}

// CreateSessionAsync is CreateSession without waiting.
func (c *Client) CreateSessionAsync(ctx context.Context, r CreateSessionRequest) *Op[string] {
	return c.createSession(r).start(ctx, c)
}

func (c *Client) createSession(r CreateSessionRequest) call[string] {
	return remote(c, "CreateSession", r.check,
		func(ctx context.Context) (string, error) { return c.cfg.Remote.CreateSession(ctx, r) },
		func(done Completion, id string) Event { return CreateSessionComplete{done, id} })
}

// CreateSessionOnQueue asks for a session wherever a queue finds a place for it
// and returns the id of this placement: see Placement.
func (c *Client) CreateSessionOnQueue(ctx context.Context, r CreateSessionOnQueueRequest) (placementID string, err error) {
	return c.createSessionOnQueue(r).run(ctx, c)
}

// CreateSessionOnQueueAsync is CreateSessionOnQueue without waiting. Its event is
// CreateSessionComplete.
func (c *Client) CreateSessionOnQueueAsync(ctx context.Context, r CreateSessionOnQueueRequest) *Op[string] {
	return c.createSessionOnQueue(r).start(ctx, c)
}

func (c *Client) createSessionOnQueue(r CreateSessionOnQueueRequest) call[string] {
	return remote(c, "CreateSessionOnQueue", r.check,
		func(ctx context.Context) (string, error) { return c.cfg.Remote.CreateSessionOnQueue(ctx, r) },
		func(done Completion, id string) Event { return CreateSessionComplete{done, id} })
}

// Placement tells what has become of a placement.
func (c *Client) Placement(ctx context.Context, placementID string) (Placement, error) {
	return c.placement(placementID).run(ctx, c)
}

// PlacementAsync is Placement without waiting.
func (c *Client) PlacementAsync(ctx context.Context, placementID string) *Op[Placement] {
	return c.placement(placementID).start(ctx, c)
}

func (c *Client) placement(id string) call[Placement] {
	check := func() error {
		k := checker{op: "Placement"}
		k.given("PlacementID", id)
		return k.err
	}
	return remote(c, "Placement", check,
		func(ctx context.Context) (Placement, error) { return c.cfg.Remote.Placement(ctx, id) },
		func(done Completion, p Placement) Event { return PlacementComplete{done, p} })
}

// SearchSessions returns one page of the active sessions of a fleet.
func (c *Client) SearchSessions(ctx context.Context, r SearchSessionsRequest) (SearchSessionsResponse, error) {
	return c.searchSessions(r).run(ctx, c)
}

// SearchSessionsAsync is SearchSessions without waiting.
func (c *Client) SearchSessionsAsync(ctx context.Context, r SearchSessionsRequest) *Op[SearchSessionsResponse] {
	return c.searchSessions(r).start(ctx, c)
}

func (c *Client) searchSessions(r SearchSessionsRequest) call[SearchSessionsResponse] {
	return remote(c, "SearchSessions", r.check,
		func(ctx context.Context) (SearchSessionsResponse, error) { return c.cfg.Remote.SearchSessions(ctx, r) },
		func(done Completion, page SearchSessionsResponse) Event { return SearchSessionsComplete{done, page} })
}
