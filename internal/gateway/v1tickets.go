package gateway

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"unicode/utf8"

	"github.com/muster-gg/muster/internal/wire"
)

// Limits of tickets. Source: API reference, StartMatchmaking; GameLift quotas, "Players per matchmaking ticket".
const (
	maxTicketPlayers    = 10
	maxTeam             = 1024
	maxConfiguration    = 256
	maxAttributes       = 10
	maxAttributeText    = 100
	maxAttributeMembers = 100
)

// ticketID is the form of a ticket's id. Source: API reference.
var ticketID = regexp.MustCompile(`^[a-zA-Z0-9.-]{1,128}$`)

// matchmaking returns the service of tickets, or a failure if there is none.
func (c *call) matchmaking() (Matchmaking, error) {
	if c.g.matchmaking == nil {
		return nil, fail(NotSupported, "There is no matchmaking behind this gateway.")
	}
	return c.g.matchmaking, nil
}

// startMatchmaking answers POST /v1/tickets.
func startMatchmaking(c *call) (answer, error) {
	m, err := c.matchmaking()
	if err != nil {
		return answer{}, err
	}
	in, err := c.startTicket()
	if err != nil {
		return answer{}, err
	}
	out, err := m.StartMatchmaking(c.ctx, in)
	if err != nil {
		return answer{}, failed(c.ctx, err, ConfigurationNotFound, TicketConflict)
	}
	view := viewTicket(out.MatchmakingTicket, c.g.subject(c.r))
	return answer{status: http.StatusCreated, body: view, location: "/v1/tickets/" + view.ID}, nil
}

// startTicket reads and checks the request.
func (c *call) startTicket() (*wire.StartMatchmakingInput, error) {
	o, err := c.object()
	if err != nil {
		return nil, err
	}
	in := &wire.StartMatchmakingInput{TicketId: o.optionalText("id", 1, 128),
		ConfigurationName: o.text("configuration", 1, maxConfiguration)}
	if in.TicketId != "" && !ticketID.MatchString(in.TicketId) {
		o.wrong("id", "may have letters, digits and .- only")
	}
	seen := make(map[string]bool)
	for i, text := range o.list("players", 1, maxTicketPlayers) {
		p := o.objectOf(element("players", i), text).ticketPlayer()
		if seen[p.PlayerId] {
			o.wrong("players", "names a player twice")
		}
		seen[p.PlayerId] = true
		in.Players = append(in.Players, p)
	}
	if *o.problem != nil {
		return nil, *o.problem
	}
	for _, p := range in.Players {
		if err := c.mayActFor(p.PlayerId); err != nil {
			return nil, err
		}
	}
	return in, nil
}

func (o *object) ticketPlayer() wire.Player {
	p := wire.Player{PlayerId: o.text("id", 1, maxPlayerID), Team: o.optionalText("team", 1, maxTeam),
		LatencyInMs: o.latencies("latencies")}
	in := o.object("attributes")
	if in == nil {
		return p
	}
	if len(in.members) > maxAttributes {
		o.wrong("attributes", "must have at most "+strconv.Itoa(maxAttributes)+" members")
	}
	p.PlayerAttributes = make(map[string]wire.AttributeValue, len(in.members))
	for name, value := range in.members {
		if n := utf8.RuneCountInString(name); n == 0 || n > maxTeam {
			o.wrong("attributes", "has a name that is empty or too long")
		}
		p.PlayerAttributes[name] = in.attribute(name, value)
	}
	return p
}

// attribute reads a string, a number, a list of strings, or an object of numbers.
func (o *object) attribute(name string, value json.RawMessage) (a wire.AttributeValue) {
	switch value[0] {
	case '"':
		a.S = o.textOf(name, value, 1, maxAttributeText)
	case '[':
		a.SL = []string{}
		for i, text := range o.listOf(name, value, 0, maxAttributeMembers) {
			a.SL = append(a.SL, o.textOf(element(name, i), text, 1, maxAttributeText))
		}
	case '{':
		in := o.objectOf(name, value)
		if len(in.members) > maxAttributeMembers {
			o.wrong(name, "must have at most "+strconv.Itoa(maxAttributeMembers)+" members")
		}
		a.SDM = make(map[string]float64, len(in.members))
		for key, number := range in.members {
			a.SDM[key], _ = in.numberOf(key, number)
		}
	case 't', 'f', 'n':
		o.wrong(name, "must be a text, a number, a list of texts, or an object of numbers")
	default:
		n, _ := o.numberOf(name, value)
		a.N = wire.Some(n)
	}
	return a
}

