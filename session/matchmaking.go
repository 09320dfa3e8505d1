package session

import "context"

// StartMatchmaking asks for a match and returns the id of the ticket, which
// StartTracking follows.
func (c *Client) StartMatchmaking(ctx context.Context, r StartMatchmakingRequest) (ticketID string, err error) {
	return c.startMatchmaking(r).run(ctx, c)
}

// StartMatchmakingAsync is StartMatchmaking without waiting.
func (c *Client) StartMatchmakingAsync(ctx context.Context, r StartMatchmakingRequest) *Op[string] {
	return c.startMatchmaking(r).start(ctx, c)
}

func (c *Client) startMatchmaking(r StartMatchmakingRequest) call[string] {
	return matchmaking(c, "StartMatchmaking", r.check,
		func(ctx context.Context, m Matchmaker) (string, error) { return m.StartMatchmaking(ctx, r) },
		func(done Completion, id string) Event { return StartMatchmakingComplete{done, id} })
}

// StopMatchmaking takes a ticket back. Whoever tracks it hears MatchFailure.
func (c *Client) StopMatchmaking(ctx context.Context, r StopMatchmakingRequest) error {
	_, err := c.stopMatchmaking(r).run(ctx, c)
	return err
}

// StopMatchmakingAsync is StopMatchmaking without waiting.
func (c *Client) StopMatchmakingAsync(ctx context.Context, r StopMatchmakingRequest) *Op[struct{}] {
	return c.stopMatchmaking(r).start(ctx, c)
}

func (c *Client) stopMatchmaking(r StopMatchmakingRequest) call[none] {
	return matchmaking(c, "StopMatchmaking", r.check,
		func(ctx context.Context, m Matchmaker) (none, error) { return none{}, m.StopMatchmaking(ctx, r) },
		func(done Completion, _ none) Event { return StopMatchmakingComplete{done} })
}

// AcceptMatch accepts or rejects a match that was proposed: see MatchAcceptance.
func (c *Client) AcceptMatch(ctx context.Context, r AcceptMatchRequest) error {
	_, err := c.acceptMatch(r).run(ctx, c)
	return err
}

// AcceptMatchAsync is AcceptMatch without waiting.
func (c *Client) AcceptMatchAsync(ctx context.Context, r AcceptMatchRequest) *Op[struct{}] {
	return c.acceptMatch(r).start(ctx, c)
}

func (c *Client) acceptMatch(r AcceptMatchRequest) call[none] {
	return matchmaking(c, "AcceptMatch", r.check,
		func(ctx context.Context, m Matchmaker) (none, error) { return none{}, m.AcceptMatch(ctx, r) },
		func(done Completion, _ none) Event { return AcceptMatchComplete{done} })
}

// matchmaking is a call of the service's matchmaker.
func matchmaking[T any](c *Client, op string, check func() error, do func(context.Context, Matchmaker) (T, error), event func(Completion, T) Event) call[T] {
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
		event: event,
	}
}

// matchmaker is the service's, if it has one.
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
