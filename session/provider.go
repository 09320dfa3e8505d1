package session

import (
	"context"
	"time"
)

// A Provider reaches a session service. Its calls may run at the same time. They return errors of this package's kinds,
// honour their context, and leave nothing behind when they fail: no session, no place. What a provider cannot do
// answers ErrUnsupported and says why. Requests have been validated.
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
	// Placement tells what has become of a placement.
	Placement(ctx context.Context, placementID string) (Placement, error)
	// SearchSessions returns one page of sessions.
	SearchSessions(ctx context.Context, r SearchSessionsRequest) (SearchSessionsResponse, error)
	// Reserve takes a place in a session.
	Reserve(ctx context.Context, r JoinSessionRequest) (Reservation, error)
	// Host creates a session, waits until it is active, and takes the first place in it for its owner.
	Host(ctx context.Context, r HostRequest) (Reservation, error)
	// Find lists sessions that can be joined, all pages of them up to the limit.
	Find(ctx context.Context, r FindRequest) ([]SearchResult, error)
}

// A Releaser is a Provider that can give back a place which nobody has taken, for example because the player has left
// while it was being reserved. With others the place is free again when the reservation has run out.
type Releaser interface {
	// Release frees the place. A place that is free already is no error.
	Release(ctx context.Context, r Reservation) error
}

// A Matchmaker is a Provider that has matchmaking. Its requests have been validated as well.
type Matchmaker interface {
	StartMatchmaking(ctx context.Context, r StartMatchmakingRequest) (ticketID string, err error)
	StopMatchmaking(ctx context.Context, r StopMatchmakingRequest) error
	AcceptMatch(ctx context.Context, r AcceptMatchRequest) error
	// Ticket tells where a ticket is. A ticket that does not exist is ErrNotFound.
	Ticket(ctx context.Context, ticketID string) (Ticket, error)
}

// A TicketWatcher is a Matchmaker that tells of changes by itself.
type TicketWatcher interface {
	Matchmaker
	// WatchTicket calls changed with the ticket as it is, and again whenever it has changed, until it is over, ctx is
	// done, or an error ends the watch. It returns nil after a ticket that is over.
	WatchTicket(ctx context.Context, ticketID string, changed func(Ticket)) error
}

// HostRequest asks for a session for a named session's owner.
type HostRequest struct {
	SessionName string // for the list
	OwnerID     string // the player who gets the first place
	BuildID     int32  // of the client; what does not match is not shown to one another
	Connections int    // places, public and private
	Properties  map[string]string
}

// FindRequest asks for sessions to join.
type FindRequest struct {
	BuildID int32         // 0 for any
	Limit   int           // of results; 0 for 100
	Timeout time.Duration // of a search on a LAN; 0 for 5 s. Elsewhere the context is the limit
	// Stop ends a search on a LAN as soon as so many sessions are found; 0: at the timeout.
	Stop int
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
	Connections     int   // places
	OpenConnections int   // free places
	Properties      map[string]string
	Ping            time.Duration // 0 if it was not measured
}

// LAN finds and announces sessions on the local network: package session/lan.
type LAN interface {
	// Announce answers searches with what advert says, until the beacon is closed.
	Announce(ctx context.Context, advert Advert) (Beacon, error)
	// Search looks for sessions and calls found with each, once, as it is found, until r.Timeout has passed, r.Stop are
	// found or ctx is done, which is an error.
	Search(ctx context.Context, r FindRequest, found func(SearchResult)) error
}

// A Beacon is a session that is announced.
type Beacon interface {
	// Update changes what is announced.
	Update(advert Advert) error
	// Close ends the announcement and returns when nothing of it is left. Closing twice does nothing.
	Close() error
}

// An Advert is what a host tells searchers.
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

// A Connector takes a player to a game server and through its handshake: Gamenet, or one for a game's own protocol.
type Connector interface {
	// Connect returns when the game server has let the player in, or not: then the error is ErrDenied, ErrFull,
	// ErrUnavailable, ErrTimeout or ErrTransport. When it fails, and also when ctx is done, nothing of the connection
	// is left.
	Connect(ctx context.Context, r Reservation) (Connection, error)
}

// A Connection is a player's line to a game server.
type Connection interface {
	// Close says goodbye and returns when nothing of the connection is left.
	Close(ctx context.Context) error
	// Done is closed when the connection has ended.
	Done() <-chan struct{}
	// Err says why it has ended; nil before, and after Close.
	Err() error
}
