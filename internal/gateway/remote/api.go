package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/muster-gg/muster/internal/wire/fault"
)

type option = func(*gamelift.Options)

// legacyAPI has the operations of GameLift Local that this package uses. Source: GameLift Local 1.0.5, its list of
// supported operations.
type legacyAPI interface {
	CreateGameSession(
		context.Context, *gamelift.CreateGameSessionInput, ...option,
	) (*gamelift.CreateGameSessionOutput, error)
	CreatePlayerSessions(
		context.Context, *gamelift.CreatePlayerSessionsInput, ...option,
	) (*gamelift.CreatePlayerSessionsOutput, error)
	DescribeGameSessions(
		context.Context, *gamelift.DescribeGameSessionsInput, ...option,
	) (*gamelift.DescribeGameSessionsOutput, error)
	DescribePlayerSessions(
		context.Context, *gamelift.DescribePlayerSessionsInput, ...option,
	) (*gamelift.DescribePlayerSessionsOutput, error)
}

// An api has the operations of the SDK's client that this package uses.
type api interface {
	legacyAPI

	DescribeFleetAttributes(
		context.Context, *gamelift.DescribeFleetAttributesInput, ...option,
	) (*gamelift.DescribeFleetAttributesOutput, error)
	DescribeFleetLocationAttributes(
		context.Context, *gamelift.DescribeFleetLocationAttributesInput, ...option,
	) (*gamelift.DescribeFleetLocationAttributesOutput, error)
	DescribeFleetLocationUtilization(
		context.Context, *gamelift.DescribeFleetLocationUtilizationInput, ...option,
	) (*gamelift.DescribeFleetLocationUtilizationOutput, error)
	DescribeFleetUtilization(
		context.Context, *gamelift.DescribeFleetUtilizationInput, ...option,
	) (*gamelift.DescribeFleetUtilizationOutput, error)
	ListFleets(context.Context, *gamelift.ListFleetsInput, ...option) (*gamelift.ListFleetsOutput, error)
	ResolveAlias(context.Context, *gamelift.ResolveAliasInput, ...option) (*gamelift.ResolveAliasOutput, error)

	SearchGameSessions(
		context.Context, *gamelift.SearchGameSessionsInput, ...option,
	) (*gamelift.SearchGameSessionsOutput, error)
	UpdateGameSession(
		context.Context, *gamelift.UpdateGameSessionInput, ...option,
	) (*gamelift.UpdateGameSessionOutput, error)
	TerminateGameSession(
		context.Context, *gamelift.TerminateGameSessionInput, ...option,
	) (*gamelift.TerminateGameSessionOutput, error)

	StartGameSessionPlacement(
		context.Context, *gamelift.StartGameSessionPlacementInput, ...option,
	) (*gamelift.StartGameSessionPlacementOutput, error)
	StopGameSessionPlacement(
		context.Context, *gamelift.StopGameSessionPlacementInput, ...option,
	) (*gamelift.StopGameSessionPlacementOutput, error)
	DescribeGameSessionPlacement(
		context.Context, *gamelift.DescribeGameSessionPlacementInput, ...option,
	) (*gamelift.DescribeGameSessionPlacementOutput, error)

	StartMatchmaking(
		context.Context, *gamelift.StartMatchmakingInput, ...option,
	) (*gamelift.StartMatchmakingOutput, error)
	StopMatchmaking(context.Context, *gamelift.StopMatchmakingInput, ...option) (*gamelift.StopMatchmakingOutput, error)
	AcceptMatch(context.Context, *gamelift.AcceptMatchInput, ...option) (*gamelift.AcceptMatchOutput, error)
	DescribeMatchmaking(
		context.Context, *gamelift.DescribeMatchmakingInput, ...option,
	) (*gamelift.DescribeMatchmakingOutput, error)
}

// once disables the client's retries: a poller has its own pauses and must see throttling.
func once(o *gamelift.Options) { o.Retryer = aws.NopRetryer{} }

// call makes one call of the API and converts its error.
func call[I, O any](
	ctx context.Context, name string, op func(context.Context, *I, ...option) (*O, error), in *I, options ...option,
) (*O, error) {
	out, err := op(ctx, in, options...)
	if err != nil {
		return nil, convertError(ctx, name, err)
	}
	return out, nil
}

// forward makes one call with a request and an answer of package wire.
func forward[Out, I, O, In any](
	ctx context.Context, name string, op func(context.Context, *I, ...option) (*O, error), in *In,
) (*Out, error) {
	out, err := call(ctx, name, op, convert[I](in))
	return convert[Out](out), err
}

// throttlings are the error codes with which AWS services throttle. Source: AWS SDK for Go,
// retry.DefaultThrottleErrorCodes.
var throttlings = []string{
	"Throttling", "ThrottlingException", "ThrottledException", "RequestThrottledException", "TooManyRequestsException",
	"RequestThrottled", "RequestLimitExceeded", "BandwidthLimitExceeded", "SlowDown", "PriorRequestNotComplete",
}

// An apiError is an exception of the service, as the SDK returns it. Source: smithy-go, APIError.
type apiError interface {
	error
	ErrorCode() string
	ErrorMessage() string
}

// convertError converts the error of a call: to a *fault.Error with the exception of the service, or to ctx's error or
// a transport error with the name of the operation.
func convertError(ctx context.Context, operation string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", operation, context.Cause(ctx))
	}
	answer, ok := errors.AsType[apiError](err)
	if !ok {
		return fmt.Errorf("%s: %w", operation, err)
	}
	kind := fault.Kind(answer.ErrorCode())
	if slices.Contains(throttlings, answer.ErrorCode()) {
		kind = fault.Throttling
	}
	return &fault.Error{Kind: kind, Message: answer.ErrorMessage(), Err: err}
}

// transient reports whether a retry may succeed: after internal errors of the service, and after all transport errors.
func transient(err error) bool {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return !errors.Is(err, context.Canceled)
	}
	return f.Kind == fault.InternalService || f.Kind == fault.ServiceUnavailable
}
