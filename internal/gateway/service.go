package gateway

import (
	"context"
	"time"

	"github.com/muster-gg/muster/internal/wire"
)

// A Service manages the game sessions: the region of this process (package local), or any GameLift endpoint (package
// remote). Its methods are safe for concurrent use. Exceptions of the API are *fault.Error; all other errors, such as a
// context's, are local.
type Service interface {
	// Fleet returns the fleet to use if none is configured: an ACTIVE one, if possible with server processes. Without
	// one it returns NotFoundException.
	Fleet(ctx context.Context) (fleetID string, err error)
	// Locations returns the ACTIVE locations of a fleet, given by FleetID or AliasID.
	Locations(ctx context.Context, t Target) ([]Location, error)
	// CreateGameSession starts a game session. The one it returns is usually ACTIVATING.
	CreateGameSession(ctx context.Context, c Creation) (*wire.GameSession, error)
	// ClaimGameSession atomically selects a game session of the target that is ACTIVE, empty and open, changes its name
	// and maximum, and creates the first player session. Without one it returns NotFoundException.
	ClaimGameSession(ctx context.Context, c Claim) (*wire.GameSession, *wire.PlayerSession, error)
	// AwaitGameSession returns the game session when it is no longer ACTIVATING.
	AwaitGameSession(ctx context.Context, gameSessionID string) (*wire.GameSession, error)
	// DescribeGameSession returns one game session; it may have ended.
	DescribeGameSession(ctx context.Context, gameSessionID string) (*wire.GameSession, error)
	// WatchGameSession calls changed with the current game session, and again after each change, its number of players
	// included, until it has ended, ctx is done, or changed returns an error, which it returns. It may skip
	// intermediate states.
	WatchGameSession(ctx context.Context, gameSessionID string, changed func(*wire.GameSession) error) error
	// ConfirmGameSession reports that a client knows a new game session. It returns when the confirmation is durable.
	ConfirmGameSession(ctx context.Context, gameSessionID string) error

	SearchGameSessions(ctx context.Context, in *wire.SearchGameSessionsInput) (*wire.SearchGameSessionsOutput, error)
	TerminateGameSession(
		ctx context.Context, in *wire.TerminateGameSessionInput,
	) (*wire.TerminateGameSessionOutput, error)
	CreatePlayerSessions(
		ctx context.Context, in *wire.CreatePlayerSessionsInput,
	) (*wire.CreatePlayerSessionsOutput, error)
	DescribePlayerSessions(
		ctx context.Context, in *wire.DescribePlayerSessionsInput,
	) (*wire.DescribePlayerSessionsOutput, error)

	// Ready returns nil if calls are expected to succeed. It is fast.
	Ready(ctx context.Context) error
}

// Queues is a Service with queues.
type Queues interface {
	StartGameSessionPlacement(
		ctx context.Context, in *wire.StartGameSessionPlacementInput,
	) (*wire.StartGameSessionPlacementOutput, error)
	StopGameSessionPlacement(
		ctx context.Context, in *wire.StopGameSessionPlacementInput,
	) (*wire.StopGameSessionPlacementOutput, error)
	// AwaitPlacement returns the placement when it is no longer PENDING.
	AwaitPlacement(ctx context.Context, placementID string) (*wire.GameSessionPlacement, error)
	// DescribeGameSessionPlacement returns the current placement.
	DescribeGameSessionPlacement(
		ctx context.Context, in *wire.DescribeGameSessionPlacementInput,
	) (*wire.DescribeGameSessionPlacementOutput, error)
}

// Matchmaking is a Service with FlexMatch.
type Matchmaking interface {
	StartMatchmaking(ctx context.Context, in *wire.StartMatchmakingInput) (*wire.StartMatchmakingOutput, error)
	StopMatchmaking(ctx context.Context, in *wire.StopMatchmakingInput) error
	AcceptMatch(ctx context.Context, in *wire.AcceptMatchInput) error
	// DescribeTicket returns one ticket; NotFoundException if there is none.
	DescribeTicket(ctx context.Context, ticketID string) (*wire.MatchmakingTicket, error)
	// WatchTicket is WatchGameSession for tickets.
	WatchTicket(ctx context.Context, ticketID string, changed func(*wire.MatchmakingTicket) error) error
}

// A Target is where to create and search game sessions: exactly one of FleetID, AliasID and Queue.
type Target struct {
	FleetID, AliasID, Queue string
	Location                string // "" for any; of fleets and aliases
}

// A Location is a location of a fleet.
type Location struct {
	Name string
	// Idle is the number of healthy server processes without a game session; -1 if it is unknown.
	Idle int
}

// A Creation is a request for a new game session.
type Creation struct {
	Input *wire.CreateGameSessionInput
	// ConfirmBy is the deadline of ConfirmGameSession. If the gateway does not call it by then, because it was killed,
	// and no player has connected, the Service ends the game session. Zero is no deadline; package remote has none.
	ConfirmBy time.Time
	// Fresh means that the IdempotencyToken is new, so that no earlier game session can have it.
	Fresh bool
}

// A Claim is a request for an empty game session.
type Claim struct {
	Target     Target
	PlayerID   string
	Name       string
	Maximum    int32
	Properties []wire.GameProperty // merged into the existing ones
}
