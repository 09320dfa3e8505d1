package gameserver

import (
	"cmp"
	"maps"
	"math"

	"github.com/muster-gg/muster/internal/life"
	"github.com/muster-gg/muster/session"
)

// A SessionConfig is a game session as a Host has it: as game clients have it, too. The service does not tell a game
// server who created the session, how many players there are, and when it began: CreatorID, CurrentPlayer, CreationTime
// and TerminationTime are zero, and StatusReason is "NotSet". SessionProperties are a copy, and never nil; for
// MatchmakingData see ParseMatchmakerData. Status is one of session.StatusNotSet to session.StatusError.
// Source: O3DE, AzFramework SessionConfig; AWSGameLift Gem, server.
type SessionConfig = session.SessionConfig

// noReason is the reason of the status of a session. Source: O3DE, AzFramework SessionStatusReason.
const noReason = "NotSet"

// sessionConfig is a game session as callbacks get it. The state on this side counts if the service has sent no status,
// as it does to some SDKs.
func sessionConfig(gs GameSession, state life.State) SessionConfig {
	properties := maps.Clone(gs.GameProperties)
	if properties == nil {
		properties = map[string]string{}
	}
	c := SessionConfig{
		SessionProperties: properties, MatchmakingData: gs.MatchmakerData, SessionID: gs.GameSessionID,
		SessionName: gs.Name, DNSName: gs.DNSName, IPAddress: gs.IPAddress,
		MaxPlayer: max(gs.MaximumPlayerSessionCount, 0), FleetID: gs.FleetID, Location: gs.Location,
		Status: cmp.Or(statuses[gs.Status], states[state]), StatusReason: noReason,
	}
	if gs.Port > 0 && gs.Port <= math.MaxUint16 {
		c.Port = gs.Port
	}
	return c
}

// statuses has the status for each status of the service.
var statuses = map[string]session.Status{
	"ACTIVE": session.StatusActive, "ACTIVATING": session.StatusActivating,
	"TERMINATED": session.StatusTerminated, "TERMINATING": session.StatusTerminating, "ERROR": session.StatusError,
}

// states has the status for each state of a Host.
var states = map[life.State]session.Status{
	life.None: session.StatusNotSet, life.Starting: session.StatusActivating, life.InProgress: session.StatusActive,
	life.Destroying: session.StatusTerminating, life.Destroyed: session.StatusTerminated,
}
