package session

import "context"

// StartMatchmaking requests a match and returns the id of the ticket, which StartTracking follows.
func (c *Client) StartMatchmaking(ctx context.Context, r StartMatchmakingRequest) (ticketID string, err error) {
	return matchmaking(c, "StartMatchmaking", r.check,
		func(ctx context.Context, m Matchmaker) (string, error) { return m.StartMatchmaking(ctx, r) }).run(ctx, c)
}

// StopMatchmaking cancels a ticket. If it is tracked, MatchFailure follows.
func (c *Client) StopMatchmaking(ctx context.Context, r StopMatchmakingRequest) error {
	stop := func(ctx context.Context, m Matchmaker) (none, error) { return none{}, m.StopMatchmaking(ctx, r) }
	return matchmaking(c, "StopMatchmaking", r.check, stop).runErr(ctx, c)
}

// AcceptMatch accepts or rejects a proposed match: see MatchAcceptance.
func (c *Client) AcceptMatch(ctx context.Context, r AcceptMatchRequest) error {
	accept := func(ctx context.Context, m Matchmaker) (none, error) {
		err := m.AcceptMatch(ctx, r)
		c.tickets.look(r.TicketID)
		return none{}, err
	}
	return matchmaking(c, "AcceptMatch", r.check, accept).runErr(ctx, c)
}

// matchmaking returns a call of the service's matchmaker.
func matchmaking[T any](
	c *Client, op string, check func() error, do func(context.Context, Matchmaker) (T, error),
) call[T] {
	return call[T]{
		op: op,
		check: func() error {
			if _, err := c.matchmaker(op); err != nil {
				return err
			}
			return check()
		},
		do: func(ctx context.Context, _ OpID) (result T, err error) {
			m, err := c.matchmaker(op)
			if err != nil {
				return result, err
			}
			return do(ctx, m)
		},
	}
}

// matchmaker returns the service's matchmaker, if it has one.
func (c *Client) matchmaker(op string) (Matchmaker, error) {
	if err := c.ready(op); err != nil {
		return nil, err
	}
	m, ok := c.cfg.Remote.(Matchmaker)
	if !ok {
		return nil, Errorf(op, ErrUnsupported, "this session service has no matchmaking")
	}
	return m, nil
}
