package session

import (
	"context"
	"time"
)

// A Provider reaches a session service. Its methods may be called concurrently. They return errors of this package's
// kinds, honour their context, and leave nothing behind when they fail: no session, no reservation. Calls that a
// provider does not support return ErrUnsupported with the reason. Requests have been validated, except that the
// provider decides whether a fleet, an alias or a queue must be named.
//
// Providers: package session/direct (the AWS API), session/gateway (the HTTP session gateway), session/sessiontest (in
// memory, for tests).
type Provider interface {
	// Configure makes the provider ready for a region, "" for its default. It fails with ErrInvalid when there is no
	// region, and with ErrDenied when there are no credentials. It may be called again with another region.
	Configure(ctx context.Context, region string) error
	// CreateSession asks for a session and returns its id without waiting until it is active.
	CreateSession(ctx context.Context, r CreateSessionRequest) (sessionID string, err error)
	// CreateSessionOnQueue asks for a placement and returns its id without waiting.
	CreateSessionOnQueue(ctx context.Context, r CreateSessionOnQueueRequest) (placementID string, err error)
	// Placement returns a placement with its status.
	Placement(ctx context.Context, placementID string) (Placement, error)
	// SearchSessions returns one page of sessions.
	SearchSessions(ctx context.Context, r SearchSessionsRequest) (SearchSessionsResponse, error)
	// Reserve reserves a slot in a session for a player.
	Reserve(ctx context.Context, r JoinSessionRequest) (Reservation, error)
	// Host creates a session, waits until it is active, and reserves its first slot for the owner.
	Host(ctx context.Context, r HostRequest) (Reservation, error)
	// Find lists sessions that can be joined, all pages of them up to the limit.
	Find(ctx context.Context, r FindRequest) ([]SearchResult, error)
}

// A Releaser is a Provider that can release an unused reservation, for example because the player left while it was
// made. With other providers the slot is free again when the reservation expires.
type Releaser interface {
	// Release releases the reservation. hosted is set for one of Host: the session ends with it, at once, unless other
	// players are in it. A provider that can end sessions, and not release slots, does nothing without hosted. A slot
	// that is free already is no error.
	Release(ctx context.Context, r Reservation, hosted bool) error
}

// A Matchmaker is a Provider that has matchmaking. Its requests have been validated as well.
type Matchmaker interface {
	StartMatchmaking(ctx context.Context, r StartMatchmakingRequest) (ticketID string, err error)
	StopMatchmaking(ctx context.Context, r StopMatchmakingRequest) error
	AcceptMatch(ctx context.Context, r AcceptMatchRequest) error
	// Ticket returns a ticket with its status; ErrNotFound if it does not exist.
	Ticket(ctx context.Context, ticketID string) (Ticket, error)
}

// A TicketWatcher is a Matchmaker that reports changes by itself.
type TicketWatcher interface {
	Matchmaker
	// WatchTicket calls changed with the current ticket, and again after each change, until the ticket has ended, ctx
	// is done, or the watch fails. It returns nil when the ticket has ended.
	WatchTicket(ctx context.Context, ticketID string, changed func(Ticket)) error
}

// HostRequest asks for a session for a named session's owner.
type HostRequest struct {
	SessionName string // for the list
	OwnerID     string // the player who gets the first slot
	BuildID     int32  // of the client; others do not find the session
	Connections int    // slots, public and private
	Properties  map[string]string
}

// FindRequest asks for sessions to join.
type FindRequest struct {
	BuildID int32         // 0 for any
	Limit   int           // of results; 0 for 100
	Timeout time.Duration // of a search on a LAN; 0 for 5 s. Elsewhere the context is the limit
	// Stop ends a search on a LAN as soon as so many sessions are found; 0: at the timeout.
	Stop int
	LAN  bool // search on the local network and not at the service; for Find of NamedSessions alone
}

// A SearchResult is a session that was found.
type SearchResult struct {
	SessionID       string
	OwnerID         string // "" unless on a LAN
	OwnerName       string // "" unless on a LAN
	Name            string
	LAN             bool // found on the local network
	IPAddress       string
	Port            int
	BuildID         int32 // 0 if it is not known
	Connections     int   // slots
	OpenConnections int   // free slots
	Properties      map[string]string
	Ping            time.Duration // 0 if it was not measured
}

// LAN finds and announces sessions on the local network: package session/lan.
type LAN interface {
	// Announce answers searches with advert until the beacon is closed.
	Announce(ctx context.Context, advert Advert) (Beacon, error)
	// Search looks for sessions and calls found with each, once, as it is found, until r.Timeout has passed, r.Stop are
	// found or ctx is done, which is an error.
	Search(ctx context.Context, r FindRequest, found func(SearchResult)) error
}

// A Beacon is the announcement of a session.
type Beacon interface {
	// Update replaces the advert.
	Update(advert Advert) error
	// Close ends the announcement and returns when nothing of it is left. Closing twice does nothing.
	Close() error
}

// An Advert describes a session to searchers.
type Advert struct {
	SessionID       string // "" for one of the provider's choice
	OwnerID         string
	OwnerName       string
	Name            string
	Port            int // where the host listens for players
	BuildID         int32
	Connections     int
	OpenConnections int
	Joinable        bool // else searches get no answer
	Properties      map[string]string
}

// A Connector connects a player to a game server, handshake included: Gamenet, or one for a game's own protocol.
type Connector interface {
	// Connect returns when the game server has accepted the player, or fails with ErrDenied, ErrFull, ErrUnavailable,
	// ErrTimeout or ErrTransport. After a failure, and also when ctx is done, nothing of the connection is left.
	Connect(ctx context.Context, r Reservation) (Connection, error)
}

// A Connection is a player's connection to a game server.
type Connection interface {
	// Close notifies the game server and returns when nothing of the connection is left, or when ctx is done and the
	// connection is cut. It may be called several times, also concurrently. From a callback of the game for this
	// connection it returns nil at once, and the connection ends when the callback has returned.
	Close(ctx context.Context) error
	// Done is closed when the connection has ended.
	Done() <-chan struct{}
	// Err returns why it has ended; nil before, and after Close.
	Err() error
}
