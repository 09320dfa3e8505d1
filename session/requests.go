package session

import "encoding/json"

// The limits of requests, checked before anything is sent. Source: API reference, CreateGameSession,
// CreatePlayerSession, SearchGameSessions, StartMatchmaking, StartGameSessionPlacement.
const (
	maxIdempotencyToken = 48   // characters, letters, digits and "-"; of placement ids too
	maxProperties       = 16   // of a session
	maxPropertyKey      = 32   // characters
	maxPropertyValue    = 96   // characters
	maxPlayers          = 200  // of a session
	maxPlayerData       = 2048 // characters
	maxPage             = 20   // of a search
	maxTicketPlayers    = 10   // of a matchmaking ticket
)

// CreateSessionRequest asks for a session on a fleet. Package session/direct needs a FleetID or an AliasID. Through a
// gateway leave both empty, unless its operator allows callers to choose.
type CreateSessionRequest struct {
	CreatorID         string            // counted by the fleet's creation policy; ""
	SessionName       string            // for the list; ""
	SessionProperties map[string]string // for the game server and for searches
	MaxPlayer         int               // 0 to 200

	FleetID, AliasID string
	Location         string // "" if the fleet has exactly one
	// IdempotencyToken makes the request repeatable: the same token returns the same session. "" for none.
	IdempotencyToken string
}

// CreateSessionOnQueueRequest asks for a session wherever a queue finds capacity. Package session/direct needs a
// QueueName. Through a gateway leave it empty for the gateway's own queue, unless its operator allows callers to
// choose.
type CreateSessionOnQueueRequest struct {
	SessionName       string
	SessionProperties map[string]string
	MaxPlayer         int // 1 to 200

	QueueName   string // name or ARN; "" if the gateway chooses
	PlacementID string // chosen by the caller, unique; at most 48
}

// SearchSessionsRequest asks for the ACTIVE sessions of a fleet. Package session/direct needs a FleetID or an AliasID.
// Through a gateway an empty FleetID is for all sessions that it offers.
type SearchSessionsRequest struct {
	FilterExpression string // for example "hasAvailablePlayerSessions=true"; "" for all
	SortExpression   string // for example "creationTimeMillis ASC"; "" for any order
	MaxResult        int    // of a page, at most 20; 0 for the service's choice
	NextToken        string // of the page before; "" for the first

	FleetID, AliasID string
	Location         string // "" for all
}

// SearchSessionsResponse is one page of sessions.
type SearchSessionsResponse struct {
	SessionConfigs []SessionConfig
	NextToken      string // "" on the last page
}

// JoinSessionRequest asks for a slot in a session. Both ids must be given.
type JoinSessionRequest struct {
	SessionID  string
	PlayerID   string
	PlayerData string // for the game server; at most 2048
}

// StartMatchmakingRequest asks for a match.
type StartMatchmakingRequest struct {
	ConfigurationName string
	Players           []Player // 1 to 10
	TicketID          string   // "" for one of the service's choice
}

// A Player is a player of a matchmaking ticket.
type Player struct {
	PlayerID string
	Team     string // "" for any
	// LatencyInMS is by region.
	LatencyInMS map[string]int
	// PlayerAttributes are by name, each an object with exactly one of the keys S, N, SL and SDM: {"N": 23}.
	PlayerAttributes map[string]json.RawMessage
}

// StopMatchmakingRequest cancels a ticket.
type StopMatchmakingRequest struct{ TicketID string }

// AcceptMatchRequest accepts or rejects a proposed match for players.
type AcceptMatchRequest struct {
	TicketID    string
	PlayerIDs   []string
	AcceptMatch bool
}
