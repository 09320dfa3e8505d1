package remote

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"

	"github.com/muster-gg/muster/internal/gateway"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const (
	// emptyAndOpen is the filter for game sessions that can be claimed.
	emptyAndOpen = "playerSessionCount=0 AND hasAvailablePlayerSessions=true"
	// maxClaims limits the game sessions to try.
	maxClaims = 4
	// maxRivals limits the player sessions to compare. Usually only claims create player sessions in an empty game
	// session.
	maxRivals = 20
)

// ClaimGameSession implements gateway.Service with several calls, which is not atomic. It searches for empty game
// sessions and tries up to four in random order: it creates the player session, checks that it is the only one, and
// then changes name, maximum and properties, so that a second claim never renames the game session of the first. Of two
// concurrent claims, the earlier player session wins. The other claim tries the next game session; its player session
// expires after one minute, because the API cannot delete it.
func (s *Service) ClaimGameSession(ctx context.Context,
	c gateway.Claim) (*wire.GameSession, *wire.PlayerSession, error) {
	if c.Target.Queue != "" {
		return nil, nil, fault.New(fault.InvalidRequest,
			"a queue has no game sessions to claim: name a fleet or an alias")
	}
	found, err := s.SearchGameSessions(ctx, &wire.SearchGameSessionsInput{
		FleetId: c.Target.FleetID, AliasId: c.Target.AliasID, Location: c.Target.Location,
		FilterExpression: emptyAndOpen,
	})
	if err != nil {
		return nil, nil, err
	}
	candidates := slices.DeleteFunc(found.GameSessions, func(g wire.GameSession) bool { return !claimable(&g) })
	rand.Shuffle(len(candidates), func(i, j int) { candidates[i], candidates[j] = candidates[j], candidates[i] })
	for i := range candidates[:min(maxClaims, len(candidates))] {
		g, p, err := s.claim(ctx, &candidates[i], &c)
		if err == nil && g != nil {
			return g, p, nil
		}
		if err != nil && !taken(err) {
			return nil, nil, err
		}
	}
	return nil, nil, fault.New(fault.NotFound, "no empty game session could be claimed")
}

// claimable checks a result of the search again, because its index may lag.
func claimable(g *wire.GameSession) bool {
	return g.Status == wire.GameSessionStatusActive && g.CurrentPlayerSessionCount.Or(0) == 0 &&
		g.PlayerSessionCreationPolicy != wire.PlayerSessionCreationPolicyDenyAll
}

// taken reports whether an error means that the game session has changed since the search.
func taken(err error) bool {
	for _, kind := range []fault.Kind{
		fault.Conflict, fault.GameSessionFull, fault.InvalidGameSessionStatus, fault.NotFound,
	} {
		if fault.Is(err, kind) {
			return true
		}
	}
	return false
}

// claim tries to claim one game session. It returns nil and no error if another claim won.
func (s *Service) claim(ctx context.Context, candidate *wire.GameSession,
	c *gateway.Claim) (*wire.GameSession, *wire.PlayerSession, error) {
	id := candidate.GameSessionId
	reserved, err := s.CreatePlayerSessions(ctx,
		&wire.CreatePlayerSessionsInput{GameSessionId: id, PlayerIds: []string{c.PlayerID}})
	if err != nil {
		return nil, nil, err
	}
	if len(reserved.PlayerSessions) == 0 {
		return nil, nil, fault.Internal(errNoAnswer)
	}
	mine := &reserved.PlayerSessions[0]
	players, err := s.DescribePlayerSessions(ctx,
		&wire.DescribePlayerSessionsInput{GameSessionId: id, Limit: wire.Some[int32](maxRivals)})
	if err != nil || !first(mine, players.PlayerSessions) {
		return nil, nil, err
	}
	change := &wire.UpdateGameSessionInput{
		GameSessionId: id, Name: c.Name, MaximumPlayerSessionCount: wire.Some(c.Maximum),
		GameProperties: merged(candidate.GameProperties, c.Properties),
	}
	out, err := forward[wire.UpdateGameSessionOutput](ctx, "UpdateGameSession", s.api.UpdateGameSession, change)
	if err != nil {
		return nil, nil, err
	}
	if out.GameSession == nil {
		return nil, nil, fault.Internal(errNoAnswer)
	}
	s.states.nudge(id)
	return out.GameSession, mine, nil
}

// first reports whether no other player is connected to the game session or has an earlier reservation than mine. All
// concurrent claims come to the same result.
func first(mine *wire.PlayerSession, players []wire.PlayerSession) bool {
	return !slices.ContainsFunc(players, func(p wire.PlayerSession) bool {
		if p.PlayerSessionId == mine.PlayerSessionId {
			return false
		}
		switch p.Status {
		case wire.PlayerSessionStatusActive:
			return true
		case wire.PlayerSessionStatusReserved:
			return cmp.Or(p.CreationTime.Compare(mine.CreationTime),
				cmp.Compare(p.PlayerSessionId, mine.PlayerSessionId)) < 0
		}
		return false
	})
}

// merged returns the properties with changes applied; nil if there are no changes.
func merged(properties, changes []wire.GameProperty) []wire.GameProperty {
	if len(changes) == 0 {
		return nil
	}
	all := slices.Clone(properties)
	for _, p := range changes {
		if i := slices.IndexFunc(all, func(q wire.GameProperty) bool { return q.Key == p.Key }); i >= 0 {
			all[i] = p
		} else {
			all = append(all, p)
		}
	}
	return all
}
