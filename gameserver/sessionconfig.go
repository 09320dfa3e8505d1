package gameserver

import (
	"cmp"
	"maps"
	"math"
)

// A SessionStatus is where a session is in its life, by its text in O3DE.
type SessionStatus string

// The statuses.
const (
	SessionNotSet      SessionStatus = "NotSet"
	SessionActive      SessionStatus = "Active"
	SessionActivating  SessionStatus = "Activating"
	SessionTerminated  SessionStatus = "Terminated"
	SessionTerminating SessionStatus = "Terminating"
	SessionError       SessionStatus = "Error"
)

// A SessionStatusReason is why a session has its status, by its text in O3DE.
type SessionStatusReason string

// The reasons.
const (
	ReasonNotSet      SessionStatusReason = "NotSet"
	ReasonInterrupted SessionStatusReason = "Interrupted"
)

// A SessionConfig is a game session as engines see it. A game server is not told who created the session, how many
// players there are, the times, and the reason of its status: CreatorID, CurrentPlayer, CreationTime and
// TerminationTime are zero, and StatusReason is ReasonNotSet.
// Source: O3DE, AzFramework SessionConfig; AWSGameLift Gem, server.
type SessionConfig struct {
	CreationTime      uint64 // milliseconds since 1970; 0 if not known
	TerminationTime   uint64 // milliseconds since 1970; 0 if not known
	CreatorID         string
	SessionProperties map[string]string // a copy; never nil
	MatchmakingData   string            // see ParseMatchmakerData; "" without matchmaking
	SessionID         string
	SessionName       string
	DNSName           string // "" if the compute has none
	IPAddress         string
	Port              uint16 // where players connect
	MaxPlayer         uint64
	CurrentPlayer     uint64
	Status            SessionStatus
	StatusReason      SessionStatusReason
}

// sessionConfig is a game session as callbacks get it. known is its status on this side: the service tells none to some
// SDKs.
func sessionConfig(gs GameSession, known SessionStatus) SessionConfig {
	properties := maps.Clone(gs.GameProperties)
	if properties == nil {
		properties = map[string]string{}
	}
	c := SessionConfig{
		SessionProperties: properties, MatchmakingData: gs.MatchmakerData, SessionID: gs.GameSessionID,
		SessionName: gs.Name,
		DNSName:     gs.DNSName, IPAddress: gs.IPAddress, MaxPlayer: uint64(max(gs.MaximumPlayerSessionCount, 0)),
		Status: cmp.Or(statusTexts[gs.Status], known, SessionNotSet), StatusReason: ReasonNotSet,
	}
	if gs.Port > 0 && gs.Port <= math.MaxUint16 {
		c.Port = uint16(gs.Port)
	}
	return c
}

// statusTexts has the text for each status of the service.
var statusTexts = map[string]SessionStatus{
	"ACTIVE": SessionActive, "ACTIVATING": SessionActivating, "TERMINATED": SessionTerminated,
	"TERMINATING": SessionTerminating,
	"ERROR":       SessionError,
}
