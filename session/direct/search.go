package direct

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/session"
)

// SearchSessions implements session.Provider with SearchGameSessions.
func (p *provider) SearchSessions(ctx context.Context,
	r session.SearchSessionsRequest) (session.SearchSessionsResponse, error) {
	const op = "SearchSessions"
	api, err := p.configured(op)
	if err == nil {
		err = needFleet(op, r.FleetID, r.AliasID)
	}
	if err != nil {
		return session.SearchSessionsResponse{}, err
	}
	in := &gamelift.SearchGameSessionsInput{
		FleetId: text(r.FleetID), AliasId: text(r.AliasID), Location: text(r.Location),
		FilterExpression: text(r.FilterExpression), SortExpression: text(r.SortExpression),
		NextToken: text(r.NextToken),
	}
	if r.MaxResult > 0 {
		in.Limit = aws.Int32(int32(r.MaxResult))
	}
	out, err := api.SearchGameSessions(ctx, in)
	if err != nil {
		return session.SearchSessionsResponse{}, failure(ctx, op, err)
	}
	answer := session.SearchSessionsResponse{NextToken: aws.ToString(out.NextToken)}
	for _, g := range out.GameSessions {
		answer.SessionConfigs = append(answer.SessionConfigs, sessionConfig(g))
	}
	return answer, nil
}

// defaultFound is the default limit of Find, maxPage the API's limit of a page.
const (
	defaultFound = 100
	maxPage      = 20
)

// Find implements session.Provider with SearchGameSessions on the target. For a queue it searches the destinations that
// are in this region. The oldest sessions come first.
func (p *provider) Find(ctx context.Context, r session.FindRequest) ([]session.SearchResult, error) {
	const op = "Find"
	api, err := p.configured(op)
	if err != nil {
		return nil, err
	}
	targets, err := p.searched(ctx, api, op)
	if err != nil {
		return nil, failure(ctx, op, err)
	}
	f := finder{api: api, filter: joinable(r.BuildID), limit: cmp.Or(r.Limit, defaultFound), seen: map[string]bool{}}
	for _, t := range targets {
		err := f.search(ctx, t)
		if p.cfg.Target.QueueName != "" && fleetDeleted(err) {
			continue // a queue uses the remaining destinations
		}
		if err != nil {
			return nil, failure(ctx, op, err)
		}
	}
	return f.found, nil
}

// joinable returns the filter for sessions with free slots and, unless build is 0, of that build.
func joinable(build int32) string {
	const free = "hasAvailablePlayerSessions=true"
	if build == 0 {
		return free
	}
	return fmt.Sprintf("%s AND gameSessionProperties.%s='%d'", free, buildProperty, build)
}

// fleetDeleted reports whether a search failed because the fleet does not exist any more.
func fleetDeleted(err error) bool {
	_, missing := errors.AsType[*types.NotFoundException](err)
	_, terminal := errors.AsType[*types.TerminalRoutingStrategyException](err)
	return missing || terminal
}

// searched returns the fleets and aliases of the target.
func (p *provider) searched(ctx context.Context, api *api, op string) (targets []Target, err error) {
	if err := p.cfg.Target.check(op); err != nil {
		return nil, err
	}
	queue := p.cfg.Target.QueueName
	if queue == "" {
		return []Target{p.cfg.Target}, nil
	}
	out, err := api.DescribeGameSessionQueues(ctx, &gamelift.DescribeGameSessionQueuesInput{Names: []string{queue}})
	if err != nil {
		return nil, err
	}
	if len(out.GameSessionQueues) == 0 {
		return nil, session.Errorf(op, session.ErrNotFound, "there is no queue %s", queue)
	}
	for _, d := range out.GameSessionQueues[0].Destinations {
		if t, here := destination(aws.ToString(d.DestinationArn), api.region); here {
			targets = append(targets, t)
		}
	}
	return targets, nil
}

// destination returns the target for the ARN of a queue's destination, if it is in the region:
// arn:aws:gamelift:REGION::alias/ID.
func destination(arn, region string) (Target, bool) {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) != 6 || parts[3] != region {
		return Target{}, false
	}
	if strings.HasPrefix(parts[5], "alias/") {
		return Target{AliasID: arn}, true
	}
	return Target{FleetID: arn}, true
}

// A finder collects sessions that can be joined.
type finder struct {
	api    *api
	filter string
	limit  int

	seen  map[string]bool // ids; a fleet may be searched under two names
	found []session.SearchResult
}

// search adds the sessions of a fleet or alias, page by page up to the limit.
func (f *finder) search(ctx context.Context, t Target) error {
	in := &gamelift.SearchGameSessionsInput{
		FleetId: text(t.FleetID), AliasId: text(t.AliasID), Location: text(t.Location),
		FilterExpression: &f.filter, SortExpression: aws.String("creationTimeMillis ASC"),
	}
	for len(f.found) < f.limit {
		in.Limit = aws.Int32(int32(min(f.limit-len(f.found), maxPage)))
		page, err := f.api.SearchGameSessions(ctx, in)
		if err != nil {
			return err
		}
		f.add(page.GameSessions)
		if aws.ToString(page.NextToken) == "" {
			return nil
		}
		in.NextToken = page.NextToken
	}
	return nil
}

// add collects the sessions of a page that accept players.
func (f *finder) add(page []types.GameSession) {
	for _, g := range page {
		id := aws.ToString(g.GameSessionId)
		closed := g.PlayerSessionCreationPolicy == types.PlayerSessionCreationPolicyDenyAll
		if closed || f.seen[id] || len(f.found) == f.limit {
			continue
		}
		f.seen[id] = true
		f.found = append(f.found, searchResult(g))
	}
}
