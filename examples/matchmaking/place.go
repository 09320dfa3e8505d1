package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
)

// look is the pause between two looks at a placement or a ticket. A game with many players listens to the events and
// does not ask.
const look = 100 * time.Millisecond

// place asks a queue for a game session for some players, who then meet there.
func place(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("place", flag.ContinueOnError)
	queue := flags.String("queue", "", "")
	id := flags.String("id", "", "")
	names := flags.String("players", "", "ids, with commas between them")
	latencies := flags.String("latencies", "", "LOCATION=MILLISECONDS of all players, with commas between them")
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
	in := &gamelift.StartGameSessionPlacementInput{PlacementId: id, GameSessionQueueName: queue}
	for name := range strings.SplitSeq(*names, ",") {
		for location, ms := range measured {
			in.PlayerLatencies = append(in.PlayerLatencies, types.PlayerLatency{
				PlayerId: &name, RegionIdentifier: &location, LatencyInMilliseconds: aws.Float32(float32(ms)),
			})
		}
		in.DesiredPlayerSessions = append(in.DesiredPlayerSessions, types.DesiredPlayerSession{PlayerId: &name})
	}
	in.MaximumPlayerSessionCount = aws.Int32(int32(len(in.DesiredPlayerSessions)))

	started, err := client.StartGameSessionPlacement(ctx, in)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "placement %s is %s\n", *id, started.GameSessionPlacement.Status)
	placed, err := awaitPlacement(ctx, client, *id)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "placement %s is %s, in %s after %s: %s\n", *id, placed.Status,
		aws.ToString(placed.GameSessionRegion),
		placed.EndTime.Sub(*placed.StartTime), aws.ToString(placed.GameSessionArn))
	if placed.Status != types.GameSessionPlacementStateFulfilled {
		return fmt.Errorf("the placement is %s", placed.Status)
	}
	return meet(ctx, placed, out)
}

// readLatencies reads LOCATION=MILLISECONDS, with commas between them.
func readLatencies(text string) (map[string]int32, error) {
	measured := map[string]int32{}
	for part := range strings.SplitSeq(text, ",") {
		location, number, _ := strings.Cut(part, "=")
		ms, err := strconv.ParseInt(number, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("latency %q: %w", part, err)
		}
		measured[location] = int32(ms)
	}
	return measured, nil
}

func awaitPlacement(ctx context.Context, client *gamelift.Client, id string) (*types.GameSessionPlacement, error) {
	for {
		out, err := client.DescribeGameSessionPlacement(ctx,
			&gamelift.DescribeGameSessionPlacementInput{PlacementId: &id})
		if err != nil {
			return nil, err
		}
		if out.GameSessionPlacement.Status != types.GameSessionPlacementStatePending {
			return out.GameSessionPlacement, nil
		}
		if err := pause(ctx, look); err != nil {
			return nil, err
		}
	}
}

// meet lets the players of a placement into the game until all see one another.
func meet(ctx context.Context, placed *types.GameSessionPlacement, out io.Writer) error {
	players := make([]*player, len(placed.PlacedPlayerSessions))
	for i, p := range placed.PlacedPlayerSessions {
		joined, err := join(ctx, addressOf(placed.IpAddress, placed.Port), *p.PlayerId, *p.PlayerSessionId, out)
		if err != nil {
			return err
		}
		defer joined.leave()
		players[i] = joined
	}
	for _, p := range players {
		if err := p.awaitCompany(ctx, len(players), out); err != nil {
			return err
		}
	}
	return nil
}

// pause waits, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
