package session

import (
	"cmp"
	"context"
	"regexp"
)

// Configure makes the client ready for a region of the service, such as "us-east-1"; "" for Config.DefaultRegion. It
// rejects names that no region can have with ErrInvalid, and does not check that the region exists. It may be called
// again; if that fails the region from before stays.
func (c *Client) Configure(ctx context.Context, region string) error {
	region = cmp.Or(region, c.cfg.DefaultRegion)
	return call[none]{
		op: "Configure",
		check: func() error {
			if c.cfg.Remote == nil {
				return Errorf("Configure", ErrUnsupported, "there is no session service: set Config.Remote")
			}
			if region != "" && !regionName.MatchString(region) {
				return Errorf("Configure", ErrInvalid, "region %q: want one such as us-east-1, or local", region)
			}
			return nil
		},
		do: func(ctx context.Context, _ OpID) (none, error) {
			err := c.cfg.Remote.Configure(ctx, region)
			if err == nil {
				c.configured.Store(true)
			}
			return none{}, err
		},
	}.runErr(ctx, c)
}

// regionName matches the regions of AWS and of Muster.
var regionName = regexp.MustCompile(`^([a-z]+(-[a-z]+)+-[0-9]+|local)$`)

// remote returns a call of the service; check validates its request first.
func remote[T any](c *Client, op string, check func() error, do func(context.Context) (T, error)) call[T] {
	return call[T]{
		op: op,
		check: func() error {
			if err := c.ready(op); err != nil {
				return err
			}
			return check()
		},
		do: func(ctx context.Context, _ OpID) (T, error) { return do(ctx) },
	}
}

// CreateSession asks for a session on a fleet and returns its id. It does not wait until the session is active and can
// be joined. It is for development; CreateSessionOnQueue chooses a suitable location.
func (c *Client) CreateSession(ctx context.Context, r CreateSessionRequest) (sessionID string, err error) {
	return remote(c, "CreateSession", r.check,
		func(ctx context.Context) (string, error) { return c.cfg.Remote.CreateSession(ctx, r) }).run(ctx, c)
}

// CreateSessionOnQueue asks for a session wherever a queue finds capacity and returns the id of this placement: see
// Placement.
func (c *Client) CreateSessionOnQueue(ctx context.Context,
	r CreateSessionOnQueueRequest) (placementID string, err error) {
	return remote(c, "CreateSessionOnQueue", r.check,
		func(ctx context.Context) (string, error) { return c.cfg.Remote.CreateSessionOnQueue(ctx, r) }).run(ctx, c)
}

// Placement returns a placement with its status.
func (c *Client) Placement(ctx context.Context, placementID string) (Placement, error) {
	check := func() error {
		k := checker{op: "Placement"}
		k.given("PlacementID", placementID)
		return k.err
	}
	return remote(c, "Placement", check,
		func(ctx context.Context) (Placement, error) { return c.cfg.Remote.Placement(ctx, placementID) }).run(ctx, c)
}

// SearchSessions returns one page of the active sessions of a fleet.
func (c *Client) SearchSessions(ctx context.Context, r SearchSessionsRequest) (SearchSessionsResponse, error) {
	search := func(ctx context.Context) (SearchSessionsResponse, error) { return c.cfg.Remote.SearchSessions(ctx, r) }
	return remote(c, "SearchSessions", r.check, search).run(ctx, c)
}
