package remote

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// maxTickets limits the tickets of one call. Source: API reference, DescribeMatchmaking.
const maxTickets = 10

// StartMatchmaking implements gateway.Matchmaking.
func (s *Service) StartMatchmaking(ctx context.Context,
	in *wire.StartMatchmakingInput) (*wire.StartMatchmakingOutput, error) {
	return forward[wire.StartMatchmakingOutput](ctx, "StartMatchmaking", s.api.StartMatchmaking, in)
}

// StopMatchmaking implements gateway.Matchmaking.
func (s *Service) StopMatchmaking(ctx context.Context, in *wire.StopMatchmakingInput) error {
	_, err := call(ctx, "StopMatchmaking", s.api.StopMatchmaking,
		&gamelift.StopMatchmakingInput{TicketId: aws.String(in.TicketId)})
	if err == nil {
		s.tickets.nudge(in.TicketId)
	}
	return err
}

// AcceptMatch implements gateway.Matchmaking.
func (s *Service) AcceptMatch(ctx context.Context, in *wire.AcceptMatchInput) error {
	_, err := call(ctx, "AcceptMatch", s.api.AcceptMatch, convert[gamelift.AcceptMatchInput](in))
	return err
}

// DescribeTicket implements gateway.Matchmaking. For a watched ticket it returns the latest polled state, which is at
// most one pause old.
func (s *Service) DescribeTicket(ctx context.Context, ticketID string) (*wire.MatchmakingTicket, error) {
	if t, ok := s.tickets.peek(ticketID); ok {
		return copied(t), nil
	}
	found, err := s.describeTickets(ctx, []string{ticketID})
	if err != nil {
		return nil, err
	}
	if t, ok := found[ticketID]; ok {
		return t.value, nil
	}
	return nil, fault.New(fault.NotFound, "matchmaking ticket %s does not exist", ticketID)
}

// WatchTicket implements gateway.Matchmaking.
func (s *Service) WatchTicket(ctx context.Context, ticketID string, changed func(*wire.MatchmakingTicket) error) error {
	return watch(ctx, &s.tickets, ticketID, changed,
		func(t *wire.MatchmakingTicket) bool { return ticketOver(t.Status) })
}

// ticketOver reports whether a ticket's status is final. Source: API reference, MatchmakingTicket.
func ticketOver(s wire.MatchmakingConfigurationStatus) bool {
	switch s {
	case wire.MatchmakingConfigurationStatusCompleted, wire.MatchmakingConfigurationStatusFailed,
		wire.MatchmakingConfigurationStatusCancelled, wire.MatchmakingConfigurationStatusTimedOut:
		return true
	}
	return false
}

func (s *Service) fetchTickets(ctx context.Context, ids []string) (map[string]result[*wire.MatchmakingTicket], error) {
	return s.describeTickets(ctx, ids, once)
}

func (s *Service) describeTickets(ctx context.Context, ids []string,
	options ...option) (map[string]result[*wire.MatchmakingTicket], error) {
	out, err := call(ctx, "DescribeMatchmaking", s.api.DescribeMatchmaking,
		&gamelift.DescribeMatchmakingInput{TicketIds: ids}, options...)
	if err != nil {
		return nil, err
	}
	found := make(map[string]result[*wire.MatchmakingTicket], len(out.TicketList))
	for i := range out.TicketList {
		t := convert[wire.MatchmakingTicket](&out.TicketList[i])
		found[t.TicketId] = result[*wire.MatchmakingTicket]{value: t}
	}
	return found, nil
}
