package gameserver

import "time"

// A GameSession is the game session that this process hosts.
type GameSession struct {
	GameSessionID             string
	Name                      string
	FleetID                   string
	MaximumPlayerSessionCount int
	IPAddress                 string // where players connect
	Port                      int
	DNSName                   string            // "" if the compute has none
	GameProperties            map[string]string // never nil
	GameSessionData           string
	MatchmakerData            string // JSON, see ParseMatchmakerData; "" without matchmaking

	// Known in updates only, and only to some services.
	Location, Status, StatusReason string
}

// An UpdateReason is why a game session changed.
type UpdateReason string

// The reasons. A service may have others.
const (
	MatchmakingDataUpdated UpdateReason = "MATCHMAKING_DATA_UPDATED"
	BackfillFailed         UpdateReason = "BACKFILL_FAILED"
	BackfillTimedOut       UpdateReason = "BACKFILL_TIMED_OUT"
	BackfillCancelled      UpdateReason = "BACKFILL_CANCELLED"
)

// A GameSessionUpdate is a change of the game session.
type GameSessionUpdate struct {
	GameSession      GameSession
	Reason           UpdateReason
	BackfillTicketID string // of the backfill that caused it; "" if none
}

// A PlayerSessionCreationPolicy says whether new players may join.
type PlayerSessionCreationPolicy string

// The policies.
const (
	AcceptAll PlayerSessionCreationPolicy = "ACCEPT_ALL"
	DenyAll   PlayerSessionCreationPolicy = "DENY_ALL"
)

// A PlayerSessionStatus is where a player session is in its life.
type PlayerSessionStatus string

// The statuses.
const (
	PlayerSessionReserved  PlayerSessionStatus = "RESERVED"
	PlayerSessionActive    PlayerSessionStatus = "ACTIVE"
	PlayerSessionCompleted PlayerSessionStatus = "COMPLETED"
	PlayerSessionTimedOut  PlayerSessionStatus = "TIMEDOUT"
)

// A PlayerSession is a player's place in a game session.
type PlayerSession struct {
	PlayerID, PlayerSessionID, GameSessionID, FleetID string
	PlayerData                                        string
	IPAddress                                         string
	Port                                              int
	DNSName                                           string
	Status                                            PlayerSessionStatus
	CreationTime                                      time.Time
	TerminationTime                                   time.Time // zero: not ended
}

// PlayerSessionQuery selects player sessions: exactly one of the three ids must be given.
type PlayerSessionQuery struct {
	GameSessionID, PlayerSessionID, PlayerID string
	Status                                   PlayerSessionStatus // "" for all
	Limit                                    int                 // of a page; 0 for the service's choice
	NextToken                                string              // of the page before; "" for the first
}

// PlayerSessions is one page of player sessions.
type PlayerSessions struct {
	PlayerSessions []PlayerSession
	NextToken      string // "" on the last page
}

// A ComputeCertificate tells where the compute's TLS certificate is.
type ComputeCertificate struct {
	CertificatePath string // "" if the compute has none
	ComputeName     string
}
