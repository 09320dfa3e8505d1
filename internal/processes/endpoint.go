package processes

import (
	"context"
	"regexp"
	"time"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A Connection answers for one server process that is connected over one socket. All methods are asynchronous: done is
// called exactly once, after what it reports is durable, from a goroutine that must not be blocked.
type Connection interface {
	// Activate reports that the process is ready to host a game session (ActivateServerProcess). Repeating it is no
	// error.
	Activate(ready ProcessReady, done func(error))
	// Heartbeat reports the process's health (HeartbeatServerProcess).
	Heartbeat(healthy bool, done func(error))
	ActivateGameSession(gameSession string, done func(error))
	AcceptPlayerSession(gameSession, playerSession string, done func(error))
	RemovePlayerSession(gameSession, playerSession string, done func(error))
	UpdatePlayerSessionCreationPolicy(gameSession, policy string, done func(error))
	DescribePlayerSessions(query PlayerSessionQuery, done func(PlayerSessionPage, error))
	// StartMatchBackfill opens a backfill ticket for the process's game session, and returns its id; StopMatchBackfill
	// cancels it.
	StartMatchBackfill(b MatchBackfill, done func(ticket string, err error))
	StopMatchBackfill(gameSessionArn, configurationArn, ticket string, done func(error))
	// ComputeCertificate returns the certificate file given when the compute was registered, or "", and the compute.
	ComputeCertificate(done func(path, compute string, err error))
	// RoleCredentials returns keys of the role of the fleet, which has the ARN role, for a session of that name; nil if
	// it has none. AccessDenied for another role.
	RoleCredentials(role, session string, done func(*RoleKeys, error))
	// Terminate reports that the process ends by itself (TerminateServerProcess).
	Terminate(done func(error))
	// Disconnected reports that the socket has closed. It returns at once.
	Disconnected()
}

// RoleKeys are temporary keys of the role of a fleet.
type RoleKeys struct {
	AssumedRoleUserArn, AssumedRoleID          string
	AccessKeyID, SecretAccessKey, SessionToken string

	Expires time.Time
}

// maxRoleARN is the maximum length of a role's ARN. Source: server SDK 5, GetFleetRoleCredentialsRequest.
const maxRoleARN = 256

// sessionName is the form of a name of a role session. Source: STS API reference, AssumeRole.
var sessionName = regexp.MustCompile(`^[\w+=,.@-]{2,64}$`)

// CheckRoleSession returns an InvalidRequest for a role or session name that cannot be one. "" is none.
func CheckRoleSession(role, session string) error {
	switch {
	case len(role) > maxRoleARN:
		return fault.New(fault.InvalidRequest, "RoleArn may have at most %d characters", maxRoleARN)
	case session != "" && !sessionName.MatchString(session):
		return fault.New(fault.InvalidRequest, "RoleSessionName must have 2 to 64 letters, digits or _+=,.@-")
	}
	return nil
}

// Connector opens connections. Connections implements it.
type Connector interface {
	// Connect authenticates a server process and makes this connection its primary one. The error is a *fault.Error:
	// AccessDenied for a bad or expired token, an unknown compute, a wrong fleet or a process id that was used before;
	// InvalidRequest for missing parameters; Throttling; else internal.
	Connect(ctx context.Context, r ConnectRequest) (Connection, error)
}

// ConnectRequest is what a server process sends when it connects.
type ConnectRequest struct {
	FleetID, ComputeName, ProcessID string
	SDKVersion, SDKLanguage         string
	IdempotencyToken                string     // optional
	Authorization                   string     // the compute's auth token, or "SigV4"
	SigV4                           SigV4Query // with Authorization "SigV4"
	Endpoint                        string     // URL that the process has dialed, without the query; "" if unknown
	Push                            func(Push) // sends a push; must not block
	Replaced                        func()     // called once, when another connection is primary or the process ended
}

// SigV4Query is the signature that a server process may send instead of a token; all values decoded. Only ComputeId,
// FleetId and pID are signed. Source: server SDK 5, security/sigv4.
type SigV4Query struct {
	Algorithm, Credential, Date, SecurityToken, Signature string
}

// ProcessReady is what a server process reports when it is ready.
type ProcessReady struct {
	SDKVersion, SDKLanguage string
	ToolName, ToolVersion   string // optional
	Port                    int32  // 1–60000
	LogPaths                []string
}

// A MatchBackfill is the request of a server process for more players.
type MatchBackfill struct {
	GameSessionArn, ConfigurationArn, TicketID string // TicketID may be ""
	Players                                    []wire.Player
	Request                                    string // names the request: the same for its repetitions
}

// PlayerSessionQuery selects player sessions by exactly one of the three ids.
type PlayerSessionQuery struct {
	GameSessionID, PlayerSessionID, PlayerID string
	StatusFilter                             string // RESERVED, ACTIVE, COMPLETED, TIMEDOUT or ""
	NextToken                                string
	Limit                                    int // 0 for the default
}

// PlayerSessionPage is one page of player sessions.
type PlayerSessionPage struct {
	PlayerSessions []PlayerSessionView
	NextToken      string // "" on the last page
}

// PlayerSessionView is a player session as a server process sees it.
type PlayerSessionView struct {
	PlayerID, PlayerSessionID, GameSessionID, FleetID string
	PlayerData, IPAddress, DNSName, Status            string
	Port                                              int32
	CreationTime, TerminationTime                     time.Time // zero: not yet
}

// A Push is a message to a server process that is no answer: CreateGameSessionPush, UpdateGameSessionPush,
// TerminateProcessPush or RefreshConnectionPush.
type Push interface{ push() }

// CreateGameSessionPush asks the process to start a game session.
type CreateGameSessionPush struct {
	GameSessionID, Name, FleetID    string
	GameSessionData, MatchmakerData string
	IPAddress, DNSName              string
	Port, MaximumPlayerSessionCount int32
	GameProperties                  map[string]string
}

// UpdateGameSessionPush reports that the process's game session has changed.
type UpdateGameSessionPush struct {
	GameSession                    CreateGameSessionPush
	FleetID, Location              string
	Status, StatusReason           string
	UpdateReason, BackfillTicketID string
}

// TerminateProcessPush asks the process to end, at the latest at TerminationTime.
type TerminateProcessPush struct{ TerminationTime time.Time }

// RefreshConnectionPush asks the process to reconnect with this token.
type RefreshConnectionPush struct{ Endpoint, AuthToken string }

func (CreateGameSessionPush) push() {}
func (UpdateGameSessionPush) push() {}
func (TerminateProcessPush) push()  {}
func (RefreshConnectionPush) push() {}
