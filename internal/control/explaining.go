package control

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/matcher"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/matchmaking/matchdriver"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/shard"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A TicketExplanation explains what a matchmaking ticket waits for.
type TicketExplanation struct {
	Ticket         string             `json:"ticketId"`
	Status         matchmaking.Status `json:"status"`
	AgeSeconds     float64            `json:"ageSeconds"`
	TimeoutSeconds float64            `json:"timeoutInSeconds"` // until it is TIMED_OUT
	// The members of the explanation are beside those above. It is nil unless the ticket is SEARCHING.
	*matcher.Explanation
	Match     *MatchExplanation `json:"match,omitempty"`     // that the ticket is in
	Placement *PlacementTrail   `json:"placement,omitempty"` // of a match in PLACING, as soon as it has begun
}

// A MatchExplanation is a match in progress. It has at most one of the last two groups of members: the first for
// REQUIRES_ACCEPTANCE, the second for a match with a backfill ticket.
type MatchExplanation struct {
	ID      string   `json:"matchId"`
	Tickets []string `json:"tickets"`
	// AcceptanceSeconds is the time left to accept; Accepted are the players who have accepted, Unanswered those who
	// have not answered.
	AcceptanceSeconds float64  `json:"acceptanceTimeoutInSeconds,omitempty"`
	Accepted          []string `json:"accepted,omitempty"`
	Unanswered        []string `json:"unanswered,omitempty"`
	GameSessionArn    string   `json:"gameSessionArn,omitempty"` // that the match fills
}

// ExplainTicket explains what a ticket waits for. While the lead moves to another node it waits, as calls do for the
// owner of a shard. InvalidRequestException: the ticket has ended.
func (p *Plane) ExplainTicket(ctx context.Context, id string) (x *TicketExplanation, err error) {
	if err := wire.OpDescribeMatchmaking.Check(&wire.DescribeMatchmakingInput{TicketIds: []string{id}}); err != nil {
		return nil, err
	}
	err = p.TicketShard().Persist(ctx, true, func() (err error) {
		x, err = p.explainTicket(ctx, id)
		return err
	})
	return x, err
}

// explainTicket is one attempt of ExplainTicket.
func (p *Plane) explainTicket(ctx context.Context, id string) (*TicketExplanation, error) {
	t, m, err := p.ticketInMatch(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case t == nil:
		return nil, ticketNotFound(id)
	case t.HasEnded():
		return nil, fault.New(fault.InvalidRequest,
			"Matchmaking ticket %s is %s; only one that still waits can be explained", id, t.Status)
	}
	now := p.Now()
	x := &TicketExplanation{
		Ticket: id, Status: t.Status, Match: m,
		AgeSeconds: now.Sub(t.Started).Seconds(), TimeoutSeconds: max(0, t.Deadline.Sub(now).Seconds()),
	}
	switch t.Status {
	case matchmaking.Searching:
		found, err := p.explainSearch(ctx, t)
		if err != nil {
			return nil, err
		}
		x.Explanation = &found
	case matchmaking.Placing:
		x.Placement, err = p.PlacementTrail(ctx, t.Match)
		if err != nil && !fault.Is(err, fault.NotFound) { // there is none yet, or the match fills a game session
			return nil, err
		}
	}
	return x, nil
}

// ticketInMatch returns a ticket, also from the history, and the match that it is in.
func (p *Plane) ticketInMatch(ctx context.Context, id string) (t *matchmaking.Ticket, m *MatchExplanation, err error) {
	err = p.TicketShard().Read(ctx, func(machine *region.Machine) {
		var ok bool
		if t, ok = machine.Matchmaking().Ticket(id); !ok {
			return
		}
		if match, ok := machine.Matchmaking().Match(t.Match); ok {
			m = explainMatch(machine.Matchmaking(), match, p.Now())
		}
	})
	if err == nil && t == nil {
		t, err = p.history.Ticket(ctx, id)
	}
	if err != nil {
		return nil, nil, err // the read may still be going on
	}
	return t, m, nil
}

func explainMatch(s *matchmaking.State, m *matchmaking.Match, now event.Time) *MatchExplanation {
	x := &MatchExplanation{ID: m.ID, Tickets: m.Tickets, GameSessionArn: m.Backfill}
	if m.Stage == matchmaking.StageAcceptance {
		x.AcceptanceSeconds = max(0, m.AcceptBy.Sub(now).Seconds())
		x.Accepted, x.Unanswered = s.Answers(m)
	}
	return x
}

// explainSearch asks the matchmaker of a ticket that is SEARCHING, on the node that leads.
func (p *Plane) explainSearch(ctx context.Context, t *matchmaking.Ticket) (matcher.Explanation, error) {
	if x, here, err := p.drivers.Explain(ctx, t); here {
		return x, err
	}
	return p.explainElsewhere(ctx, t.ID)
}

// An explanationAnswer is the answer to the one question that nodes ask: why a ticket waits. The question is its id.
type explanationAnswer struct {
	Explanation matcher.Explanation `json:"explanation"`
	Fault       fault.Kind          `json:"fault,omitempty"` // with Message: there is none
	Message     string              `json:"message,omitempty"`
}

// explainElsewhere asks the node that leads why a ticket waits.
func (p *Plane) explainElsewhere(ctx context.Context, ticket string) (matcher.Explanation, error) {
	if p.cfg.Cluster == nil {
		return matcher.Explanation{}, p.drivers.LeadMoves()
	}
	data, err := p.cfg.Cluster.AskLead(ctx, []byte(ticket))
	if err != nil {
		return matcher.Explanation{}, p.drivers.LeadMoves()
	}
	var a explanationAnswer
	if err := json.Unmarshal(data, &a); err != nil {
		return matcher.Explanation{}, fault.Internal(err)
	}
	if a.Fault != "" {
		return matcher.Explanation{}, fault.New(a.Fault, "%s", a.Message)
	}
	return a.Explanation, nil
}

// Answer answers a question of another node, if this one leads and can answer in time.
func (p *Plane) Answer(ctx context.Context, question []byte) (answer []byte, ok bool) {
	if !p.drivers.Lead() {
		return nil, false
	}
	var a explanationAnswer
	x, err := p.explainTicket(ctx, string(question))
	if err == nil && x.Explanation == nil {
		err = matchdriver.JustMatched(x.Ticket)
	}
	if errors.Is(err, shard.ErrNotDone) || errors.Is(err, shard.ErrOutcomeUnknown) || ctx.Err() != nil {
		return nil, false
	}
	if err != nil {
		f := fault.Of(err)
		a.Fault, a.Message = f.Kind, f.Message
	} else {
		a.Explanation = *x.Explanation
	}
	answer, err = json.Marshal(a)
	return answer, err == nil
}
