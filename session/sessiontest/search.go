package sessiontest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/muster-gg/muster/session"
)

// maxPage is the limit of a page.
const maxPage = 20

// SearchSessions implements session.Provider.
func (s provider) SearchSessions(ctx context.Context,
	r session.SearchSessionsRequest) (page session.SearchSessionsResponse, err error) {
	if err := s.begin(ctx, "SearchSessions"); err != nil {
		return page, err
	}
	if r.FilterExpression != "" && r.FilterExpression != "hasAvailablePlayerSessions=true" {
		return page, session.Errorf("SearchSessions", session.ErrInvalid, "this service does not know the filter %q",
			r.FilterExpression)
	}
	first, err := strconv.Atoi(cmp.Or(r.NextToken, "0"))
	if err != nil {
		return page, session.Errorf("SearchSessions",
			session.ErrInvalid, "NextToken %q is not of a page before", r.NextToken)
	}
	defer s.lock()()
	all := s.active(func(g *gameSession) bool {
		c := g.config
		fleet := cmp.Or(r.FleetID, r.AliasID)
		return (fleet == "" || c.FleetID == fleet) && (r.Location == "" || r.Location == c.Location) &&
			(r.FilterExpression == "" || c.CurrentPlayer < c.MaxPlayer)
	})
	all = all[min(max(0, first), len(all)):]
	size := min(cmp.Or(r.MaxResult, maxPage), len(all))
	for _, g := range all[:size] {
		page.SessionConfigs = append(page.SessionConfigs, g.copy())
	}
	if size < len(all) {
		page.NextToken = strconv.Itoa(first + size)
	}
	return page, nil
}

func (g *gameSession) copy() session.SessionConfig {
	c := g.config
	c.SessionProperties = maps.Clone(c.SessionProperties)
	return c
}

// active lists active sessions, the oldest first. The lock is held.
func (s *Service) active(match func(*gameSession) bool) []*gameSession {
	var all []*gameSession
	for _, g := range s.sessions {
		if g.config.Status == session.StatusActive && match(g) {
			all = append(all, g)
		}
	}
	slices.SortFunc(all, func(a, b *gameSession) int { return a.config.CreationTime.Compare(b.config.CreationTime) })
	return all
}

// Find implements session.Provider.
func (s provider) Find(ctx context.Context, r session.FindRequest) ([]session.SearchResult, error) {
	if err := s.begin(ctx, "Find"); err != nil {
		return nil, err
	}
	defer s.lock()()
	var found []session.SearchResult
	all := s.active(func(g *gameSession) bool {
		return g.config.CurrentPlayer < g.config.MaxPlayer && (r.BuildID == 0 || g.build == 0 || r.BuildID == g.build)
	})
	for _, g := range all[:min(len(all), cmp.Or(r.Limit, 100))] {
		c := g.copy()
		found = append(found, session.SearchResult{
			SessionID: c.SessionID, Name: c.SessionName, IPAddress: c.IPAddress, Port: c.Port, BuildID: g.build,
			Connections: c.MaxPlayer, OpenConnections: c.MaxPlayer - c.CurrentPlayer, Properties: c.SessionProperties,
		})
	}
	return found, nil
}
