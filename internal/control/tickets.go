package control

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/matcher/ruleset"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// The limits of tickets. Source: API reference, StartMatchmaking, StartMatchBackfill, DescribeMatchmaking, Player,
// AttributeValue.
const (
	maxTicketPlayers    = 10
	maxBackfillPlayers  = 199
	maxTicketIDs        = 10
	maxPlayerAttributes = 10
	maxListAttribute    = 100
	maxMapAttribute     = 10
)

// maxPlayerLocations is the maximum number of locations for which a player may report latencies. The API has no limit;
// without one a few tickets could occupy matching for minutes.
const maxPlayerLocations = 100

// StartMatchmaking starts a ticket. A retry of an AWS SDK returns the ticket that the call started before.
func (p *Plane) StartMatchmaking(ctx context.Context,
	in *wire.StartMatchmakingInput) (*wire.StartMatchmakingOutput, error) {
	c, set, err := p.matchmaker(in.ConfigurationName)
	if err != nil {
		return nil, err
	}
	players, err := playersFrom(in.Players, maxTicketPlayers, set)
	if err != nil {
		return nil, err
	}
	for i := range players {
		players[i].Team = "" // counts for backfill only; some clients send it all the same
	}
	t, err := p.startTicket(ctx, in.TicketId, matchmaking.Start{
		Configuration: configurationOf(c), Players: players, Timeout: c.RequestTimeout,
	})
	if err != nil {
		return nil, err
	}
	return &wire.StartMatchmakingOutput{MatchmakingTicket: p.startedTicket(t)}, nil
}

// startTicket assigns an id to a ticket and starts it. An id that the caller chose is taken for as long as the history
// keeps its ticket.
func (p *Plane) startTicket(ctx context.Context, id string, s matchmaking.Start) (*matchmaking.Ticket, error) {
	if err := p.history.Admit(); err != nil {
		return nil, err
	}
	if call := callOf(ctx); call.Invocation != "" {
		s.Call = p.secrets.CallID(call.Principal, call.Invocation)
	}
	s.ID = cmp.Or(id, s.Call)
	if s.ID == "" {
		s.ID = uuid.NewString()
	}
	if id != "" {
		if past, err := p.history.Ticket(ctx, id); err != nil {
			return nil, err
		} else if past != nil {
			return nil, invalid("TicketId %s is taken: a ticket with it was started before. Give another one, or none.",
				id)
		}
	}
	return router.Ask[*matchmaking.Ticket](ctx, p.TicketShard(), region.MatchmakingCommand{Command: s})
}

// startedTicket is the answer to a caller who starts a ticket: its status is QUEUED there.
func (sh shapes) startedTicket(t *matchmaking.Ticket) *wire.MatchmakingTicket {
	out := sh.ticket(t, 0)
	if t.Status == matchmaking.Searching {
		out.Status = wire.MatchmakingConfigurationStatusQueued
	}
	return &out
}

// matchmaker returns a configuration, by its name or ARN, and its rule set.
func (p *Plane) matchmaker(nameOrArn string) (*catalog.MatchmakingConfiguration, *ruleset.Set, error) {
	c, err := p.matchmakingConfiguration(nameOrArn)
	if err != nil {
		return nil, nil, err
	}
	set, err := p.ruleSets.of(p.Catalog(), c)
	return c, set, err
}

func configurationOf(c *catalog.MatchmakingConfiguration) matchmaking.Configuration {
	return matchmaking.Configuration{Name: c.Name, ID: c.ID}
}

// DescribeMatchmaking describes tickets in the order of the request. Those that do not exist are left out.
func (p *Plane) DescribeMatchmaking(ctx context.Context,
	in *wire.DescribeMatchmakingInput) (*wire.DescribeMatchmakingOutput, error) {
	if len(in.TicketIds) > maxTicketIDs {
		return nil, invalid("TicketIds has %d entries; the maximum is %d", len(in.TicketIds), maxTicketIDs)
	}
	found, err := p.findTickets(ctx, in.TicketIds)
	out := &wire.DescribeMatchmakingOutput{TicketList: []wire.MatchmakingTicket{}}
	for _, f := range found {
		if f.ticket != nil {
			out.TicketList = append(out.TicketList, p.ticket(f.ticket, f.wait))
		}
	}
	return out, err
}

// DescribeTicket describes one ticket, also one in the history.
func (p *Plane) DescribeTicket(ctx context.Context, id string) (*wire.MatchmakingTicket, error) {
	found, err := p.findTickets(ctx, []string{id})
	switch {
	case err != nil:
		return nil, err
	case found[0].ticket == nil:
		return nil, ticketNotFound(id)
	}
	t := p.ticket(found[0].ticket, found[0].wait)
	return &t, nil
}

