package control

import (
	"context"
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matcher/ruleset"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// StartMatchBackfill starts a ticket for more players of a game session that a match has created. It replaces the
// backfill ticket that the game session has.
func (p *Plane) StartMatchBackfill(ctx context.Context,
	in *wire.StartMatchBackfillInput) (*wire.StartMatchBackfillOutput, error) {
	t, err := p.startBackfill(ctx, in, nil)
	if err != nil {
		return nil, err
	}
	return &wire.StartMatchBackfillOutput{MatchmakingTicket: p.startedTicket(t)}, nil
}

// startBackfill starts a backfill ticket. host, if set, is the server process that requests it, which must be that of
// the game session.
func (p *Plane) startBackfill(ctx context.Context, in *wire.StartMatchBackfillInput,
	host *processes.Key) (*matchmaking.Ticket, error) {
	c, set, err := p.matchmaker(in.ConfigurationName)
	if err != nil {
		return nil, err
	}
	players, err := playersFrom(in.Players, maxBackfillPlayers, set)
	if err != nil {
		return nil, err
	}
	if err := inTeams(players, set); err != nil {
		return nil, err
	}
	if err := p.mayBackfill(ctx, c, in.GameSessionArn, host); err != nil {
		return nil, err
	}
	return p.startTicket(ctx, in.TicketId, matchmaking.Start{
		Configuration: configurationOf(c), Players: players, Timeout: c.RequestTimeout, Backfill: true,
		GameSession: in.GameSessionArn,
	})
}

// inTeams checks that the players of a backfill ticket are in teams of the rule set.
func inTeams(players []matchmaking.Player, set *ruleset.Set) error {
	for _, p := range players {
		known := slices.ContainsFunc(set.Teams, func(t ruleset.Team) bool { return t.Name == p.Team })
		switch {
		case p.Team == "":
			return fault.New(fault.InvalidRequest,
				"Player %s needs a Team: that in which the player is in the game session", p.ID)
		case !known:
			return fault.New(fault.InvalidRequest,
				"Player %s is in the team %s, which the rule set does not have", p.ID, p.Team)
		}
	}
	return nil
}

// mayBackfill checks the game session that is to be filled: it must be ACTIVE, and created by a match. With a
// STANDALONE configuration there is none.
func (p *Plane) mayBackfill(
	ctx context.Context, c *catalog.MatchmakingConfiguration, gameSessionArn string, host *processes.Key,
) error {
	switch {
	case c.Standalone && gameSessionArn != "":
		return fault.New(fault.InvalidRequest,
			"GameSessionArn must not be given: matchmaking configuration %s is STANDALONE", c.Name)
	case c.Standalone:
		return nil
	case gameSessionArn == "":
		return fault.New(fault.InvalidRequest,
			"GameSessionArn is required: matchmaking configuration %s is WITH_QUEUE", c.Name)
	}
	room, id, err := p.ParseGameSession(gameSessionArn)
	if err != nil {
		return err
	}
	g, err := p.GameSession(ctx, room, id)
	switch {
	case err != nil:
		return err
	case host != nil && (g == nil || !host.Hosts(room, g)): // it must not learn what exists elsewhere
		return host.NotHosted(gameSessionArn)
	case g == nil:
		return closedSession(fault.NotFound, id)
	case g.Status != fleet.Active:
		return closedSession(fault.InvalidRequest, id)
	case g.MatchmakerData == "":
		return fault.New(fault.InvalidRequest, "Game session %s was not made by FlexMatch, so it cannot be backfilled",
			gameSessionArn)
	}
	return nil
}

// closedSession returns the error with the text of the managed service. Source: captures.
func closedSession(kind fault.Kind, id string) error {
	return fault.New(kind,
		"The game session %s was not found, or was in a state which wouldn't accept new player sessions.", id)
}

// startProcessBackfill starts a backfill ticket for the game session of a server process. The slash, which no access
// key contains, distinguishes the process from callers of the API.
func (p *Plane) startProcessBackfill(
	ctx context.Context, in *wire.StartMatchBackfillInput, host processes.Key, request string,
) (string, error) {
	principal := strings.Join([]string{string(host.Room.Fleet), host.Room.Location, host.Process.Compute,
		host.Process.ID}, "/")
	t, err := p.startBackfill(WithCall(ctx, Call{Principal: principal, Invocation: request}), in, &host)
	if err != nil {
		return "", err
	}
	return t.ID, nil
}

// stopProcessBackfill cancels a backfill ticket of a server process's own game session.
func (p *Plane) stopProcessBackfill(
	ctx context.Context, gameSessionArn, configurationArn, ticket string, host processes.Key,
) error {
	room, id, err := p.ParseGameSession(gameSessionArn)
	if err != nil {
		return err
	}
	g, err := p.GameSession(ctx, room, id)
	switch {
	case err != nil:
		return err
	case g == nil || !host.Hosts(room, g):
		return host.NotHosted(gameSessionArn)
	}
	c, err := p.matchmakingConfiguration(configurationArn)
	if err != nil {
		return err
	}
	found, err := p.findTickets(ctx, []string{ticket})
	if err != nil {
		return err
	}
	if t := found[0].ticket; t == nil || t.GameSession != gameSessionArn || t.Configuration.Name != c.Name {
		return fault.New(fault.NotFound, "Backfill ticket %s of game session %s not found", ticket, gameSessionArn)
	}
	return p.StopMatchmaking(ctx, &wire.StopMatchmakingInput{TicketId: ticket})
}
