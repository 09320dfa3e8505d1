package direct

import (
	"cmp"
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/google/uuid"

	"github.com/muster-gg/muster/session"
)

// StartMatchmaking implements session.Matchmaker. Without a ticket id it chooses one. It cancels the ticket if the call
// may have taken effect despite its error, or if ctx is done meanwhile.
func (p *provider) StartMatchmaking(ctx context.Context, r session.StartMatchmakingRequest) (string, error) {
	const op = "StartMatchmaking"
	api, err := p.configured(op)
	if err != nil {
		return "", err
	}
	players, err := matchPlayers(op, r.Players)
	if err != nil {
		return "", err
	}
	if ctx.Err() != nil {
		return "", failure(ctx, op, ctx.Err())
	}
	ticket := cmp.Or(r.TicketID, uuid.NewString())
	longer, cancel := p.outlast(ctx)
	defer cancel()
	_, err = api.StartMatchmaking(longer, &gamelift.StartMatchmakingInput{
		ConfigurationName: &r.ConfigurationName, Players: players, TicketId: &ticket,
	}, api.once)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		if err = failure(ctx, op, err); unknown(err) {
			p.withdraw(ctx, api, ticket)
		}
		return "", err
	}
	return ticket, nil
}

// withdraw cancels an unneeded ticket. It logs failures.
func (p *provider) withdraw(ctx context.Context, api *api, ticket string) {
	ctx, cancel := p.cleanup(ctx)
	defer cancel()
	if _, err := api.StopMatchmaking(ctx, &gamelift.StopMatchmakingInput{TicketId: &ticket}); err != nil {
		p.log.Warn("canceling the matchmaking ticket failed", "ticket", ticket, "error", err)
	}
}

// StopMatchmaking implements session.Matchmaker.
func (p *provider) StopMatchmaking(ctx context.Context, r session.StopMatchmakingRequest) error {
	const op = "StopMatchmaking"
	api, err := p.configured(op)
	if err != nil {
		return err
	}
	if _, err = api.StopMatchmaking(ctx, &gamelift.StopMatchmakingInput{TicketId: &r.TicketID}); err == nil {
		p.proposals.forget(r.TicketID)
	}
	return failure(ctx, op, err)
}

// AcceptMatch implements session.Matchmaker.
func (p *provider) AcceptMatch(ctx context.Context, r session.AcceptMatchRequest) error {
	const op = "AcceptMatch"
	api, err := p.configured(op)
	if err != nil {
		return err
	}
	answer := types.AcceptanceTypeReject
	if r.AcceptMatch {
		answer = types.AcceptanceTypeAccept
	}
	_, err = api.AcceptMatch(ctx, &gamelift.AcceptMatchInput{TicketId: &r.TicketID, PlayerIds: r.PlayerIDs,
		AcceptanceType: answer})
	return failure(ctx, op, err)
}

// Ticket implements session.Matchmaker with DescribeMatchmaking.
//
// The API has no match ids, so MatchID is the provider's own: it counts, for each ticket, the proposals that its calls
// have seen. It is "" before the first and when the ticket has ended. Two proposals count as one if no call saw the
// search between them and the service reports the same reason for both.
func (p *provider) Ticket(ctx context.Context, ticketID string) (session.Ticket, error) {
	const op = "Ticket"
	api, err := p.configured(op)
	if err != nil {
		return session.Ticket{}, err
	}
	out, err := api.DescribeMatchmaking(ctx, &gamelift.DescribeMatchmakingInput{TicketIds: []string{ticketID}})
	if err != nil {
		return session.Ticket{}, failure(ctx, op, err)
	}
	if len(out.TicketList) == 0 {
		p.proposals.forget(ticketID)
		return session.Ticket{}, session.Errorf(op, session.ErrNotFound, "there is no matchmaking ticket %s", ticketID)
	}
	t := out.TicketList[0]
	return session.Ticket{
		TicketID: ticketID, Status: session.TicketStatus(t.Status),
		StatusReason: aws.ToString(t.StatusReason), StatusMessage: aws.ToString(t.StatusMessage),
		MatchID: p.proposals.observe(ticketID, t), Reservations: matchReservations(t.GameSessionConnectionInfo),
	}, nil
}

// matchReservations returns the reservations in a match, by player id.
func matchReservations(c *types.GameSessionConnectionInfo) map[string]session.Reservation {
	if c == nil {
		return nil
	}
	places := map[string]session.Reservation{}
	for _, m := range c.MatchedPlayerSessions {
		player, ticket := aws.ToString(m.PlayerId), aws.ToString(m.PlayerSessionId)
		if ticket == "" {
			continue
		}
		places[player] = session.Reservation{
			SessionID: aws.ToString(c.GameSessionArn), PlayerID: player, PlayerSessionID: ticket,
			DNSName: aws.ToString(c.DnsName), IPAddress: aws.ToString(c.IpAddress), Port: int(aws.ToInt32(c.Port)),
		}
	}
	return places
}
