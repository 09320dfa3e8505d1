package remote

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/mustertest/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// A scripted service answers what a test says, and notes when it was asked. What a
// test has no answer for must not be asked.
type scripted struct {
	api

	mu    sync.Mutex
	start time.Time
	calls []asked

	session   func(call int, id string) (*types.GameSession, error)
	placement func(call int, id string) (*types.GameSessionPlacement, error)
	tickets   func(call int, ids []string) ([]types.MatchmakingTicket, error)
	fleets    func(next string) (*gamelift.DescribeFleetAttributesOutput, error)
	processes func(ids []string) (*gamelift.DescribeFleetUtilizationOutput, error)
}

// asked is one call: how long after the beginning, and about what.
type asked struct {
	at  time.Duration
	ids []string
}

func (s *scripted) note(ids ...string) (call int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.start.IsZero() {
		s.start = time.Now()
	}
	ids = slices.Sorted(slices.Values(ids))
	s.calls = append(s.calls, asked{time.Since(s.start), ids})
	return len(s.calls)
}

// asked are the calls so far.
func (s *scripted) asked() []asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

func (s *scripted) DescribeGameSessions(_ context.Context, in *gamelift.DescribeGameSessionsInput, _ ...option) (
	*gamelift.DescribeGameSessionsOutput, error,
) {
	g, err := s.session(s.note(*in.GameSessionId), *in.GameSessionId)
	if err != nil || g == nil {
		return &gamelift.DescribeGameSessionsOutput{}, err
	}
	return &gamelift.DescribeGameSessionsOutput{GameSessions: []types.GameSession{*g}}, nil
}

func (s *scripted) DescribeGameSessionPlacement(
	_ context.Context, in *gamelift.DescribeGameSessionPlacementInput, _ ...option,
) (*gamelift.DescribeGameSessionPlacementOutput, error) {
	p, err := s.placement(s.note(*in.PlacementId), *in.PlacementId)
	return &gamelift.DescribeGameSessionPlacementOutput{GameSessionPlacement: p}, err
}

func (s *scripted) DescribeMatchmaking(_ context.Context, in *gamelift.DescribeMatchmakingInput, _ ...option) (
	*gamelift.DescribeMatchmakingOutput, error,
) {
	list, err := s.tickets(s.note(in.TicketIds...), in.TicketIds)
	return &gamelift.DescribeMatchmakingOutput{TicketList: list}, err
}

func (s *scripted) DescribeFleetAttributes(_ context.Context, in *gamelift.DescribeFleetAttributesInput, _ ...option) (
	*gamelift.DescribeFleetAttributesOutput, error,
) {
	s.note()
	return s.fleets(aws.ToString(in.NextToken))
}

func (s *scripted) DescribeFleetUtilization(
	_ context.Context, in *gamelift.DescribeFleetUtilizationInput, _ ...option,
) (*gamelift.DescribeFleetUtilizationOutput, error) {
	s.note(in.FleetIds...)
	return s.processes(in.FleetIds)
}

func (s *scripted) service() *Service {
	return newService(s, Config{Clock: clockwork.NewRealClock(), Log: slog.New(slog.DiscardHandler)})
}

// refusal is an exception as the SDK reports it.
func refusal(code string) error { return &exception{code, "because"} }

func session(id string, status types.GameSessionStatus, players int32) *types.GameSession {
	return &types.GameSession{GameSessionId: &id, Status: status, CurrentPlayerSessionCount: &players}
}

func ticket(id string, status types.MatchmakingConfigurationStatus) types.MatchmakingTicket {
	return types.MatchmakingTicket{TicketId: &id, Status: status}
}