// WatchTicket calls changed with a ticket, and again whenever it has changed, until it has ended, ctx is done or
// changed returns an error. Changes in quick succession may be combined.
func (p *Plane) WatchTicket(ctx context.Context, id string, changed func(*wire.MatchmakingTicket) error) error {
	news, end := p.drivers.WatchTicket(id)
	defer end()
	for {
		found, err := p.findTickets(ctx, []string{id})
		if err != nil {
			return err
		}
		t := found[0].ticket
		if t == nil {
			return ticketNotFound(id)
		}
		shown := p.ticket(t, found[0].wait)
		if err := changed(&shown); err != nil || t.HasEnded() {
			return err
		}
		select {
		case <-news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// foundTicket is a ticket, if it exists, and its estimated waiting time in seconds: 0 if unknown.
type foundTicket struct {
	ticket *matchmaking.Ticket
	wait   float64
}

// findTickets returns tickets in the order of their ids.
func (p *Plane) findTickets(ctx context.Context, ids []string) ([]foundTicket, error) {
	found, err := router.Look(ctx, p.TicketShard(), func(m *region.Machine) []foundTicket {
		found := make([]foundTicket, len(ids))
		for i, id := range ids {
			t, ok := m.Matchmaking().Ticket(id)
			if !ok {
				continue
			}
			found[i].ticket = t
			if t.Status == matchmaking.Searching {
				found[i].wait, _ = m.Matchmaking().Estimate(t.Configuration.ID)
			}
		}
		return found
	})
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		if found[i].ticket == nil {
			if found[i].ticket, err = p.history.Ticket(ctx, id); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// StopMatchmaking cancels a ticket.
func (p *Plane) StopMatchmaking(ctx context.Context, in *wire.StopMatchmakingInput) error {
	stop := region.MatchmakingCommand{Command: matchmaking.Stop{ID: in.TicketId}}
	_, err := router.Ask[any](ctx, p.TicketShard(), stop)
	return p.unlessPast(ctx, in.TicketId, err, "Matchmaking ticket is in %s status and cannot be canceled.")
}

// AcceptMatch records the answer of players to a proposed match.
func (p *Plane) AcceptMatch(ctx context.Context, in *wire.AcceptMatchInput) error {
	if len(in.PlayerIds) == 0 {
		return invalid("PlayerIds is empty; name the players who answer")
	}
	accept := matchmaking.Accept{ID: in.TicketId, Players: in.PlayerIds,
		Accept: in.AcceptanceType == wire.AcceptanceTypeAccept}
	_, err := router.Ask[any](ctx, p.TicketShard(), region.MatchmakingCommand{Command: accept})
	return p.unlessPast(ctx, in.TicketId, err,
		"Matchmaking ticket is in %s status; a match can be accepted or rejected in REQUIRES_ACCEPTANCE only.")
}

// unlessPast returns err, unless that is NotFound and the history has the ticket: then it is an InvalidRequestException
// with the ticket's status.
func (p *Plane) unlessPast(ctx context.Context, id string, err error, over string) error {
	if !fault.Is(err, fault.NotFound) {
		return err
	}
	t, failure := p.history.Ticket(ctx, id)
	switch {
	case failure != nil:
		return failure
	case t == nil:
		return err
	}
	return invalid(over, t.Status)
}

func ticketNotFound(id string) error {
	return notFound("Matchmaking ticket %s not found", id)
}

// ticket converts a ticket to its shape of the API; wait is the estimated waiting time in seconds, 0 if unknown.
func (sh shapes) ticket(t *matchmaking.Ticket, wait float64) wire.MatchmakingTicket {
	out := wire.MatchmakingTicket{
		TicketId: t.ID, ConfigurationName: t.Configuration.Name,
		ConfigurationArn: sh.names.ConfigurationARN(t.Configuration.Name),
		Status:           wire.MatchmakingConfigurationStatus(t.Status), StatusReason: t.Reason,
		StatusMessage: t.Message,
		StartTime:     t.Started.Time(), EndTime: t.Ended.Time(), Players: make([]wire.Player, len(t.Players)),
	}
	for i := range t.Players {
		out.Players[i] = playerTo(&t.Players[i])
	}
	if wait > 0 {
		out.EstimatedWaitTime = wire.Some(int32(min(math.Ceil(wait), math.MaxInt32)))
	}
	switch {
	case t.Connection != nil:
		out.GameSessionConnectionInfo = connectionTo(t.Connection)
	case t.GameSession != "" && !t.HasEnded():
		out.GameSessionConnectionInfo = &wire.GameSessionConnectionInfo{GameSessionArn: t.GameSession}
	}
	return out
}

func connectionTo(c *matchmaking.Connection) *wire.GameSessionConnectionInfo {
	out := &wire.GameSessionConnectionInfo{
		GameSessionArn: c.GameSession, IpAddress: c.IPAddress, DnsName: c.DNSName, Port: present(c.Port),
		MatchedPlayerSessions: make([]wire.MatchedPlayerSession, len(c.Players)),
		PlayerGatewayStatus:   wire.PlayerGatewayStatusDisabled,
	}
	for i, player := range c.Players {
		out.MatchedPlayerSessions[i] = wire.MatchedPlayerSession{
			PlayerId: player.PlayerID, PlayerSessionId: player.PlayerSession.String(),
		}
	}
	return out
}

// playerTo converts a player to its shape of the API. Clients expect the map of latencies even if it is empty.
func playerTo(p *matchmaking.Player) wire.Player {
	out := wire.Player{PlayerId: p.ID, Team: p.Team, LatencyInMs: make(map[string]int32, len(p.Latencies))}
	for _, l := range p.Latencies {
		out.LatencyInMs[l.Location] = l.Milliseconds
	}
	if len(p.Attributes) > 0 {
		out.PlayerAttributes = make(map[string]wire.AttributeValue, len(p.Attributes))
	}
	for _, a := range p.Attributes {
		out.PlayerAttributes[a.Name] = attributeTo(a.Value)
	}
	return out
}

func attributeTo(v ruleset.Value) (out wire.AttributeValue) {
	switch v.Type {
	case ruleset.Number:
		out.N = wire.Some(v.N)
	case ruleset.String:
		out.S = v.S
	case ruleset.StringList:
		out.SL = append([]string{}, v.SL...)
	case ruleset.NumberMap:
		out.SDM = v.SDM
		if out.SDM == nil {
			out.SDM = map[string]float64{}
		}
	}
	return out
}

// playersFrom checks the players of a ticket. Attributes that the rule set does not declare are kept for the game
// server.
func playersFrom(in []wire.Player, limit int, set *ruleset.Set) ([]matchmaking.Player, error) {
	if len(in) == 0 || len(in) > limit {
		return nil, invalid("Players has %d entries; a ticket has 1 to %d", len(in), limit)
	}
	players := make([]matchmaking.Player, len(in))
	seen := make(map[string]bool, len(in))
	for i := range in {
		player, err := playerFrom(&in[i], set)
		switch {
		case err != nil:
			return nil, err
		case seen[player.ID]:
			return nil, invalid("Players holds the player %s twice", player.ID)
		}
		seen[player.ID] = true
		players[i] = player
	}
	return players, nil
}

func playerFrom(in *wire.Player, set *ruleset.Set) (matchmaking.Player, error) {
	player := matchmaking.Player{ID: in.PlayerId, Team: in.Team}
	if in.PlayerId == "" {
		return player, invalid("Players holds a player without PlayerId")
	}
	if len(in.PlayerAttributes) > maxPlayerAttributes {
		return player, invalid(
			"Player %s has %d PlayerAttributes; the maximum is %d", in.PlayerId, len(in.PlayerAttributes),
			maxPlayerAttributes)
	}
	for name, a := range in.PlayerAttributes {
		value, problem := attributeFrom(a)
		if problem != "" {
			return player, invalid("Player %s: the attribute %s %s", in.PlayerId, name, problem)
		}
		if slot, declared := set.Slot(name); declared {
			if err := set.Attributes[slot].Check(value); err != nil {
				return player, invalid("Player %s: %v", in.PlayerId, err)
			}
		}
		player.Attributes = append(player.Attributes, matchmaking.Attribute{Name: name, Value: value})
	}
	slices.SortFunc(player.Attributes, func(a, b matchmaking.Attribute) int { return strings.Compare(a.Name, b.Name) })
	if len(in.LatencyInMs) > maxPlayerLocations {
		return player, invalid(
			"Player %s has %d entries in LatencyInMs; the maximum is %d", in.PlayerId, len(in.LatencyInMs),
			maxPlayerLocations)
	}
	for location, ms := range in.LatencyInMs {
		player.Latencies = append(player.Latencies, matchmaking.Latency{Location: location, Milliseconds: ms})
	}
	slices.SortFunc(player.Latencies, func(a, b matchmaking.Latency) int {
		return strings.Compare(a.Location, b.Location)
	})
	return player, nil
}

// attributeFrom converts the one value that is set; problem describes what is wrong with it.
func attributeFrom(in wire.AttributeValue) (v ruleset.Value, problem string) {
	given := 0
	if in.S != "" {
		v, given = ruleset.Value{Type: ruleset.String, S: in.S}, given+1
	}
	if n, ok := in.N.Get(); ok {
		if math.IsNaN(n) || math.IsInf(n, 0) {
			return v, "is not a finite number"
		}
		v, given = ruleset.Value{Type: ruleset.Number, N: n}, given+1
	}
	if in.SL != nil {
		if len(in.SL) > maxListAttribute {
			return v, "has more than 100 strings"
		}
		v, given = ruleset.List(in.SL), given+1
	}
	if in.SDM != nil {
		if len(in.SDM) > maxMapAttribute {
			return v, "has more than 10 entries"
		}
		for key, n := range in.SDM {
			if math.IsNaN(n) || math.IsInf(n, 0) {
				return v, "holds a number for " + key + " that is not finite"
			}
		}
		v, given = ruleset.Value{Type: ruleset.NumberMap, SDM: in.SDM}, given+1
	}
	if given != 1 {
		return v, "must have exactly one of S, N, SL and SDM"
	}
	return v, ""
}
