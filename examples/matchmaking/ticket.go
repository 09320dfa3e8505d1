package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
)

// ticket takes a player through matchmaking into a game, where the player stays until ctx ends.
func ticket(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("ticket", flag.ContinueOnError)
	configuration := flags.String("configuration", "", "")
	id := flags.String("id", "", "")
	name := flags.String("player", "", "")
	skill := flags.Float64("skill", 0, "")
	latencies := flags.String("latencies", "", "LOCATION=MILLISECONDS, with commas between them")
	if err := flags.Parse(args); err != nil {
		return err
	}
	measured, err := readLatencies(*latencies)
	if err != nil {
		return err
	}
	client, err := newClient(ctx)
	if err != nil {
		return err
	}
	started, err := client.StartMatchmaking(ctx, &gamelift.StartMatchmakingInput{
		ConfigurationName: configuration, TicketId: id,
		Players: []types.Player{{
			PlayerId: name, PlayerAttributes: map[string]types.AttributeValue{"skill": {N: skill}},
			LatencyInMs: measured,
		}},
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "ticket %s is %s\n", *id, started.MatchmakingTicket.Status)
	matched, err := awaitTicket(ctx, client, *id, out)
	if err != nil {
		return err
	}
	if matched.Status != types.MatchmakingConfigurationStatusCompleted {
		return fmt.Errorf("the ticket is %s: %s", matched.Status, aws.ToString(matched.StatusMessage))
	}
	game := matched.GameSessionConnectionInfo
	p, err := join(ctx, addressOf(game.IpAddress, game.Port),
		*name, *game.MatchedPlayerSessions[0].PlayerSessionId, out)
	if err != nil {
		return err
	}
	defer p.leave()
	select {
	case <-ctx.Done():
		return nil
	case <-p.Done():
		return p.Err()
	}
}

// awaitTicket waits until a ticket is over, and accepts what is proposed to it.
func awaitTicket(ctx context.Context, client *gamelift.Client, id string,
	out io.Writer) (*types.MatchmakingTicket, error) {
	var last types.MatchmakingConfigurationStatus
	for {
		found, err := client.DescribeMatchmaking(ctx, &gamelift.DescribeMatchmakingInput{TicketIds: []string{id}})
		if err != nil {
			return nil, err
		}
		if len(found.TicketList) != 1 {
			return nil, fmt.Errorf("there is no ticket %s", id)
		}
		t := found.TicketList[0]
		if t.Status != last {
			last = t.Status
			fmt.Fprintf(out, "ticket %s is %s\n", id, t.Status)
			if t.Status == types.MatchmakingConfigurationStatusRequiresAcceptance {
				if err := accept(ctx, client, &t); err != nil {
					return nil, err
				}
				fmt.Fprintf(out, "ticket %s accepts the match\n", id)
			}
		}
		if t.EndTime != nil {
			return &t, nil
		}
		if err := pause(ctx, look); err != nil {
			return nil, err
		}
	}
}

// accept says yes for all players of a ticket.
func accept(ctx context.Context, client *gamelift.Client, t *types.MatchmakingTicket) error {
	in := &gamelift.AcceptMatchInput{TicketId: t.TicketId, AcceptanceType: types.AcceptanceTypeAccept}
	for _, p := range t.Players {
		in.PlayerIds = append(in.PlayerIds, *p.PlayerId)
	}
	_, err := client.AcceptMatch(ctx, in)
	return err
}
