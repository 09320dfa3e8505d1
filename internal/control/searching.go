package control

import (
	"context"

	"github.com/muster-gg/muster/internal/control/credentials"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/search"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// searchPage is the maximum number of results on a page of a search, also if the caller asks for more. Source: API
// reference, SearchGameSessions.
const searchPage = 20

// SearchGameSessions finds ACTIVE game sessions by filter and sort expressions. The answer is consistent: it includes
// everything that was acknowledged before.
func (sr *sessionReader) SearchGameSessions(ctx context.Context,
	in *wire.SearchGameSessionsInput) (*wire.SearchGameSessionsOutput, error) {
	f, err := sr.target(in.FleetId, in.AliasId)
	if err != nil {
		return nil, err
	}
	query := search.Query{Limit: min(int(in.Limit.Or(searchPage)), searchPage)}
	if query.Filter, err = search.ParseFilter(in.FilterExpression); err != nil {
		return nil, err
	}
	if query.Sort, err = search.ParseSort(in.SortExpression); err != nil {
		return nil, err
	}
	pages := sr.secrets.Pages("SearchGameSessions", f.ID, in.Location, in.FilterExpression, in.SortExpression)
	var after search.Position
	if err := pages.Read(in.NextToken, &after); err != nil {
		return nil, err
	}
	if in.NextToken != "" {
		query.After = &after
	}
	rooms, err := sr.Rooms(ctx, f.ID, in.Location)
	if err != nil {
		return nil, err
	}
	return sr.searchRooms(rooms, query, pages)
}

// searchRooms searches each location and merges the results. It requests one result more than fit on the page, to know
// whether there is a next page.
func (sr *sessionReader) searchRooms(rooms []*fleet.Room, query search.Query,
	pages credentials.Pages) (*wire.SearchGameSessionsOutput, error) {
	size := query.Limit
	query.Limit++
	lists := make([][]search.Hit, len(rooms))
	bySource := make(map[uint32]*fleet.Room, len(rooms))
	for i, r := range rooms {
		query.Source = source(r)
		lists[i] = r.Index().Search(query)
		bySource[query.Source] = r
	}
	hits := search.Merge(query.Sort, query.Limit, lists...)
	out := &wire.SearchGameSessionsOutput{GameSessions: []wire.GameSession{}}
	if len(hits) > size {
		hits = hits[:size]
		out.NextToken = pages.Token(hits[size-1].Position)
	}
	for _, h := range hits {
		r := bySource[h.Position.Source]
		g, ok := r.GameSessionAt(h.Doc.Key)
		if !ok {
			return nil, fault.New(fault.InternalService, "The index names a game session that is not there")
		}
		out.GameSessions = append(out.GameSessions, *sr.gameSession(r.ID(), g))
	}
	return out, nil
}

// source identifies the index of a room within the region.
func source(r *fleet.Room) uint32 {
	return uint32(r.Address().Shard)<<16 | uint32(r.Address().Room)
}
