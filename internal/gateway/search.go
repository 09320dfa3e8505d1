package gateway

import (
	"context"
	"strconv"

	"github.com/muster-gg/muster/internal/wire"
)

const (
	// pageSize is the API's limit. Source: API reference, SearchGameSessions.
	pageSize = 20

	// openFilter is the filter of AWS-SAMUEL's gateway.
	openFilter = "hasAvailablePlayerSessions=true"

	oldestFirst = "creationTimeMillis ASC"
	newestFirst = "creationTimeMillis DESC"
)

// buildFilter returns the filter for game sessions of a build.
func buildFilter(build int32) string {
	return "gameSessionProperties." + buildProperty + "='" + strconv.Itoa(int(build)) + "'"
}

// openSessions returns the game sessions that a client can join, of all targets, up to the limit. The newest of each
// target come first, so that abandoned ones do not hide others. It fails if one target fails, because a partial list
// would look complete.
func (g *Gateway) openSessions(ctx context.Context, build wire.Opt[int32]) ([]wire.GameSession, error) {
	targets, err := g.searched(ctx)
	if err != nil {
		return nil, err
	}
	filter := openFilter
	if n, ok := build.Get(); ok {
		filter += " AND " + buildFilter(n)
	}
	var found []wire.GameSession
	seen := make(map[string]bool)
	for _, t := range targets {
		for next := ""; len(found) < g.findLimit; {
			out, err := g.service.SearchGameSessions(ctx,
				searchInput(t, filter, newestFirst, g.findLimit-len(found), next))
			if err != nil {
				return nil, failed(ctx, err, NoFleet, Internal)
			}
			for _, s := range out.GameSessions {
				if open(&s) && !seen[s.GameSessionId] && len(found) < g.findLimit {
					seen[s.GameSessionId] = true
					found = append(found, s)
				}
			}
			if next = out.NextToken; next == "" {
				break
			}
		}
	}
	return found, nil
}

// searchInput returns the request for the next page of a target, of at most limit game sessions.
func searchInput(t Target, filter, sort string, limit int, next string) *wire.SearchGameSessionsInput {
	return &wire.SearchGameSessionsInput{
		FleetId: t.FleetID, AliasId: t.AliasID, Location: t.Location, FilterExpression: filter, SortExpression: sort,
		Limit: wire.Some(int32(min(limit, pageSize))), NextToken: next,
	}
}

// open reports whether a game session accepts another player.
func open(s *wire.GameSession) bool {
	return s.Status == wire.GameSessionStatusActive &&
		s.CurrentPlayerSessionCount.Or(0) < s.MaximumPlayerSessionCount.Or(0) &&
		s.PlayerSessionCreationPolicy != wire.PlayerSessionCreationPolicyDenyAll
}
