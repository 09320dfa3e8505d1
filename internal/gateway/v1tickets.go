package gateway

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"unicode/utf8"

	"github.com/muster-gg/muster/internal/wire"
)

// Limits of tickets. Source: API reference, StartMatchmaking; GameLift quotas,
// "Players per matchmaking ticket".
const (
	maxTicketPlayers    = 10
	maxTeam             = 1024
	maxConfiguration    = 256
	maxAttributes       = 10
	maxAttributeText    = 100
	maxAttributeMembers = 100
)

// ticketID is what the API takes for a ticket's id.
var ticketID = regexp.MustCompile(`^[a-zA-Z0-9.-]{1,128}$`)

// matchmaking is what tickets are asked of.
func (c *call) matchmaking() (Matchmaking, *failure) {
	if c.g.matchmaking == nil {
		return nil, fail(NotSupported, "There is no matchmaking behind this gateway.")
	}
	return c.g.matchmaking, nil
}

// startMatchmaking answers POST /v1/tickets.
func startMatchmaking(c *call) (answer, error) {
	m, f := c.matchmaking()
	if f != nil {
		return answer{}, f
	}
	in, f := c.startTicket()
	if f != nil {
		return answer{}, f
	}
	out, err := m.StartMatchmaking(c.ctx, in)
	if err != nil {
		return answer{}, failed(c.ctx, err, ConfigurationNotFound, TicketConflict)
	}
	view := viewTicket(out.MatchmakingTicket, c.g.subject(c.r))
	return answer{status: http.StatusCreated, body: view, location: "/v1/tickets/" + view.ID}, nil
}

// startTicket reads and checks the request.
func (c *call) startTicket() (*wire.StartMatchmakingInput, *failure) {
	o, f := c.object()
	if f != nil {
		return nil, f
	}
	in := &wire.StartMatchmakingInput{TicketId: o.optionalText("id", 1, 128), ConfigurationName: o.text("configuration", 1, maxConfiguration)}
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
		if f := c.mayActFor(p.PlayerId); f != nil {
			return nil, f
		}
	}
	return in, nil
}

// ticketPlayer reads a player who looks for a match.
func (o *object) ticketPlayer() wire.Player {
	p := wire.Player{PlayerId: o.text("id", 1, maxPlayerID), Team: o.optionalText("team", 1, maxTeam), LatencyInMs: o.latencies("latencies")}
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

// attribute reads a text, a number, a list of texts, or numbers by name.
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

// ticket finds the ticket of the path. Another player's is as good as none.
func (c *call) ticket(m Matchmaking) (*wire.MatchmakingTicket, *failure) {
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

// mine reports whether a player is on a ticket; "" is on every one.
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
	m, f := c.matchmaking()
	if f != nil {
		return answer{}, f
	}
	t, f := c.ticket(m)
	if f != nil {
		return answer{}, f
	}
	return answer{body: viewTicket(t, c.g.subject(c.r))}, nil
}

// stopMatchmaking answers DELETE /v1/tickets/{id}.
func stopMatchmaking(c *call) (answer, error) {
	m, f := c.matchmaking()
	if f != nil {
		return answer{}, f
	}
	t, f := c.ticket(m)
	if f != nil {
		return answer{}, f
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
	m, f := c.matchmaking()
	if f != nil {
		return answer{}, f
	}
	o, f := c.object()
	if f != nil {
		return answer{}, f
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
		if f := c.mayActFor(p); f != nil {
			return answer{}, f
		}
	}
	if _, f := c.ticket(m); f != nil {
		return answer{}, f
	}
	if err := m.AcceptMatch(c.ctx, in); err != nil {
		return answer{}, ticketFailure(c, err)
	}
	return getTicket(c)
}

// ticketFailure is why a ticket that is there was not changed: the API calls what
// its state does not allow an invalid request.
func ticketFailure(c *call, err error) *failure {
	f := failed(c.ctx, err, TicketNotFound, TicketConflict)
	if f.code == InvalidRequest {
		f.code = TicketConflict
	}
	return f
}

// finished reports whether nothing more will come of a ticket.
func finished(t *wire.MatchmakingTicket) bool {
	switch t.Status {
	case wire.MatchmakingConfigurationStatusCompleted, wire.MatchmakingConfigurationStatusFailed,
		wire.MatchmakingConfigurationStatusCancelled, wire.MatchmakingConfigurationStatusTimedOut:
		return true
	default:
		return false
	}
}
