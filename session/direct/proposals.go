package direct

import (
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/session"
)

// proposals numbers the proposed matches of tickets. It stores a ticket until it observes that the ticket has ended.
// The zero value is ready to use.
type proposals struct {
	mu      sync.Mutex
	tickets map[string]proposal
}

// A proposal is the last observed proposal for a ticket.
type proposal struct {
	number int
	open   bool   // it awaited acceptance
	reason string // why the ticket had to search before it, and its teams
}

// observe returns the id of the match that a ticket is in, "" for none.
func (p *proposals) observe(ticket string, seen types.MatchmakingTicket) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if session.TicketStatus(seen.Status).Over() {
		delete(p.tickets, ticket)
		return ""
	}
	last := p.tickets[ticket]
	last.open, last.reason, last.number = next(last, seen)
	if last.number == 0 {
		return ""
	}
	if p.tickets == nil {
		p.tickets = map[string]proposal{}
	}
	p.tickets[ticket] = last
	switch seen.Status {
	case types.MatchmakingConfigurationStatusRequiresAcceptance, types.MatchmakingConfigurationStatusPlacing:
		return fmt.Sprintf("%s/%d", ticket, last.number)
	}
	return ""
}

// next returns the proposal after an observation, and counts a new one.
func next(last proposal, seen types.MatchmakingTicket) (open bool, reason string, number int) {
	if seen.Status != types.MatchmakingConfigurationStatusRequiresAcceptance {
		return false, last.reason, last.number
	}
	reason = fmt.Sprintf("%q %q", aws.ToString(seen.StatusReason), aws.ToString(seen.StatusMessage))
	for _, player := range seen.Players {
		reason += fmt.Sprintf(" %q", aws.ToString(player.Team))
	}
	if last.open && last.reason == reason {
		return true, reason, last.number
	}
	return true, reason, last.number + 1
}

func (p *proposals) forget(ticket string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.tickets, ticket)
}