// ticket returns the ticket of the path. A ticket of another player is not found.
func (c *call) ticket(m Matchmaking) (*wire.MatchmakingTicket, error) {
	if !ticketID.MatchString(c.id) {
		return nil, invalid("The id of a ticket has 1 to 128 letters, digits and .- only.")
	}
	t, err := m.DescribeTicket(c.ctx, c.id)
	if err != nil {
		return nil, failed(c.ctx, err, TicketNotFound, TicketConflict)
	}
	if !mine(t, c.g.subject(c.r)) {
		return nil, &failure{code: TicketNotFound}
	}
	return t, nil
}

// mine reports whether a player is on a ticket; "" is on all tickets.
func mine(t *wire.MatchmakingTicket, subject string) bool {
	if subject == "" {
		return true
	}
	for _, p := range t.Players {
		if p.PlayerId == subject {
			return true
		}
	}
	return false
}

// getTicket answers GET /v1/tickets/{id}.
func getTicket(c *call) (answer, error) {
	m, err := c.matchmaking()
	if err != nil {
		return answer{}, err
	}
	t, err := c.ticket(m)
	if err != nil {
		return answer{}, err
	}
	return answer{body: viewTicket(t, c.g.subject(c.r))}, nil
}

// stopMatchmaking answers DELETE /v1/tickets/{id}.
func stopMatchmaking(c *call) (answer, error) {
	m, err := c.matchmaking()
	if err != nil {
		return answer{}, err
	}
	t, err := c.ticket(m)
	if err != nil {
		return answer{}, err
	}
	if !finished(t) {
		if err := m.StopMatchmaking(c.ctx, &wire.StopMatchmakingInput{TicketId: c.id}); err != nil {
			return answer{}, ticketFailure(c, err)
		}
	}
	return getTicket(c)
}

// acceptMatch answers POST /v1/tickets/{id}/acceptance.
func acceptMatch(c *call) (answer, error) {
	m, err := c.matchmaking()
	if err != nil {
		return answer{}, err
	}
	o, err := c.object()
	if err != nil {
		return answer{}, err
	}
	in := &wire.AcceptMatchInput{TicketId: c.id, AcceptanceType: wire.AcceptanceTypeReject}
	if o.requiredBoolean("accept") {
		in.AcceptanceType = wire.AcceptanceTypeAccept
	}
	for i, text := range o.list("players", 1, maxTicketPlayers) {
		in.PlayerIds = append(in.PlayerIds, o.textOf(element("players", i), text, 1, maxPlayerID))
	}
	if *o.problem != nil {
		return answer{}, *o.problem
	}
	for _, p := range in.PlayerIds {
		if err := c.mayActFor(p); err != nil {
			return answer{}, err
		}
	}
	if _, err := c.ticket(m); err != nil {
		return answer{}, err
	}
	if err := m.AcceptMatch(c.ctx, in); err != nil {
		return answer{}, ticketFailure(c, err)
	}
	return getTicket(c)
}

// ticketFailure returns why an existing ticket was not changed: the API rejects a change that the ticket's status does
// not allow as an invalid request.
func ticketFailure(c *call, err error) error {
	f := asFailure(failed(c.ctx, err, TicketNotFound, TicketConflict))
	if f.code == InvalidRequest {
		f.code = TicketConflict
	}
	return f
}

// finished reports whether a ticket's status is final.
func finished(t *wire.MatchmakingTicket) bool {
	switch t.Status {
	case wire.MatchmakingConfigurationStatusCompleted, wire.MatchmakingConfigurationStatusFailed,
		wire.MatchmakingConfigurationStatusCancelled, wire.MatchmakingConfigurationStatusTimedOut:
		return true
	default:
		return false
	}
}

// placementID is the form of a placement's id. Source: API reference.
var placementID = regexp.MustCompile(`^[a-zA-Z0-9-]{1,48}$`)

// getPlacement answers GET /v1/placements/{id}.
func getPlacement(c *call) (answer, error) {
	if c.g.queues == nil {
		return answer{}, fail(NotSupported, "There are no queues behind this gateway.")
	}
	if !placementID.MatchString(c.id) {
		return answer{}, invalid("The id of a placement has 1 to 48 letters, digits and - only.")
	}
	out, err := c.g.queues.DescribeGameSessionPlacement(c.ctx,
		&wire.DescribeGameSessionPlacementInput{PlacementId: c.id})
	if err != nil {
		return answer{}, failed(c.ctx, err, PlacementNotFound, Internal)
	}
	return answer{body: viewPlacement(out.GameSessionPlacement, c.g.subject(c.r))}, nil
}
