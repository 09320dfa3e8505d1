package bench

import (
	"context"
	"encoding/json"
)

var searchProfile = Profile{
	Name:    "search",
	Summary: "SearchGameSessions (--filter, --sort, --limit) over ACTIVE game sessions",
	Unit:    "searches",
	Pool:    1000,
	prepare: prepareSearch,
}

func prepareSearch(ctx context.Context, s *site) (func(int) operation, error) {
	if _, err := s.startGames(ctx, s.cfg.Pool); err != nil {
		return nil, err
	}
	in := map[string]any{"FleetId": s.fleet, "Limit": s.cfg.Limit}
	if s.cfg.Filter != "" {
		in["FilterExpression"] = s.cfg.Filter
	}
	if s.cfg.Sort != "" {
		in["SortExpression"] = s.cfg.Sort
	}
	body, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	return func(int) operation {
		c := s.newConn()
		return func(ctx context.Context) (int, error) {
			_, err := c.call(ctx, "SearchGameSessions", body)
			return 1, err
		}
	}, nil
}
