package gateway

import (
	"context"
	"time"

	"github.com/muster-gg/muster/internal/wire"
)

// A Service is what stands behind the gateway: the region of this process
// (package local), or any GameLift endpoint (package remote). Its calls may run
// at the same time. Errors are *fault.Error with the exception that the API would
// answer; others, such as a context's, are this side's.
type Service interface {
	// Fleet names the fleet to use when none is configured: the first one that is
	// ACTIVE. It is a NotFoundException when there is none.
	Fleet(ctx context.Context) (fleetID string, err error)
	// Locations are those of a fleet, given by FleetID or AliasID, that can take game
	// sessions.
	Locations(ctx context.Context, t Target) ([]Location, error)
	// CreateGameSession starts a game session. Its answer is ACTIVATING, as a rule.
	CreateGameSession(ctx context.Context, c Creation) (*wire.GameSession, error)
	// ClaimGameSession takes a game session of the target that is ACTIVE, empty and
	// open, gives it the new name and maximum, and reserves the first place, all at
	// once: nobody else can have it. It is a NotFoundException when there is none.
	ClaimGameSession(ctx context.Context, c Claim) (*wire.GameSession, *wire.PlayerSession, error)
	// AwaitGameSession returns the game session when it is not ACTIVATING any more.
	AwaitGameSession(ctx context.Context, gameSessionID string) (*wire.GameSession, error)
	// DescribeGameSession returns one game session, also one that is over.
	DescribeGameSession(ctx context.Context, gameSessionID string) (*wire.GameSession, error)
	// WatchGameSession calls changed with the game session as it is, and again
	// whenever it has changed, its number of players included, until it is over, ctx
	// is done, or changed reports an error, which it returns. Changes that follow
	// quickly may come as one.
	WatchGameSession(ctx context.Context, gameSessionID string, changed func(*wire.GameSession) error) error
	// HandOver says that somebody is told of a new game session, and returns when that
	// will not be forgotten.
	HandOver(ctx context.Context, gameSessionID string) error

	SearchGameSessions(ctx context.Context, in *wire.SearchGameSessionsInput) (*wire.SearchGameSessionsOutput, error)
	TerminateGameSession(ctx context.Context, in *wire.TerminateGameSessionInput) (*wire.TerminateGameSessionOutput, error)
	CreatePlayerSessions(ctx context.Context, in *wire.CreatePlayerSessionsInput) (*wire.CreatePlayerSessionsOutput, error)
	DescribePlayerSessions(ctx context.Context, in *wire.DescribePlayerSessionsInput) (*wire.DescribePlayerSessionsOutput, error)

	// Ready says whether calls can be expected to work; nil if so. It is quick.
	Ready(ctx context.Context) error
}

// Queues is a Service that places game sessions by queues.
type Queues interface {
	StartGameSessionPlacement(ctx context.Context, in *wire.StartGameSessionPlacementInput) (*wire.StartGameSessionPlacementOutput, error)
	StopGameSessionPlacement(ctx context.Context, in *wire.StopGameSessionPlacementInput) (*wire.StopGameSessionPlacementOutput, error)
	// AwaitPlacement returns the placement when it is not PENDING any more.
	AwaitPlacement(ctx context.Context, placementID string) (*wire.GameSessionPlacement, error)
	// DescribeGameSessionPlacement returns the placement as it is.
	DescribeGameSessionPlacement(ctx context.Context, in *wire.DescribeGameSessionPlacementInput) (*wire.DescribeGameSessionPlacementOutput, error)
}

// Matchmaking is a Service that has FlexMatch.
type Matchmaking interface {
	StartMatchmaking(ctx context.Context, in *wire.StartMatchmakingInput) (*wire.StartMatchmakingOutput, error)
	StopMatchmaking(ctx context.Context, in *wire.StopMatchmakingInput) error
	AcceptMatch(ctx context.Context, in *wire.AcceptMatchInput) error
	// DescribeTicket returns one ticket; NotFoundException when there is none.
	DescribeTicket(ctx context.Context, ticketID string) (*wire.MatchmakingTicket, error)
	// WatchTicket is to a ticket what WatchGameSession is to a game session.
	WatchTicket(ctx context.Context, ticketID string, changed func(*wire.MatchmakingTicket) error) error
}

// A Target is where game sessions are created and looked for: exactly one of
// FleetID, AliasID and Queue.
type Target struct {
	FleetID, AliasID, Queue string
	Location                string // "" for any; of fleets and aliases
}

// A Location is one of a fleet's.
type Location struct {
	Name string
	// Idle is how many healthy server processes wait for a game session there; -1
	// if the service does not tell.
	Idle int
}

// A Creation is a game session that the gateway wants for a player.
type Creation struct {
	Input *wire.CreateGameSessionInput
	// HandOverBy: a Service that can, ends the game session by itself when until
	// then neither HandOver was called for it nor any player has come in. So what a
	// gateway leaves behind when it is killed goes away. Zero for never.
	HandOverBy time.Time
	// Fresh says that nobody can have used the IdempotencyToken before, so that there
	// is no need to look for what it stands for.
	Fresh bool
}

// A Claim is an empty game session that the gateway wants for a player.
type Claim struct {
	Target     Target
	PlayerID   string
	Name       string
	Maximum    int32
	Properties []wire.GameProperty // merged into those that are there
}
