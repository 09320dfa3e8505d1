package remote

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/gateway"
	"github.com/muster-gg/muster/internal/wire"
)

const (
	// emptyAndOpen finds game sessions without players that take some.
	emptyAndOpen = "playerSessionCount=0 AND hasAvailablePlayerSessions=true"
	// maxClaims is how many of them are tried.
	maxClaims = 4
	// maxRivals is how many players of a game session are looked at. Nobody but
	// claims reserves a place in an empty game session.
	maxRivals = 20
)

// ClaimGameSession implements gateway.Service as well as calls one after the other
// can. It looks for empty game sessions, takes them in a random order, and in each
// of up to four reserves the place, looks whether that player is the only one, and
// only then changes name, maximum and properties; so the one who comes second never
// renames the game session of the first. Of two who come at the same time the
// earlier reservation has it. The other goes on to the next game session, and what
// it reserved lapses after a minute: the API cannot give a place back.
func (s *Service) ClaimGameSession(ctx context.Context, c gateway.Claim) (*wire.GameSession, *wire.PlayerSession, error) {
	if c.Target.Queue != "" {
		return nil, nil, fault.New(fault.InvalidRequest, "an empty game session is that of a fleet or an alias, not of a queue")
	}
	found, err := s.SearchGameSessions(ctx, &wire.SearchGameSessionsInput{
		FleetId: c.Target.FleetID, AliasId: c.Target.AliasID, Location: c.Target.Location, FilterExpression: emptyAndOpen,
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

// claimable looks again at what the search found: its index may lag.
func claimable(g *wire.GameSession) bool {
	return g.Status == wire.GameSessionStatusActive && g.CurrentPlayerSessionCount.Or(0) == 0 &&
		g.PlayerSessionCreationPolicy != wire.PlayerSessionCreationPolicyDenyAll
}

// taken reports whether an error says that the game session is not what it was
// when it was found.
func taken(err error) bool {
	for _, kind := range []fault.Kind{fault.Conflict, fault.GameSessionFull, fault.InvalidGameSessionStatus, fault.NotFound} {
		if fault.Is(err, kind) {
			return true
		}
	}
	return false
}

// claim tries to have one game session. Without an error and without a game
// session, somebody else has it.
func (s *Service) claim(ctx context.Context, candidate *wire.GameSession, c *gateway.Claim) (*wire.GameSession, *wire.PlayerSession, error) {
	id := candidate.GameSessionId
	reserved, err := s.CreatePlayerSessions(ctx, &wire.CreatePlayerSessionsInput{GameSessionId: id, PlayerIds: []string{c.PlayerID}})
	if err != nil {
		return nil, nil, err
	}
	if len(reserved.PlayerSessions) == 0 {
		return nil, nil, fault.Internal(errNoAnswer)
	}
	mine := &reserved.PlayerSessions[0]
	players, err := s.DescribePlayerSessions(ctx, &wire.DescribePlayerSessionsInput{GameSessionId: id, Limit: wire.Some[int32](maxRivals)})
	if err != nil || !first(mine, players.PlayerSessions) {
		return nil, nil, err
	}
	in := &gamelift.UpdateGameSessionInput{
		GameSessionId: &id, Name: text(c.Name), MaximumPlayerSessionCount: &c.Maximum,
		GameProperties: each(merged(candidate.GameProperties, c.Properties), toGameProperty),
	}
	out, err := call(ctx, "UpdateGameSession", s.api.UpdateGameSession, in)
	if err != nil {
		return nil, nil, err
	}
	if out.GameSession == nil {
		return nil, nil, fault.Internal(errNoAnswer)
	}
	g := fromGameSession(out.GameSession)
	s.states.nudge(id)
	return &g, mine, nil
}

// first reports whether no other player is in the game session, or has a
// reservation that came before mine. All who compare come to the same end.
func first(mine *wire.PlayerSession, players []wire.PlayerSession) bool {
	return !slices.ContainsFunc(players, func(p wire.PlayerSession) bool {
		if p.PlayerSessionId == mine.PlayerSessionId {
			return false
		}
		switch p.Status {
		case wire.PlayerSessionStatusActive:
			return true
		case wire.PlayerSessionStatusReserved:
			return cmp.Or(p.CreationTime.Compare(mine.CreationTime), cmp.Compare(p.PlayerSessionId, mine.PlayerSessionId)) < 0
		}
		return false
	})
}

// merged are the properties that are there, changed and added to. nil if nothing changes.
func merged(there, changes []wire.GameProperty) []wire.GameProperty {
	if len(changes) == 0 {
		return nil
	}
	all := slices.Clone(there)
	for _, p := range changes {
		if i := slices.IndexFunc(all, func(q wire.GameProperty) bool { return q.Key == p.Key }); i >= 0 {
			all[i] = p
		} else {
			all = append(all, p)
		}
	}
	return all
}
